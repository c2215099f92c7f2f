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

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// AllOwners returns every owner with data, sorted. API keys count as data of their namespace's global owner.
func (s *Store) AllOwners(ctx context.Context) ([]memory.Owner, error) {
	owners := map[memory.Owner]bool{}
	err := forEach(ctx, s, commits, bson.M{}, options.Find().SetProjection(bson.M{"owner": 1}), func(h *commitDoc) bool { owners[h.Owner] = true; return true })
	for _, collection := range []string{ledger, traces, audit} {
		only := options.Find().SetProjection(bson.M{"owner": 1})
		err = cmp.Or(err, forEach(ctx, s, collection, bson.M{}, only, func(d *traceDoc) bool { owners[d.Owner] = true; return true }))
	}
	err = cmp.Or(err, forEach(ctx, s, apiKeys, bson.M{}, withVectors, func(d *keyDoc) bool { owners[memory.Global(d.Namespace)] = true; return true }))
	var sorted []memory.Owner
	for o := range owners {
		sorted = append(sorted, o)
	}
	slices.Sort(sorted)
	return sorted, s.translate(err)
}

// ReadOwner returns all of an owner's data.
func (s *Store) ReadOwner(ctx context.Context, owner memory.Owner) (out *ownerdata.Data, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return s.fetch(ctx, data, ownerFilter(owner), withVectors, slices.Collect(maps.Keys(decoders))...)
	}
	if err := s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { out = snapshot; return nil }); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Journal, ownerdata.CompareChanges)
	for id := range out.Tombstones { // remove the tombstones of restored turns
		if t, restored := out.Turns[id]; restored && t.Status != memory.Retired {
			delete(out.Tombstones, id)
		}
	}
	var failed error
	err = forEach(ctx, s, traces, ownerFilter(owner), withVectors, func(d *traceDoc) bool {
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
		if out.Sessions, err = s.signIns(ctx, owner.Namespace()); err != nil {
			return nil, err
		}
		record := options.Find().SetSort(sortKeys("at id"))
		if err = forEach(ctx, s, audit, ownerFilter(owner), record, func(d *auditDoc) bool { out.Audit = append(out.Audit, d.Entry); return true }); err != nil {
			return nil, s.translate(err)
		}
	}
	out.Usage, err = s.UsageSince(ctx, owner, time.Time{})
	return out, err
}

// WriteOwner replaces all of an owner's data.
func (s *Store) WriteOwner(ctx context.Context, owner memory.Owner, data *ownerdata.Data) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	for _, collection := range append(slices.Collect(maps.Keys(decoders)), traces, ledger, audit, parts, commits) {
		if _, err := s.collection(collection).DeleteMany(ctx, ownerFilter(owner)); err != nil {
			return s.translate(err)
		}
	}
	if owner.Kind() == memory.GlobalKind {
		for _, collection := range []string{apiKeys, signIns} {
			if _, err := s.collection(collection).DeleteMany(ctx, namespaceFilter(owner.Namespace())); err != nil {
				return s.translate(err)
			}
		}
	}
	ops, err := changedDocs(owner, 1, new(ownerdata.Data).Clone(), data)
	if err != nil {
		return err
	}
	next := commitDoc{Owner: owner, Seq: 1, Version: data.Version, LastWrite: data.LastWrite, OldestVersion: data.OldestVersion, ErasedAt: data.ErasedAt, TombstoneKey: data.TombstoneKey}
	done, err := s.commit(ctx, commitDoc{Owner: owner}, next, ops)
	if err != nil || !done {
		return cmp.Or(s.translate(err), memory.Errorf(memory.Conflict, "another server writes to the database; stop all servers first"))
	}
	for _, u := range data.Usage {
		if err := s.AddUsage(ctx, owner, u); err != nil {
			return err
		}
	}
	for _, t := range data.Traces {
		if err := s.SaveTraces(ctx, math.MaxInt32, t); err != nil {
			return err
		}
	}
	for _, k := range data.Keys {
		if err := s.AddKey(ctx, owner.Namespace(), k); err != nil {
			return err
		}
	}
	if err := s.AddAuditEntries(ctx, owner.Namespace(), data.Audit...); err != nil {
		return err
	}
	for _, session := range data.Sessions {
		if _, err := s.collection(signIns).InsertOne(ctx, signInDocOf(owner.Namespace(), session)); err != nil {
			return s.translate(err)
		}
	}
	return nil
}

// CopySource returns the source of an unfinished copy into this database, or "".
func (s *Store) CopySource(ctx context.Context) (string, error) {
	var doc aboutDoc
	err := s.collection(about).FindOne(ctx, idFilter(aboutID)).Decode(&doc)
	return doc.CopySource, s.translate(err)
}

// SetCopySource records the source when a copy into the database starts, and "" when it ends.
func (s *Store) SetCopySource(ctx context.Context, source string) error {
	_, err := s.collection(about).UpdateOne(ctx, idFilter(aboutID), bson.M{"$set": bson.M{"copying": source}})
	return s.translate(err)
}
