package httpx

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// keysAgain is how often keys are read that another server may have added or removed.
const keysAgain = 3 * time.Second

// StoredKeys are the stored API keys: who is added or removed here is so at once, and at another
// server on the same database within keysAgain.
type StoredKeys struct {
	store  memory.Keys // nil: none are kept
	shared bool        // other servers use the database
	Ring   Keyring
	now    func() time.Time
	log    *slog.Logger

	loading sync.Mutex // held from when keys are read until they count, so that none comes back
}

// OpenKeys reads the keys of a store, nil for none. Other servers may share it.
func OpenKeys(ctx context.Context, store memory.Keys, shared bool, now func() time.Time, log *slog.Logger) (*StoredKeys, error) {
	k := &StoredKeys{store: store, shared: shared, now: now, log: log}
	return k, k.load(ctx)
}

// load takes the keys as they are stored.
func (k *StoredKeys) load(ctx context.Context) error {
	if k.store == nil {
		return nil
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	all, err := k.store.Keys(ctx, memory.DefaultNamespace)
	if err == nil {
		k.Ring.Set(all)
	}
	return err
}

// Run follows what other servers do, until the context ends.
func (k *StoredKeys) Run(ctx context.Context) error {
	if k.store == nil || !k.shared {
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
		err := k.load(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			k.log.Warn("the API keys cannot be read; those known so far count", "err", err)
		}
		failed = err != nil
	}
}

// kept returns the store, or why there is none.
func (k *StoredKeys) kept() (memory.Keys, error) {
	if k.store == nil {
		return nil, memory.Errorf(memory.Invalid, "keys are kept in the database, and with store=memory there is none")
	}
	return k.store, nil
}

// List returns the keys, oldest first.
func (k *StoredKeys) List(ctx context.Context) ([]memory.Key, error) {
	store, err := k.kept()
	if err != nil {
		return nil, err
	}
	return store.Keys(ctx, memory.DefaultNamespace)
}

// Add makes a key. Its text is returned this once.
func (k *StoredKeys) Add(ctx context.Context, name string, role memory.KeyRole, user string) (text string, key memory.Key, err error) {
	store, err := k.kept()
	if err != nil {
		return "", key, err
	}
	if text, key, err = NewKey(name, role, user, k.now()); err != nil {
		return "", key, err
	}
	if err := store.AddKey(ctx, memory.DefaultNamespace, key); err != nil {
		return "", key, err
	}
	return text, key, k.again(ctx)
}

// Remove removes a key.
func (k *StoredKeys) Remove(ctx context.Context, id string) error {
	store, err := k.kept()
	if err != nil {
		return err
	}
	if err := store.RemoveKey(ctx, memory.DefaultNamespace, id); err != nil {
		return err
	}
	return k.again(ctx)
}

// again reads what a change that is done has left.
func (k *StoredKeys) again(ctx context.Context) error {
	if err := k.load(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("it is done, but this server still goes by the keys of before: %w", err)
	}
	return nil
}
