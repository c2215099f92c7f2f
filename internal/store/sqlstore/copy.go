package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// A copy into another database copies one owner at a time: see [Store.ReadOwner] and
// [Store.WriteOwner].

// ownerTables lists all tables with a column owner.
var ownerTables = []string{
	"owners", "facts", "fact_tags", "fact_turns", "links", "vectors", "conversations", "turns", "summaries", "profile", "relations", "journal",
	"runs", "jobs", "contexts", "traces", "trace_facts", "ledger", "tombstones", "secrets", "api_keys", "audit",
}

// unfinishedCopyTable names the table that stores the source of an unfinished copy.
const unfinishedCopyTable = "unfinished_copy"

// nextOwnerQuery selects the first owner after ?1 with a row in any table. It uses the primary keys.
var nextOwnerQuery = func() string {
	var each []string
	for _, table := range ownerTables {
		each = append(each, `SELECT MIN(owner) AS o FROM `+table+` WHERE owner > ?1`)
	}
	return `SELECT COALESCE(MIN(o), '') FROM (` + strings.Join(each, ` UNION ALL `) + `) AS f`
}()

// AllOwners returns every owner with data, sorted. API keys are data of their namespace's global owner.
func (s *Store) AllOwners(ctx context.Context) (owners []memory.Owner, err error) {
	for last := ""; ; {
		if last, err = queryOne[string](ctx, s.reader, nextOwnerQuery, last); err != nil || last == "" {
			return owners, wrap("find the next owner", err)
		}
		owners = append(owners, memory.Owner(last))
	}
}

// ReadOwner returns all of an owner's data. The owner's data must not change during the call.
func (s *Store) ReadOwner(ctx context.Context, owner memory.Owner) (*ownerdata.Data, error) {
	out := new(ownerdata.Data).Clone()
	if _, err := s.tombstoneKey(ctx, owner); err != nil { // creates a missing key, so that the copy gets the same key
		return nil, err
	}
	err := s.reader.withSnapshot(ctx, owner, func(v *view) error { return v.readOwnerData(out) })
	if err != nil {
		return nil, fmt.Errorf("read the data of %s: %w", owner, err)
	}
	for c, err := range memory.AllChanges(ctx, s.Changes, owner, memory.ChangeQuery{}) {
		if err != nil {
			return nil, err
		}
		out.Journal = append(out.Journal, c)
		if c.Action == memory.ActionErase && c.At.After(out.ErasedAt) {
			out.ErasedAt = c.At
		}
	}
	slices.Reverse(out.Journal)
	out.Usage, err = s.UsageSince(ctx, owner, time.Time{})
	return out, err
}

func (v *view) readOwnerData(dst *ownerdata.Data) error {
	for _, t := range stateTables {
		err := v.readAll(`SELECT `+t.columns+` FROM `+t.name+` WHERE owner = ?`, func(row scanner) error {
			image, err := t.scan(v.owner, row)
			dst.States[image.Target()] = image
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
			return row.Scan(&dst.Version, timeColumn{&dst.LastWrite}, &dst.OldestVersion)
		}},
		{`SELECT secret FROM secrets WHERE owner = ?`, func(row scanner) error { return row.Scan(&dst.TombstoneKey) }},
		{`SELECT ` + turnColumns + ` FROM turns WHERE owner = ?`, func(row scanner) error {
			t, err := scanTurn(v.owner, row)
			dst.Turns[t.ID] = *t
			return err
		}},
		{`SELECT ` + conversationColumns + ` FROM conversations WHERE owner = ?`, func(row scanner) error {
			c, err := scanConversation(v.owner, row)
			c.MessageCount = 0 // WriteOwner counts the messages again
			dst.Conversations[c.ID] = c
			return err
		}},
		{`SELECT memory, model, data FROM vectors WHERE owner = ?`, func(row scanner) error {
			var key ownerdata.VectorKey
			var data []byte
			err := row.Scan(&key.Memory, &key.Model, &data)
			dst.Vectors[key] = vector.ValuesFromBytes(data)
			return err
		}},
		{`SELECT id, kind, author, version, at, changes FROM runs WHERE owner = ?`, func(row scanner) error {
			var r ownerdata.RunRecord
			err := row.Scan(&r.Run, &r.Kind, jsonColumn{&r.Author}, &r.Version, timeColumn{&r.At}, &r.Changes)
			dst.Runs[r.Run] = r
			return err
		}},
		{`SELECT owner, ` + jobColumns + ` FROM jobs WHERE owner = ?`, func(row scanner) error {
			j, err := scanJob(row)
			dst.Jobs[j.ID] = j
			return err
		}},
		{`SELECT turn, mark FROM tombstones WHERE owner = ?`, func(row scanner) error {
			var turn, mark string
			err := row.Scan(&turn, &mark)
			dst.Tombstones[turn] = mark
			return err
		}},
		{`SELECT data FROM traces WHERE owner = ?`, func(row scanner) error {
			var t memory.Trace
			err := row.Scan(jsonColumn{&t})
			t.Owner = v.owner
			dst.Traces[t.ID] = t
			return err
		}},
		{`SELECT ` + keyColumns + ` FROM api_keys WHERE owner = ? AND role <> '` + roleSession + `' ORDER BY created_at, hash`, func(row scanner) error {
			k, err := scanKey(row)
			dst.Keys = append(dst.Keys, k)
			return err
		}},
		{`SELECT ` + keyColumns + ` FROM api_keys WHERE owner = ? AND role = '` + roleSession + `' ORDER BY created_at, hash`, func(row scanner) error {
			session, err := scanSession(row)
			dst.Sessions = append(dst.Sessions, session)
			return err
		}},
		{`SELECT ` + auditColumns + ` FROM audit WHERE owner = ? ORDER BY at, id`, func(row scanner) error {
			e, err := scanAuditEntry(row)
			dst.Audit = append(dst.Audit, e)
			return err
		}},
	} {
		if err := v.readAll(read.query, read.scan); err != nil {
			return err
		}
	}
	return nil
}

// readAll scans every row of a query. The query's only argument is the view's owner.
func (v *view) readAll(query string, scan func(scanner) error) error {
	rows, err := v.query(query)
	return wrap(query, eachRow(rows, err, scan))
}

// WriteOwner replaces all of an owner's data.
func (s *Store) WriteOwner(ctx context.Context, owner memory.Owner, data *ownerdata.Data) error {
	err := s.write(ctx, "", func(t *tx) error {
		w := &ownerWrite{tx: t, owner: owner, version: data.Version, at: data.LastWrite, writtenIDs: map[string]bool{}}
		for _, table := range ownerTables {
			if err := w.exec(`DELETE FROM `+table+` WHERE owner = ?`, owner); err != nil {
				return err
			}
		}
		return w.writeOwnerData(data)
	})
	return wrap("write the data of "+string(owner), err)
}

func (w *ownerWrite) writeOwnerData(src *ownerdata.Data) error {
	for _, i := range src.States {
		if err := w.saveState(memory.Change{After: i}); err != nil {
			return err
		}
	}
	messageCounts := map[string]int{}
	for _, t := range src.Turns {
		if t.Status == memory.Active && (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) {
			messageCounts[t.Conversation]++
		}
		if err := w.insert(insertTurn, w.owner, turnFields(&t)...); err != nil {
			return err
		}
	}
	for _, c := range src.Conversations {
		c.MessageCount = messageCounts[c.ID]
		if err := w.insert(insertConversation, w.owner, conversationFields(&c)...); err != nil {
			return err
		}
	}
	for key, values := range src.Vectors {
		err := w.exec(`INSERT INTO vectors (owner, memory, model, dims, data) VALUES (?, ?, ?, ?, ?)`, w.owner, key.Memory, key.Model, len(values), vector.EncodeBytes(values))
		if err != nil {
			return err
		}
	}
	for _, r := range src.Runs {
		if err := w.recordRun(r.Kind, r.Author, r.Receipt); err != nil {
			return err
		}
	}
	for _, c := range src.Journal {
		w.version, w.at = c.Version, c.At
		if err := w.writeJournal(c.Run, src.Runs[c.Run].Author, ownerdata.Ordinal(c), c); err != nil {
			return err
		}
	}
	for _, j := range src.Jobs {
		if err := w.insert(insertJob, w.owner, jobFields(&j)...); err != nil {
			return err
		}
	}
	if src.TombstoneKey != "" {
		if err := w.exec(`INSERT INTO secrets (owner, secret) VALUES (?, ?)`, w.owner, src.TombstoneKey); err != nil {
			return err
		}
	}
	for turn, mark := range src.Tombstones {
		if err := w.exec(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?)`, w.owner, mark, turn); err != nil {
			return err
		}
	}
	for _, u := range src.Usage {
		if err := w.addUsage(w.owner, u); err != nil {
			return err
		}
	}
	for _, trace := range src.Traces {
		data, err := encodeTrace(trace)
		if err == nil {
			err = w.writeTrace(trace, data)
		}
		if err != nil {
			return err
		}
	}
	for _, k := range src.Keys {
		if err := w.addKey(w.owner, k); err != nil {
			return err
		}
	}
	for _, signedIn := range src.Sessions {
		if err := w.addKey(w.owner, keyForSession(signedIn)); err != nil {
			return err
		}
	}
	if err := w.addAuditEntries(w.owner, src.Audit); err != nil {
		return err
	}
	if src.LastWrite.IsZero() { // the owner has no memories, only data such as keys
		return nil
	}
	return w.exec(`INSERT INTO owners (owner, version, clock, horizon) VALUES (?, ?, ?, ?)`, w.owner, src.Version, toMicros(src.LastWrite), src.OldestVersion)
}

// CopySource returns the source of an unfinished copy into this database, or "".
func (s *Store) CopySource(ctx context.Context) (source string, err error) {
	query := `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '` + unfinishedCopyTable + `')`
	if s.reader.translator != nil {
		query = `SELECT to_regclass('` + unfinishedCopyTable + `') IS NOT NULL`
	}
	marked, err := queryOne[bool](ctx, s.reader, query)
	if err == nil && marked {
		source, err = queryOne[string](ctx, s.reader, `SELECT source FROM `+unfinishedCopyTable)
	}
	return source, wrap("check for an unfinished copy", err)
}

// SetCopySource records the start of a copy from source, or its end if source is ""; PostgreSQL then
// analyzes the copied tables.
func (s *Store) SetCopySource(ctx context.Context, source string) error {
	return s.write(ctx, "", func(t *tx) error {
		if source == "" {
			if err := t.exec(`DROP TABLE ` + unfinishedCopyTable); err != nil || t.session.translator == nil {
				return err
			}
			return t.exec(`ANALYZE ` + strings.Join(ownerTables, ", "))
		}
		if err := t.exec(`CREATE TABLE ` + unfinishedCopyTable + ` (source TEXT NOT NULL)`); err != nil {
			return err
		}
		var one int // any query sends the unsent CREATE TABLE, which the INSERT below needs
		if err := t.queryRow(`SELECT 1`, nil, &one); err != nil {
			return err
		}
		return t.exec(`INSERT INTO `+unfinishedCopyTable+` (source) VALUES (?)`, source)
	})
}
