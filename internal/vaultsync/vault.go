// Package vaultsync turns people's edits of a vault's files, including deletions and shares, into
// changes of memory. It also commits the files to git and reads their git history.
package vaultsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// Vault applies edits of a vault's files to memory. A nil Vault does nothing.
type Vault struct {
	Store  *vaultstore.Store
	engine *engine.Engine
	Log    *slog.Logger
	Git    *vaultGit // nil if git is not used

	mu       sync.Mutex                       // locked while a report is applied; guards the fields below
	coming   map[memory.Owner]map[string]bool // ids of facts that the current report adds, by owner
	refused  map[string]string                // reasons of refusals, by path of the file
	reported map[string]bool                  // warnings of the previous report
	warned   map[string]bool                  // warnings of the current report
}

// Open opens the vault around the store that openStore opens.
func Open(ctx context.Context, c config.Config, now func() time.Time, log *slog.Logger, within vaultstore.Within) (memory.Store, error) {
	dir, err := c.VaultDir()
	if err != nil {
		return nil, err
	}
	if err := dropStale(c); err != nil {
		return nil, err
	}
	o := vaultstore.Options{
		Now: now, Home: memory.User(memory.DefaultNamespace, httpx.DefaultUser), Log: log,
	}
	store, err := vaultstore.Open(ctx, dir, within, o)
	if err != nil {
		return nil, err // a nil *vaultstore.Store would not be a nil interface
	}
	return store, nil
}

// removeStaleIndexes removes the indexes if the database is missing or empty: a database rebuilt
// from the vault may have other versions.
func dropStale(c config.Config) error {
	dir, err := c.DataDir()
	if err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(dir, config.DatabaseFile)); !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0) {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, config.IndexFolder))
}

// New returns a Vault for a store, or nil if the store is not a vault.
func New(store memory.Store, e *engine.Engine, c config.Config, log *slog.Logger) *Vault {
	files, ok := store.(*vaultstore.Store)
	if !ok {
		return nil
	}
	v := &Vault{Store: files, engine: e, Log: log, refused: map[string]string{}}
	if c.VaultGit {
		v.Git = newVaultGit(files, log)
	}
	return v
}

// Dir returns the vault's folder, or "" for a nil Vault.
func (v *Vault) Dir() string {
	if v == nil {
		return ""
	}
	return v.Store.Dir()
}

// CatchUp applies edits that people made while Loci did not run.
func (v *Vault) CatchUp(ctx context.Context) error {
	if v == nil {
		return nil
	}
	if _, err := v.Look(ctx, vaultstore.ScanOptions{}); err != nil {
		return fmt.Errorf("read the vault: %w", err)
	}
	if v.Git != nil {
		if err := v.Git.Begin(ctx); err != nil {
			v.Log.Warn("the vault cannot be committed to git yet", "err", err)
		}
	}
	return nil
}

// Run applies edits of the files until ctx ends.
func (v *Vault) Run(ctx context.Context) error {
	if v == nil {
		return nil
	}
	var committing sync.WaitGroup
	defer committing.Wait()
	if v.Git != nil {
		committing.Go(func() { v.Git.run(ctx) })
	}
	err := v.Store.Watch(ctx, func(r vaultstore.Report) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.Take(ctx, r)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ScanAndApply compares the folder with memory once and applies people's edits. The option
// ConfirmDeletions includes deletions of many files.
func (v *Vault) Look(ctx context.Context, o vaultstore.ScanOptions) (vaultstore.Report, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, err := v.Store.Scan(ctx, o)
	if err != nil {
		return r, err
	}
	return r, v.Take(ctx, r)
}

// ScanWithReasons is ScanAndApply, and also returns the reasons of refusals by conflict file.
func (v *Vault) Examine(ctx context.Context, confirm bool) (vaultstore.Report, map[string]string, error) {
	if _, err := v.Look(ctx, vaultstore.ScanOptions{Confirm: confirm, Settle: vaultstore.Settle}); err != nil {
		return vaultstore.Report{}, nil, err
	}
	r, err := v.Look(ctx, vaultstore.ScanOptions{Settle: vaultstore.Settle}) // compare again, after the edits were answered
	why := map[string]string{}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, path := range r.Conflicts {
		was, _, _ := strings.Cut(path, ".conflict-")
		why[path] = v.refused[was+".md"]
	}
	return r, why, err
}

// ApplyReport applies a report's edits. The caller has locked v.mu. An invalid edit is refused,
// which keeps the person's text in a conflict file; after other errors, the edit is retried.
func (v *Vault) Take(ctx context.Context, r vaultstore.Report) error {
	v.warned = map[string]bool{}
	defer func() { v.reported = v.warned }()
	for _, p := range r.Problems {
		v.warn("a file of the vault cannot be applied", "file", vaultstore.LogPath(p.Path), "why", p.Why)
	}
	if n := len(r.Held); n > 0 {
		v.warn("many files of the vault are missing, and their memories are not forgotten: loci doctor --confirm forgets them", "files", n)
	}
	n := len(r.Edits)
	if i := slices.IndexFunc(r.Edits, func(e vaultstore.Edit) bool { return e.Kind != vaultstore.Deleted }); i >= 0 {
		n = i
	}
	deleted, edits := r.Edits[:n], r.Edits[n:]
	if err := v.forget(ctx, v.Store.Gone(deleted)); err != nil { // skips files that were missing only briefly
		return err
	}
	if err := v.bringBack(ctx, edits); err != nil {
		return err
	}
	v.coming = coming(edits)
	for _, e := range edits {
		target, err := v.Change(ctx, e)
		if err := v.answer(ctx, e, target, err); err != nil {
			return err
		}
	}
	return nil
}

// addedFacts returns the ids of the facts that edits add, by owner.
func coming(edits []vaultstore.Edit) map[memory.Owner]map[string]bool {
	all := map[memory.Owner]map[string]bool{}
	for _, e := range edits {
		if f := e.Says.Fact; e.Kind == vaultstore.Added && f != nil && f.ID != "" {
			if all[e.Owner] == nil {
				all[e.Owner] = map[string]bool{}
			}
			all[e.Owner][f.ID] = true
		}
	}
	return all
}

// warn logs a warning unless the previous report caused it too: each scan finds the same problems.
func (v *Vault) warn(msg string, args ...any) {
	one := msg + "\x00" + fmt.Sprint(args...)
	if v.warned[one] = true; !v.reported[one] {
		v.Log.Warn(msg, args...)
	}
}

// answerEdit passes the result of an edit to the store: the changed target, or the error.
func (v *Vault) answer(ctx context.Context, e vaultstore.Edit, target string, err error) error {
	switch {
	case err == nil:
		delete(v.refused, e.Path)
		v.Log.Info("applied an edit of a file of the vault", "file", vaultstore.LogPath(e.Path), "edit", e.Kind)
		err = v.Store.Accept(ctx, e, target)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, memory.Gone) && e.Kind == vaultstore.Deleted: // memory that remains of an erased owner
		v.warn("a deleted file of the vault is written again: its user is closed, so its memory cannot be forgotten", "file", vaultstore.LogPath(e.Path), "why", err)
		err = v.Store.Refuse(ctx, e)
	case final(err):
		v.refused[e.Path] = err.Error()
		v.Log.Warn("a file of the vault was refused and kept as a conflict file", "file", vaultstore.LogPath(e.Path), "why", err)
		err = v.Store.Refuse(ctx, e)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, memory.Conflict): // after a conflict the next scan reads the new state
		v.warn("an edit of a file of the vault cannot be applied yet", "file", vaultstore.LogPath(e.Path), "why", err)
	}
	return nil
}

// isFinal reports whether an error means that the edit is invalid and must not be retried.
func final(err error) bool {
	for _, code := range []memory.Code{memory.Invalid, memory.Conflict, memory.Duplicate, memory.TooLarge, memory.NotFound, memory.Forbidden} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
