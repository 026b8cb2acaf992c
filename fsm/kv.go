package fsm

import "namesrv/remoting/protocol"

// putKV is code 100. Without a value the namespace exists afterwards and the key
// does not: the stock server stores a null, which reads as absent.
func (s *State) putKV(namespace, key string, value *string) (*State, Result) {
	d := s.edit()
	d.putKV(namespace, key, value)
	return d.commit(), Result{Code: protocol.Success, Changed: d.dirty()}
}

// deleteKV is code 102; it never makes a namespace.
func (s *State) deleteKV(namespace, key string) (*State, Result) {
	if s.Namespace(namespace) == nil {
		return s, Result{Code: protocol.Success}
	}
	return s.putKV(namespace, key, nil)
}

func (d *draft) putKV(namespace, key string, value *string) {
	ns := d.namespace(namespace)
	old, had := ns.Get(key)
	values := edit[string]{base: ns.values}
	switch {
	case value == nil && had:
		values.delete(key)
	case value != nil && (!had || old != *value):
		values.put(key, *value)
	default:
		return
	}
	d.kv.put(namespace, &Namespace{Name: ns.Name, values: values.commit()})
}

// namespace returns the namespace, made when it is not there.
func (d *draft) namespace(name string) *Namespace {
	ns, ok := d.kv.get(name)
	if !ok {
		ns = &Namespace{Name: name, values: newTable[string]()}
		d.kv.put(name, ns)
	}
	return ns
}
