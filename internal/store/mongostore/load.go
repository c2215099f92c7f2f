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

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// decoders maps collections to functions that add a document to an owner's data.
var decoders = map[string]func(*mongo.Cursor, *ownerdata.Data) error{
	facts: decodeAndAdd[factDoc], links: decodeAndAdd[linkDoc], turns: decodeAndAdd[turnDoc], summaries: decodeAndAdd[summaryDoc], profile: decodeAndAdd[profileDoc], relations: decodeAndAdd[relationDoc],
	contexts: decodeAndAdd[contextDoc], conversations: decodeAndAdd[conversationDoc], jobs: decodeAndAdd[jobDoc], journal: decodeAndAdd[changeDoc], runs: decodeAndAdd[runDoc], tombstones: decodeAndAdd[tombstoneDoc],
}

func decodeAndAdd[D any, P interface {
	*D
	addTo(*ownerdata.Data)
}](cursor *mongo.Cursor, data *ownerdata.Data) error {
	var d D
	err := cursor.Decode(&d)
	if err == nil {
		P(&d).addTo(data)
	}
	return err
}

// memoryCollections lists the collections of searchable memories. collectionByKind maps the kinds in
// targets, such as "fact" in fact:ID, to collections.
var (
	memoryCollections = []string{facts, links, summaries, turns}
	collectionByKind  = map[string]string{
		"fact": facts, "link": links, "turn": turns, "summary": summaries, "profile": profile, "relation": relations, "context": contexts,
		"conversation": conversations, "job": jobs, "run": runs, "tomb": tombstones,
	}
)

// forEachRaw calls do for each document that a filter selects, until do returns false.
func (s *Store) forEachRaw(ctx context.Context, collection string, filter bson.M, opts *options.FindOptionsBuilder, do func(*mongo.Cursor) (proceed bool, err error)) error {
	cursor, err := s.collection(collection).Find(ctx, filter, opts)
	if err != nil {
		return fmt.Errorf("read %s: %w", collection, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx)) //nolint:errcheck // everything was read
	for proceed := true; proceed && err == nil && cursor.Next(ctx); {
		proceed, err = do(cursor)
	}
	if err := cmp.Or(err, cursor.Err()); err != nil {
		return fmt.Errorf("read %s: %w", collection, err)
	}
	return nil
}

// forEach calls do with each decoded document that a filter selects, until do returns false.
func forEach[D any](ctx context.Context, s *Store, collection string, filter bson.M, opts *options.FindOptionsBuilder, do func(*D) (proceed bool)) error {
	return s.forEachRaw(ctx, collection, filter, opts, func(cursor *mongo.Cursor) (bool, error) {
		var d D
		err := cursor.Decode(&d)
		return err == nil && do(&d), err
	})
}

// fetch adds the documents that a filter selects in the collections to an owner's data.
func (s *Store) fetch(ctx context.Context, data *ownerdata.Data, filter bson.M, opts *options.FindOptionsBuilder, collections ...string) error {
	for _, name := range collections {
		err := s.forEachRaw(ctx, name, filter, opts, func(cursor *mongo.Cursor) (bool, error) { return true, decoders[name](cursor, data) })
		if err != nil {
			return err
		}
	}
	return nil
}

// maxKeys limits the number of keys in one query.
const maxKeys = 5000

// fetchIDs adds the documents with these ids to an owner's data. kinds are keys of collectionByKind.
func (s *Store) fetchIDs(ctx context.Context, owner memory.Owner, data *ownerdata.Data, opts *options.FindOptionsBuilder, ids []string, kinds ...string) error {
	for _, kind := range kinds {
		for chunk := range slices.Chunk(ids, maxKeys) {
			if err := s.fetch(ctx, data, idFilter(anyOf(docIDs(owner, kind, chunk))), opts, collectionByKind[kind]); err != nil {
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

func ownerFilter(owner memory.Owner) bson.M { return bson.M{"owner": owner} }

// addNonEmpty adds the fields with a value to a filter.
func addNonEmpty(filter bson.M, fields map[string]string) {
	for field, value := range fields {
		if value != "" {
			filter[field] = value
		}
	}
}

// withoutVectors is for calls that only read. A call that also writes replaces whole documents, so it must
// read their vectors: withVectors omits only the field embedding, which is for other programs.
var (
	noVectorFields = bson.M{"vectors": 0, "embedding": 0}
	withoutVectors = options.Find().SetProjection(noVectorFields)
	withVectors    = options.Find().SetProjection(bson.M{"embedding": 0})
)

// neededIDs lists the ids of the data that a write must load.
type neededIDs struct {
	runID           string
	targets         []string // in the form of [memory.State.Target]
	memoryIDs       []string // ids of facts, links, turns and summaries
	hashes          []string // hashes of active and pending facts
	jobIDs          []string
	conversationIDs []string
}

func (w *neededIDs) addChanges(changes []memory.Change) {
	for _, c := range changes {
		w.targets = append(w.targets, c.After.Target())
		if f := c.After.Fact; f != nil && f.Status.Live() {
			w.hashes = append(w.hashes, f.Hash)
		}
	}
}

func (w *neededIDs) addJobs(jobList []memory.Job) {
	for _, j := range jobList {
		w.jobIDs = append(w.jobIDs, j.ID)
	}
}

func (w *neededIDs) addVectors(vectors []memory.Vector) {
	for _, v := range vectors {
		w.memoryIDs = append(w.memoryIDs, v.Memory)
	}
}

// fetchNeeded adds the documents with the needed ids to an owner's data.
func (s *Store) fetchNeeded(ctx context.Context, owner memory.Owner, data *ownerdata.Data, needed neededIDs) error {
	ids := map[string][]string{"job": needed.jobIDs, "conversation": slices.Clip(needed.conversationIDs)}
	if needed.runID != "" {
		ids["run"] = []string{needed.runID}
	}
	for _, kind := range []string{"fact", "link", "turn", "summary"} {
		ids[kind] = slices.Clip(needed.memoryIDs)
	}
	for _, target := range needed.targets {
		kind, id, _ := strings.Cut(target, ":")
		ids[kind] = append(ids[kind], id)
	}
	for kind := range collectionByKind {
		if err := s.fetchIDs(ctx, owner, data, withVectors, ids[kind], kind); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(needed.hashes, maxKeys) {
		if err := s.fetch(ctx, data, bson.M{"owner": owner, "live": anyOf(chunk)}, withVectors, facts); err != nil {
			return err
		}
	}
	return nil
}

// fetchChangesAfter adds the changes after at.AsOf to an owner's data, in order; none if AsOf is zero.
func (s *Store) fetchChangesAfter(ctx context.Context, owner memory.Owner, data *ownerdata.Data, at memory.At) error {
	if at.AsOf.IsZero() {
		return nil
	}
	return s.fetch(ctx, data, bson.M{"owner": owner, "at": bson.M{"$gt": at.AsOf}}, oldestChangeFirst, journal)
}

var oldestChangeFirst = options.Find().SetSort(sortKeys("version ordinal"))
