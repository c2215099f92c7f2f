package mongostore

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Everyone returns every owner with data, in order. API keys belong to a namespace's global owner.
func (s *Store) Everyone(ctx context.Context) ([]memory.Owner, error) {
	of := map[memory.Owner]bool{}
	err := stream(ctx, s, commits, bson.M{}, options.Find().SetProjection(bson.M{"owner": 1}), func(h *head) bool { of[h.Owner] = true; return true })
	for _, in := range []string{ledger, traces, audit} {
		only := options.Find().SetProjection(bson.M{"owner": 1})
		err = cmp.Or(err, stream(ctx, s, in, bson.M{}, only, func(d *traceDoc) bool { of[d.Owner] = true; return true }))
	}
	err = cmp.Or(err, stream(ctx, s, apiKeys, bson.M{}, whole, func(d *keyDoc) bool { of[memory.Global(d.Namespace)] = true; return true }))
	var all []memory.Owner
	for o := range of {
		all = append(all, o)
	}
	slices.Sort(all)
	return all, s.translate(err)
}

// Carry returns all of an owner's data.
func (s *Store) Carry(ctx context.Context, owner memory.Owner) (out *shelf.Shelf, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return s.fetch(ctx, on, ofOwner(owner), whole, slices.Collect(maps.Keys(takers))...)
	}
	if err := s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at; return nil }); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Journal, shelf.ByPlace)
	for id := range out.Tombs { // remove the tombstones of restored turns
		if t, kept := out.Turns[id]; kept && t.Status != memory.Retired {
			delete(out.Tombs, id)
		}
	}
	var failed error
	err = stream(ctx, s, traces, ofOwner(owner), whole, func(d *traceDoc) bool {
		t, err := d.trace()
		out.Traces[t.ID], failed = t, cmp.Or(failed, err)
		return true
	})
	if err := cmp.Or(failed, s.translate(err)); err != nil {
		return nil, err
	}
	if owner.Kind() == memory.GlobalKind {
		if out.Keys, err = s.Keys(ctx, owner.Namespace()); err != nil {
			return nil, err
		}
		if out.SignIns, err = s.signIns(ctx, owner.Namespace()); err != nil {
			return nil, err
		}
		record := options.Find().SetSort(keys("at id"))
		if err = stream(ctx, s, audit, ofOwner(owner), record, func(d *auditDoc) bool { out.Audit = append(out.Audit, d.Entry); return true }); err != nil {
			return nil, s.translate(err)
		}
	}
	out.Spent, err = s.Spent(ctx, owner, time.Time{})
	return out, err
}

// Put replaces all of an owner's data.
func (s *Store) Put(ctx context.Context, owner memory.Owner, from *shelf.Shelf) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	for _, in := range append(slices.Collect(maps.Keys(takers)), traces, ledger, audit, parts, commits) {
		if _, err := s.in(in).DeleteMany(ctx, ofOwner(owner)); err != nil {
			return s.translate(err)
		}
	}
	if owner.Kind() == memory.GlobalKind {
		for _, in := range []string{apiKeys, signIns} {
			if _, err := s.in(in).DeleteMany(ctx, inNamespace(owner.Namespace())); err != nil {
				return s.translate(err)
			}
		}
	}
	ops, err := diff(owner, 1, new(shelf.Shelf).Clone(), from)
	if err != nil {
		return err
	}
	next := head{Owner: owner, Seq: 1, Version: from.Version, Clock: from.At, Horizon: from.Horizon, Erased: from.Erased, Secret: from.Secret}
	done, err := s.commit(ctx, head{Owner: owner}, next, ops)
	if err != nil || !done {
		return cmp.Or(s.translate(err), memory.Errorf(memory.Conflict, "another server writes to the database; stop all servers first"))
	}
	for _, u := range from.Spent {
		if err := s.Spend(ctx, owner, u); err != nil {
			return err
		}
	}
	for _, t := range from.Traces {
		if err := s.SaveTraces(ctx, math.MaxInt32, t); err != nil {
			return err
		}
	}
	for _, k := range from.Keys {
		if err := s.AddKey(ctx, owner.Namespace(), k); err != nil {
			return err
		}
	}
	if err := s.Note(ctx, owner.Namespace(), from.Audit...); err != nil {
		return err
	}
	for _, one := range from.SignIns {
		if _, err := s.in(signIns).InsertOne(ctx, signInDocOf(owner.Namespace(), one)); err != nil {
			return s.translate(err)
		}
	}
	return nil
}

// Copying returns the source of an unfinished copy into this database, or "".
func (s *Store) Copying(ctx context.Context) (string, error) {
	var is aboutDoc
	err := s.in(about).FindOne(ctx, byID(aboutID)).Decode(&is)
	return is.Copying, s.translate(err)
}

// SetCopying records the source when a copy into the database starts, and "" when it ends.
func (s *Store) SetCopying(ctx context.Context, source string) error {
	_, err := s.in(about).UpdateOne(ctx, byID(aboutID), bson.M{"$set": bson.M{"copying": source}})
	return s.translate(err)
}
