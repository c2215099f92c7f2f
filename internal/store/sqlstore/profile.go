package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	var entries []memory.ProfileEntry
	see := s.reads.see
	if at.AsOf.IsZero() {
		see = s.reads.look
	}
	err := see(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT ` + profileColumns + ` FROM profile WHERE owner = ?`)
		entries, err = collect(rows, err, func(row scanner) (memory.ProfileEntry, error) { return scanProfile(owner, row) })
		if err != nil {
			return fmt.Errorf("read the profile: %w", err)
		}
		if at.AsOf.IsZero() {
			return nil
		}
		p, err := v.past(at.AsOf)
		entries = asOf(entries, p, profileTarget, func(i memory.Image) (memory.ProfileEntry, bool) {
			return deref(i.Profile), i.Profile != nil
		})
		return err
	})
	entries = slices.DeleteFunc(entries, func(e memory.ProfileEntry) bool { return e.Status != memory.Active })
	slices.SortFunc(entries, func(a, b memory.ProfileEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries, err
}

func profileTarget(e memory.ProfileEntry) string { return memory.Image{Profile: &e}.Target() }

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	var relations []memory.Relation
	err := s.reads.see(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT `+relationColumns+` FROM relations WHERE owner = ? AND (from_fact = ? OR to_fact = ?)`, fact, fact)
		relations, err = collect(rows, err, func(row scanner) (memory.Relation, error) { return scanRelation(owner, row) })
		if err != nil {
			return fmt.Errorf("read relations: %w", err)
		}
		if at.AsOf.IsZero() {
			return nil
		}
		p, err := v.past(at.AsOf)
		relations = asOf(relations, p, relationTarget, func(i memory.Image) (memory.Relation, bool) {
			return deref(i.Relation), i.Relation != nil && (i.Relation.From == fact || i.Relation.To == fact)
		})
		return err
	})
	relations = slices.DeleteFunc(relations, func(r memory.Relation) bool { return r.Status != memory.Active })
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	return relations, err
}

func relationTarget(r memory.Relation) string { return memory.Image{Relation: &r}.Target() }

// deref is the zero value for nil.
func deref[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}
