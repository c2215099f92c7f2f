package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci/memory"
)

const (
	// endsOf sums the lengths of the first turns of the conversations in touched and of the
	// last ones, by their place from the end, for each model: that is how what turns count
	// for those around them is known for all of an owner (see [memory.Whole]).
	endsOf = `SELECT t.model, coalesce(sum(e.length) FILTER (WHERE e.at = 1), 0) AS first, coalesce(sum(e.length) FILTER (WHERE e.at = 2), 0) AS second,
			coalesce(sum(e.length) FILTER (WHERE e.at = 3), 0) AS third
		FROM touched t JOIN LATERAL (
			(SELECT length, row_number() OVER (ORDER BY place, memory) AS at FROM near
				WHERE owner = ?1 AND model = t.model AND thread = t.thread AND place >= 0 ORDER BY place, memory LIMIT 3)
			UNION ALL
			(SELECT length, row_number() OVER (ORDER BY place DESC, memory DESC) AS at FROM near
				WHERE owner = ?1 AND model = t.model AND thread = t.thread AND place >= 0 ORDER BY place DESC, memory DESC LIMIT 3)
		) AS e ON true GROUP BY t.model`

	// dropNear takes memories out of the copies of models, and what is known of them off the
	// sums. Those of the ends of conversations that it or who calls it changes (?4) are taken
	// off whole, and put back by putState; it returns which.
	// It is a join for the planner, who knows nothing of a copy in the making, to look each
	// of them up: a list has it walk through all that the owner has.
	dropNear = `WITH touched AS (
			SELECT n.model, n.thread FROM unnest(?2::text[]) AS g (memory) JOIN unnest(?3::text[]) AS m (model) ON true
				JOIN near n ON n.owner = ?1 AND n.model = m.model AND n.memory = g.memory WHERE n.place >= 0
			UNION SELECT m.model, t.thread FROM unnest(?4::text[]) AS t (thread) JOIN unnest(?3::text[]) AS m (model) ON true),
		ends AS (` + endsOf + `),
		gone AS (DELETE FROM near USING unnest(?2::text[]) AS g (memory), unnest(?3::text[]) AS m (model)
			WHERE near.owner = ?1 AND near.model = m.model AND near.memory = g.memory
			RETURNING near.model, words, kind, length, vector IS NULL AS bare),
		less AS (UPDATE near_terms t SET n = t.n - g.n FROM (SELECT model, term, count(*) AS n FROM gone, unnest(tsvector_to_array(words)) AS term GROUP BY model, term) g
			WHERE t.owner = ?1 AND t.model = g.model AND t.term = g.term),
		counted AS (SELECT model, count(*) AS n, count(*) FILTER (WHERE bare) AS bare,
				count(*) FILTER (WHERE kind = 'fact') AS facts, count(*) FILTER (WHERE kind = 'summary') AS summaries,
				coalesce(sum(length) FILTER (WHERE kind = 'fact'), 0) AS fact_length, coalesce(sum(length) FILTER (WHERE kind = 'summary'), 0) AS summary_length,
				coalesce(sum(length) FILTER (WHERE kind = 'turn'), 0) AS turn_length
			FROM gone GROUP BY model),
		state AS (UPDATE near_state s SET memories = s.memories - coalesce(g.n, 0), bare = s.bare - coalesce(g.bare, 0),
				facts = s.facts - coalesce(g.facts, 0), summaries = s.summaries - coalesce(g.summaries, 0), fact_length = s.fact_length - coalesce(g.fact_length, 0),
				summary_length = s.summary_length - coalesce(g.summary_length, 0), turn_length = s.turn_length - coalesce(g.turn_length, 0),
				first_length = s.first_length - coalesce(e.first, 0), second_length = s.second_length - coalesce(e.second, 0), third_length = s.third_length - coalesce(e.third, 0)
			FROM unnest(?3::text[]) AS m (model) LEFT JOIN counted g ON g.model = m.model LEFT JOIN ends e ON e.model = m.model
			WHERE s.owner = ?1 AND s.model = m.model)
		SELECT model, thread FROM touched`
	putNear = `INSERT INTO near (owner, model, memory, kind, project, agent, conversation, thread, place, category, tags, expires, words, vector, length)
		SELECT ?1, ?2, memory, kind, project, agent, conversation, thread, place, category, string_to_array(tags, chr(31)), expires,
			array_to_tsvector(string_to_array(words, chr(31))), NULLIF(vector, '')::halfvec, length
		FROM unnest(?3::text[], ?4::text[], ?5::text[], ?6::text[], ?7::text[], ?8::text[], ?9::bigint[], ?10::text[], ?11::text[], ?12::bigint[], ?13::text[], ?14::text[], ?15::bigint[])
			AS u (memory, kind, project, agent, conversation, thread, place, category, tags, expires, words, vector, length)`
	putTerms = `INSERT INTO near_terms (owner, model, term, n) SELECT ?1, ?2, term, n FROM unnest(?3::text[], ?4::bigint[]) AS u (term, n)
		ON CONFLICT (owner, model, term) DO UPDATE SET n = near_terms.n + excluded.n`
	// putState adds what was put to the sums, with the ends of conversations. Without a
	// version the copy is as far as it was.
	putState = `WITH touched AS (SELECT ?2::text AS model, thread FROM unnest(?3::text[]) AS t (thread))
		UPDATE near_state s SET version = coalesce(?4::bigint, s.version), dims = coalesce(?5::bigint, s.dims), memories = s.memories + ?6::bigint, bare = s.bare + ?7::bigint,
			facts = s.facts + ?8::bigint, summaries = s.summaries + ?9::bigint, fact_length = s.fact_length + ?10::bigint, summary_length = s.summary_length + ?11::bigint,
			turn_length = s.turn_length + ?12::bigint, first_length = s.first_length + e.first, second_length = s.second_length + e.second, third_length = s.third_length + e.third
		FROM (SELECT coalesce(max(first), 0) AS first, coalesce(max(second), 0) AS second, coalesce(max(third), 0) AS third FROM (` + endsOf + `) AS one) AS e
		WHERE s.owner = ?1 AND s.model = ?2`
)

// threadsOf reads which conversations dropNear touched, by model.
func threadsOf(rows rows, err error) (map[string]listed, error) {
	touched := map[string]listed{}
	_, err = collect(rows, err, func(row scanner) (struct{}, error) {
		var model, thread string
		err := row.Scan(&model, &thread)
		touched[model] = append(touched[model], thread)
		return struct{}{}, err
	})
	return touched, err
}

func (b *nearBatch) write(ctx context.Context, c *session) error {
	owner := string(b.owner)
	if b.anew {
		for _, text := range []string{`DELETE FROM near WHERE owner = ? AND model = ?`, `DELETE FROM near_terms WHERE owner = ? AND model = ?`,
			`UPDATE near_state SET memories = 0, bare = 0, facts = 0, summaries = 0, fact_length = 0, summary_length = 0, turn_length = 0,
				first_length = 0, second_length = 0, third_length = 0 WHERE owner = ? AND model = ?`} {
			if _, err := c.exec(ctx, text, owner, b.model); err != nil {
				return err
			}
		}
	}
	var touched map[string]listed
	if len(b.gone) > 0 {
		rows, err := c.query(ctx, dropNear, owner, listed(b.gone), listed{b.model}, b.conversationsOfTurns())
		if touched, err = threadsOf(rows, err); err != nil {
			return err
		}
	}
	if len(b.ids) > 0 {
		if err := b.put(ctx, c); err != nil {
			return err
		}
	}
	facts, summaries := b.whole[memory.KindFact], b.whole[memory.KindSummary]
	_, err := c.exec(ctx, putState, owner, b.model, touched[b.model], b.version, b.dims, len(b.ids), b.bare,
		facts.Memories, summaries.Memories, facts.Length, summaries.Length, b.whole[memory.KindTurn].Length)
	return err
}

// conversationsOfTurns returns those that get turns, each once.
func (b *nearBatch) conversationsOfTurns() listed {
	set := map[string]bool{}
	for i, place := range b.places {
		if place >= 0 {
			set[b.threads[i]] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}

func (b *nearBatch) put(ctx context.Context, c *session) error {
	owner := string(b.owner)
	if _, err := c.exec(ctx, putNear, owner, b.model, b.ids, b.kinds, b.projects, b.agents, b.conversations, b.threads, b.places,
		b.categories, b.tags, b.expires, b.words, b.vectors, b.lengths); err != nil {
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
	_, err := c.exec(ctx, putTerms, owner, b.model, terms, counts)
	return err
}
