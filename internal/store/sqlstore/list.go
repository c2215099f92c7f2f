package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// memoryTable describes a table of memories.
type source struct {
	table   string
	prefix  string // prefix of the targets in this table, such as "fact:"
	columns string
	scan    func(memory.Owner, scanner, ...any) (memory.Memory, error)
}

var (
	facts, links, summaries = factTable.source(), linkTable.source(), summaryTable.source()

	turns = source{"turns", "turn:", turnColumns, func(o memory.Owner, row scanner, more ...any) (memory.Memory, error) {
		t, err := scanTurn(o, row, more...)
		return memory.Memory{Turn: t}, err
	}}
)

// Get returns memories by id: see [memory.Facts].
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return nil, err
	}
	byID, missing, commits := s.cache.find(owner, ids)
	if len(missing) > 0 {
		read, err := s.read(ctx, owner, missing)
		if err != nil {
			return nil, err
		}
		if !s.cache.learn(owner, read, commits) && len(byID) > 0 {
			// a commit happened meanwhile, so the cached memories may be older than the memories in
			// read
			if read, err = s.read(ctx, owner, ids); err != nil {
				return nil, err
			}
			clear(byID)
		}
		maps.Copy(byID, read)
	}
	found := make([]memory.Memory, 0, len(ids))
	for _, id := range ids {
		found = append(found, byID[id]...)
	}
	return found, nil
}

// read reads memories from the database by id. With SQLite it first queries only turns, which are the
// most frequent kind, without a transaction.
func (s *Store) read(ctx context.Context, owner memory.Owner, ids []string) (map[string][]memory.Memory, error) {
	byID := make(map[string][]memory.Memory, len(ids))
	tables := []source{turns, facts, links, summaries}
	if s.reads.into == nil {
		err := s.reads.look(ctx, owner, func(v *view) error { return v.brief().conn.ask(v.brief().ctx, v.byIDs(ids, byID, turns)...) })
		if err != nil || len(byID) == len(ids) {
			return byID, err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return byID[id] != nil })
		tables = tables[1:]
	}
	err := s.reads.together(ctx, owner, func(v *view) ([]ask, error) { return v.byIDs(ids, byID, tables...), nil })
	return byID, err
}

// statementsByID returns queries that add memories to results by id. If an id is in several tables, the
// first table wins.
func (v *view) byIDs(ids []string, found map[string][]memory.Memory, tables ...source) (all []ask) {
	if len(ids) == 0 {
		return nil
	}
	for _, from := range tables {
		w := ofOwner()
		if v.conn.into != nil {
			w.anyOf(`id`, ids) // one statement for any number of ids
		} else {
			w.oneOf(`id`, ids)
		}
		all = append(all, v.asking(`SELECT `+from.columns+` FROM `+from.table+` `+w.text(), w.args, func(row scanner) error {
			m, err := from.scan(v.owner, row)
			if err == nil && found[m.ID()] == nil {
				found[m.ID()] = []memory.Memory{m}
			}
			return err
		}))
	}
	return all
}

// List returns the memories that match: see [memory.Facts].
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	limit := shelf.PageSize(q.Limit) + 1
	var found []memory.Memory
	var err error
	if inOne(q) {
		err = s.reads.together(ctx, owner, func(v *view) ([]ask, error) {
			found = nil
			return v.listing(sourcesOf(q), q, limit, &found)
		})
	} else {
		err = s.reads.see(ctx, owner, func(v *view) (err error) {
			found, err = v.listInTurn(q, limit)
			return err
		})
	}
	if err != nil {
		return memory.Page{}, err
	}
	return page(found, q)
}

// isOneBatch reports whether all statements of a list can be sent in one batch.
func inOne(q memory.Query) bool { return q.At.AsOf.IsZero() && q.Text == "" }

// listSequentially lists memories with queries that depend on the results of earlier queries.
func (v *view) listInTurn(q memory.Query, limit int) (found []memory.Memory, err error) {
	list := v.list
	if !q.At.AsOf.IsZero() {
		p, err := v.past(q.At.AsOf)
		if err != nil {
			return nil, err
		}
		list = func(from source, q memory.Query, limit int) ([]memory.Memory, error) {
			return v.listAsOf(from, q, p, limit)
		}
	}
	for _, from := range sourcesOf(q) {
		some, err := list(from, q, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// newPage returns the page of matches that q selects.
func page(found []memory.Memory, q memory.Query) (memory.Page, error) {
	some, next, err := shelf.PageAfter(found, q.Limit, q.Cursor, placeOf)
	return memory.Page{Memories: some, Next: next}, err
}

func placeOf(m memory.Memory) shelf.Place { return shelf.Place{At: m.CreatedAt(), ID: m.ID()} }

// tablesFor returns the tables that may contain matches.
func sourcesOf(q memory.Query) []source {
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []memory.Kind{memory.KindFact}
	}
	ofFacts := q.Category != "" || q.Tag != "" || q.Subject != "" || q.Attribute != "" || q.Hash != "" || q.Turn != "" || q.Pinned
	var all []source
	if slices.Contains(kinds, memory.KindFact) {
		all = append(all, facts, links)
	}
	if slices.Contains(kinds, memory.KindTurn) && !ofFacts {
		all = append(all, turns)
	}
	if slices.Contains(kinds, memory.KindSummary) && !ofFacts {
		all = append(all, summaries)
	}
	return all
}

// list returns a table's matching memories: at least the newest limit memories.
func (v *view) list(from source, q memory.Query, limit int) (all []memory.Memory, err error) {
	if q.Text != "" && from.table != links.table {
		return v.containing(from, q, limit)
	}
	asks, err := v.listing([]source{from}, q, limit, &all)
	if err == nil {
		err = v.conn.ask(v.ctx, asks...)
	}
	return all, wrap("list "+from.table, err)
}

// listStatements returns queries that add matching memories to results: at least the newest limit of
// each table.
func (v *view) listing(tables []source, q memory.Query, limit int, found *[]memory.Memory) (all []ask, err error) {
	if v.conn.into != nil && !few(q) && !q.Pinned {
		all = append(all, say(pageByPage))
	}
	for _, from := range tables {
		selections := v.selections(from, q)
		if from.table == links.table { // reads all links: they are few, and the fields of their facts are in JSON
			selections = []selection{{links.table, ofOwner()}}
		}
		for _, sel := range selections {
			one, err := v.pageOf(from, sel, q, limit, found)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// selection is a table with a condition on its rows.
type selection struct {
	table string
	where
}

// selections returns one selection for each status that q allows; together they select the matches.
func (v *view) selections(from source, q memory.Query) (all []selection) {
	for _, status := range statuses(q) {
		sel := selection{from.table, ofOwner()}
		sel.status(status, q)
		sel.scope(from, q)
		if from.table == facts.table {
			sel.fact(v.owner, q)
		}
		if from.table == facts.table && v.conn.into == nil && q.Hash != "" && status.Live() {
			sel.table += byHash
		}
		all = append(all, sel)
	}
	return all
}

// pageStatement returns a query that adds the selected memories after q's cursor to results, newest
// first: at least limit memories, or all links.
func (v *view) pageOf(from source, sel selection, q memory.Query, limit int, found *[]memory.Memory) (ask, error) {
	ofLinks := from.table == links.table
	column, end := `created_at`, ` ORDER BY created_at DESC, id DESC`+limitOf(limit)
	if ofLinks {
		column, end = `fact_created_at`, ``
	}
	if err := sel.after(q.Cursor, column); err != nil {
		return ask{}, err
	}
	return v.asking(`SELECT `+from.columns+` FROM `+sel.table+` `+sel.text()+end, sel.args, func(row scanner) error {
		m, err := from.scan(v.owner, row)
		if err == nil && (!ofLinks || q.Matches(m)) {
			*found = append(*found, m)
		}
		return err
	}), nil
}

// ownerStatement returns a statement whose first argument is the view's owner.
func (v *view) asking(query string, args []any, read func(scanner) error) ask {
	return ask{query, append([]any{string(v.owner)}, args...), read}
}

// scanPageSize is the number of memories that listContaining reads at a time.
const scanned = 512

// listContaining is list for a query with a text. It reads page by page and compares in Go, since no
// database compares texts like [memory.ContainsFold].
func (v *view) containing(from source, q memory.Query, limit int) (found []memory.Memory, err error) {
	for _, sel := range v.selections(from, q) {
		q, enough := q, len(found)+limit
		for len(found) < enough {
			var some []memory.Memory
			one, err := v.pageOf(from, sel, q, scanned, &some)
			if err == nil {
				err = v.askPage(one)
			}
			if err != nil {
				return nil, err
			}
			for _, m := range some {
				if memory.ContainsFold(m.Content(), q.Text) {
					found = append(found, m)
				}
			}
			if len(some) < scanned {
				break
			}
			q.Cursor = shelf.WriteCursor(placeOf(some[len(some)-1]))
		}
	}
	return found, nil
}

// queriedStatuses returns q's valid statuses without duplicates. Being constants, they are safe in
// SQL text.
func statuses(q memory.Query) []memory.Status {
	if len(q.Statuses) == 0 && q.At.ValidAt.IsZero() {
		return []memory.Status{memory.Active}
	}
	if len(q.Statuses) == 0 {
		return []memory.Status{memory.Active, memory.Superseded}
	}
	all := []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
	return slices.DeleteFunc(all, func(s memory.Status) bool { return !slices.Contains(q.Statuses, s) })
}

// filterStatus selects rows with a status. The status is a literal in the SQL: with an argument, SQLite
// would plan the query each time, since the use of partial indexes depends on the value.
func (w *where) status(one memory.Status, q memory.Query) {
	term := `status = '` + string(one) + `'`
	if !few(q) {
		w.and(term)
		return
	}
	// The plus keeps SQLite from using the index on status: other indexes find few rows faster.
	w.and(`+` + term)
	switch { // the conditions of the partial indexes on hashes
	case q.Hash == "":
	case one.Live():
		w.and(`status IN ('active', 'pending')`)
	default:
		w.and(`status NOT IN ('active', 'pending')`)
	}
}

// isSelective reports whether q has a condition for which an index finds only a few rows.
func few(q memory.Query) bool {
	return q.Hash != "" || q.Tag != "" || q.Turn != "" || q.Subject != "" || q.Conversation != "" || q.Begins != ""
}

// filterScope selects rows by q's project, agent, conversation and prefix of the id.
func (w *where) scope(from source, q memory.Query) {
	if q.Project != "" {
		w.and(`project = ?`, q.Project)
	}
	if q.Agent != "" {
		w.and(`agent = ?`, q.Agent)
	}
	if q.Begins != "" {
		w.and(`id >= ? AND id < ?`, q.Begins, q.Begins+string(utf8.MaxRune))
	}
	switch {
	case q.Conversation == "":
	case from.table == facts.table:
		w.and(`(conversation = ? OR from_conversation = ?)`, q.Conversation, q.Conversation)
	default:
		w.and(`conversation = ?`, q.Conversation)
	}
}

func (w *where) fact(owner memory.Owner, q memory.Query) {
	if q.Category != "" {
		w.and(`category = ?`, q.Category)
	}
	if q.Tag != "" {
		w.and(`id IN (SELECT fact FROM fact_tags WHERE owner = ? AND tag = ?)`, owner, q.Tag)
	}
	if q.Subject != "" {
		w.and(`subject <> '' AND subject = ?`, q.Subject)
	}
	if q.Attribute != "" {
		w.and(`attribute = ?`, q.Attribute)
	}
	if q.Hash != "" {
		w.and(`hash = ?`, q.Hash)
	}
	if q.Turn != "" {
		w.and(`id IN (SELECT fact FROM fact_turns WHERE owner = ? AND turn = ?)`, owner, q.Turn)
	}
	if q.Pinned {
		w.and(`pinned`)
	}
	if !q.At.ValidAt.IsZero() {
		w.and(`CASE valid_from WHEN 0 THEN observed_at ELSE valid_from END <= ? AND (valid_to = 0 OR valid_to > ?)`,
			micros(q.At.ValidAt), micros(q.At.ValidAt))
	}
}
