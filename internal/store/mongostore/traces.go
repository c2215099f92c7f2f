package mongostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

type traceDoc struct {
	DocID        string       `bson:"_id"`
	Owner        memory.Owner `bson:"owner"`
	ID           string       `bson:"id"`
	At           time.Time    `bson:"at"`
	Conversation string       `bson:"session_id"`
	Door         string       `bson:"door"`  // entry point of the request: "chat", "search", …
	ShownFacts   []string     `bson:"shown"` // keys of the other owners' facts in the trace: see shownFactKey
	Size         int          `bson:"size"`  // number of bytes of Data
	Data         []byte       `bson:"data"`  // the trace as JSON
}

// shownFactKey returns the entry in traceDoc.ShownFacts for a fact that a trace shows.
func shownFactKey(namespace, fact string) string { return namespace + " " + fact }

// SaveTraces writes traces: see [memory.Traces].
func (s *Store) SaveTraces(ctx context.Context, maxTraces int, traces ...memory.Trace) error {
	for _, t := range traces {
		if err := checkOwner(ctx, t.Owner); err != nil {
			return err
		}
	}
	of := map[memory.Owner]bool{}
	for _, t := range traces {
		of[t.Owner] = true
		if err := s.saveTrace(ctx, t); err != nil {
			return s.translate(err)
		}
	}
	for owner := range of {
		if err := s.evictTraces(ctx, owner, maxTraces); err != nil {
			return s.translate(err)
		}
	}
	return ctx.Err()
}

// saveTrace writes a trace, and then removes it if a memory that it shows was erased already. An
// erasure that comes later finds the trace and removes it.
func (s *Store) saveTrace(ctx context.Context, t memory.Trace) error {
	data, err := json.Marshal(t)
	if err != nil {
		return memory.Errorf(memory.Invalid, "trace %s: %w", t.ID, err)
	}
	d := traceDoc{
		DocID: docID(t.Owner, "trace:"+t.ID), Owner: t.Owner, ID: t.ID, At: memory.Time(t.At), Conversation: t.Conversation, Door: t.Door, Size: len(data), Data: data,
	}
	shown := t.OtherOwnersFacts()
	for _, facts := range shown {
		for _, id := range facts {
			d.ShownFacts = append(d.ShownFacts, shownFactKey(t.Owner.Namespace(), id))
		}
	}
	if _, err := s.collection(traces).ReplaceOne(ctx, idFilter(d.DocID), d, options.Replace().SetUpsert(true)); err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("save a trace: %w", err)
	}
	h, err := s.lastCommit(ctx, t.Owner)
	if err != nil {
		return err
	}
	erased := t.At.Before(h.ErasedAt)
	for owner, facts := range shown {
		if erased {
			break
		}
		loadData := func(ctx context.Context, loaded *ownerdata.Data) error {
			return s.fetchNeeded(ctx, owner, loaded, neededIDs{memoryIDs: facts})
		}
		if err := s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { erased = snapshot.HasErasedFact(facts); return nil }); err != nil {
			return err
		}
	}
	if erased {
		_, err = s.collection(traces).DeleteOne(ctx, idFilter(d.DocID))
	}
	return err
}

// evictTraces removes the oldest traces until at most maxTraces traces and TraceBytes bytes remain.
func (s *Store) evictTraces(ctx context.Context, owner memory.Owner, maxTraces int) error {
	var bytes int64
	var n int
	var surplus []string
	sizes := options.Find().SetSort(sortKeys("-at -id")).SetProjection(bson.M{"size": 1})
	err := forEach(ctx, s, traces, ownerFilter(owner), sizes, func(d *traceDoc) bool {
		n, bytes = n+1, bytes+int64(d.Size)
		if n > maxTraces || s.options.TraceBytes > 0 && bytes > s.options.TraceBytes {
			surplus = append(surplus, d.DocID)
		}
		return true
	})
	if err != nil || len(surplus) == 0 {
		return err
	}
	_, err = s.collection(traces).DeleteMany(ctx, bson.M{"_id": anyOf(surplus)})
	return err
}

// Trace returns a trace: see [memory.Traces].
func (s *Store) Trace(ctx context.Context, owner memory.Owner, id string) (t memory.Trace, err error) {
	if err := checkOwner(ctx, owner); err != nil {
		return t, err
	}
	var d traceDoc
	err = s.collection(traces).FindOne(ctx, idFilter(docID(owner, "trace:"+id))).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return t, memory.Errorf(memory.NotFound, "there is no trace %s", id)
	}
	if err != nil {
		return t, s.translate(err)
	}
	return d.trace()
}

func (d *traceDoc) trace() (t memory.Trace, err error) {
	if err := json.Unmarshal(d.Data, &t); err != nil {
		return t, fmt.Errorf("read trace %s: %w", d.ID, err)
	}
	t.At = d.At
	return t, nil
}

// Traces returns the traces that match: see [memory.Traces].
func (s *Store) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) (out []memory.Trace, err error) {
	if err := checkOwner(ctx, owner); err != nil {
		return nil, err
	}
	filter := ownerFilter(owner)
	addNonEmpty(filter, map[string]string{"session_id": q.Conversation, "door": q.Door})
	newest := options.Find().SetSort(sortKeys("-at -id")).SetLimit(int64(ownerdata.PageSize(q.Limit)))
	var failed error
	err = forEach(ctx, s, traces, filter, newest, func(d *traceDoc) bool {
		t, err := d.trace()
		out, failed = append(out, t), errors.Join(failed, err)
		return true
	})
	return out, errors.Join(s.translate(err), failed)
}

// EraseTraces removes all traces of an owner: see [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	if err := checkOwner(ctx, owner); err != nil {
		return 0, err
	}
	return s.removeTraces(ctx, ownerFilter(owner))
}

// EraseTracesOf removes the traces that show one of the facts: see [memory.Eraser].
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	shown := make([]string, len(facts))
	for i, id := range facts {
		shown[i] = shownFactKey(namespace, id)
	}
	return s.removeTraces(ctx, bson.M{"shown": anyOf(shown)})
}

func (s *Store) removeTraces(ctx context.Context, filter bson.M) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	result, err := s.collection(traces).DeleteMany(ctx, filter)
	if err != nil {
		return 0, s.translate(err)
	}
	return int(result.DeletedCount), nil
}
