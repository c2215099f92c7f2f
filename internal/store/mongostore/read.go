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

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// Get returns memories by id: see [memory.Facts].
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) (matches []memory.Memory, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return s.fetchIDs(ctx, owner, data, withoutVectors, ids, "turn", "fact", "link", "summary")
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { matches = snapshot.Get(ids...); return nil })
	return matches, err
}

// List returns the memories that match: see [memory.Facts].
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (page memory.Page, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		if !q.At.AsOf.IsZero() { // memories that do not match now may have matched at q.At.AsOf
			return cmp.Or(s.fetch(ctx, data, ownerFilter(owner), withoutVectors, memoryCollections...), s.fetchChangesAfter(ctx, owner, data, q.At))
		}
		return s.fetchPage(ctx, owner, data, q)
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) (err error) { page, err = snapshot.List(q); return err })
	return page, err
}

// fetchPage adds the first matches after the query's cursor to an owner's data. For each kind it adds at
// most one memory more than fits on a page, which shows that another page follows.
func (s *Store) fetchPage(ctx context.Context, owner memory.Owner, data *ownerdata.Data, q memory.Query) error {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active, memory.Superseded}
	}
	filter := bson.M{"owner": owner, "status": anyOf(statuses)}
	if q.IDPrefix != "" {
		filter["id"] = bson.M{"$gte": q.IDPrefix}
	}
	if q.Cursor != "" {
		after, err := ownerdata.DecodeCursor(q.Cursor)
		if err != nil {
			return err
		}
		filter["$or"] = olderThan("created", after.At, "id", after.ID)
	}
	factFilter, inConversation := maps.Clone(filter), maps.Clone(filter)
	addNonEmpty(factFilter, map[string]string{"hash": q.Hash, "category": q.Category, "tags": q.Tag, "subject": q.Subject, "attribute": q.Attribute, "provenance.turns": q.Turn})
	addNonEmpty(inConversation, map[string]string{"session_id": q.Conversation})
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []memory.Kind{memory.KindFact}
	}
	for _, kind := range kinds {
		var err error
		switch kind {
		case memory.KindFact:
			err = cmp.Or(s.fetchNewest(ctx, data, facts, factFilter, q), s.fetchNewest(ctx, data, links, filter, q))
		case memory.KindTurn:
			err = s.fetchNewest(ctx, data, turns, inConversation, q)
		case memory.KindSummary:
			err = s.fetchNewest(ctx, data, summaries, inConversation, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchNewest adds the newest matches of a query to an owner's data.
func (s *Store) fetchNewest(ctx context.Context, data *ownerdata.Data, collection string, filter bson.M, q memory.Query) error {
	newest := options.Find().SetSort(sortKeys("-created -id")).SetProjection(noVectorFields)
	n := 0
	q.Cursor = ""
	return s.forEachRaw(ctx, collection, filter, newest, func(cursor *mongo.Cursor) (bool, error) {
		single := new(ownerdata.Data).Clone()
		err := decoders[collection](cursor, single)
		if page, listed := single.List(q); listed == nil && len(page.Memories) > 0 {
			err = cmp.Or(err, decoders[collection](cursor, data))
			n++
		}
		return n <= ownerdata.PageSize(q.Limit), err
	})
}

// olderThan returns a filter for the documents after the position (sortValue, tieValue) in a list that is
// sorted by sortField and, if it is equal, by tieField, both descending.
func olderThan(sortField string, sortValue any, tieField string, tieValue any) bson.A {
	return bson.A{bson.M{sortField: bson.M{"$lt": sortValue}}, bson.M{sortField: sortValue, tieField: bson.M{"$lt": tieValue}}}
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) (out []memory.ProfileEntry, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return cmp.Or(s.fetch(ctx, data, ownerFilter(owner), withVectors, profile), s.fetchChangesAfter(ctx, owner, data, at))
	}
	err = s.read(ctx, owner, loadData, func(data *ownerdata.Data) error { out = data.Profile(at); return nil })
	return out, err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) (out []memory.Relation, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		either := bson.M{"owner": owner, "$or": bson.A{bson.M{"from": fact}, bson.M{"to": fact}}}
		return cmp.Or(s.fetch(ctx, data, either, withVectors, relations), s.fetchChangesAfter(ctx, owner, data, at))
	}
	err = s.read(ctx, owner, loadData, func(data *ownerdata.Data) error { out = data.Relations(fact, at); return nil })
	return out, err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) (out []memory.Context, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		if len(ids) > 0 && at.AsOf.IsZero() {
			return s.fetchIDs(ctx, owner, data, withVectors, ids, "context")
		}
		return cmp.Or(s.fetch(ctx, data, ownerFilter(owner), withVectors, contexts), s.fetchChangesAfter(ctx, owner, data, at))
	}
	err = s.read(ctx, owner, loadData, func(data *ownerdata.Data) error { out = data.Contexts(at, ids...); return nil })
	return out, err
}

// Changes returns the journal: see [memory.Facts].
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (page memory.ChangePage, err error) {
	newest := options.Find().SetSort(sortKeys("-version -ordinal")).SetLimit(int64(ownerdata.PageSize(q.Limit)) + 1)
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		filter, err := changeFilter(owner, q)
		if err != nil {
			return err
		}
		if err := s.fetch(ctx, data, filter, newest, journal); err != nil {
			return err
		}
		slices.SortFunc(data.Journal, ownerdata.CompareChanges)
		return nil
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) (err error) { page, err = snapshot.Changes(q); return err })
	return page, err
}

// changeFilter returns a query's filter. It must be exact, since the database counts matches for a page.
func changeFilter(owner memory.Owner, q memory.ChangeQuery) (bson.M, error) {
	filter := ownerFilter(owner)
	addNonEmpty(filter, map[string]string{"target": hashedTarget(q.Target), "run": q.Run, "id": q.ID, "action": string(q.Action)})
	var conditions bson.A
	if q.Fact != "" {
		conditions = append(conditions, bson.M{"$or": entryFilter("fact:"+q.Fact, "link:"+q.Fact, q.Fact)})
	}
	if q.RunPrefix != "" {
		conditions = append(conditions, bson.M{"run": bson.M{"$gte": q.RunPrefix, "$lt": q.RunPrefix + "\U0010ffff"}, "ordinal": 1})
	}
	if !q.After.IsZero() {
		filter["at"] = bson.M{"$gt": memory.Time(q.After)}
	}
	if q.Cursor != "" {
		after, err := ownerdata.DecodeCursor(q.Cursor)
		var version, ordinal int64
		if _, scan := fmt.Sscanf(after.ID, "%d/%d", &version, &ordinal); err != nil || scan != nil {
			return nil, memory.Errorf(memory.Invalid, "invalid cursor %q", q.Cursor)
		}
		conditions = append(conditions, bson.M{"$or": olderThan("version", version, "ordinal", ordinal)})
	}
	if len(conditions) > 0 {
		filter["$and"] = conditions
	}
	return filter, nil
}

// entryFilter returns a filter for the journal entries about keys: targets, or ids of facts.
func entryFilter(keys ...string) bson.A {
	filter := anyOf(keys)
	return bson.A{bson.M{"target": filter}, bson.M{"old_id": filter}, bson.M{"new_id": filter}}
}

// Turns returns turns: see [memory.TurnLog].
func (s *Store) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) (out []memory.Turn, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		filter, opts := ownerFilter(owner), withoutVectors
		for field, values := range map[string][]string{"chain": q.Chains, "ref": q.Refs, "id": q.IDs} {
			if len(values) > 0 {
				filter[field] = anyOf(values)
			}
		}
		addNonEmpty(filter, map[string]string{"session_id": q.Conversation})
		if q.AsOf.IsZero() {
			switch {
			case len(q.Statuses) > 0:
				filter["status"] = anyOf(q.Statuses)
			case len(q.Chains) == 0:
				filter["status"] = memory.Active
			}
			if q.Conversation != "" && q.Last > 0 && !q.Unlearned {
				opts = options.Find().SetSort(sortKeys("-message_index -id")).SetLimit(int64(q.Last)).SetProjection(noVectorFields)
			}
		}
		return cmp.Or(s.fetch(ctx, data, filter, opts, turns), s.fetchChangesAfter(ctx, owner, data, memory.At{AsOf: q.AsOf}))
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { out = snapshot.ListTurns(q); return nil })
	return out, err
}

// Conversations returns conversations: see [memory.TurnLog].
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (page memory.ConversationPage, err error) {
	newest := options.Find().SetSort(sortKeys("-updated -session_id")).SetLimit(int64(ownerdata.PageSize(q.Limit)) + 1)
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		filter := ownerFilter(owner)
		switch {
		case len(q.Statuses) > 0:
			filter["status"] = anyOf(q.Statuses)
		case len(q.IDs) == 0:
			filter["status"] = memory.Active
		}
		if len(q.IDs) > 0 {
			filter["session_id"] = anyOf(q.IDs)
		}
		addNonEmpty(filter, map[string]string{"project": q.Project})
		if q.Cursor != "" {
			after, err := ownerdata.DecodeCursor(q.Cursor)
			if err != nil {
				return err
			}
			filter["$or"] = olderThan("updated", after.At, "session_id", after.ID)
		}
		if err := s.fetch(ctx, data, filter, newest, conversations); err != nil {
			return err
		}
		ids := slices.Collect(maps.Keys(data.Conversations))
		withTurns := bson.M{"owner": owner, "session_id": anyOf(ids), "status": memory.Active,
			"role": anyOf([]memory.Role{memory.RoleUser, memory.RoleAssistant})}
		if len(ids) == 0 {
			return nil
		}
		var err error
		data.MessageCounts, err = s.countBy(ctx, turns, withTurns, "session_id")
		return err
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) (err error) { page, err = snapshot.ListConversations(q); return err })
	return page, err
}

// countBy returns the number of documents for each value of a field.
func (s *Store) countBy(ctx context.Context, collection string, filter bson.M, field string) (map[string]int, error) {
	cursor, err := s.collection(collection).Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: filter}},
		{{Key: "$group", Value: bson.M{"_id": "$" + field, "n": bson.M{"$sum": 1}}}},
	})
	var groups []struct {
		Value string `bson:"_id"`
		N     int    `bson:"n"`
	}
	if err == nil {
		err = cursor.All(ctx, &groups)
	}
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", collection, err)
	}
	n := map[string]int{}
	for _, g := range groups {
		n[g.Value] = g.N
	}
	return n, nil
}

// Counts returns an owner's counts.
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (n memory.Counts, err error) {
	loadData := func(ctx context.Context, _ *ownerdata.Data) (err error) {
		n, err = s.filteredCounts(ctx, ownerFilter(owner))
		return err
	}
	err = s.read(ctx, owner, loadData, func(*ownerdata.Data) error { return nil })
	return n, err
}

// allOwners is a filter for the documents of all owners.
var allOwners = bson.M{"owner": bson.M{"$exists": true}}

// Totals returns the counts over all owners.
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	n, err := s.filteredCounts(ctx, allOwners)
	return n, s.translate(err)
}

// Backlog counts only the jobs, over all owners.
func (s *Store) Backlog(ctx context.Context) (memory.Counts, error) {
	n, err := s.jobCounts(ctx, allOwners)
	return n, s.translate(err)
}

func (s *Store) jobCounts(ctx context.Context, filter bson.M) (n memory.Counts, err error) {
	states, err := s.countBy(ctx, jobs, filter, "state")
	n.JobsQueued, n.JobsParked = states[string(memory.JobQueued)], states[string(memory.JobParked)]
	if n.JobsQueued > 0 {
		queued, first := maps.Clone(filter), options.Find().SetSort(sortKeys("run_at")).SetLimit(1)
		queued["state"] = memory.JobQueued
		err = forEach(ctx, s, jobs, queued, first, func(d *jobDoc) bool { n.JobsDue = d.Job.RunAt; return true })
	}
	return n, err
}

func (s *Store) filteredCounts(ctx context.Context, filter bson.M) (memory.Counts, error) {
	n, failed := s.jobCounts(ctx, filter)
	count := func(collection, field string) map[string]int {
		if failed != nil {
			return nil
		}
		var byValue map[string]int
		byValue, failed = s.countBy(ctx, collection, filter, field)
		return byValue
	}
	active, pending := string(memory.Active), string(memory.Pending)
	for _, collection := range []string{facts, links} {
		byValue := count(collection, "status")
		n.Facts += byValue[active]
		n.Pending += byValue[pending]
	}
	n.Turns, n.Summaries = count(turns, "status")[active], count(summaries, "status")[active]
	n.Conversations, n.Contexts = count(conversations, "status")[active], count(contexts, "status")[active]
	for _, changes := range count(journal, "action") {
		n.Changes += changes
	}
	return n, failed
}

// Owners returns every owner ever written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) (out []memory.Owner, err error) {
	only := options.Find().SetProjection(bson.M{"owner": 1})
	err = forEach(ctx, s, commits, bson.M{"version": bson.M{"$gt": 0}}, only, func(h *commitDoc) bool { out = append(out, h.Owner); return true })
	slices.Sort(out)
	return slices.Compact(out), s.translate(err)
}

// Versions returns each owner's version: see [memory.IndexSource].
func (s *Store) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	for _, o := range owners {
		if err := checkOwner(ctx, o); err != nil {
			return nil, err
		}
	}
	versions := map[memory.Owner]int64{}
	err := retryUnavailable(ctx, retry.Patience(ctx), func() error {
		only := options.Find().SetProjection(bson.M{"owner": 1, "version": 1})
		return forEach(ctx, s, commits, bson.M{"owner": anyOf(owners)}, only, func(h *commitDoc) bool {
			versions[h.Owner] = max(versions[h.Owner], h.Version)
			return true
		})
	})
	if err := cmp.Or(ctx.Err(), s.translate(err)); err != nil {
		return nil, err
	}
	out := make([]int64, len(owners))
	for i, o := range owners {
		out[i] = versions[o]
	}
	return out, nil
}

// VectorModels returns the models of an owner's vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) (models []string, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return s.fetch(ctx, data, ownerFilter(owner), withVectors, memoryCollections...)
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { models = snapshot.VectorModels(); return nil })
	return models, err
}

// Since yields the items written after a version: see [memory.IndexSource]. It loads all items before
// it yields the first.
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.IndexItem) error) (version int64, err error) {
	var items []memory.IndexItem
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		later := bson.M{"owner": owner, "version": bson.M{"$gt": after}}
		return s.fetch(ctx, data, later, withVectors, memoryCollections...)
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) (err error) {
		version = snapshot.Version
		items, err = snapshot.Since(owner, model, after)
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
