package httpx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/loci-memory/loci/memory"
)

// keyReloadInterval is the interval at which keys are reloaded, because another server may have changed keys.
const keyReloadInterval = 3 * time.Second

// OpenKeys loads the keys of a store; a nil store has no keys. shared means that other servers use the store too.
func OpenKeys(ctx context.Context, store memory.Keys, shared bool, now func() time.Time, log *slog.Logger) (*Keyring, error) {
	k := &Keyring{store: store, shared: shared, now: now, log: log}
	return k, k.load(ctx)
}

func (r *Keyring) load(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	r.loadMu.Lock()
	defer r.loadMu.Unlock()
	all, err := r.store.Keys(ctx, memory.DefaultNamespace)
	if err == nil {
		r.Set(all)
	}
	return err
}

// lastUseInterval is the interval at which the keys' last-use times are stored.
const lastUseInterval = time.Minute

// recordUse records when a key was last used, until storeLastUses stores the time.
func (r *Keyring) recordUse(k memory.Key, now time.Time) {
	if at := memory.Time(now).Truncate(lastUseInterval); at.After(k.UsedAt) {
		r.lastUses.Store(k.ID(), at)
	}
}

// storeLastUses stores the recorded last-use times.
func (r *Keyring) storeLastUses(ctx context.Context) error {
	var errs []error
	r.lastUses.Range(func(id, at any) bool {
		r.lastUses.Delete(id)
		errs = append(errs, r.store.UseKey(ctx, memory.DefaultNamespace, id.(string), at.(time.Time)))
		return true
	})
	return errors.Join(errs...)
}

// Run reloads keys that other servers changed and stores last-use times, until the context ends.
func (r *Keyring) Run(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	reloadTick, storeTick := time.NewTicker(keyReloadInterval), time.NewTicker(lastUseInterval)
	defer reloadTick.Stop()
	defer storeTick.Stop()
	failed := false
	for {
		var err error
		select {
		case <-ctx.Done():
			storeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyReloadInterval)
			defer cancel()
			_ = r.storeLastUses(storeCtx) // on failure, last-use times of at most a minute are lost
			return nil
		case <-reloadTick.C:
			if r.shared {
				err = r.load(ctx)
			}
		case <-storeTick.C:
			if err = r.storeLastUses(ctx); err == nil {
				err = r.load(ctx)
			}
		}
		if err != nil && !failed && ctx.Err() == nil {
			r.log.Warn("cannot read the API keys; the keys loaded before stay valid", "err", err)
		}
		failed = err != nil
	}
}

// requireStore returns the store, or an error for people if there is none.
func (r *Keyring) requireStore() (memory.Keys, error) {
	if r == nil || r.store == nil {
		return nil, memory.Errorf(memory.Invalid, "keys cannot be stored, because store=memory has no database")
	}
	return r.store, nil
}

// List returns the keys, oldest first.
func (r *Keyring) List(ctx context.Context) ([]memory.Key, error) {
	store, err := r.requireStore()
	if err != nil {
		return nil, err
	}
	return store.Keys(ctx, memory.DefaultNamespace)
}

// Add creates and stores a key with the fields of template, like [NewKey]. No later call returns the key's text.
func (r *Keyring) Add(ctx context.Context, template memory.Key) (text string, key memory.Key, err error) {
	store, err := r.requireStore()
	if err != nil {
		return "", key, err
	}
	if text, key, err = NewKey(template, r.now()); err != nil {
		return "", key, err
	}
	if err := store.AddKey(ctx, memory.DefaultNamespace, key); err != nil {
		return "", key, err
	}
	return text, key, r.reload(ctx)
}

// Rotate creates a key with the same permissions as the key with this id. The old key stays valid for the time
// grace. The new key expires at expiresAt; the zero time means never.
func (r *Keyring) Rotate(ctx context.Context, id string, grace time.Duration, expiresAt time.Time) (text string, key memory.Key, err error) {
	old, found := r.ByID(id, r.now())
	if !found {
		return "", key, memory.Errorf(memory.NotFound, "there is no key %s that has not expired", id)
	}
	end := memory.Time(r.now().Add(grace))
	if !old.ExpiresAt.IsZero() && old.ExpiresAt.Before(end) {
		end = old.ExpiresAt
	}
	previous := old
	old.ExpiresAt = expiresAt
	if text, key, err = r.Add(ctx, old); err != nil {
		return "", key, err
	}
	if err := r.store.ExpireKey(ctx, memory.DefaultNamespace, previous.ID(), end); err != nil {
		return "", key, errors.Join(err, r.store.RemoveKey(context.WithoutCancel(ctx), memory.DefaultNamespace, key.ID()))
	}
	return text, key, r.reload(ctx)
}

// Remove removes a key.
func (r *Keyring) Remove(ctx context.Context, id string) error {
	store, err := r.requireStore()
	if err != nil {
		return err
	}
	if err := store.RemoveKey(ctx, memory.DefaultNamespace, id); err != nil {
		return err
	}
	return r.reload(ctx)
}

// reload loads the keys after a change was stored.
func (r *Keyring) reload(ctx context.Context) error {
	if err := r.load(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the change is stored, but this server still uses the previous keys: %w", err)
	}
	return nil
}
