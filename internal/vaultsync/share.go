package vaultsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/internal/engine/share"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// unshare ends the sharing of a fact with owners that its file no longer lists. It runs before the
// edit's other changes, so that removed users never see the new text. Deleting a file does not end
// sharing: once the forgotten fact is restored, it is shared again.
func (v *Vault) unshare(ctx context.Context, e vaultstore.Edit) error {
	if e.Content.Fact == nil || e.Stored.Fact == nil {
		return nil
	}
	ended := ownersWithout(e.Stored.Shared, e.Content.Shared)
	if len(ended) == 0 {
		return nil
	}
	if _, err := v.engine.Share.Unshare(ctx, e.Owner, e.Stored.Fact.ID, ended, files.ByFile); err != nil {
		return fmt.Errorf("end the sharing of the fact in %s: %w", e.Path, err)
	}
	return nil
}

// share shares a fact with the owners that its file newly lists. It returns [memory.Forbidden] for
// pools and global memory, which only an administrator may share with.
func (v *Vault) share(ctx context.Context, e vaultstore.Edit, target string) error {
	id, ok := strings.CutPrefix(target, "fact:")
	if !ok || e.Content.Fact == nil {
		return nil
	}
	for _, o := range ownersWithout(e.Content.Shared, e.Stored.Shared) {
		if o.Kind() != memory.UserKind {
			return memory.Errorf(memory.Forbidden, "a file cannot share a fact with %s: the administrator shares facts with pools and with everybody, by loci share", o.DisplayName())
		}
		_, err := v.engine.Share.Share(ctx, e.Owner, id, share.Request{Receiver: o.DisplayName()}, files.ByFile)
		if errors.Is(err, memory.Conflict) {
			with, readErr := v.engine.Share.Receivers(ctx, e.Owner, id)
			if readErr != nil {
				return readErr
			}
			if slices.Contains(with, o) { // shared already: the conflict is that the recipient hid the fact
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("share the fact with %s: %w", o.DisplayName(), err)
		}
	}
	return nil
}

// ownersWithout returns the owners in a that are not in b.
func ownersWithout(a, b *[]memory.Owner) []memory.Owner {
	if a == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*a), func(o memory.Owner) bool { return b != nil && slices.Contains(*b, o) })
}
