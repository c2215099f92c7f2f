package mongostore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// decoders maps collections to functions that add a document to an owner's data.
var takers = map[string]func(*mongo.Cursor, *shelf.Shelf) error{
	facts: take[factDoc], links: take[linkDoc], turns: take[turnDoc], summaries: take[summaryDoc], profile: take[profileDoc], relations: take[relationDoc],
	contexts: take[contextDoc], conversations: take[conversationDoc], jobs: take[jobDoc], journal: take[changeDoc], runs: take[runDoc], tombstones: take[tombDoc],
}

func take[D any, P interface {
	*D
	take(*shelf.Shelf)
}](at *mongo.Cursor, on *shelf.Shelf) error {
	var d D
	err := at.Decode(&d)
	if err == nil {
		P(&d).take(on)
	}
	return err
}

// memoryCollections lists the collections of searchable memories. collectionOf maps kinds of
// targets to collections.
var (
	memories     = []string{facts, links, summaries, turns}
	collectionOf = map[string]string{
		"fact": facts, "link": links, "turn": turns, "summary": summaries, "profile": profile, "relation": relations, "context": contexts,
		"conversation": conversations, "job": jobs, "run": runs, "tomb": tombstones,
	}
)

// forEachRaw calls do for each document that a filter selects, until do returns false.
func (s *Store) each(ctx context.Context, in string, filter bson.M, o *options.FindOptionsBuilder, do func(*mongo.Cursor) (more bool, err error)) error {
	found, err := s.in(in).Find(ctx, filter, o)
	if err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	defer found.Close(context.WithoutCancel(ctx)) //nolint:errcheck // everything was read
	for more := true; more && err == nil && found.Next(ctx); {
		more, err = do(found)
	}
	if err := cmp.Or(err, found.Err()); err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	return nil
}

// forEach calls do with each decoded document that a filter selects, until do returns false.
func stream[D any](ctx context.Context, s *Store, in string, filter bson.M, o *options.FindOptionsBuilder, do func(*D) (more bool)) error {
	return s.each(ctx, in, filter, o, func(at *mongo.Cursor) (bool, error) {
		var d D
		err := at.Decode(&d)
		return err == nil && do(&d), err
	})
}

// fetch adds the documents that a filter selects in some collections to an owner's data.
func (s *Store) fetch(ctx context.Context, on *shelf.Shelf, filter bson.M, o *options.FindOptionsBuilder, in ...string) error {
	for _, name := range in {
		err := s.each(ctx, name, filter, o, func(at *mongo.Cursor) (bool, error) { return true, takers[name](at, on) })
		if err != nil {
			return err
		}
	}
	return nil
}

// maxKeys limits the keys in one query.
const keysAtOnce = 5000

// fetchIDs adds the documents with these ids to an owner's data. kinds are kinds of targets.
func (s *Store) fetchIDs(ctx context.Context, owner memory.Owner, on *shelf.Shelf, o *options.FindOptionsBuilder, ids []string, kinds ...string) error {
	for _, kind := range kinds {
		for some := range slices.Chunk(ids, keysAtOnce) {
			if err := s.fetch(ctx, on, byID(anyOf(keysOf(owner, kind, some))), o, collectionOf[kind]); err != nil {
				return err
			}
		}
	}
	return nil
}

// anyOf returns a filter for one of the values. It compares a single value directly: some servers
// use no index for a list.
func anyOf[T any](values []T) any {
	if len(values) == 1 {
		return values[0]
	}
	if values == nil {
		values = []T{} // the server rejects null as a list
	}
	return bson.M{"$in": values}
}

func ofOwner(owner memory.Owner) bson.M { return bson.M{"owner": owner} }

// addNonEmpty adds the fields with a value to a filter.
func matchSet(filter bson.M, fields map[string]string) {
	for field, value := range fields {
		if value != "" {
			filter[field] = value
		}
	}
}

// withoutVectors is for reads of memories that are not written again. withVectors omits only the
// field embedding, which only other programs read.
var (
	noVectors = bson.M{"vectors": 0, "embedding": 0}
	lean      = options.Find().SetProjection(noVectors)
	whole     = options.Find().SetProjection(bson.M{"embedding": 0})
)

// neededIDs lists the ids of the data that a write must load.
type wanted struct {
	run           string
	targets       []string // in the form of [memory.Image.Target]
	memories      []string // ids of memories of any kind
	hashes        []string // hashes of live facts
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

// fetchNeeded adds the documents with the needed ids to an owner's data.
func (s *Store) want(ctx context.Context, owner memory.Owner, on *shelf.Shelf, w wanted) error {
	ids := map[string][]string{"job": w.jobs, "conversation": slices.Clip(w.conversations)}
	if w.run != "" {
		ids["run"] = []string{w.run}
	}
	for _, kind := range []string{"fact", "link", "turn", "summary"} {
		ids[kind] = slices.Clip(w.memories)
	}
	for _, target := range w.targets {
		kind, id, _ := strings.Cut(target, ":")
		ids[kind] = append(ids[kind], id)
	}
	for kind := range collectionOf {
		if err := s.fetchIDs(ctx, owner, on, whole, ids[kind], kind); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(w.hashes, keysAtOnce) {
		if err := s.fetch(ctx, on, bson.M{"owner": owner, "live": anyOf(some)}, whole, facts); err != nil {
			return err
		}
	}
	return nil
}

// fetchChangesAfter adds the changes after a time to an owner's data, in order.
func (s *Store) changesAfter(ctx context.Context, owner memory.Owner, on *shelf.Shelf, at memory.At) error {
	if at.AsOf.IsZero() {
		return nil
	}
	return s.fetch(ctx, on, bson.M{"owner": owner, "at": bson.M{"$gt": at.AsOf}}, inOrder, journal)
}

var inOrder = options.Find().SetSort(keys("version ordinal"))
