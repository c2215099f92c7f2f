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

	mu               sync.Mutex                       // locked while a report is applied; guards the fields below
	addedFactIDs     map[memory.Owner]map[string]bool // ids of facts that the current report adds, by owner
	refusals         map[string]string                // why edits were refused, by path of the edited file
	previousWarnings map[string]bool                  // warnings of the previous report
	currentWarnings  map[string]bool                  // warnings of the current report
}

// Open opens the vault around the store that openStore opens.
func Open(ctx context.Context, c config.Config, now func() time.Time, log *slog.Logger, openStore vaultstore.OpenStore) (memory.Store, error) {
	dir, err := c.VaultDir()
	if err != nil {
		return nil, err
	}
	if err := removeStaleIndexes(c); err != nil {
		return nil, err
	}
	o := vaultstore.Options{
		Now: now, HomeOwner: memory.User(memory.DefaultNamespace, httpx.DefaultUser), Log: log,
	}
	store, err := vaultstore.Open(ctx, dir, openStore, o)
	if err != nil {
		return nil, err // a nil *vaultstore.Store would not be a nil interface
	}
	return store, nil
}

// removeStaleIndexes removes the indexes if the database is missing or empty: Loci then rebuilds the
// database from the vault, and the versions in the indexes do not fit the new database.
func removeStaleIndexes(c config.Config) error {
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
	v := &Vault{Store: files, engine: e, Log: log, refusals: map[string]string{}}
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
	if _, err := v.ScanAndApply(ctx, vaultstore.ScanOptions{}); err != nil {
		return fmt.Errorf("read the vault: %w", err)
	}
	if v.Git != nil {
		if err := v.Git.Init(ctx); err != nil {
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
		return v.ApplyReport(ctx, r)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ScanAndApply compares the folder with memory once and applies people's edits. If o.ConfirmDeletions is
// set, it also forgets the memories of many deleted files at once.
func (v *Vault) ScanAndApply(ctx context.Context, o vaultstore.ScanOptions) (vaultstore.Report, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, err := v.Store.Scan(ctx, o)
	if err != nil {
		return r, err
	}
	return r, v.ApplyReport(ctx, r)
}

// ScanWithReasons is like ScanAndApply, and also returns why edits were refused, by conflict file.
func (v *Vault) ScanWithReasons(ctx context.Context, confirmDeletions bool) (vaultstore.Report, map[string]string, error) {
	if _, err := v.ScanAndApply(ctx, vaultstore.ScanOptions{ConfirmDeletions: confirmDeletions, DeletionDelay: vaultstore.DeletionDelay}); err != nil {
		return vaultstore.Report{}, nil, err
	}
	r, err := v.ScanAndApply(ctx, vaultstore.ScanOptions{DeletionDelay: vaultstore.DeletionDelay}) // list the conflict files of refused edits too
	reasons := map[string]string{}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, path := range r.ConflictFiles {
		base, _, _ := strings.Cut(path, ".conflict-")
		reasons[path] = v.refusals[base+".md"]
	}
	return r, reasons, err
}

// ApplyReport applies a report's edits. The caller has locked v.mu. An invalid edit is refused,
// which keeps the person's text in a conflict file; after other errors, the edit is retried.
func (v *Vault) ApplyReport(ctx context.Context, r vaultstore.Report) error {
	v.currentWarnings = map[string]bool{}
	defer func() { v.previousWarnings = v.currentWarnings }()
	for _, p := range r.Problems {
		v.warn("a file of the vault cannot be applied", "file", vaultstore.LogPath(p.Path), "why", p.Reason)
	}
	if n := len(r.UnconfirmedDeletions); n > 0 {
		v.warn("many files of the vault are missing, and their memories are not forgotten: loci doctor --confirm forgets them", "files", n)
	}
	n := len(r.Edits)
	if i := slices.IndexFunc(r.Edits, func(e vaultstore.Edit) bool { return e.Kind != vaultstore.Deleted }); i >= 0 {
		n = i
	}
	deleted, edits := r.Edits[:n], r.Edits[n:]
	if err := v.forgetDeleted(ctx, v.Store.StillMissing(deleted)); err != nil { // StillMissing omits files that are back
		return err
	}
	if err := v.restoreFacts(ctx, edits); err != nil {
		return err
	}
	v.addedFactIDs = addedFactIDs(edits)
	for _, e := range edits {
		target, err := v.ApplyEdit(ctx, e)
		if err := v.answerEdit(ctx, e, target, err); err != nil {
			return err
		}
	}
	return nil
}

// addedFactIDs returns the ids of the facts that edits add, by owner.
func addedFactIDs(edits []vaultstore.Edit) map[memory.Owner]map[string]bool {
	byOwner := map[memory.Owner]map[string]bool{}
	for _, e := range edits {
		if f := e.Content.Fact; e.Kind == vaultstore.Added && f != nil && f.ID != "" {
			if byOwner[e.Owner] == nil {
				byOwner[e.Owner] = map[string]bool{}
			}
			byOwner[e.Owner][f.ID] = true
		}
	}
	return byOwner
}

// warn logs a warning unless the previous report caused it too: each scan finds the same problems.
func (v *Vault) warn(msg string, args ...any) {
	warning := msg + "\x00" + fmt.Sprint(args...)
	if v.currentWarnings[warning] = true; !v.previousWarnings[warning] {
		v.Log.Warn(msg, args...)
	}
}

// answerEdit answers the vault's store: it accepts an edit, or refuses the edit if err is final.
func (v *Vault) answerEdit(ctx context.Context, e vaultstore.Edit, target string, err error) error {
	switch {
	case err == nil:
		delete(v.refusals, e.Path)
		v.Log.Info("applied an edit of a file of the vault", "file", vaultstore.LogPath(e.Path), "edit", e.Kind)
		err = v.Store.Accept(ctx, e, target)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, memory.Gone) && e.Kind == vaultstore.Deleted: // a closed user's memory cannot change, even if an erasure left some
		v.warn("a deleted file of the vault is written again: its user is closed, so its memory cannot be forgotten", "file", vaultstore.LogPath(e.Path), "why", err)
		err = v.Store.Refuse(ctx, e)
	case isFinalError(err):
		v.refusals[e.Path] = err.Error()
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

// isFinalError reports whether an error means that the edit is invalid and must not be retried.
func isFinalError(err error) bool {
	for _, code := range []memory.Code{memory.Invalid, memory.Conflict, memory.Duplicate, memory.TooLarge, memory.NotFound, memory.Forbidden} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
