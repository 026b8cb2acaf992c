package nameserver

import (
	"context"
	"fmt"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// orderNamespace is where tools keep which topics are ordered, and how.
const orderNamespace = "ORDER_TOPIC_CONFIG"

// putKV answers PUT_KV_CONFIG.
func (s *Service) putKV(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	namespace, okNS := req.Field("namespace")
	key, okKey := req.Field("key")
	value, okValue := req.Field("value")
	switch {
	case !okNS || !okKey:
		return failure("namespace or key is null")
	case !okValue:
		return failure("value is null") // the stock server stores a null and says success
	}
	err := s.PutKV(ctx, namespace, key, value)
	s.audited("put kv", c, err, "namespace", namespace, "key", key)
	return answerResult(fsm.Result{}, err)
}

// getKV answers GET_KV_CONFIG.
func (s *Service) getKV(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	namespace, key := textOf(req, "namespace"), textOf(req, "key")
	value, found, err := s.GetKV(ctx, namespace, key)
	if err != nil {
		return typed(unreadable(err))
	}
	if !found {
		return typed(protocol.NewResponse(protocol.QueryNotFound, "No config item, Namespace: "+namespace+" Key: "+key))
	}
	c := typed(protocol.NewResponse(protocol.Success, ""))
	c.ExtFields["value"] = value
	return c
}

// textOf returns a header field, or what Java prints for one that is missing.
func textOf(req *protocol.Command, name string) string {
	if v, ok := req.Field(name); ok {
		return v
	}
	return "null"
}

// deleteKV answers DELETE_KV_CONFIG, which succeeds for what is not there.
func (s *Service) deleteKV(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	namespace, key := textOf(req, "namespace"), textOf(req, "key")
	err := s.DeleteKV(ctx, namespace, key)
	s.audited("delete kv", c, err, "namespace", namespace, "key", key)
	return answerResult(fsm.Result{}, unlessAbsent(err))
}

// listKV answers GET_KVLIST_BY_NAMESPACE.
func (s *Service) listKV(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	namespace := textOf(req, "namespace")
	ns, err := s.namespace(ctx, namespace)
	if err != nil {
		return unreadable(err)
	}
	if ns == nil {
		return protocol.NewResponse(protocol.QueryNotFound, "No config item, Namespace: "+namespace)
	}
	return withBody(appendNamespace(nil, ns))
}

func appendNamespace(dst []byte, ns *fsm.Namespace) []byte {
	kv := make([]protocol.KV, 0, ns.Len())
	for k, v := range ns.All() {
		kv = append(kv, protocol.KV{Key: k, Value: v})
	}
	return protocol.AppendKVTable(dst, kv)
}

// PutKV stores a value. It returns once this peer's tables show it.
func (s *Service) PutKV(ctx context.Context, namespace, key, value string) error {
	_, err := s.change(ctx, fsm.EncodePutKV(namespace, key, value), func(st *fsm.State) bool {
		have, ok := st.KV(namespace, key)
		return ok && have == value
	})
	return err
}

// DeleteKV removes a value. Its error is ErrAbsent when there certainly is none.
func (s *Service) DeleteKV(ctx context.Context, namespace, key string) error {
	v, err := s.readConfirmed(ctx)
	if err == nil && v.confirmed {
		if _, ok := v.KV(namespace, key); !ok {
			return fmt.Errorf("no key %q in namespace %q: %w", key, namespace, ErrAbsent)
		}
	}
	_, err = s.change(ctx, fsm.EncodeDeleteKV(namespace, key), func(st *fsm.State) bool {
		_, ok := st.KV(namespace, key)
		return !ok
	})
	return err
}

// GetKV reads a value; found is false only when there certainly is none.
func (s *Service) GetKV(ctx context.Context, namespace, key string) (value string, found bool, err error) {
	v, err := s.read(ctx)
	if err != nil {
		return "", false, err
	}
	if value, found = v.KV(namespace, key); found {
		return value, true, nil
	}
	if v, err = s.absent(ctx, v); err != nil {
		return "", false, err
	}
	value, found = v.KV(namespace, key)
	return value, found, nil
}

// ListKV reads a namespace; found is false only when it certainly was never used.
func (s *Service) ListKV(ctx context.Context, namespace string) (values map[string]string, found bool, err error) {
	ns, err := s.namespace(ctx, namespace)
	if err != nil || ns == nil {
		return nil, false, err
	}
	values = make(map[string]string, ns.Len())
	for k, v := range ns.All() {
		values[k] = v
	}
	return values, true, nil
}

func (s *Service) namespace(ctx context.Context, name string) (*fsm.Namespace, error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	if ns := v.Namespace(name); ns != nil {
		return ns, nil
	}
	if v, err = s.absent(ctx, v); err != nil {
		return nil, err
	}
	return v.Namespace(name), nil
}
