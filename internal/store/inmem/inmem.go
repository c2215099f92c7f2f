// Package inmem stores memory in plain maps and slices under one mutex. Its [Store] is the reference with
// which tests compare other stores. It is only for tests and experiments: each write copies the owner's
// maps, and the content is lost when the process ends.
package inmem

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Options are the settings of a store.
type Options struct {
	Now func() time.Time // the store's clock; nil uses time.Now
}

// Store is a [memory.Store] that keeps everything in the process's memory.
type Store struct {
	now func() time.Time

	mu         sync.Mutex // guards the fields below
	data       map[memory.Owner]*ownerdata.Data
	claimCount int // number of claimed jobs, which makes each lease's token unique

	sessions map[sessionKey]memory.Session
}

var _ memory.Store = (*Store)(nil)

// Open returns an empty store.
func Open(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{now: o.Now, data: map[memory.Owner]*ownerdata.Data{}, sessions: map[sessionKey]memory.Session{}}
}

// Close does nothing.
func (s *Store) Close() error { return nil }

// read calls do with the owner's data. do must not change the data.
func (s *Store) read(ctx context.Context, owner memory.Owner, do func(*ownerdata.Data) error) error {
	if err := checkCall(ctx, owner); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s.ownerData(owner))
}

// write calls do with a copy of the owner's data. Unless do fails, the copy then replaces the data.
func (s *Store) write(ctx context.Context, owner memory.Owner, do func(data *ownerdata.Data) error) error {
	if err := checkCall(ctx, owner); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data := s.ownerData(owner).Clone()
	if err := do(data); err != nil {
		return err
	}
	s.data[owner] = data
	return nil
}

func (s *Store) ownerData(owner memory.Owner) *ownerdata.Data {
	if data := s.data[owner]; data != nil {
		return data
	}
	return new(ownerdata.Data)
}

func checkCall(ctx context.Context, owner memory.Owner) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !owner.Valid() {
		return memory.Errorf(memory.Invalid, "invalid owner %q", owner)
	}
	return nil
}
