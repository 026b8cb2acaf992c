package systemtest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ResidentBytes is the memory that a process has in RAM, as Linux reports it (VmRSS).
func ResidentBytes(pid int) (int, error) { return statusBytes(pid, "VmRSS") }

// PeakResidentBytes is the most that a process ever had in RAM (VmHWM).
func PeakResidentBytes(pid int) (int, error) { return statusBytes(pid, "VmHWM") }

func statusBytes(pid int, field string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", pid, field)
}
