package fsm

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Version tells whether a table is still the one seen before: versions of the
// same kind are == exactly when no command touched the table in between (a
// touched table may hold the same values). Holding one keeps nothing alive.
type Version struct{ mark *byte }

func newVersion() Version { return Version{mark: new(byte)} }

// table is an immutable map from names to values, ordered by the names' bytes.
type table[T any] struct {
	tree    *iradix.Tree[T]
	version Version
}

func newTable[T any]() table[T] {
	return table[T]{tree: iradix.New[T](), version: newVersion()}
}

func (t table[T]) len() int { return t.tree.Len() }

func (t table[T]) get(key string) (T, bool) { return t.tree.Get([]byte(key)) }

// all returns the values in the order of their keys.
func (t table[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		t.tree.Root().Walk(func(_ []byte, v T) bool { return !yield(v) })
	}
}

// pairs returns keys and values in the order of the keys.
func (t table[T]) pairs() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		t.tree.Root().Walk(func(k []byte, v T) bool { return !yield(string(k), v) })
	}
}

// edit is a table being changed by one command.
type edit[T any] struct {
	base table[T]
	txn  *iradix.Txn[T] // nil until the first change
}

func (e *edit[T]) dirty() bool { return e.txn != nil }

func (e *edit[T]) get(key string) (T, bool) {
	if e.txn == nil {
		return e.base.get(key)
	}
	return e.txn.Get([]byte(key))
}

func (e *edit[T]) put(key string, v T) {
	if e.txn == nil {
		e.txn = e.base.tree.Txn()
	}
	e.txn.Insert([]byte(key), v)
}

// delete takes out a key that is there.
func (e *edit[T]) delete(key string) {
	if e.txn == nil {
		e.txn = e.base.tree.Txn()
	}
	e.txn.Delete([]byte(key))
}

func (e *edit[T]) commit() table[T] {
	if e.txn == nil {
		return e.base
	}
	return table[T]{tree: e.txn.CommitOnly(), version: newVersion()}
}
