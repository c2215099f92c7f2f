package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// memoryTable describes a table of memories.
type memoryTable struct {
	name    string
	prefix  string // prefix of the targets in this table, such as "fact:"
	columns string // names of the columns except owner
	scan    func(memory.Owner, scanner, ...any) (memory.Memory, error)
}

var (
	facts, links, summaries = factTable.memoryTable(), linkTable.memoryTable(), summaryTable.memoryTable()

	turns = memoryTable{"turns", "turn:", turnColumns, func(o memory.Owner, row scanner, more ...any) (memory.Memory, error) {
		t, err := scanTurn(o, row, more...)
		return memory.Memory{Turn: t}, err
	}}
)

// Get returns memories by id: see [memory.Facts].
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return nil, err
	}
	byID, missing, commits := s.cache.lookup(owner, ids)
	if len(missing) > 0 {
		read, err := s.readByID(ctx, owner, missing)
		if err != nil {
			return nil, err
		}
		if !s.cache.add(owner, read, commits) && len(byID) > 0 {
			// a commit since the lookup may have made the cached memories older than those in read
			if read, err = s.readByID(ctx, owner, ids); err != nil {
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

// readByID reads memories from the database. With SQLite it first queries only turns, which are the most
// frequent kind; if all ids are of turns, it needs no transaction.
func (s *Store) readByID(ctx context.Context, owner memory.Owner, ids []string) (map[string][]memory.Memory, error) {
	byID := make(map[string][]memory.Memory, len(ids))
	tables := []memoryTable{turns, facts, links, summaries}
	if s.reader.translator == nil {
		err := s.reader.withConnection(ctx, owner, func(v *view) error {
			return v.withoutCancel().session.runBatch(v.withoutCancel().ctx, v.statementsByID(ids, byID, turns)...)
		})
		if err != nil || len(byID) == len(ids) {
			return byID, err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return byID[id] != nil })
		tables = tables[1:]
	}
	err := s.reader.readBatch(ctx, owner, func(v *view) ([]statement, error) { return v.statementsByID(ids, byID, tables...), nil })
	return byID, err
}

// statementsByID returns queries that add memories to results by id. If an id is in several tables, the
// memory in the first one counts.
func (v *view) statementsByID(ids []string, results map[string][]memory.Memory, tables ...memoryTable) (statements []statement) {
	if len(ids) == 0 {
		return nil
	}
	for _, table := range tables {
		w := whereOwner()
		if v.session.translator != nil {
			w.inValues(`id`, ids) // one statement for any number of ids
		} else {
			w.inFewValues(`id`, ids)
		}
		statements = append(statements, v.ownerStatement(`SELECT `+table.columns+` FROM `+table.name+` `+w.clause(), w.args, func(row scanner) error {
			m, err := table.scan(v.owner, row)
			if err == nil && results[m.ID()] == nil {
				results[m.ID()] = []memory.Memory{m}
			}
			return err
		}))
	}
	return statements
}

// List returns the memories that match a query: see [memory.Facts].
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	limit := ownerdata.PageSize(q.Limit) + 1
	var found []memory.Memory
	var err error
	if isBatchable(q) {
		err = s.reader.readBatch(ctx, owner, func(v *view) ([]statement, error) {
			found = nil
			return v.listStatements(tablesForQuery(q), q, limit, &found)
		})
	} else {
		err = s.reader.withSnapshot(ctx, owner, func(v *view) (err error) {
			found, err = v.listSequentially(q, limit)
			return err
		})
	}
	if err != nil {
		return memory.Page{}, err
	}
	return newPage(found, q)
}

// isBatchable reports whether no query for q's matches needs the results of another query.
func isBatchable(q memory.Query) bool { return q.At.AsOf.IsZero() && q.Text == "" }

// listSequentially lists memories with queries that depend on the results of earlier queries.
func (v *view) listSequentially(q memory.Query, limit int) (matches []memory.Memory, err error) {
	list := v.listTable
	if !q.At.AsOf.IsZero() {
		past, err := v.pastStates(q.At.AsOf)
		if err != nil {
			return nil, err
		}
		list = func(table memoryTable, q memory.Query, limit int) ([]memory.Memory, error) {
			return v.listAsOf(table, q, past, limit)
		}
	}
	for _, table := range tablesForQuery(q) {
		tableMatches, err := list(table, q, limit)
		if err != nil {
			return nil, err
		}
		matches = append(matches, tableMatches...)
	}
	return matches, nil
}

// newPage returns the page of matches after q's cursor.
func newPage(matches []memory.Memory, q memory.Query) (memory.Page, error) {
	pageMatches, next, err := ownerdata.PageAfter(matches, q.Limit, q.Cursor, positionOf)
	return memory.Page{Memories: pageMatches, Next: next}, err
}

func positionOf(m memory.Memory) ownerdata.ListPosition {
	return ownerdata.ListPosition{At: m.CreatedAt(), ID: m.ID()}
}

// tablesForQuery returns the tables that may contain q's matches.
func tablesForQuery(q memory.Query) []memoryTable {
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []memory.Kind{memory.KindFact}
	}
	onlyFacts := q.Category != "" || q.Tag != "" || q.Subject != "" || q.Attribute != "" || q.Hash != "" || q.Turn != "" || q.Pinned
	var tables []memoryTable
	if slices.Contains(kinds, memory.KindFact) {
		tables = append(tables, facts, links)
	}
	if slices.Contains(kinds, memory.KindTurn) && !onlyFacts {
		tables = append(tables, turns)
	}
	if slices.Contains(kinds, memory.KindSummary) && !onlyFacts {
		tables = append(tables, summaries)
	}
	return tables
}

// listTable returns at least the limit newest memories of a table that match q.
func (v *view) listTable(table memoryTable, q memory.Query, limit int) (matches []memory.Memory, err error) {
	if q.Text != "" && table.name != links.name {
		return v.listContainingText(table, q, limit)
	}
	statements, err := v.listStatements([]memoryTable{table}, q, limit, &matches)
	if err == nil {
		err = v.session.runBatch(v.ctx, statements...)
	}
	return matches, wrap("list "+table.name, err)
}

// listStatements returns queries that add memories that match q to results: of each table at least the
// limit newest ones.
func (v *view) listStatements(tables []memoryTable, q memory.Query, limit int, results *[]memory.Memory) (statements []statement, err error) {
	if v.session.translator != nil && !isSelective(q) && !q.Pinned {
		statements = append(statements, newExecStatement(forceCustomPlan))
	}
	for _, table := range tables {
		selections := v.selections(table, q)
		if table.name == links.name { // reads all links: they are few, and the fields of their facts are in JSON
			selections = []selection{{links.name, whereOwner()}}
		}
		for _, sel := range selections {
			pageStatement, err := v.pageStatement(table, sel, q, limit, results)
			if err != nil {
				return nil, err
			}
			statements = append(statements, pageStatement)
		}
	}
	return statements, nil
}

// selection is a table with a condition on its rows.
type selection struct {
	tableExpr string
	where
}

// selections returns one selection for each status that q allows; together they select the matches.
func (v *view) selections(table memoryTable, q memory.Query) (result []selection) {
	for _, status := range queriedStatuses(q) {
		sel := selection{table.name, whereOwner()}
		sel.filterStatus(status, q)
		sel.filterScope(table, q)
		if table.name == facts.name {
			sel.filterFactFields(v.owner, q)
		}
		if table.name == facts.name && v.session.translator == nil && q.Hash != "" && status.Live() {
			sel.tableExpr += hashIndexHint
		}
		result = append(result, sel)
	}
	return result
}

// pageStatement returns a query that adds the selected memories after q's cursor to results, newest
// first: at least limit memories, or all links.
func (v *view) pageStatement(table memoryTable, sel selection, q memory.Query, limit int, results *[]memory.Memory) (statement, error) {
	ofLinks := table.name == links.name
	column, end := `created_at`, ` ORDER BY created_at DESC, id DESC`+limitClause(limit)
	if ofLinks {
		column, end = `fact_created_at`, ``
	}
	if err := sel.afterCursor(q.Cursor, column); err != nil {
		return statement{}, err
	}
	return v.ownerStatement(`SELECT `+table.columns+` FROM `+sel.tableExpr+` `+sel.clause()+end, sel.args, func(row scanner) error {
		m, err := table.scan(v.owner, row)
		if err == nil && (!ofLinks || q.Matches(m)) {
			*results = append(*results, m)
		}
		return err
	}), nil
}

// ownerStatement returns a statement whose first argument is the view's owner.
func (v *view) ownerStatement(query string, args []any, scan func(scanner) error) statement {
	return statement{query, append([]any{string(v.owner)}, args...), scan}
}

// scanPageSize is the number of memories that listContainingText reads at a time.
const scanPageSize = 512

// listContainingText is listTable for a query with a text. It compares texts in Go, page by page, since
// no database compares them like [memory.ContainsFold].
func (v *view) listContainingText(table memoryTable, q memory.Query, limit int) (matches []memory.Memory, err error) {
	for _, sel := range v.selections(table, q) {
		q, enough := q, len(matches)+limit
		for len(matches) < enough {
			var pageMatches []memory.Memory
			pageStatement, err := v.pageStatement(table, sel, q, scanPageSize, &pageMatches)
			if err == nil {
				err = v.runPageBatch(pageStatement)
			}
			if err != nil {
				return nil, err
			}
			for _, m := range pageMatches {
				if memory.ContainsFold(m.Content(), q.Text) {
					matches = append(matches, m)
				}
			}
			if len(pageMatches) < scanPageSize {
				break
			}
			q.Cursor = ownerdata.EncodeCursor(positionOf(pageMatches[len(pageMatches)-1]))
		}
	}
	return matches, nil
}

// queriedStatuses returns the statuses that q selects, without duplicates or invalid ones. They are
// constants, and therefore safe in SQL text.
func queriedStatuses(q memory.Query) []memory.Status {
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
func (w *where) filterStatus(status memory.Status, q memory.Query) {
	term := `status = '` + string(status) + `'`
	if !isSelective(q) {
		w.and(term)
		return
	}
	// The plus keeps SQLite from using the index on status: other indexes find few rows faster.
	w.and(`+` + term)
	switch { // the conditions of the partial indexes on hashes
	case q.Hash == "":
	case status.Live():
		w.and(`status IN ('active', 'pending')`)
	default:
		w.and(`status NOT IN ('active', 'pending')`)
	}
}

// isSelective reports whether q has a condition for which an index finds only a few rows.
func isSelective(q memory.Query) bool {
	return q.Hash != "" || q.Tag != "" || q.Turn != "" || q.Subject != "" || q.Conversation != "" || q.IDPrefix != ""
}

func (w *where) filterScope(table memoryTable, q memory.Query) {
	if q.Project != "" {
		w.and(`project = ?`, q.Project)
	}
	if q.Agent != "" {
		w.and(`agent = ?`, q.Agent)
	}
	if q.IDPrefix != "" {
		w.and(`id >= ? AND id < ?`, q.IDPrefix, q.IDPrefix+string(utf8.MaxRune))
	}
	switch {
	case q.Conversation == "":
	case table.name == facts.name:
		w.and(`(conversation = ? OR from_conversation = ?)`, q.Conversation, q.Conversation)
	default:
		w.and(`conversation = ?`, q.Conversation)
	}
}

func (w *where) filterFactFields(owner memory.Owner, q memory.Query) {
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
			toMicros(q.At.ValidAt), toMicros(q.At.ValidAt))
	}
}
