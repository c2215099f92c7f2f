package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// FollowNear brings an owner's copy up to the owner's version, in steps of which each is
// kept: broken off, it goes on where it was.
func (s *Store) FollowNear(ctx context.Context, owner memory.Owner, model string) error {
	if s.pgvector == nil {
		return errNoPgvector
	}
	most := leastStep
	for more := true; more; most = min(2*most, nearStep) {
		var err error
		if more, err = s.follow(ctx, owner, model, most); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends a step.
var errEnough = errors.New("enough for one step")

// follow takes one step of an owner's copy towards the owner's version, and reports
// whether there is more to do. One step at a time is taken, whichever server takes it,
// and none while words are erased: what is read is not older than what is written.
func (s *Store) follow(ctx context.Context, owner memory.Owner, model string, most int) (more bool, err error) {
	err = s.onServer(ctx, func(c *session) error {
		for _, step := range []statement{
			{within, []any{s.pgvector.schema, true}},
			{`INSERT INTO near_state (owner, model) VALUES (?, ?) ON CONFLICT DO NOTHING`, []any{string(owner), model}},
		} {
			if _, err := c.exec(ctx, step.text, step.args...); err != nil {
				return err
			}
		}
		var at, dims int64
		rows, err := c.query(ctx, `SELECT version, dims FROM near_state WHERE owner = ? AND model = ? FOR UPDATE`, string(owner), model)
		if err := only(rows, err, &at, &dims); err != nil {
			return err
		}
		step := &nearBatch{owner: owner, model: model, dims: dims}
		if step.version, more, err = s.readStep(ctx, owner, model, at, most, step); err != nil {
			return err
		}
		return step.write(ctx, c)
	})
	return more, wrap("copy for the search by the server", explainServer(err))
}

// readStep reads what was written after a version, or the front of it, and returns the
// version that this reaches to.
func (s *Store) readStep(ctx context.Context, owner memory.Owner, model string, after int64, most int, into *nearBatch) (version int64, more bool, err error) {
	err = s.follows.see(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT version FROM owners WHERE owner = ?1`)
		if err := only(rows, err, &version); err != nil {
			return err
		}
		if after > version { // it is of another history
			into.anew, after = true, 0
		}
		count, last := 0, int64(0)
		err = v.pull(pulling{of: followed, model: model, after: after, yield: func(k pulled) error {
			item := k.item()
			if count >= most && item.Version != last {
				return errEnough
			}
			count, last = count+1, item.Version
			into.add(item)
			return nil
		}})
		if more = errors.Is(err, errEnough); more {
			version, err = last, nil
		}
		return err
	})
	return version, more, err
}

// nearBatch is what one step writes.
type nearBatch struct {
	owner   memory.Owner
	model   string
	version int64
	dims    int64
	anew    bool

	gone []string // ids that stand there otherwise, or not at all
	bare int64

	ids, kinds, projects, agents, conversations, threads, categories, tags, words, vectors listed
	places, expires                                                                        []int64
	terms                                                                                  map[string]int64
}

func (b *nearBatch) add(item memory.Item) {
	b.gone = append(b.gone, item.ID)
	m := item.Memory
	if item.Removed || m.Content() == "" || m.Turn != nil && !m.Turn.Tells() {
		return
	}
	kind, category, tags := memory.KindSummary, "", []string(nil)
	switch {
	case m.Fact != nil:
		kind, category, tags = memory.KindFact, m.Fact.Category, m.Fact.Tags
	case m.Turn != nil:
		kind = memory.KindTurn
	}
	thread, place := threadOf(m)
	terms := termsOf(m)
	if b.terms == nil {
		b.terms = map[string]int64{}
	}
	for _, t := range terms {
		b.terms[t]++
	}
	scope := m.Scope()
	b.ids, b.kinds = append(b.ids, item.ID), append(b.kinds, string(kind))
	b.projects, b.agents, b.conversations = append(b.projects, scope.Project), append(b.agents, scope.Agent), append(b.conversations, scope.Conversation)
	b.threads, b.places = append(b.threads, thread), append(b.places, place)
	b.categories, b.tags = append(b.categories, category), append(b.tags, strings.Join(tags, between))
	b.expires, b.words = append(b.expires, expiresAt(m)), append(b.words, strings.Join(terms, between))
	halves := b.halvesOf(item.Vector)
	if halves == "" {
		b.bare++
	}
	b.vectors = append(b.vectors, halves)
}

// between stands between terms or tags on their way to the server. A tag that has one
// itself becomes two, as it does in a question.
const between = "\x1f"

// halvesOf writes a vector as a halfvec, "" for one that cannot be compared with others.
func (b *nearBatch) halvesOf(values []float32) string {
	if len(values) == 0 || len(values) > maxNearDims || b.dims > 0 && int64(len(values)) != b.dims {
		return ""
	}
	b.dims = int64(len(values))
	return halfvec(values)
}

// halfvec writes a vector as pgvector reads it, "" if it has no direction.
func halfvec(values []float32) string {
	out := make([]byte, 1, 8*len(values)+2)
	out[0] = '['
	zero := true
	for i, x := range values {
		x = vector.DecodeHalf(vector.EncodeHalf(x))
		if x-x != 0 { // it is infinite, or no number
			return ""
		}
		zero = zero && x == 0
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(out, float64(x), 'g', -1, 32)
	}
	if zero {
		return ""
	}
	return string(append(out, ']'))
}

const (
	// dropNear takes memories out of the copies of models, and their terms off the counts.
	// It is a join for the planner, who knows nothing of a copy in the making, to look each
	// of them up: a list has it walk through all that the owner has.
	dropNear = `WITH gone AS (DELETE FROM near USING unnest(?2::text[]) AS g (memory), unnest(?3::text[]) AS m (model)
			WHERE near.owner = ?1 AND near.model = m.model AND near.memory = g.memory
			RETURNING near.model, words, vector IS NULL AS bare),
		less AS (UPDATE near_terms t SET n = t.n - g.n FROM (SELECT model, term, count(*) AS n FROM gone, unnest(tsvector_to_array(words)) AS term GROUP BY model, term) g
			WHERE t.owner = ?1 AND t.model = g.model AND t.term = g.term)
		UPDATE near_state s SET memories = s.memories - g.n, bare = s.bare - g.bare
			FROM (SELECT model, count(*) AS n, count(*) FILTER (WHERE bare) AS bare FROM gone GROUP BY model) g WHERE s.owner = ?1 AND s.model = g.model`
	putNear = `INSERT INTO near (owner, model, memory, kind, project, agent, conversation, thread, place, category, tags, expires, words, vector)
		SELECT ?1, ?2, memory, kind, project, agent, conversation, thread, place, category, string_to_array(tags, chr(31)), expires,
			array_to_tsvector(string_to_array(words, chr(31))), NULLIF(vector, '')::halfvec
		FROM unnest(?3::text[], ?4::text[], ?5::text[], ?6::text[], ?7::text[], ?8::text[], ?9::bigint[], ?10::text[], ?11::text[], ?12::bigint[], ?13::text[], ?14::text[])
			AS u (memory, kind, project, agent, conversation, thread, place, category, tags, expires, words, vector)`
	putTerms = `INSERT INTO near_terms (owner, model, term, n) SELECT ?1, ?2, term, n FROM unnest(?3::text[], ?4::bigint[]) AS u (term, n)
		ON CONFLICT (owner, model, term) DO UPDATE SET n = near_terms.n + excluded.n`
	putState = `UPDATE near_state SET version = ?3, dims = ?4, memories = memories + ?5, bare = bare + ?6 WHERE owner = ?1 AND model = ?2`
)

func (b *nearBatch) write(ctx context.Context, c *session) error {
	owner := string(b.owner)
	if b.anew {
		for _, text := range []string{`DELETE FROM near WHERE owner = ? AND model = ?`, `DELETE FROM near_terms WHERE owner = ? AND model = ?`,
			`UPDATE near_state SET memories = 0, bare = 0 WHERE owner = ? AND model = ?`} {
			if _, err := c.exec(ctx, text, owner, b.model); err != nil {
				return err
			}
		}
	}
	if len(b.gone) > 0 {
		if _, err := c.exec(ctx, dropNear, owner, listed(b.gone), listed{b.model}); err != nil {
			return err
		}
	}
	if len(b.ids) > 0 {
		if _, err := c.exec(ctx, putNear, owner, b.model, b.ids, b.kinds, b.projects, b.agents, b.conversations, b.threads, b.places,
			b.categories, b.tags, b.expires, b.words, b.vectors); err != nil {
			return err
		}
		terms, counts := make(listed, 0, len(b.terms)), make([]int64, 0, len(b.terms))
		for t := range b.terms {
			terms = append(terms, t)
		}
		slices.Sort(terms)
		for _, t := range terms {
			counts = append(counts, b.terms[t])
		}
		if _, err := c.exec(ctx, putTerms, owner, b.model, terms, counts); err != nil {
			return err
		}
	}
	_, err := c.exec(ctx, putState, owner, b.model, b.version, b.dims, len(b.ids), b.bare)
	return err
}
