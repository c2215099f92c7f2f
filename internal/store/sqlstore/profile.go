package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	var entries []memory.ProfileEntry
	err := s.reads.see(ctx, owner, func(v *view) error {
		if !at.AsOf.IsZero() {
			images, err := v.imagesAsOf("profile:", at.AsOf)
			for _, i := range images {
				entries = append(entries, *i.Profile)
			}
			return err
		}
		rows, err := v.query(`SELECT ` + profileColumns + ` FROM profile WHERE owner = ?`)
		entries, err = collect(rows, err, func(row scanner) (memory.ProfileEntry, error) { return scanProfile(owner, row) })
		return wrap("read the profile", err)
	})
	entries = slices.DeleteFunc(entries, func(p memory.ProfileEntry) bool { return p.Status != memory.Active })
	slices.SortFunc(entries, func(a, b memory.ProfileEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries, err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	var relations []memory.Relation
	err := s.reads.see(ctx, owner, func(v *view) error {
		if !at.AsOf.IsZero() {
			images, err := v.imagesAsOf("relation:", at.AsOf)
			for _, i := range images {
				relations = append(relations, *i.Relation)
			}
			return err
		}
		rows, err := v.query(`SELECT `+relationColumns+` FROM relations WHERE owner = ? AND (from_fact = ? OR to_fact = ?)`, fact, fact)
		relations, err = collect(rows, err, func(row scanner) (memory.Relation, error) { return scanRelation(owner, row) })
		return wrap("read relations", err)
	})
	relations = slices.DeleteFunc(relations, func(r memory.Relation) bool {
		return r.Status != memory.Active || r.From != fact && r.To != fact
	})
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	return relations, err
}
