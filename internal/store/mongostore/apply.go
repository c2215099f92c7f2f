package mongostore

import (
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Apply makes the changes of a run: see [memory.Facts].
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	w := wanted{run: run.ID, memories: slices.Clone(run.Learned)}
	w.add(changes)
	w.addVectors(run.Vectors)
	w.addJobs(run.Jobs)
	if run.Lease != nil {
		w.jobs = append(w.jobs, run.Lease.Job)
	}
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if run.Check(owner, changes...) != nil { // an invalid run may have been applied before
			return s.want(ctx, owner, on, wanted{run: run.ID})
		}
		return s.want(ctx, owner, on, w)
	}
	var receipt memory.Receipt
	err := s.write(ctx, owner, from, func(draft *shelf.Shelf) (err error) {
		receipt, err = draft.Apply(owner, run, changes, s.now())
		return err
	})
	if err == nil && run.Lease != nil {
		s.sweepDone(ctx, owner, run.Lease.Job)
	}
	return receipt, err
}

// Append writes a batch: see [memory.Log].
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	w := wanted{run: b.Run, conversations: []string{b.Conversation.ID}}
	for _, t := range b.Turns {
		w.targets = append(w.targets, "turn:"+t.ID)
	}
	w.add(b.Marks)
	w.addVectors(b.Vectors)
	w.addJobs(b.Jobs)
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if b.Check(owner) != nil {
			return nil
		}
		if b.Path != nil {
			onPath := bson.M{"owner": owner, "session_id": b.Conversation.ID, "message_index": bson.M{"$gte": b.Path.From - 1}}
			if err := s.fetch(ctx, on, onPath, whole, turns); err != nil {
				return err
			}
		}
		return s.want(ctx, owner, on, w)
	}
	var receipt memory.Receipt
	err := s.write(ctx, owner, from, func(draft *shelf.Shelf) (err error) {
		receipt, err = draft.Append(owner, b, s.now())
		return err
	})
	return receipt, err
}

// Erase removes text permanently from everything that queries can return: see [memory.Eraser]. The
// operator is responsible for the server's files, oplog and backups.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	var receipt memory.Receipt
	from := func(ctx context.Context, on *shelf.Shelf) error { return s.wantErased(ctx, owner, on, run, ids) }
	err := s.write(ctx, owner, from, func(draft *shelf.Shelf) (err error) {
		receipt, err = draft.Erase(owner, run, ids, s.now())
		return err
	})
	if err == nil && receipt.Changes > 0 {
		gone := ofOwner(owner)
		if receipt.Again {
			gone["at"] = bson.M{"$lt": receipt.At}
		}
		_, err = s.in(traces).DeleteMany(ctx, gone)
	}
	return receipt, s.translate(err)
}

// fetchErased loads the data for an erasure: the erased memories, conversations, journal entries and
// jobs that may quote them, and all reasons that models gave.
func (s *Store) wantErased(ctx context.Context, owner memory.Owner, on *shelf.Shelf, run memory.Run, ids []string) error {
	w := wanted{run: run.ID, memories: ids, conversations: ids}
	w.addJobs(run.Jobs)
	for _, id := range ids {
		w.targets = append(w.targets, "context:"+id, "profile:"+id)
	}
	if err := s.want(ctx, owner, on, w); err != nil {
		return err
	}
	entries := append(keysOf("", "profile", ids), ids...)
	for _, kind := range []string{"fact", "link", "turn", "summary", "context", "conversation"} {
		for _, id := range ids {
			entries = append(entries, kind+":"+id)
		}
	}
	var titled []string // conversations whose titles may quote a turn
	for _, t := range on.Turns {
		if !slices.Contains(titled, t.Conversation) {
			titled = append(titled, t.Conversation)
			entries = append(entries, "conversation:"+t.Conversation)
		}
	}
	if err := s.want(ctx, owner, on, wanted{conversations: titled}); err != nil {
		return err
	}
	if err := s.fetch(ctx, on, bson.M{"owner": owner, "error": bson.M{"$exists": true}}, whole, jobs); err != nil {
		return err
	}
	for some := range slices.Chunk(entries, keysAtOnce) {
		if err := s.fetch(ctx, on, bson.M{"owner": owner, "$or": entriesOf(some...)}, whole, journal); err != nil {
			return err
		}
	}
	byModel := bson.M{"owner": owner, "author.kind": memory.ByModel, "reason": bson.M{"$exists": true}}
	err := s.fetch(ctx, on, byModel, whole, journal)
	slices.SortFunc(on.Journal, shelf.ByPlace)
	on.Journal = slices.CompactFunc(on.Journal, func(a, b memory.Change) bool { return a.ID == b.ID })
	return err
}

// Bury records turns, so that Buried recognizes them: see [memory.Tombstones].
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		var ids []string
		for _, t := range turns {
			ids = append(ids, t.ID)
		}
		return s.fetchIDs(ctx, owner, on, whole, ids, "tomb")
	}
	return s.write(ctx, owner, from, func(draft *shelf.Shelf) error { draft.Bury(turns...); return nil })
}

// Buried reports which turns have the same text as a buried turn: see [memory.Tombstones].
func (s *Store) Buried(ctx context.Context, owner memory.Owner, list ...memory.Turn) (out []bool, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		var marks []string
		for _, t := range list {
			marks = append(marks, on.Tombstone(t))
		}
		for some := range slices.Chunk(marks, keysAtOnce) {
			if err := s.fetch(ctx, on, bson.M{"owner": owner, "mark": anyOf(some)}, whole, tombstones); err != nil {
				return err
			}
		}
		return s.fetchIDs(ctx, owner, on, lean, slices.Collect(maps.Keys(on.Tombs)), "turn")
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at.Buried(list...); return nil })
	return out, err
}
