package fsm

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// Errors of commands that cannot be applied.
var (
	// ErrUnknownCommand says that a command was written by a newer binary: its
	// version, its kind or one of its fields is not known here. Skipping it would
	// make this peer differ from the others, so the process must stop. Commands that
	// say that they may be skipped never lead to it.
	ErrUnknownCommand = errors.New("command of a newer version: install a newer namesrv")

	// ErrBadCommand says that a command is damaged or contradicts itself.
	ErrBadCommand = errors.New("command is damaged")
)

// command is a decoded command.
type command interface {
	apply(s *State, index uint64) (*State, Result)
}

// Check tells whether Apply takes a command, without applying it. The error is
// ErrUnknownCommand or ErrBadCommand.
func Check(encoded []byte) error {
	_, err := decodeCommand(encoded)
	return err
}

func decodeCommand(encoded []byte) (command, error) {
	var m fsmpb.Command
	if err := proto.Unmarshal(encoded, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadCommand, err)
	}
	c, err := loadKnown(&m)
	if errors.Is(err, ErrUnknownCommand) && m.Ignorable {
		return skipped{}, nil
	}
	return c, err
}

// loadKnown refuses whatever a newer binary has put into a command.
func loadKnown(m *fsmpb.Command) (command, error) {
	if m.Version == 0 || m.Version > Level {
		return nil, fmt.Errorf("%w: %s, version %d of at most %d", ErrUnknownCommand, kindOf(m), m.Version, Level)
	}
	if hasUnknown(m.ProtoReflect()) {
		return nil, fmt.Errorf("%w: %s, version %d, has unknown fields", ErrUnknownCommand, kindOf(m), m.Version)
	}
	return loadCommand(m)
}

// kindOf names the kind of a command, also of one that the schema lacks.
func kindOf(m *fsmpb.Command) string {
	r := m.ProtoReflect()
	if field := r.WhichOneof(r.Descriptor().Oneofs().ByName("kind")); field != nil {
		return string(field.Name())
	}
	if number, _, n := protowire.ConsumeTag(r.GetUnknown()); n > 0 {
		return fmt.Sprintf("kind %d", number)
	}
	return "no kind"
}

func loadCommand(m *fsmpb.Command) (command, error) {
	switch kind := m.Kind.(type) {
	case *fsmpb.Command_Register:
		return loadRegister(kind.Register)
	case *fsmpb.Command_RegisterDeflated:
		return loadDeflated(kind.RegisterDeflated)
	case *fsmpb.Command_Unregister:
		u := kind.Unregister
		return unregisterCommand{
			Cluster: string(u.Cluster), Broker: string(u.Broker), Addr: string(u.Addr), ID: u.Id, BirthAtMost: u.BirthAtMost,
		}, nil
	case *fsmpb.Command_Expire:
		return loadExpire(kind.Expire)
	case *fsmpb.Command_Touch:
		return touchCommand{key: string(kind.Touch.Key), registered: kind.Touch.Registered}, nil
	case *fsmpb.Command_DeleteTopic:
		return deleteTopicCommand{topic: string(kind.DeleteTopic.Topic), cluster: string(kind.DeleteTopic.Cluster)}, nil
	case *fsmpb.Command_RegisterTopic:
		return loadRegisterTopic(kind.RegisterTopic)
	case *fsmpb.Command_SetPerm:
		return setPermCommand{broker: string(kind.SetPerm.Broker), addWrite: kind.SetPerm.AddWrite}, nil
	case *fsmpb.Command_PutKv:
		return loadPutKV(kind.PutKv), nil
	case *fsmpb.Command_DeleteKv:
		return deleteKVCommand{namespace: string(kind.DeleteKv.Namespace), key: string(kind.DeleteKv.Key)}, nil
	case *fsmpb.Command_SetOptions:
		return setOptionsCommand{kind.SetOptions}, nil
	case *fsmpb.Command_Init:
		return initCommand{kind.Init}, nil
	case *fsmpb.Command_RestoreBegin:
		return restoreBegin{newUpload(kind.RestoreBegin)}, nil
	case *fsmpb.Command_RestorePart:
		p := kind.RestorePart
		return restorePart{id: string(p.Id), offset: p.Offset, data: p.Data}, nil
	case *fsmpb.Command_RestoreCommit:
		return restoreCommit{id: string(kind.RestoreCommit.Id)}, nil
	case *fsmpb.Command_RestoreDrop:
		return restoreDrop{id: string(kind.RestoreDrop.Id), haveAtMost: kind.RestoreDrop.HaveAtMost}, nil
	}
	return nil, fmt.Errorf("%w: it has no kind", ErrBadCommand)
}

func loadRegister(m *fsmpb.Register) (command, error) {
	r, err := loadRegistration(m)
	if err != nil {
		return nil, fmt.Errorf("%w: register: %w", ErrBadCommand, err)
	}
	return registerCommand{r}, nil
}

func loadDeflated(d *fsmpb.Deflated) (command, error) {
	plain, err := inflate(d)
	if err != nil {
		return nil, fmt.Errorf("%w: register: %w", ErrBadCommand, err)
	}
	var m fsmpb.Register
	if err := proto.Unmarshal(plain, &m); err != nil {
		return nil, fmt.Errorf("%w: register: %w", ErrBadCommand, err)
	}
	if hasUnknown(m.ProtoReflect()) {
		return nil, fmt.Errorf("%w: register has unknown fields", ErrUnknownCommand)
	}
	return loadRegister(&m)
}

// inflate returns exactly the announced number of bytes. Memory follows what the
// data yields, not what it announces.
func inflate(d *fsmpb.Deflated) ([]byte, error) {
	if d.Size > maxInflated {
		return nil, fmt.Errorf("inflated size %d is above %d", d.Size, maxInflated)
	}
	r := flate.NewReader(bytes.NewReader(d.Data))
	plain, err := io.ReadAll(io.LimitReader(r, int64(d.Size)+1))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if len(plain) != int(d.Size) {
		return nil, fmt.Errorf("inflated size differs from the announced %d", d.Size)
	}
	return plain, nil
}

func loadExpire(m *fsmpb.Expire) (command, error) {
	if len(m.Keys) != len(m.Registered) {
		return nil, fmt.Errorf("%w: expire: %w", ErrBadCommand, errColumns)
	}
	list := make(expireCommand, len(m.Keys))
	for i := range list {
		list[i] = Expired{Key: string(m.Keys[i]), Registered: m.Registered[i]}
	}
	return list, nil
}

func loadRegisterTopic(m *fsmpb.RegisterTopic) (command, error) {
	rows, err := rowCount(m.Queues)
	if err == nil && rows != len(m.Brokers) {
		err = errRowCount
	}
	if err != nil {
		return nil, fmt.Errorf("%w: register topic: %w", ErrBadCommand, err)
	}
	c := registerTopicCommand{topic: string(m.Topic), queues: make([]protocol.QueueData, rows)}
	for i := range c.queues {
		q := row(m.Queues, i)
		c.queues[i] = protocol.QueueData{
			BrokerName: string(m.Brokers[i]), Read: q.Read, Write: q.Write, Perm: q.Perm, SysFlag: q.SysFlag,
		}
	}
	return c, nil
}

func loadPutKV(m *fsmpb.PutKV) command {
	c := putKVCommand{namespace: string(m.Namespace), key: string(m.Key)}
	if m.Value != nil {
		value := string(m.Value)
		c.value = &value
	}
	return c
}

// hasUnknown tells whether the message or one within it has a field that the
// schema of this binary lacks.
func hasUnknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		default:
			found = hasUnknown(v.Message())
		}
		return !found
	})
	return found
}
