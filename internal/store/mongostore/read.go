package mongostore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Get returns memories by id: see [memory.Facts].
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) (found []memory.Memory, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return s.fetchIDs(ctx, owner, on, lean, ids, "turn", "fact", "link", "summary")
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { found = at.Get(ids...); return nil })
	return found, err
}

// List returns the memories that match: see [memory.Facts].
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (page memory.Page, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if !q.At.AsOf.IsZero() { // memories that do not match now may have matched at that time
			return cmp.Or(s.fetch(ctx, on, ofOwner(owner), lean, memories...), s.changesAfter(ctx, owner, on, q.At))
		}
		return s.listed(ctx, owner, on, q)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.List(q); return err })
	return page, err
}

// fetchPage adds the first matches of each kind after the query's cursor to an owner's data, at most
// a page and one more.
func (s *Store) listed(ctx context.Context, owner memory.Owner, on *shelf.Shelf, q memory.Query) error {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active, memory.Superseded}
	}
	filter := bson.M{"owner": owner, "status": anyOf(statuses)}
	if q.Begins != "" {
		filter["id"] = bson.M{"$gte": q.Begins}
	}
	if q.Cursor != "" {
		after, err := shelf.ReadCursor(q.Cursor)
		if err != nil {
			return err
		}
		filter["$or"] = behind("created", after.At, "id", after.ID)
	}
	ofFacts, ofTalk := maps.Clone(filter), maps.Clone(filter)
	matchSet(ofFacts, map[string]string{"hash": q.Hash, "category": q.Category, "tags": q.Tag, "subject": q.Subject, "attribute": q.Attribute, "provenance.turns": q.Turn})
	matchSet(ofTalk, map[string]string{"session_id": q.Conversation})
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []memory.Kind{memory.KindFact}
	}
	for _, kind := range kinds {
		var err error
		switch kind {
		case memory.KindFact:
			err = cmp.Or(s.first(ctx, on, facts, ofFacts, q), s.first(ctx, on, links, filter, q))
		case memory.KindTurn:
			err = s.first(ctx, on, turns, ofTalk, q)
		case memory.KindSummary:
			err = s.first(ctx, on, summaries, ofTalk, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchNewest adds the newest matches of a query to an owner's data.
func (s *Store) first(ctx context.Context, on *shelf.Shelf, in string, filter bson.M, q memory.Query) error {
	newest := options.Find().SetSort(keys("-created -id")).SetProjection(noVectors)
	n := 0
	q.Cursor = ""
	return s.each(ctx, in, filter, newest, func(at *mongo.Cursor) (bool, error) {
		one := new(shelf.Shelf).Clone()
		err := takers[in](at, one)
		if page, listed := one.List(q); listed == nil && len(page.Memories) > 0 {
			err = cmp.Or(err, takers[in](at, on))
			n++
		}
		return n <= shelf.PageSize(q.Limit), err
	})
}

// olderThan returns a filter for documents after a position in a list that is sorted descending by
// two fields.
func behind(first string, at any, then string, id any) bson.A {
	return bson.A{bson.M{first: bson.M{"$lt": at}}, bson.M{first: at, then: bson.M{"$lt": id}}}
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) (out []memory.ProfileEntry, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return cmp.Or(s.fetch(ctx, on, ofOwner(owner), whole, profile), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Profile(at); return nil })
	return out, err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) (out []memory.Relation, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		either := bson.M{"owner": owner, "$or": bson.A{bson.M{"from": fact}, bson.M{"to": fact}}}
		return cmp.Or(s.fetch(ctx, on, either, whole, relations), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Relations(fact, at); return nil })
	return out, err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) (out []memory.Context, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if len(ids) > 0 && at.AsOf.IsZero() {
			return s.fetchIDs(ctx, owner, on, whole, ids, "context")
		}
		return cmp.Or(s.fetch(ctx, on, ofOwner(owner), whole, contexts), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Contexts(at, ids...); return nil })
	return out, err
}

// Changes returns the journal: see [memory.Facts].
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (page memory.ChangePage, err error) {
	newest := options.Find().SetSort(keys("-version -ordinal")).SetLimit(int64(shelf.PageSize(q.Limit)) + 1)
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter, err := changeFilter(owner, q)
		if err != nil {
			return err
		}
		if err := s.fetch(ctx, on, filter, newest, journal); err != nil {
			return err
		}
		slices.SortFunc(on.Journal, shelf.ByPlace)
		return nil
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.Changes(q); return err })
	return page, err
}

// changeFilter returns the filter of a query, which must be exact, since it selects a page.
func changeFilter(owner memory.Owner, q memory.ChangeQuery) (bson.M, error) {
	filter := ofOwner(owner)
	matchSet(filter, map[string]string{"target": targetKey(q.Target), "run": q.Run, "id": q.ID, "action": string(q.Action)})
	var all bson.A
	if q.Fact != "" {
		all = append(all, bson.M{"$or": entriesOf("fact:"+q.Fact, "link:"+q.Fact, q.Fact)})
	}
	if q.Runs != "" {
		all = append(all, bson.M{"run": bson.M{"$gte": q.Runs, "$lt": q.Runs + "\U0010ffff"}, "ordinal": 1})
	}
	if !q.After.IsZero() {
		filter["at"] = bson.M{"$gt": memory.Time(q.After)}
	}
	if q.Cursor != "" {
		after, err := shelf.ReadCursor(q.Cursor)
		var version, ordinal int64
		if _, scan := fmt.Sscanf(after.ID, "%d/%d", &version, &ordinal); err != nil || scan != nil {
			return nil, memory.Errorf(memory.Invalid, "invalid cursor %q", q.Cursor)
		}
		all = append(all, bson.M{"$or": behind("version", version, "ordinal", ordinal)})
	}
	if len(all) > 0 {
		filter["$and"] = all
	}
	return filter, nil
}

// entryFilter returns a filter for the journal entries about some targets and ids.
func entriesOf(some ...string) bson.A {
	of := anyOf(some)
	return bson.A{bson.M{"target": of}, bson.M{"old_id": of}, bson.M{"new_id": of}}
}

// Turns returns turns: see [memory.Log].
func (s *Store) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) (out []memory.Turn, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter, how := ofOwner(owner), lean
		for field, values := range map[string][]string{"chain": q.Chains, "ref": q.Refs, "id": q.IDs} {
			if len(values) > 0 {
				filter[field] = anyOf(values)
			}
		}
		matchSet(filter, map[string]string{"session_id": q.Conversation})
		if q.AsOf.IsZero() {
			switch {
			case len(q.Statuses) > 0:
				filter["status"] = anyOf(q.Statuses)
			case len(q.Chains) == 0:
				filter["status"] = memory.Active
			}
			if q.Conversation != "" && q.Last > 0 && !q.Unlearned {
				how = options.Find().SetSort(keys("-message_index -id")).SetLimit(int64(q.Last)).SetProjection(noVectors)
			}
		}
		return cmp.Or(s.fetch(ctx, on, filter, how, turns), s.changesAfter(ctx, owner, on, memory.At{AsOf: q.AsOf}))
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at.ListTurns(q); return nil })
	return out, err
}

// Conversations returns conversations: see [memory.Log].
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (page memory.ConversationPage, err error) {
	newest := options.Find().SetSort(keys("-updated -session_id")).SetLimit(int64(shelf.PageSize(q.Limit)) + 1)
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter := ofOwner(owner)
		switch {
		case len(q.Statuses) > 0:
			filter["status"] = anyOf(q.Statuses)
		case len(q.IDs) == 0:
			filter["status"] = memory.Active
		}
		if len(q.IDs) > 0 {
			filter["session_id"] = anyOf(q.IDs)
		}
		matchSet(filter, map[string]string{"project": q.Project})
		if q.Cursor != "" {
			after, err := shelf.ReadCursor(q.Cursor)
			if err != nil {
				return err
			}
			filter["$or"] = behind("updated", after.At, "session_id", after.ID)
		}
		if err := s.fetch(ctx, on, filter, newest, conversations); err != nil {
			return err
		}
		ids := slices.Collect(maps.Keys(on.Conversations))
		withTurns := bson.M{"owner": owner, "session_id": anyOf(ids), "status": memory.Active,
			"role": anyOf([]memory.Role{memory.RoleUser, memory.RoleAssistant})}
		if len(ids) == 0 {
			return nil
		}
		var err error
		on.Messages, err = s.count(ctx, turns, withTurns, "session_id")
		return err
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.ListConversations(q); return err })
	return page, err
}

// countBy returns the number of documents for each value of a field.
func (s *Store) count(ctx context.Context, in string, filter bson.M, field string) (map[string]int, error) {
	found, err := s.in(in).Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: filter}},
		{{Key: "$group", Value: bson.M{"_id": "$" + field, "n": bson.M{"$sum": 1}}}},
	})
	var groups []struct {
		Value string `bson:"_id"`
		N     int    `bson:"n"`
	}
	if err == nil {
		err = found.All(ctx, &groups)
	}
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", in, err)
	}
	n := map[string]int{}
	for _, g := range groups {
		n[g.Value] = g.N
	}
	return n, nil
}

// Counts returns an owner's counts.
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (n memory.Counts, err error) {
	from := func(ctx context.Context, _ *shelf.Shelf) (err error) {
		n, err = s.counts(ctx, ofOwner(owner))
		return err
	}
	err = s.read(ctx, owner, from, func(*shelf.Shelf) error { return nil })
	return n, err
}

// allOwners is a filter for the documents of all owners.
var anybody = bson.M{"owner": bson.M{"$exists": true}}

// Totals returns the counts over all owners.
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	n, err := s.counts(ctx, anybody)
	return n, s.translate(err)
}

// Backlog counts only the jobs, over all owners.
func (s *Store) Backlog(ctx context.Context) (memory.Counts, error) {
	n, err := s.backlog(ctx, anybody)
	return n, s.translate(err)
}

func (s *Store) backlog(ctx context.Context, filter bson.M) (n memory.Counts, err error) {
	states, err := s.count(ctx, jobs, filter, "state")
	n.JobsQueued, n.JobsParked = states[string(memory.JobQueued)], states[string(memory.JobParked)]
	if n.JobsQueued > 0 {
		queued, first := maps.Clone(filter), options.Find().SetSort(keys("run_at")).SetLimit(1)
		queued["state"] = memory.JobQueued
		err = stream(ctx, s, jobs, queued, first, func(d *jobDoc) bool { n.JobsDue = d.Job.RunAt; return true })
	}
	return n, err
}

func (s *Store) counts(ctx context.Context, filter bson.M) (memory.Counts, error) {
	n, failed := s.backlog(ctx, filter)
	by := func(in, field string) map[string]int {
		if failed != nil {
			return nil
		}
		var got map[string]int
		got, failed = s.count(ctx, in, filter, field)
		return got
	}
	active, pending := string(memory.Active), string(memory.Pending)
	for _, in := range []string{facts, links} {
		got := by(in, "status")
		n.Facts += got[active]
		n.Pending += got[pending]
	}
	n.Turns, n.Summaries = by(turns, "status")[active], by(summaries, "status")[active]
	n.Conversations, n.Contexts = by(conversations, "status")[active], by(contexts, "status")[active]
	for _, some := range by(journal, "action") {
		n.Changes += some
	}
	return n, failed
}

// Owners returns every owner ever written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) (out []memory.Owner, err error) {
	only := options.Find().SetProjection(bson.M{"owner": 1})
	err = stream(ctx, s, commits, bson.M{"version": bson.M{"$gt": 0}}, only, func(h *head) bool { out = append(out, h.Owner); return true })
	slices.Sort(out)
	return slices.Compact(out), s.translate(err)
}

// Versions returns each owner's version: see [memory.Source].
func (s *Store) Versions(ctx context.Context, asked []memory.Owner) ([]int64, error) {
	for _, o := range asked {
		if err := checkOwner(ctx, o); err != nil {
			return nil, err
		}
	}
	versions := map[memory.Owner]int64{}
	err := persist(ctx, retry.Patience(ctx), func() error {
		only := options.Find().SetProjection(bson.M{"owner": 1, "version": 1})
		return stream(ctx, s, commits, bson.M{"owner": anyOf(asked)}, only, func(h *head) bool {
			versions[h.Owner] = max(versions[h.Owner], h.Version)
			return true
		})
	})
	if err := cmp.Or(ctx.Err(), s.translate(err)); err != nil {
		return nil, err
	}
	out := make([]int64, len(asked))
	for i, o := range asked {
		out[i] = versions[o]
	}
	return out, nil
}

// VectorModels returns the models of an owner's vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) (models []string, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return s.fetch(ctx, on, ofOwner(owner), whole, memories...)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { models = at.VectorModels(); return nil })
	return models, err
}

// Since yields the items written after a version: see [memory.Source]. It first loads all items.
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (version int64, err error) {
	var items []memory.Item
	from := func(ctx context.Context, on *shelf.Shelf) error {
		later := bson.M{"owner": owner, "version": bson.M{"$gt": after}}
		return s.fetch(ctx, on, later, whole, memories...)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) {
		version = at.Version
		items, err = at.Since(owner, model, after)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, item := range items {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return version, nil
}
