package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// nearWords is how many memories are looked at that have one of the rarest words of a
	// question; commoner words only say which of them come first.
	nearWords = 5000
	// nearAround is how many turns before and after each that was found by its words are
	// read with it, since a turn is scored with its neighbours.
	nearAround = 3
	// nearSample is how many memories with a word are looked at to learn how many turns are
	// beside one that has it.
	nearSample = 100
	// nearEffort is how many memories the index by vectors compares at the least
	// (hnsw.ef_search, at most 1000), and nearScan how many at the most until enough is
	// found that the filters let pass; then they are compared one by one.
	nearEffort = 400
	nearScan   = 20_000
)

// near is what the server found for a question, and what it knows of all the owner has.
type near struct {
	items    []memory.Item  // candidates and the turns around them
	memories int            // of the owner
	terms    map[string]int // of the question and related to it: in how many memories
	bare     int            // memories without a vector; if they are many, vectors rest
}

// Nearest has the server look for what may answer a question, by words and by vectors of
// the model, among what was committed before it was called: what q.Scopes, of this owner,
// and the other filters let pass, and the turns around that. It says besides how many
// memories the owner has, in how many of them the terms of the question and those related
// to them are, and how many have no vector.
//
//   - [memory.NotFound]: BuildNear is to be done, or done again.
//   - [memory.Conflict]: the copy is behind: FollowNear is to be done.
func (s *Store) Nearest(ctx context.Context, owner memory.Owner, model string, q memory.Search) (items []memory.Item, memories int, terms map[string]int, bare int, err error) {
	if s.pgvector == nil {
		return nil, 0, nil, 0, errNoPgvector
	}
	var found near
	err = s.reads.see(ctx, owner, func(v *view) error { return s.nearest(v, model, q, &found) })
	if missing(err) {
		err = memory.Errorf(memory.NotFound, "the server's copy is not there: %w", err)
	}
	return found.items, found.memories, found.terms, found.bare, wrap("search by the server", err)
}

// missing reports whether a server knows no such table, column, type or function.
func missing(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains([]string{"42P01", "42703", "42704", "42883"}, e.Code)
}

// nearest searches a snapshot.
func (s *Store) nearest(v *view, model string, q memory.Search, into *near) error {
	var now, at int64
	var dims int
	var ready, indexed bool
	*into = near{terms: map[string]int{}}
	rows, err := v.query(`SELECT o.version, n.version, n.dims, n.memories, n.bare, n.ready,
			EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(?3) AND indisvalid)
		FROM owners o JOIN near_state n ON n.owner = o.owner WHERE o.owner = ?1 AND n.model = ?2`, model, nearName(v.owner, model)+"_vectors")
	if err := only(rows, err, &now, &at, &dims, &into.memories, &into.bare, &ready, &indexed); noRows(err) || err == nil && !ready {
		return memory.Errorf(memory.NotFound, "the server's copy is not whole yet")
	} else if err != nil {
		return err
	}
	if at != now {
		return memory.Errorf(memory.Conflict, "the server's copy is at version %d of %d", at, now)
	}
	rests := into.bare*restingShare > into.memories
	byVector := !rests && !q.ByWords && len(q.Vector) == dims && dims > 0
	if byVector && !indexed { // there was no vector yet when the indexes were made
		return memory.Errorf(memory.NotFound, "the server has no index of the vectors yet")
	}
	for _, step := range []statement{
		{within, []any{s.pgvector.schema, true}},
		{`SELECT set_config('hnsw.ef_search', ?, true), set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.max_scan_tuples', ?, true),
			set_config('plan_cache_mode', 'force_custom_plan', true)`, []any{strconv.Itoa(nearEffort), strconv.Itoa(nearScan)}}, // the indexes are of one owner
	} {
		if _, err := v.conn.exec(v.ctx, step.text, step.args...); err != nil {
			return err
		}
	}
	n := &nearing{view: v, model: model, limit: cmp.Or(q.Limit, 200)}
	n.narrow(q)
	ids, err := n.byWords(text.Terms(q.Text), into.terms, into.memories)
	if err != nil {
		return fmt.Errorf("by words: %w", err)
	}
	if byVector {
		more, err := n.byVector(q.Vector, dims)
		if err != nil {
			return fmt.Errorf("by vectors: %w", err)
		}
		ids = append(ids, more...)
	}
	slices.Sort(ids)
	into.items, err = n.items(slices.Compact(ids))
	for i := range into.items {
		if rests {
			into.items[i].Vector = nil
		}
	}
	return err
}

// nearing is one search on its way.
type nearing struct {
	*view
	model  string
	limit  int
	filter string // more conditions, with arguments from ?3 on
	args   []any  // those from ?2 on
}

func (n *nearing) argument(x any) string {
	n.args = append(n.args, x)
	return "?" + strconv.Itoa(len(n.args)+1)
}

// narrow makes conditions of what a search is narrowed to, but for what the request
// carries, which the index leaves out. They let pass all that the search may show.
func (n *nearing) narrow(q memory.Search) {
	n.args = []any{n.model}
	scopes := ""
	for _, s := range q.Scopes {
		if s.Owner != n.owner {
			continue
		}
		one := "true"
		for _, part := range []struct{ column, value string }{{"project", s.Project}, {"agent", s.Agent}, {"conversation", s.Conversation}} {
			if part.value != "" {
				one += ` AND ` + part.column + ` IN ('', ` + n.argument(part.value) + `)`
			}
		}
		if scopes != "" {
			scopes += " OR "
		}
		scopes += "(" + one + ")"
	}
	n.filter = " AND (" + scopes + ")"
	if len(q.Kinds) > 0 {
		kinds := make(listed, len(q.Kinds))
		for i, k := range q.Kinds {
			kinds[i] = string(k)
		}
		n.filter += ` AND kind = ANY (` + n.argument(kinds) + `::text[])`
	}
	if q.Conversation != "" {
		n.filter += ` AND thread = ` + n.argument(q.Conversation)
	}
	if q.Category != "" {
		n.filter += ` AND category = ` + n.argument(q.Category)
	}
	if q.Tag != "" {
		n.filter += ` AND tags @> string_to_array(` + n.argument(q.Tag) + `, chr(31))`
	}
	if !q.Now.IsZero() {
		n.filter += ` AND (expires = 0 OR expires > ` + n.argument(micros(q.Now)) + `)`
	}
}

const fromNear = ` FROM near WHERE owner = ?1 AND model = ?2`

func (n *nearing) ids(query string, args ...any) ([]string, error) {
	rows, err := n.query(query, args...)
	return collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
}

// word is a term that is looked for, and what it is worth.
type word struct {
	term   string
	n      int
	weight float64
}

// byWords returns the memories that have the most of a question's words, by weight, and
// the turns around them. counts gets in how many memories each word is, or beside them.
func (n *nearing) byWords(asked []string, counts map[string]int, memories int) ([]string, error) {
	words, err := n.words(asked, counts, memories)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	var rare []string
	seen := 0
	for _, w := range words {
		if len(rare) > 0 && seen+w.n > nearWords {
			break
		}
		rare, seen = append(rare, w.term), seen+w.n
	}
	query := *n
	query.args = slices.Clone(n.args)
	score := "0"
	for _, w := range words {
		score += ` + CASE WHEN words @@ ` + query.argument(lexemes([]string{w.term})) + `::tsquery THEN ` + query.argument(w.weight) + `::float8 ELSE 0 END`
	}
	among := `SELECT memory, words` + fromNear + n.filter + ` AND words @@ ` + query.argument(lexemes(rare)) + `::tsquery LIMIT ` + strconv.Itoa(2*nearWords)
	found, err := query.ids(`SELECT memory FROM (`+among+`) AS found ORDER BY `+score+` DESC, memory LIMIT `+strconv.Itoa(n.limit), query.args...)
	if err != nil {
		return nil, err
	}
	around, err := n.ids(`SELECT b.memory FROM near a JOIN near b ON b.owner = a.owner AND b.model = a.model AND b.thread = a.thread
		AND b.place BETWEEN a.place - ?3 AND a.place + ?3 AND b.place >= 0
		WHERE a.owner = ?1 AND a.model = ?2 AND a.place >= 0 AND a.memory IN (SELECT value FROM json_each(?4)) AND b.owner = ?1`,
		n.model, nearAround, listed(found))
	return append(found, around...), err
}

// spreadOf asks in how many memories terms are and, of some of these, how many there are
// and how many with the turns around them.
const spreadOf = `SELECT t.term, t.n, s.seen, s.spread
	FROM (SELECT DISTINCT term, query FROM unnest(?3::text[], ?4::text[]) AS u (term, query)) q
	JOIN near_terms t ON t.owner = ?1 AND t.model = ?2 AND t.term = q.term AND t.n > 0
	JOIN LATERAL (
		WITH some_of AS (SELECT memory, thread, place FROM near WHERE owner = ?1 AND model = ?2 AND words @@ q.query::tsquery LIMIT ?5)
		SELECT count(*) AS seen, count(*) FILTER (WHERE place < 0) + (SELECT count(DISTINCT b.memory) FROM some_of a
			JOIN near b ON b.owner = ?1 AND b.model = ?2 AND b.thread = a.thread AND b.place BETWEEN a.place - ?6 AND a.place + ?6
			WHERE a.place >= 0 AND b.place >= 0) AS spread
		FROM some_of) s ON true`

// words returns the question's words that anything has, the rarest first, and at a lower
// weight what is related to them.
func (n *nearing) words(asked []string, counts map[string]int, memories int) ([]word, error) {
	weights := map[string]float64{}
	var all listed
	for _, t := range asked {
		for _, other := range text.Related(t) {
			weights[other] = max(weights[other], 0.4)
			all = append(all, other)
		}
	}
	for _, t := range asked {
		weights[t] = 1
		all = append(all, t)
	}
	queries := make(listed, len(all))
	for i, t := range all {
		queries[i] = lexemes([]string{t})
	}
	rows, err := n.query(spreadOf, n.model, all, queries, nearSample, nearAround)
	words, err := collect(rows, err, func(row scanner) (w word, err error) {
		var seen, spread int
		err = row.Scan(&w.term, &w.n, &seen, &spread)
		counts[w.term] = max(w.n, w.n*spread/max(1, seen))
		return w, err
	})
	for i := range words {
		w := &words[i]
		w.weight = weights[w.term] * math.Log1p(float64(memories)/float64(w.n))
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term)) })
	return words, err
}

// byVector returns the memories that are nearest. If the index gave up before it had
// enough that the filters let pass, they are compared one by one.
func (n *nearing) byVector(values []float32, dims int) ([]string, error) {
	question := halfvec(values)
	if question == "" {
		return nil, nil
	}
	query := *n
	query.args = slices.Clone(n.args)
	typed := `::halfvec(` + strconv.Itoa(dims) + `)`
	nearest := `SELECT memory` + fromNear + n.filter + ` AND vector IS NOT NULL ORDER BY (vector` + typed + `) <=> ` + query.argument(question) + typed + ` LIMIT ` + strconv.Itoa(n.limit)
	found, err := query.ids(nearest, query.args...)
	if err != nil || len(found) >= n.limit {
		return found, err
	}
	if _, err := n.conn.exec(n.ctx, `SELECT set_config('enable_indexscan', 'off', true)`); err != nil {
		return nil, err
	}
	return query.ids(nearest, query.args...)
}

// items reads memories with their vectors. What recall may not see by now is left out.
func (n *nearing) items(ids []string) ([]memory.Item, error) {
	var all []memory.Item
	for _, from := range followed {
		rows, err := n.query(`SELECT `+from.columns+`,
			(SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2)
			FROM `+from.table+` m WHERE owner = ?1 AND status = 'active' AND id IN (SELECT value FROM json_each(?3))`, n.model, listed(ids))
		items, err := collect(rows, err, func(row scanner) (memory.Item, error) { return from.item(n.owner, row) })
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", from.table, err)
		}
		all = append(all, items...)
	}
	all = slices.DeleteFunc(all, func(i memory.Item) bool { return i.Removed })
	slices.SortFunc(all, func(a, b memory.Item) int { return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}
