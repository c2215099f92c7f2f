package httpx

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/loci-memory/loci/memory"
)

// keysAgain is how often keys are read that another server may have added or removed.
const keysAgain = 3 * time.Second

// OpenKeys reads the keys of a store, nil for none. Other servers may share it.
func OpenKeys(ctx context.Context, store memory.Keys, shared bool, now func() time.Time, log *slog.Logger) (*Keyring, error) {
	k := &Keyring{store: store, shared: shared, now: now, log: log}
	return k, k.load(ctx)
}

// load takes the keys as they are stored.
func (r *Keyring) load(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	r.loading.Lock()
	defer r.loading.Unlock()
	all, err := r.store.Keys(ctx, memory.DefaultNamespace)
	if err == nil {
		r.Set(all)
	}
	return err
}

// Run follows what other servers do, until the context ends.
func (r *Keyring) Run(ctx context.Context) error {
	if r.store == nil || !r.shared {
		return nil
	}
	tick := time.NewTicker(keysAgain)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := r.load(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			r.log.Warn("the API keys cannot be read; those known so far count", "err", err)
		}
		failed = err != nil
	}
}

// kept returns the store, or why there is none.
func (r *Keyring) kept() (memory.Keys, error) {
	if r == nil || r.store == nil {
		return nil, memory.Errorf(memory.Invalid, "keys are kept in the database, and with store=memory there is none")
	}
	return r.store, nil
}

// List returns the keys, oldest first.
func (r *Keyring) List(ctx context.Context) ([]memory.Key, error) {
	store, err := r.kept()
	if err != nil {
		return nil, err
	}
	return store.Keys(ctx, memory.DefaultNamespace)
}

// Add makes a key. Its text is returned this once.
func (r *Keyring) Add(ctx context.Context, name string, role memory.KeyRole, user string) (text string, key memory.Key, err error) {
	store, err := r.kept()
	if err != nil {
		return "", key, err
	}
	if text, key, err = NewKey(name, role, user, r.now()); err != nil {
		return "", key, err
	}
	if err := store.AddKey(ctx, memory.DefaultNamespace, key); err != nil {
		return "", key, err
	}
	return text, key, r.again(ctx)
}

// Remove removes a key.
func (r *Keyring) Remove(ctx context.Context, id string) error {
	store, err := r.kept()
	if err != nil {
		return err
	}
	if err := store.RemoveKey(ctx, memory.DefaultNamespace, id); err != nil {
		return err
	}
	return r.again(ctx)
}

// again reads what a change that is done has left.
func (r *Keyring) again(ctx context.Context) error {
	if err := r.load(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("it is done, but this server still goes by the keys of before: %w", err)
	}
	return nil
}
