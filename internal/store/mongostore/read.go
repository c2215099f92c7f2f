package mongostore

import (
	"cmp"
	"context"
	"fmt"
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
		return cmp.Or(
			fetchKeys[turnDoc](ctx, s, on, turns, keysOf(owner, "turn", ids), lean),
			fetchKeys[factDoc](ctx, s, on, facts, keysOf(owner, "fact", ids), lean),
			fetchKeys[linkDoc](ctx, s, on, links, keysOf(owner, "link", ids), lean),
			fetchKeys[summaryDoc](ctx, s, on, summaries, keysOf(owner, "summary", ids), lean),
		)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { found = at.Get(ids...); return nil })
	return found, err
}

// List returns the memories that match: see [memory.Facts].
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (page memory.Page, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if !q.At.AsOf.IsZero() {
			return s.everything(ctx, owner, on, q.At)
		}
		return s.listed(ctx, owner, on, q)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.List(q); return err })
	return page, err
}

// everything puts what may be a memory, or was one since, on a shelf.
func (s *Store) everything(ctx context.Context, owner memory.Owner, on *shelf.Shelf, at memory.At) error {
	return cmp.Or(
		fetch[factDoc](ctx, s, on, facts, ofOwner(owner), lean),
		fetch[linkDoc](ctx, s, on, links, ofOwner(owner), lean),
		fetch[summaryDoc](ctx, s, on, summaries, ofOwner(owner), lean),
		fetch[turnDoc](ctx, s, on, turns, ofOwner(owner), lean),
		s.changesAfter(ctx, owner, on, at),
	)
}

// listed puts the first of each kind on a shelf that a query selects after its cursor, as many as
// a page may have and one.
func (s *Store) listed(ctx context.Context, owner memory.Owner, on *shelf.Shelf, q memory.Query) error {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active, memory.Superseded}
	}
	filter := ofOwner(owner, bson.E{Key: "status", Value: anyOf(statuses)})
	if q.Begins != "" {
		filter = append(filter, bson.E{Key: "id", Value: bson.D{{Key: "$gte", Value: q.Begins}}})
	}
	if q.Cursor != "" {
		after, err := shelf.ReadCursor(q.Cursor)
		if err != nil {
			return err
		}
		filter = append(filter, behind("created", "id", after))
	}
	ofFacts := slices.Clone(filter)
	for field, value := range map[string]string{"hash": q.Hash, "category": q.Category, "tags": q.Tag, "subject": q.Subject, "attribute": q.Attribute, "provenance.turns": q.Turn} {
		if value != "" {
			ofFacts = append(ofFacts, bson.E{Key: field, Value: value})
		}
	}
	ofTurns, ofSummaries := slices.Clone(filter), slices.Clone(filter)
	if q.Conversation != "" {
		ofTurns = append(ofTurns, bson.E{Key: "session_id", Value: q.Conversation})
		ofSummaries = append(ofSummaries, bson.E{Key: "session_id", Value: q.Conversation})
	}
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []memory.Kind{memory.KindFact}
	}
	for _, kind := range kinds {
		var err error
		switch kind {
		case memory.KindFact:
			err = cmp.Or(first[factDoc](ctx, s, on, facts, ofFacts, q), first[linkDoc](ctx, s, on, links, filter, q))
		case memory.KindTurn:
			err = first[turnDoc](ctx, s, on, turns, ofTurns, q)
		case memory.KindSummary:
			err = first[summaryDoc](ctx, s, on, summaries, ofSummaries, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first puts the newest that match a query on a shelf.
func first[D any, P taker[D]](ctx context.Context, s *Store, on *shelf.Shelf, in string, filter bson.D, q memory.Query) error {
	newest := options.Find().SetSort(bson.D{{Key: "created", Value: -1}, {Key: "id", Value: -1}}).SetProjection(bson.D{{Key: "vectors", Value: 0}, {Key: "embedding", Value: 0}})
	n := 0
	q.Cursor = ""
	return stream(ctx, s, in, filter, newest, func(d *D) bool {
		one := new(shelf.Shelf).Clone()
		P(d).take(one)
		if page, err := one.List(q); err == nil && len(page.Memories) > 0 {
			P(d).take(on)
			n++
		}
		return n <= shelf.Limit(q.Limit)
	})
}

// behind selects what comes after a place in a list that is newest first.
func behind(time, id string, p shelf.Place) bson.E {
	return bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: time, Value: bson.D{{Key: "$lt", Value: p.At}}}},
		bson.D{{Key: time, Value: p.At}, {Key: id, Value: bson.D{{Key: "$lt", Value: p.ID}}}},
	}}
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) (out []memory.ProfileEntry, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return cmp.Or(fetch[profileDoc](ctx, s, on, profile, ofOwner(owner), whole), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Profile(at); return nil })
	return out, err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) (out []memory.Relation, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		either := bson.E{Key: "$or", Value: bson.A{bson.D{{Key: "from", Value: fact}}, bson.D{{Key: "to", Value: fact}}}}
		return cmp.Or(fetch[relationDoc](ctx, s, on, relations, ofOwner(owner, either), whole), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Relations(fact, at); return nil })
	return out, err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) (out []memory.Context, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if len(ids) > 0 && at.AsOf.IsZero() {
			return fetchKeys[contextDoc](ctx, s, on, contexts, keysOf(owner, "context", ids), whole)
		}
		return cmp.Or(fetch[contextDoc](ctx, s, on, contexts, ofOwner(owner), whole), s.changesAfter(ctx, owner, on, at))
	}
	err = s.read(ctx, owner, from, func(on *shelf.Shelf) error { out = on.Contexts(at, ids...); return nil })
	return out, err
}

// Changes returns the journal: see [memory.Facts].
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (page memory.ChangePage, err error) {
	newest := options.Find().SetSort(bson.D{{Key: "version", Value: -1}, {Key: "ordinal", Value: -1}}).SetLimit(int64(shelf.Limit(q.Limit)) + 1)
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter, err := changeFilter(owner, q)
		if err != nil {
			return err
		}
		if err := fetch[changeDoc](ctx, s, on, journal, filter, newest); err != nil {
			return err
		}
		slices.SortFunc(on.Journal, shelf.ByPlace)
		return nil
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.Changes(q); return err })
	return page, err
}

// changeFilter selects what a query does, no more: what comes is a page.
func changeFilter(owner memory.Owner, q memory.ChangeQuery) (bson.D, error) {
	filter := ofOwner(owner)
	for field, value := range map[string]string{"target": keyOfTarget(q.Target), "run": q.Run, "id": q.ID, "action": string(q.Action)} {
		if value != "" {
			filter = append(filter, bson.E{Key: field, Value: value})
		}
	}
	var all bson.A
	if q.Fact != "" {
		all = append(all, bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "target", Value: anyOf([]string{"fact:" + q.Fact, "link:" + q.Fact})}}, bson.D{{Key: "old_id", Value: q.Fact}}, bson.D{{Key: "new_id", Value: q.Fact}},
		}}})
	}
	if q.Runs != "" {
		all = append(all, bson.D{{Key: "run", Value: bson.D{{Key: "$gte", Value: q.Runs}, {Key: "$lt", Value: q.Runs + "\U0010ffff"}}}, {Key: "ordinal", Value: 1}})
	}
	if !q.After.IsZero() {
		all = append(all, bson.D{{Key: "at", Value: bson.D{{Key: "$gt", Value: memory.Time(q.After)}}}})
	}
	if q.Cursor != "" {
		after, err := shelf.ReadCursor(q.Cursor)
		var version, ordinal int64
		if _, scan := fmt.Sscanf(after.ID, "%d/%d", &version, &ordinal); err != nil || scan != nil {
			return nil, memory.Errorf(memory.Invalid, "%q is not a valid cursor", q.Cursor)
		}
		all = append(all, bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "version", Value: bson.D{{Key: "$lt", Value: version}}}},
			bson.D{{Key: "version", Value: version}, {Key: "ordinal", Value: bson.D{{Key: "$lt", Value: ordinal}}}},
		}}})
	}
	if len(all) > 0 {
		filter = append(filter, bson.E{Key: "$and", Value: all})
	}
	return filter, nil
}

// Turns returns turns: see [memory.Log].
func (s *Store) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) (out []memory.Turn, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter, how := ofOwner(owner), lean
		for field, values := range map[string][]string{"chain": q.Chains, "ref": q.Refs, "id": q.IDs} {
			if len(values) > 0 {
				filter = append(filter, bson.E{Key: field, Value: anyOf(values)})
			}
		}
		if q.Conversation != "" {
			filter = append(filter, bson.E{Key: "session_id", Value: q.Conversation})
		}
		if q.AsOf.IsZero() {
			switch {
			case len(q.Statuses) > 0:
				filter = append(filter, bson.E{Key: "status", Value: anyOf(q.Statuses)})
			case len(q.Chains) == 0:
				filter = append(filter, bson.E{Key: "status", Value: memory.Active})
			}
			if q.Conversation != "" && q.Last > 0 && !q.Unlearned {
				how = options.Find().SetSort(bson.D{{Key: "message_index", Value: -1}, {Key: "id", Value: -1}}).SetLimit(int64(q.Last)).
					SetProjection(bson.D{{Key: "vectors", Value: 0}, {Key: "embedding", Value: 0}})
			}
		}
		return cmp.Or(fetch[turnDoc](ctx, s, on, turns, filter, how), s.changesAfter(ctx, owner, on, memory.At{AsOf: q.AsOf}))
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at.ListTurns(q); return nil })
	return out, err
}

// Conversations returns conversations: see [memory.Log].
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (page memory.ConversationPage, err error) {
	newest := options.Find().SetSort(bson.D{{Key: "updated", Value: -1}, {Key: "session_id", Value: -1}}).SetLimit(int64(shelf.Limit(q.Limit)) + 1)
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter := ofOwner(owner)
		switch {
		case len(q.Statuses) > 0:
			filter = append(filter, bson.E{Key: "status", Value: anyOf(q.Statuses)})
		case len(q.IDs) == 0:
			filter = append(filter, bson.E{Key: "status", Value: memory.Active})
		}
		if len(q.IDs) > 0 {
			filter = append(filter, bson.E{Key: "session_id", Value: anyOf(q.IDs)})
		}
		if q.Project != "" {
			filter = append(filter, bson.E{Key: "project", Value: q.Project})
		}
		if q.Cursor != "" {
			after, err := shelf.ReadCursor(q.Cursor)
			if err != nil {
				return err
			}
			filter = append(filter, behind("updated", "session_id", after))
		}
		if err := fetch[conversationDoc](ctx, s, on, conversations, filter, newest); err != nil {
			return err
		}
		var ids []string
		for id := range on.Conversations {
			ids = append(ids, id)
		}
		said := ofOwner(owner, bson.E{Key: "session_id", Value: anyOf(ids)}, bson.E{Key: "status", Value: memory.Active},
			bson.E{Key: "role", Value: anyOf([]memory.Role{memory.RoleUser, memory.RoleAssistant})})
		if len(ids) == 0 {
			return nil
		}
		var err error
		on.Messages, err = s.count(ctx, turns, said, "session_id")
		return err
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) (err error) { page, err = at.ListConversations(q); return err })
	return page, err
}

// count says how many documents there are of each value of a field.
func (s *Store) count(ctx context.Context, in string, filter bson.D, field string) (map[string]int, error) {
	found, err := s.in(in).Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: filter}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + field}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
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

// Counts says how much an owner has.
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (n memory.Counts, err error) {
	from := func(ctx context.Context, _ *shelf.Shelf) (err error) {
		n, err = s.counts(ctx, ofOwner(owner))
		return err
	}
	err = s.read(ctx, owner, from, func(*shelf.Shelf) error { return nil })
	return n, err
}

// Totals says how much there is.
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	n, err := s.counts(ctx, bson.D{{Key: "owner", Value: bson.D{{Key: "$exists", Value: true}}}})
	return n, s.told(err)
}

func (s *Store) counts(ctx context.Context, filter bson.D) (memory.Counts, error) {
	var n memory.Counts
	var failed error
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
	states := by(jobs, "state")
	n.JobsQueued, n.JobsParked = states[string(memory.JobQueued)], states[string(memory.JobParked)]
	return n, failed
}

// Owners returns who was ever written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) (out []memory.Owner, err error) {
	only := options.Find().SetProjection(bson.D{{Key: "owner", Value: 1}})
	err = stream(ctx, s, commits, bson.D{{Key: "version", Value: bson.D{{Key: "$gt", Value: 0}}}}, only, func(h *head) bool { out = append(out, h.Owner); return true })
	slices.Sort(out)
	return slices.Compact(out), s.told(err)
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
		only := options.Find().SetProjection(bson.D{{Key: "owner", Value: 1}, {Key: "version", Value: 1}})
		return stream(ctx, s, commits, bson.D{{Key: "owner", Value: anyOf(asked)}}, only, func(h *head) bool {
			versions[h.Owner] = max(versions[h.Owner], h.Version)
			return true
		})
	})
	if err := cmp.Or(ctx.Err(), s.told(err)); err != nil {
		return nil, err
	}
	out := make([]int64, len(asked))
	for i, o := range asked {
		out[i] = versions[o]
	}
	return out, nil
}

// VectorModels returns the models by which an owner has vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) (models []string, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		of := ofOwner(owner)
		return cmp.Or(
			fetch[factDoc](ctx, s, on, facts, of, whole), fetch[linkDoc](ctx, s, on, links, of, whole),
			fetch[summaryDoc](ctx, s, on, summaries, of, whole), fetch[turnDoc](ctx, s, on, turns, of, withVector),
		)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { models = at.VectorModels(); return nil })
	return models, err
}

// Since yields what was written after a version: see [memory.Source]. What it yields is held
// until it is yielded.
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (version int64, err error) {
	var items []memory.Item
	from := func(ctx context.Context, on *shelf.Shelf) error {
		later := ofOwner(owner, bson.E{Key: "version", Value: bson.D{{Key: "$gt", Value: after}}})
		return cmp.Or(
			fetch[factDoc](ctx, s, on, facts, later, whole),
			fetch[linkDoc](ctx, s, on, links, later, whole),
			fetch[summaryDoc](ctx, s, on, summaries, later, whole),
			fetch[turnDoc](ctx, s, on, turns, later, withVector),
		)
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
