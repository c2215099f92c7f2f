package sqlstore

import (
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/memory"
)

// question is what a write will ask a server, known before it begins: it is asked on the way
// on which the owner's row is taken, after it, when nobody else writes for the owner any
// more. SQLite is asked when it comes to it.
type question struct {
	statement
	about []string   // what it is about, as in tx.touched: see [tx.stale]
	parts []question // that are asked in this one: see [onPathOf]
}

// answer is what a server answered to a question.
type answer struct {
	question
	fields []pgconn.FieldDescription
	rows   [][][]byte
}

// maxAhead bounds what is asked ahead for those who share a transaction.
const maxAhead = 1024

// readAnswer reads the answer that is next in what was sent.
func readAnswer(q question, sent pgx.BatchResults) (answer, error) {
	rows, err := sent.Query()
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	a := answer{question: q}
	for rows.Next() {
		var values [][]byte
		for _, v := range rows.RawValues() {
			values = append(values, slices.Clone(v)) // a null stays nil
		}
		a.rows = append(a.rows, values)
	}
	a.fields = slices.Clone(rows.FieldDescriptions())
	return a, rows.Err()
}

// apart returns the answers to the parts of a question, or the answer itself.
func (a answer) apart() []answer {
	if len(a.parts) == 0 {
		return []answer{a}
	}
	there, path := answer{question: a.parts[0], fields: a.fields[:1]}, answer{question: a.parts[1], fields: a.fields}
	for _, row := range a.rows {
		if row[2] == nil {
			there.rows = append(there.rows, row[:1])
		} else {
			path.rows = append(path.rows, row)
		}
	}
	return []answer{there, path}
}

// stale notes what an answer that was had ahead may say no more: a run ("run:ID"), a
// target, a fact's hash ("hash:HASH"), a job ("job:ID"), which turns a conversation has
// ("path:ID"), what marks of turns say ("marks").
func (t *tx) stale(what ...string) {
	if t.touched == nil {
		return
	}
	for _, one := range what {
		t.touched[one] = true
	}
}

// aheadOf returns the answer to a question if it was had ahead and still holds.
func (t *tx) aheadOf(q question) (answer, bool) {
	at := slices.IndexFunc(t.ahead, func(a answer) bool { return a.text == q.text && reflect.DeepEqual(a.args, q.args) })
	if at < 0 {
		return answer{}, false
	}
	found := t.ahead[at]
	t.ahead = slices.Delete(t.ahead, at, at+1)
	return found, !t.blurred && !slices.ContainsFunc(q.about, func(what string) bool { return t.touched[what] })
}

// writeAsking is write for who knows what do will ask.
func (s *Store) writeAsking(ctx context.Context, owner memory.Owner, ask func() []question, do func(*tx) error) error {
	if p, ok := s.commits.(*server); ok {
		return p.together(ctx, owner, ask(), do)
	}
	return s.write(ctx, owner, do)
}

// runOf asks what a run that was applied before was answered.
func runOf(owner memory.Owner, run string) question {
	return question{statement{`SELECT version, at, changes FROM runs WHERE owner = ? AND id = ?`, []any{owner, run}}, []string{"run:" + run}, nil}
}

// loadOf asks what stands where like has its target.
func loadOf(owner memory.Owner, like memory.Image) (question, func(scanner) (thing, error)) {
	target := like.Target()
	kind, key, _ := strings.Cut(target, ":")
	query, scan := thingOf(owner, kind)
	query, args := query+` = ?`, []any{owner, key}
	if r := like.Relation; r != nil { // for the index
		query, args = query+` AND from_fact = ? AND to_fact = ?`, append(args, r.From, r.To)
	}
	return question{statement{query, args}, []string{target}, nil}, scan
}

// twinOf asks for another live fact that says the same as f.
func twinOf(owner memory.Owner, f *memory.Fact) question {
	return question{statement{`SELECT id FROM facts WHERE owner = ? AND hash = ? AND project = ? AND agent = ? AND conversation = ?
		AND status IN ('active', 'pending') AND id <> ?`,
		[]any{owner, f.Hash, f.Scope.Project, f.Scope.Agent, f.Scope.Conversation, f.ID}}, []string{"hash:" + f.Hash}, nil}
}

// thereOf asks which of the turns are there. Each is looked for as a range in order, which
// only the primary key has: to a server without statistics of the table, any index by owner
// seems as good, and it would read all that the owner has. How long the list is the planner
// does not see, so that one plan does for every list.
func thereOf(owner memory.Owner, turns []memory.Turn) question {
	ids, about := make(listed, len(turns)), make([]string, len(turns))
	for i, t := range turns {
		ids[i], about[i] = t.ID, "turn:"+t.ID
	}
	return question{statement{`SELECT t.id FROM unnest((SELECT ?2::text[])) AS one (id),
		LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t`, []any{owner, ids}}, about, nil}
}

// askApply is what a run of changes that were checked will ask.
func askApply(owner memory.Owner, run memory.Run, changes []memory.Change) []question {
	all := []question{runOf(owner, run.ID)}
	if run.Lease != nil {
		all = append(all, heldOf(owner, *run.Lease))
	}
	for _, c := range changes {
		q, _ := loadOf(owner, c.After)
		if c.After.Turn == nil && c.After.Conversation == nil { // which more than their own changes write to
			all = append(all, q)
		}
		if f := c.After.Fact; f != nil && f.Status.Live() {
			all = append(all, twinOf(owner, f))
		}
	}
	return all
}

// askAppend is what a batch will ask.
func askAppend(owner memory.Owner, b memory.Batch) (all []question) {
	if b.Run != "" && (len(b.Marks) > 0 || len(b.Turns) == 0) {
		all = append(all, runOf(owner, b.Run))
	}
	switch {
	case len(b.Turns) > 0 && b.Path != nil:
		all = append(all, onPathOf(owner, b))
	case len(b.Turns) > 0:
		all = append(all, thereOf(owner, b.Turns))
	case b.Path != nil:
		all = append(all, pathOf(owner, b.Conversation.ID, b.Path))
	}
	return all
}

// asked is a question for one row, which runs when it is scanned, unless its answer was had
// ahead.
type asked struct {
	tx *tx
	question
}

func (a asked) Scan(into ...any) error {
	found, ok := a.tx.aheadOf(a.question)
	if !ok {
		return a.tx.row(a.text, a.args, into...)
	}
	if len(found.rows) == 0 {
		return sql.ErrNoRows
	}
	return a.tx.scan(found, found.rows[0], into...)
}

// scan reads a row of an answer.
func (t *tx) scan(a answer, row [][]byte, into ...any) error {
	err := t.session.conn.Raw(func(c any) error {
		return pgx.ScanRow(c.(*stdlib.Conn).Conn().TypeMap(), a.fields, row, into...)
	})
	if err == nil {
		t.session.into.restore(into)
	}
	return err
}

// there returns which of the turns are there already, if that was asked ahead.
func (t *tx) there(owner memory.Owner, turns []memory.Turn) (map[string]bool, error) {
	if len(t.ahead) == 0 {
		return nil, nil
	}
	found, ok := t.aheadOf(thereOf(owner, turns))
	if !ok {
		return nil, nil
	}
	there := map[string]bool{}
	for _, row := range found.rows {
		var id string
		if err := t.scan(found, row, &id); err != nil {
			return nil, err
		}
		there[id] = true
	}
	return there, nil
}
