package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// nearEffort is how many memories the index by vectors compares at the least
	// (hnsw.ef_search, at most 1000), and nearScan how many at the most until enough is
	// found that the filters let pass; then they are compared one by one.
	nearEffort = 400
	nearScan   = 20_000
)

// Nearest has the server look for what may answer a question, by words and by vectors of
// the model, among what was committed before it was called: what q.Scopes, of this owner,
// and the other filters let pass, and the turns around that, which count for it. It says
// besides what the owner has.
//
//   - [memory.NotFound]: BuildNear is to be done, or done again.
//   - [memory.Conflict]: the copy is behind: FollowNear is to be done.
func (s *Store) Nearest(ctx context.Context, owner memory.Owner, model string, q memory.Search) (found memory.Excerpt, err error) {
	if s.pgvector == nil {
		return found, errNoPgvector
	}
	err = s.reads.look(ctx, owner, func(v *view) error {
		n := &nearing{view: v, model: model, limit: cmp.Or(q.Limit, 200)}
		n.narrow(q)
		err := n.search(q, s.pgvector.schema)
		if err != nil {
			v.conn.rollback(ctx)
		}
		found = n.found
		return err
	})
	if missing(err) {
		err = memory.Errorf(memory.NotFound, "the server's copy is not there: %w", err)
	}
	return found, wrap("search by the server", err)
}

// missing reports whether a server knows no such table, column, type or function.
func missing(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains([]string{"42P01", "42703", "42704", "42883"}, e.Code)
}

// search asks three times: what the copy is and how rare words are, what is found by
// words and by vectors, and what that is; and once more where a word is misspelt. All of it is of one moment.
func (n *nearing) search(q memory.Search, schema string) error {
	words, err := n.begin(q, schema)
	if err != nil {
		return err
	}
	if !q.ByWords && len(q.Vector) == n.state.dims && n.state.dims > 0 && !n.rests() {
		if n.question = halfvec(q.Vector); !n.state.indexed { // there was no vector yet when the indexes were made
			return memory.Errorf(memory.NotFound, "the server has no index of the vectors yet")
		}
	}
	byWords, byVector, err := n.look(words)
	if err != nil {
		return err
	}
	return n.read(append(best(byWords, words, n.limit), byVector...), byWords)
}

// nearState is what is known of a copy.
type nearState struct {
	now, at        int64 // versions of the owner and of the copy
	dims           int
	memories       int
	ready, indexed bool
}

// stateOf asks for it, and for the sums.
const stateOf = `SELECT o.version, n.version, n.dims, n.memories, n.ready, EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(?3) AND indisvalid),
		n.bare, n.facts, n.summaries, n.fact_length, n.summary_length, n.turn_length, n.first_length, n.second_length, n.third_length
	FROM owners o JOIN near_state n ON n.owner = o.owner WHERE o.owner = ?1 AND n.model = ?2`

func (n *nearing) scanState(row scanner) error {
	s, whole := &n.state, &n.found.Whole
	var fact, summary, turn memory.Amount
	err := row.Scan(&s.now, &s.at, &s.dims, &s.memories, &s.ready, &s.indexed, &n.found.Bare, &fact.Memories, &summary.Memories,
		&fact.Length, &summary.Length, &turn.Length, &whole.Ends[0], &whole.Ends[1], &whole.Ends[2])
	turn.Memories = s.memories - fact.Memories - summary.Memories
	whole.Kinds = map[memory.Kind]memory.Amount{memory.KindFact: fact, memory.KindSummary: summary, memory.KindTurn: turn}
	return err
}

// settings are those of the transaction: where the types of pgvector are, how far its
// index looks, and that a statement is planned for its values, since the indexes are of
// one owner.
const settings = `SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(?1), true), set_config('hnsw.ef_search', ?2, true),
	set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.max_scan_tuples', ?3, true), set_config('plan_cache_mode', 'force_custom_plan', true)`

// begin takes a snapshot, and returns the question's words that anything has, or those that they
// are taken for.
func (n *nearing) begin(q memory.Search, schema string) (words []word, err error) {
	n.found.Whole.Terms = map[string]int{}
	asked := text.Terms(q.Text)
	ask, weights := n.askWords(asked, &words)
	err = n.together(
		asking{text: beginToRead},
		asking{text: settings, args: []any{schema, strconv.Itoa(nearEffort), strconv.Itoa(nearScan)}},
		asking{text: stateOf, args: []any{string(n.owner), n.model, nearName(n.owner, n.model) + "_vectors"}, row: n.scanState},
		ask)
	switch s := &n.state; {
	case err != nil:
		return nil, err
	case !s.ready:
		return nil, memory.Errorf(memory.NotFound, "the server's copy is not whole yet")
	case s.at != s.now:
		return nil, memory.Errorf(memory.Conflict, "the server's copy is at version %d of %d", s.at, s.now)
	}
	if !q.ByWords { // what is compared with what is known is not a question
		meant, err := n.correct(q.Text, asked, weights)
		if err != nil {
			return nil, err
		}
		words = append(words, meant...)
	}
	weigh(words, weights, n.state.memories)
	return words, nil
}

// rests reports whether too few memories have a vector for those to be used.
func (n *nearing) rests() bool { return n.found.Bare*restingShare > n.state.memories }

// asking is a statement, and what is done with each row of the answer; nil: nothing.
type asking struct {
	text string
	args []any
	row  func(scanner) error
}

// together asks in one way there and back.
func (n *nearing) together(asked ...asking) error {
	into := n.conn.into
	b := &pgx.Batch{}
	for _, q := range asked {
		b.Queue(into.text(q.text), into.values(q.args)...)
	}
	return raw(n.conn, func(c *pgx.Conn) (err error) {
		sent := c.SendBatch(n.ctx, b)
		defer func() { err = errors.Join(err, sent.Close()) }()
		for _, q := range asked {
			if q.row == nil {
				_, err = sent.Exec()
			} else {
				_, err = each(sent, into, q.row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// nearing is one search on its way.
type nearing struct {
	*view
	model    string
	limit    int
	filter   string // more conditions, with arguments from ?3 on
	args     []any  // all of them
	state    nearState
	question string // as a halfvec; "": there is none
	found    memory.Excerpt
}

func (n *nearing) argument(x any) string {
	n.args = append(n.args, x)
	return "?" + strconv.Itoa(len(n.args))
}

// narrow makes conditions of what a search is narrowed to, but for what the request
// carries, which the index leaves out. They let pass all that the search may show.
func (n *nearing) narrow(q memory.Search) {
	n.args = []any{string(n.owner), n.model}
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
	if q.Only != nil {
		n.filter += ` AND memory = ANY (` + n.argument(listed(slices.Collect(maps.Keys(q.Only)))) + `::text[])`
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
