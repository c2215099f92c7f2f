package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// A copy into another database copies one owner at a time: see [Store.ReadOwner] and
// [Store.WriteOwner].

// ownerTables lists all tables with a column owner.
var tables = []string{
	"owners", "facts", "fact_tags", "fact_turns", "links", "vectors", "conversations", "turns", "summaries", "profile", "relations", "journal",
	"runs", "jobs", "contexts", "traces", "trace_facts", "ledger", "tombstones", "secrets", "api_keys", "audit",
}

// unfinishedCopyTable names the table that stores the source of an unfinished copy.
const copyMark = "unfinished_copy"

// nextOwnerQuery selects the next owner that has a row in any table, by each table's primary key.
var nextOwner = func() string {
	var each []string
	for _, table := range tables {
		each = append(each, `SELECT MIN(owner) AS o FROM `+table+` WHERE owner > ?1`)
	}
	return `SELECT COALESCE(MIN(o), '') FROM (` + strings.Join(each, ` UNION ALL `) + `) AS f`
}()

// AllOwners returns every owner with data, sorted. API keys are data of their namespace's global owner.
func (s *Store) Everyone(ctx context.Context) (all []memory.Owner, err error) {
	for last := ""; ; {
		if last, err = queryOne[string](ctx, s.reads, nextOwner, last); err != nil || last == "" {
			return all, wrap("find the next owner", err)
		}
		all = append(all, memory.Owner(last))
	}
}

// ReadOwner returns all of an owner's data. The owner's data must not change during the call.
func (s *Store) Carry(ctx context.Context, owner memory.Owner) (*shelf.Shelf, error) {
	out := new(shelf.Shelf).Clone()
	if _, err := s.secret(ctx, owner); err != nil { // creates the missing tombstones of turns that are excluded from search
		return nil, err
	}
	err := s.reads.see(ctx, owner, func(v *view) error { return v.carry(out) })
	if err != nil {
		return nil, fmt.Errorf("read the data of %s: %w", owner, err)
	}
	for c, err := range memory.AllChanges(ctx, s.Changes, owner, memory.ChangeQuery{}) {
		if err != nil {
			return nil, err
		}
		out.Journal = append(out.Journal, c)
		if c.Action == memory.ActionErase && c.At.After(out.Erased) {
			out.Erased = c.At
		}
	}
	slices.Reverse(out.Journal)
	out.Spent, err = s.Spent(ctx, owner, time.Time{})
	return out, err
}

func (v *view) carry(out *shelf.Shelf) error {
	for _, t := range thingTables {
		err := v.all(`SELECT `+t.columns+` FROM `+t.name+` WHERE owner = ?`, func(row scanner) error {
			image, err := t.scan(v.owner, row)
			out.Things[image.Target()] = image
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, read := range []struct {
		query string
		scan  func(scanner) error
	}{
		{`SELECT version, clock, horizon FROM owners WHERE owner = ?`, func(row scanner) error {
			return row.Scan(&out.Version, asTime{&out.At}, &out.Horizon)
		}},
		{`SELECT secret FROM secrets WHERE owner = ?`, func(row scanner) error { return row.Scan(&out.Secret) }},
		{`SELECT ` + turnColumns + ` FROM turns WHERE owner = ?`, func(row scanner) error {
			t, err := scanTurn(v.owner, row)
			out.Turns[t.ID] = *t
			return err
		}},
		{`SELECT ` + conversationColumns + ` FROM conversations WHERE owner = ?`, func(row scanner) error {
			c, err := scanConversation(v.owner, row)
			c.MessageCount = 0 // WriteOwner counts the messages again
			out.Conversations[c.ID] = c
			return err
		}},
		{`SELECT memory, model, data FROM vectors WHERE owner = ?`, func(row scanner) error {
			var key shelf.VectorKey
			var data []byte
			err := row.Scan(&key.Memory, &key.Model, &data)
			out.Vectors[key] = vector.FromBytes(data)
			return err
		}},
		{`SELECT id, kind, author, version, at, changes FROM runs WHERE owner = ?`, func(row scanner) error {
			var r shelf.Run
			err := row.Scan(&r.Run, &r.Kind, asJSON{&r.Author}, &r.Version, asTime{&r.At}, &r.Changes)
			out.Runs[r.Run] = r
			return err
		}},
		{`SELECT owner, ` + jobColumns + ` FROM jobs WHERE owner = ?`, func(row scanner) error {
			j, err := scanJob(row)
			out.Jobs[j.ID] = j
			return err
		}},
		{`SELECT turn, mark FROM tombstones WHERE owner = ?`, func(row scanner) error {
			var turn, mark string
			err := row.Scan(&turn, &mark)
			out.Tombs[turn] = mark
			return err
		}},
		{`SELECT data FROM traces WHERE owner = ?`, func(row scanner) error {
			var t memory.Trace
			err := row.Scan(asJSON{&t})
			t.Owner = v.owner
			out.Traces[t.ID] = t
			return err
		}},
		{`SELECT ` + keyColumns + ` FROM api_keys WHERE owner = ? AND role <> '` + roleSession + `' ORDER BY created_at, hash`, func(row scanner) error {
			k, err := scanKey(row)
			out.Keys = append(out.Keys, k)
			return err
		}},
		{`SELECT ` + keyColumns + ` FROM api_keys WHERE owner = ? AND role = '` + roleSession + `' ORDER BY created_at, hash`, func(row scanner) error {
			one, err := scanSession(row)
			out.SignIns = append(out.SignIns, one)
			return err
		}},
		{`SELECT ` + auditColumns + ` FROM audit WHERE owner = ? ORDER BY at, id`, func(row scanner) error {
			e, err := scanAudit(row)
			out.Audit = append(out.Audit, e)
			return err
		}},
	} {
		if err := v.all(read.query, read.scan); err != nil {
			return err
		}
	}
	return nil
}

// readAll scans every row of a query, which gets the view's owner as its only argument.
func (v *view) all(query string, scan func(scanner) error) error {
	rows, err := v.query(query)
	return wrap(query, eachRow(rows, err, scan))
}

// WriteOwner replaces all of an owner's data.
func (s *Store) Put(ctx context.Context, owner memory.Owner, from *shelf.Shelf) error {
	err := s.write(ctx, "", func(t *tx) error {
		w := &write{tx: t, owner: owner, version: from.Version, at: from.At, wrote: map[string]bool{}}
		for _, table := range tables {
			if err := w.exec(`DELETE FROM `+table+` WHERE owner = ?`, owner); err != nil {
				return err
			}
		}
		return w.put(from)
	})
	return wrap("write the data of "+string(owner), err)
}

func (w *write) put(from *shelf.Shelf) error {
	for _, i := range from.Things {
		if err := w.save(memory.Change{After: i}); err != nil {
			return err
		}
	}
	messages := map[string]int{}
	for _, t := range from.Turns {
		if t.Status == memory.Active && (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) {
			messages[t.Conversation]++
		}
		if err := w.insert(insertTurn, w.owner, turnFields(&t)...); err != nil {
			return err
		}
	}
	for _, c := range from.Conversations {
		c.MessageCount = messages[c.ID]
		if err := w.insert(insertConversation, w.owner, conversationFields(&c)...); err != nil {
			return err
		}
	}
	for key, values := range from.Vectors {
		err := w.exec(`INSERT INTO vectors (owner, memory, model, dims, data) VALUES (?, ?, ?, ?, ?)`, w.owner, key.Memory, key.Model, len(values), vector.Bytes(values))
		if err != nil {
			return err
		}
	}
	for _, r := range from.Runs {
		if err := w.record(r.Kind, r.Author, r.Receipt); err != nil {
			return err
		}
	}
	for _, c := range from.Journal {
		w.version, w.at = c.Version, c.At
		if err := w.journal(c.Run, from.Runs[c.Run].Author, shelf.Ordinal(c), c); err != nil {
			return err
		}
	}
	for _, j := range from.Jobs {
		if err := w.insert(insertJob, w.owner, jobFields(&j)...); err != nil {
			return err
		}
	}
	if from.Secret != "" {
		if err := w.exec(`INSERT INTO secrets (owner, secret) VALUES (?, ?)`, w.owner, from.Secret); err != nil {
			return err
		}
	}
	for turn, mark := range from.Tombs {
		if err := w.exec(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?)`, w.owner, mark, turn); err != nil {
			return err
		}
	}
	for _, u := range from.Spent {
		if err := w.spend(w.owner, u); err != nil {
			return err
		}
	}
	for _, trace := range from.Traces {
		data, err := encodeTrace(trace)
		if err == nil {
			err = w.writeTrace(trace, data)
		}
		if err != nil {
			return err
		}
	}
	for _, k := range from.Keys {
		if err := w.addKey(w.owner, k); err != nil {
			return err
		}
	}
	for _, one := range from.SignIns {
		if err := w.addKey(w.owner, signIn(one)); err != nil {
			return err
		}
	}
	if err := w.note(w.owner, from.Audit); err != nil {
		return err
	}
	if from.At.IsZero() { // the owner has no memories, only data such as keys
		return nil
	}
	return w.exec(`INSERT INTO owners (owner, version, clock, horizon) VALUES (?, ?, ?, ?)`, w.owner, from.Version, micros(from.At), from.Horizon)
}

// CopySource returns the source of an unfinished copy into this database, or "".
func (s *Store) Copying(ctx context.Context) (source string, err error) {
	query := `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '` + copyMark + `')`
	if s.reads.into != nil {
		query = `SELECT to_regclass('` + copyMark + `') IS NOT NULL`
	}
	marked, err := queryOne[bool](ctx, s.reads, query)
	if err == nil && marked {
		source, err = queryOne[string](ctx, s.reads, `SELECT source FROM `+copyMark)
	}
	return source, wrap("check for an unfinished copy", err)
}

// SetCopySource records the source of a copy when the copy starts, and "" when it ends; PostgreSQL then
// analyzes its tables.
func (s *Store) SetCopying(ctx context.Context, source string) error {
	return s.write(ctx, "", func(t *tx) error {
		if source == "" {
			if err := t.exec(`DROP TABLE ` + copyMark); err != nil || t.session.into == nil {
				return err
			}
			return t.exec(`ANALYZE ` + strings.Join(tables, ", "))
		}
		if err := t.exec(`CREATE TABLE ` + copyMark + ` (source TEXT NOT NULL)`); err != nil {
			return err
		}
		var one int // a query sends the CREATE TABLE above, before the INSERT below
		if err := t.row(`SELECT 1`, nil, &one); err != nil {
			return err
		}
		return t.exec(`INSERT INTO `+copyMark+` (source) VALUES (?)`, source)
	})
}
