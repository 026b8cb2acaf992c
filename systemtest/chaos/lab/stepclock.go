package lab

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// StepClock moves the wall clock that one running process sees, and only that: its monotonic clock and all other
// processes keep theirs. Neither libfaketime nor time namespaces can do that to a static Go program. The vDSO function
// from which the process reads its clocks is overwritten in its memory, through /proc/PID/mem, by one that makes the
// system call and then adds the step where the wall clock was asked for. It needs root, on Linux and amd64.
func StepClock(pid int, step time.Duration) error {
	if runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		return fmt.Errorf("%w: a step of one process's clock needs root and amd64", ErrUnable)
	}
	from, to, err := vdso(pid)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, int64(from)); err != nil {
		return fmt.Errorf("read the vDSO: %w", err)
	}
	at, err := symbol(image, "__vdso_clock_gettime")
	if err != nil {
		return err
	}
	_, err = mem.WriteAt(steppedClock(int32(step/time.Second)), int64(from+at))
	return err
}

// steppedClock is clock_gettime(clock in edi, timespec in rsi) that is off by so many seconds for CLOCK_REALTIME.
func steppedClock(seconds int32) []byte {
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
		0x75, 7, // jne over the next
		0x48, 0x81, 0x06, // add qword [rsi], imm32
	}
	code = binary.LittleEndian.AppendUint32(code, uint32(seconds))
	return append(code, 0xc3) // ret
}

// vdso is where the kernel put its page of code into a process.
func vdso(pid int) (from, to uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		if strings.HasSuffix(lines.Text(), "[vdso]") {
			_, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, errors.New("no vDSO in the process")
}

func symbol(image []byte, name string) (uint64, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, fmt.Errorf("vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value, nil
		}
	}
	return 0, fmt.Errorf("vDSO: no %s", name)
}
