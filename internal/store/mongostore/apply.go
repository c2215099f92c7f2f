package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Apply is the one door: see [memory.Facts].
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	w := wanted{run: run.ID, memories: slices.Clone(run.Learned)}
	w.add(changes)
	w.addVectors(run.Vectors)
	w.addJobs(run.Jobs)
	if run.Lease != nil {
		w.jobs = append(w.jobs, run.Lease.Job)
	}
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if run.Check(owner, changes...) != nil { // unless it was applied before
			return s.want(ctx, owner, on, wanted{run: run.ID})
		}
		return s.want(ctx, owner, on, w)
	}
	var receipt memory.Receipt
	err := s.write(ctx, owner, from, func(draft *shelf.Shelf) (err error) {
		receipt, err = draft.Apply(owner, run, changes, s.now())
		return err
	})
	if err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		s.sweepDone(ctx, owner, run.Lease.Job)
	}
	return receipt, nil
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
			onPath := ofOwner(owner, bson.E{Key: "session_id", Value: b.Conversation.ID}, bson.E{Key: "message_index", Value: bson.D{{Key: "$gte", Value: b.Path.From - 1}}})
			if err := fetch[turnDoc](ctx, s, on, turns, onPath, withVector); err != nil {
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
	if err != nil {
		return memory.Receipt{}, err
	}
	return receipt, nil
}

// Erase removes words for good from all that the database can be asked for: see [memory.Eraser].
// The server's own files, its log of operations and its backups are its keeper's.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	var receipt memory.Receipt
	from := func(ctx context.Context, on *shelf.Shelf) error { return s.wantErased(ctx, owner, on, run, ids) }
	err := s.write(ctx, owner, from, func(draft *shelf.Shelf) (err error) {
		receipt, err = draft.Erase(owner, run, ids, s.now())
		return err
	})
	if err != nil {
		return memory.Receipt{}, err
	}
	if receipt.Changes > 0 {
		gone := ofOwner(owner)
		if receipt.Again {
			gone = ofOwner(owner, bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: receipt.At}}})
		}
		if _, err := s.in(traces).DeleteMany(ctx, gone); err != nil {
			return memory.Receipt{}, s.told(err)
		}
	}
	return receipt, nil
}

// wantErased puts what an erasure looks at on a shelf: the things, what quotes them, and what a
// model said of any.
func (s *Store) wantErased(ctx context.Context, owner memory.Owner, on *shelf.Shelf, run memory.Run, ids []string) error {
	w := wanted{run: run.ID, memories: ids, conversations: ids}
	w.addJobs(run.Jobs)
	for _, id := range ids {
		w.targets = append(w.targets, "context:"+id, "profile:"+id)
	}
	if err := s.want(ctx, owner, on, w); err != nil {
		return err
	}
	about := slices.Clone(ids)
	for _, kind := range []string{"fact", "link", "turn", "summary", "context", "conversation"} {
		for _, id := range ids {
			about = append(about, kind+":"+id)
		}
	}
	about = append(about, keysOf("", "profile", ids)...)
	var said []string // conversations, whose titles may be of a turn's words
	for _, t := range on.Turns {
		if !slices.Contains(said, t.Conversation) {
			said = append(said, t.Conversation)
			about = append(about, "conversation:"+t.Conversation)
		}
	}
	if err := s.want(ctx, owner, on, wanted{conversations: said}); err != nil {
		return err
	}
	if err := fetch[jobDoc](ctx, s, on, jobs, ofOwner(owner, bson.E{Key: "error", Value: bson.D{{Key: "$exists", Value: true}}}), whole); err != nil {
		return err
	}
	entries := map[string]memory.Change{}
	take := func(d *changeDoc) bool { entries[d.Change.ID] = memory.Change(d.Change); return true }
	for some := range slices.Chunk(about, keysAtOnce) {
		of := bson.A{bson.D{{Key: "target", Value: anyOf(some)}}, bson.D{{Key: "old_id", Value: anyOf(some)}}, bson.D{{Key: "new_id", Value: anyOf(some)}}}
		if err := stream(ctx, s, journal, ofOwner(owner, bson.E{Key: "$or", Value: of}), whole, take); err != nil {
			return err
		}
	}
	byModel := ofOwner(owner, bson.E{Key: "author.kind", Value: memory.ByModel}, bson.E{Key: "reason", Value: bson.D{{Key: "$exists", Value: true}}})
	if err := stream(ctx, s, journal, byModel, whole, take); err != nil {
		return err
	}
	for _, c := range entries {
		on.Journal = append(on.Journal, c)
	}
	slices.SortFunc(on.Journal, shelf.ByPlace)
	return nil
}

// Bury lets turns be known again: see [memory.Tombstones].
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		var ids []string
		for _, t := range turns {
			ids = append(ids, t.ID)
		}
		return fetchKeys[tombDoc](ctx, s, on, tombstones, keysOf(owner, "tomb", ids), whole)
	}
	return s.write(ctx, owner, from, func(draft *shelf.Shelf) error { draft.Bury(turns...); return nil })
}

// Buried looks for turns of the same words that are out of recall: see [memory.Tombstones].
func (s *Store) Buried(ctx context.Context, owner memory.Owner, said ...memory.Turn) (out []bool, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		var marks, ids []string
		for _, t := range said {
			marks = append(marks, on.Tombstone(t))
		}
		for some := range slices.Chunk(marks, keysAtOnce) {
			if err := fetch[tombDoc](ctx, s, on, tombstones, ofOwner(owner, bson.E{Key: "mark", Value: anyOf(some)}), whole); err != nil {
				return err
			}
		}
		for id := range on.Tombs {
			ids = append(ids, id)
		}
		return fetchKeys[turnDoc](ctx, s, on, turns, keysOf(owner, "turn", ids), lean)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at.Buried(said...); return nil })
	return out, err
}
