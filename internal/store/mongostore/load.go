package mongostore

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// taker is a document that can be put on a shelf.
type taker[D any] interface {
	*D
	take(*shelf.Shelf)
}

// stream calls do with each document that a filter selects, until that says to stop.
func stream[D any](ctx context.Context, s *Store, in string, filter bson.D, o *options.FindOptionsBuilder, do func(*D) (more bool)) error {
	found, err := s.in(in).Find(ctx, filter, o)
	if err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	defer found.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is read
	for found.Next(ctx) {
		var d D
		if err := found.Decode(&d); err != nil {
			return fmt.Errorf("read %s: %w", in, err)
		}
		if !do(&d) {
			return nil
		}
	}
	if err := found.Err(); err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	return nil
}

// fetch puts the documents that a filter selects on a shelf.
func fetch[D any, P taker[D]](ctx context.Context, s *Store, on *shelf.Shelf, in string, filter bson.D, o *options.FindOptionsBuilder) error {
	return stream(ctx, s, in, filter, o, func(d *D) bool { P(d).take(on); return true })
}

// keysAtOnce is how many documents are asked for by their keys in one request.
const keysAtOnce = 5000

// fetchKeys puts the documents with these keys on a shelf.
func fetchKeys[D any, P taker[D]](ctx context.Context, s *Store, on *shelf.Shelf, in string, keys []string, o *options.FindOptionsBuilder) error {
	for some := range slices.Chunk(keys, keysAtOnce) {
		filter := bson.D{{Key: "_id", Value: anyOf(some)}}
		if len(some) == 1 {
			filter = byID(some[0])
		}
		if err := fetch[D, P](ctx, s, on, in, filter, o); err != nil {
			return err
		}
	}
	return nil
}

func anyOf[T any](values []T) bson.D {
	if values == nil {
		values = []T{} // the server takes no null for a list
	}
	return bson.D{{Key: "$in", Value: values}}
}

func ofOwner(owner memory.Owner, more ...bson.E) bson.D {
	return append(bson.D{{Key: "owner", Value: owner}}, more...)
}

// Of a memory that is not written again its vectors need not be read; of a turn, the list that
// the platform's programs read, never.
var (
	lean       = options.Find().SetProjection(bson.D{{Key: "vectors", Value: 0}, {Key: "embedding", Value: 0}})
	withVector = options.Find().SetProjection(bson.D{{Key: "embedding", Value: 0}})
	whole      = options.Find()
)

// wanted is what a write looks at, by ids.
type wanted struct {
	run           string
	targets       []string // as [memory.Image.Target] has them
	memories      []string // of any kind
	hashes        []string // of live facts
	jobs          []string
	conversations []string
}

func (w *wanted) add(changes []memory.Change) {
	for _, c := range changes {
		w.targets = append(w.targets, c.After.Target())
		if f := c.After.Fact; f != nil && f.Status.Live() {
			w.hashes = append(w.hashes, f.Hash)
		}
	}
}

func (w *wanted) addJobs(all []memory.Job) {
	for _, j := range all {
		w.jobs = append(w.jobs, j.ID)
	}
}

func (w *wanted) addVectors(all []memory.Vector) {
	for _, v := range all {
		w.memories = append(w.memories, v.Memory)
	}
}

// want puts what is wanted on a shelf.
func (s *Store) want(ctx context.Context, owner memory.Owner, on *shelf.Shelf, w wanted) error {
	if w.run != "" {
		if err := fetchKeys[runDoc](ctx, s, on, runs, keysOf(owner, "run", []string{w.run}), whole); err != nil {
			return err
		}
	}
	keys := map[string][]string{}
	for _, target := range w.targets {
		kind := kindOf(target)
		keys[kind] = append(keys[kind], keyOf(owner, target))
	}
	for _, kind := range []string{"fact", "link", "turn", "summary"} {
		keys[kind] = append(keys[kind], keysOf(owner, kind, w.memories)...)
	}
	keys["conversation"] = append(keys["conversation"], keysOf(owner, "conversation", w.conversations)...)
	for _, read := range []func() error{
		func() error { return fetchKeys[factDoc](ctx, s, on, facts, keys["fact"], whole) },
		func() error { return fetchKeys[linkDoc](ctx, s, on, links, keys["link"], whole) },
		func() error { return fetchKeys[turnDoc](ctx, s, on, turns, keys["turn"], withVector) },
		func() error { return fetchKeys[summaryDoc](ctx, s, on, summaries, keys["summary"], whole) },
		func() error { return fetchKeys[profileDoc](ctx, s, on, profile, keys["profile"], whole) },
		func() error { return fetchKeys[relationDoc](ctx, s, on, relations, keys["relation"], whole) },
		func() error { return fetchKeys[contextDoc](ctx, s, on, contexts, keys["context"], whole) },
		func() error {
			return fetchKeys[conversationDoc](ctx, s, on, conversations, keys["conversation"], whole)
		},
		func() error { return fetchKeys[jobDoc](ctx, s, on, jobs, keysOf(owner, "job", w.jobs), whole) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(w.hashes, keysAtOnce) {
		if err := fetch[factDoc](ctx, s, on, facts, ofOwner(owner, bson.E{Key: "live", Value: anyOf(some)}), whole); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(target string) string {
	for i := range target {
		if target[i] == ':' {
			return target[:i]
		}
	}
	return target
}

// changesAfter puts the journal since a time on a shelf, in order.
func (s *Store) changesAfter(ctx context.Context, owner memory.Owner, on *shelf.Shelf, at memory.At) error {
	if at.AsOf.IsZero() {
		return nil
	}
	return fetch[changeDoc](ctx, s, on, journal, ofOwner(owner, bson.E{Key: "at", Value: bson.D{{Key: "$gt", Value: at.AsOf}}}), inOrder)
}

var inOrder = options.Find().SetSort(bson.D{{Key: "version", Value: 1}, {Key: "ordinal", Value: 1}})
