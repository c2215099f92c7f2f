package mongostore

import (
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Apply makes the changes of a run: see [memory.Facts].
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	needed := neededIDs{runID: run.ID, memoryIDs: slices.Clone(run.Learned)}
	needed.addChanges(changes)
	needed.addVectors(run.Vectors)
	needed.addJobs(run.Jobs)
	if run.Lease != nil {
		needed.jobIDs = append(needed.jobIDs, run.Lease.Job)
	}
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		if run.Check(owner, changes...) != nil { // an invalid run needs no data except the record of an applied run with its id
			return s.fetchNeeded(ctx, owner, data, neededIDs{runID: run.ID})
		}
		return s.fetchNeeded(ctx, owner, data, needed)
	}
	var receipt memory.Receipt
	err := s.write(ctx, owner, loadData, func(changed *ownerdata.Data) (err error) {
		receipt, err = changed.Apply(owner, run, changes, s.now())
		return err
	})
	if err == nil && run.Lease != nil {
		s.removeOldJobs(ctx, owner, run.Lease.Job)
	}
	return receipt, err
}

// Append writes a batch: see [memory.TurnLog].
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	needed := neededIDs{runID: b.Run, conversationIDs: []string{b.Conversation.ID}}
	for _, t := range b.Turns {
		needed.targets = append(needed.targets, "turn:"+t.ID)
	}
	needed.addChanges(b.Changes)
	needed.addVectors(b.Vectors)
	needed.addJobs(b.Jobs)
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		if b.Check(owner) != nil {
			return nil
		}
		if b.Path != nil {
			onPath := bson.M{"owner": owner, "session_id": b.Conversation.ID, "message_index": bson.M{"$gte": b.Path.From - 1}}
			if err := s.fetch(ctx, data, onPath, withVectors, turns); err != nil {
				return err
			}
		}
		return s.fetchNeeded(ctx, owner, data, needed)
	}
	var receipt memory.Receipt
	err := s.write(ctx, owner, loadData, func(changed *ownerdata.Data) (err error) {
		receipt, err = changed.Append(owner, b, s.now())
		return err
	})
	return receipt, err
}

// Erase removes text permanently from everything that queries can return: see [memory.Eraser]. The
// operator is responsible for the server's files, oplog and backups.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	var receipt memory.Receipt
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return s.fetchForErasure(ctx, owner, data, run, ids)
	}
	err := s.write(ctx, owner, loadData, func(changed *ownerdata.Data) (err error) {
		receipt, err = changed.Erase(owner, run, ids, s.now())
		return err
	})
	if err == nil && receipt.Changes > 0 {
		filter := ownerFilter(owner)
		if receipt.Again {
			filter["at"] = bson.M{"$lt": receipt.At}
		}
		_, err = s.collection(traces).DeleteMany(ctx, filter)
	}
	return receipt, s.translate(err)
}

// fetchForErasure loads the data for an erasure: the memories to erase; the conversations, journal entries and
// jobs that may quote one of them; and all changes with a model's reason, which may quote any memory.
func (s *Store) fetchForErasure(ctx context.Context, owner memory.Owner, data *ownerdata.Data, run memory.Run, ids []string) error {
	needed := neededIDs{runID: run.ID, memoryIDs: ids, conversationIDs: ids}
	needed.addJobs(run.Jobs)
	for _, id := range ids {
		needed.targets = append(needed.targets, "context:"+id, "profile:"+id)
	}
	if err := s.fetchNeeded(ctx, owner, data, needed); err != nil {
		return err
	}
	entries := append(docIDs("", "profile", ids), ids...)
	for _, kind := range []string{"fact", "link", "turn", "summary", "context", "conversation"} {
		for _, id := range ids {
			entries = append(entries, kind+":"+id)
		}
	}
	var conversationIDs []string // conversations whose titles may quote a turn
	for _, t := range data.Turns {
		if !slices.Contains(conversationIDs, t.Conversation) {
			conversationIDs = append(conversationIDs, t.Conversation)
			entries = append(entries, "conversation:"+t.Conversation)
		}
	}
	if err := s.fetchNeeded(ctx, owner, data, neededIDs{conversationIDs: conversationIDs}); err != nil {
		return err
	}
	if err := s.fetch(ctx, data, bson.M{"owner": owner, "error": bson.M{"$exists": true}}, withVectors, jobs); err != nil {
		return err
	}
	for chunk := range slices.Chunk(entries, maxKeys) {
		if err := s.fetch(ctx, data, bson.M{"owner": owner, "$or": entryFilter(chunk...)}, withVectors, journal); err != nil {
			return err
		}
	}
	byModel := bson.M{"owner": owner, "author.kind": memory.ByModel, "reason": bson.M{"$exists": true}}
	err := s.fetch(ctx, data, byModel, withVectors, journal)
	slices.SortFunc(data.Journal, ownerdata.CompareChanges)
	data.Journal = slices.CompactFunc(data.Journal, func(a, b memory.Change) bool { return a.ID == b.ID })
	return err
}

// AddTombstones records turns, so that HasTombstones recognizes their text: see [memory.Tombstones].
func (s *Store) AddTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		var ids []string
		for _, t := range turns {
			ids = append(ids, t.ID)
		}
		return s.fetchIDs(ctx, owner, data, withVectors, ids, "tomb")
	}
	return s.write(ctx, owner, loadData, func(changed *ownerdata.Data) error { changed.AddTombstones(turns...); return nil })
}

// HasTombstones reports which turns have the text of a turn with a tombstone: see [memory.Tombstones].
func (s *Store) HasTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) (out []bool, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		var marks []string
		for _, t := range turns {
			marks = append(marks, data.Tombstone(t))
		}
		for chunk := range slices.Chunk(marks, maxKeys) {
			if err := s.fetch(ctx, data, bson.M{"owner": owner, "mark": anyOf(chunk)}, withVectors, tombstones); err != nil {
				return err
			}
		}
		return s.fetchIDs(ctx, owner, data, withoutVectors, slices.Collect(maps.Keys(data.Tombstones)), "turn")
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { out = snapshot.HasTombstones(turns...); return nil })
	return out, err
}
