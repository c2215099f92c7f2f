package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// A server that has pgvector can search for an owner whose index would take too much of
// a replica's memory. For each such owner and embedder the tables near… are a copy of
// what recall may see, with the terms of its words and its vector as a halfvec, that
// follows the owner's version as the resident index does: a search brings it up to date
// first. Nothing waits for it that is written. The copy is built in steps, each of which
// is kept, and gets its indexes when it is whole.

const (
	// leastPgvector is the first that goes on looking in an index until enough is found
	// that a filter lets pass (hnsw.iterative_scan).
	leastPgvector = "0.8"
	// maxNearDims is how long a halfvec may be in an index.
	maxNearDims = 4000
	// nearStep is how many memories a build copies at a time, or as many more as one write
	// has, and leastStep how many the first step of one that catches up does; each that
	// follows takes twice as many.
	nearStep  = 2000
	leastStep = 100
	// restingShare: of how many memories one may lack a vector for those of the others to
	// be used.
	restingShare = 100
	// buildMemory is what a server may use to build an index, in KiB, unless it is set to
	// use more.
	buildMemory = 256 << 10
)

// ownConns is how many connections builds and those who catch up have for themselves, so
// that nothing else waits for them.
const ownConns = 4

// pgvector is what a server has of it, and who works with it.
type pgvector struct {
	version string
	schema  string // that has its types and operators
	own     *sql.DB
	builds  sync.Mutex // held by the one build of this process
}

// within lets the types and operators be found by statements until the transaction ends.
const within = `SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(?), ?)`

// UsePgvector looks whether the server has pgvector, so that it can search by itself. It
// makes nothing. about says what there is, for a log. It is called before anything is
// searched, if at all.
func (s *Store) UsePgvector(ctx context.Context) (about string, err error) {
	p, ok := s.commits.(*server)
	if !ok {
		return "this store has no pgvector", nil
	}
	var has pgvector
	rows, err := s.reads.ask(ctx, `SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`)
	if err := only(rows, err, &has.version, &has.schema); noRows(err) {
		return "the database has no pgvector", nil
	} else if err != nil {
		return "", fmt.Errorf("ask for pgvector: %w", withhold(p.log, explainServer(err)))
	}
	if olderThan(has.version, leastPgvector) {
		return "the database's pgvector " + has.version + " is too old to be used: that takes " + leastPgvector, nil
	}
	has.own = stdlib.OpenDB(*p.bell.config)
	has.own.SetMaxOpenConns(ownConns)
	has.own.SetMaxIdleConns(1)
	has.own.SetConnMaxIdleTime(idleConn)
	s.pgvector, s.release = &has, has.own.Close
	return "pgvector " + has.version, nil
}

// hasNear asks whether all of near.sql is there, and whether there is a table near that is
// of no use since its vectors went with the extension.
const hasNear = `SELECT to_regclass('near_state') IS NOT NULL AND to_regclass('near_terms') IS NOT NULL AND to_regclass('near_kind') IS NOT NULL
		AND to_regclass('near_project') IS NOT NULL AND to_regclass('near_thread') IS NOT NULL AND n.vectors,
	to_regclass('near') IS NOT NULL AND NOT n.vectors
	FROM (` + hasVectors + `) AS n (vectors)`

const hasVectors = `SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('near') AND attname = 'vector' AND NOT attisdropped)`

// prepareNear makes the tables that it needs, if they are not there, and waits for nobody
// long.
func (s *Store) prepareNear(ctx context.Context) error {
	return s.onServer(ctx, func(c *session) error {
		var done, broken bool
		look := func() error {
			rows, err := c.query(ctx, hasNear)
			return only(rows, err, &done, &broken)
		}
		if err := look(); err != nil || done {
			return err
		}
		tables, err := migrations.ReadFile("migrations/pgvector/near.sql")
		if err != nil {
			return err
		}
		for _, step := range []statement{
			{`SELECT set_config('lock_timeout', '2s', true), pg_advisory_xact_lock(?)`, []any{migrationLock}},
			{within, []any{s.pgvector.schema, true}},
		} {
			if _, err := c.exec(ctx, step.text, step.args...); err != nil {
				return err
			}
		}
		if err := look(); err != nil || done { // another server did meanwhile
			return err
		}
		if broken {
			if _, err := c.exec(ctx, `DROP TABLE IF EXISTS near, near_terms, near_state`); err != nil {
				return err
			}
		}
		_, err = c.exec(ctx, string(tables))
		return err
	})
}

// olderThan compares the first two numbers of two versions.
func olderThan(version, least string) bool {
	number := func(s string, i int) int {
		parts := strings.Split(s, ".")
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[i]) // what is no number is of no release
		return n
	}
	for i := range 2 {
		if a, b := number(version, i), number(least, i); a != b {
			return a < b
		}
	}
	return false
}

// apart returns a connection that is nobody else's.
func (s *Store) apart(ctx context.Context) (*session, error) {
	conn, err := s.pgvector.own.Conn(ctx)
	return &session{conn: conn, into: s.reads.into}, err
}

// onServer runs do in a transaction that holds no owner's row.
func (s *Store) onServer(ctx context.Context, do func(*session) error) error {
	c, err := s.apart(ctx)
	if err != nil {
		return err
	}
	defer c.release()
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := do(c); err != nil {
		c.rollback(ctx)
		return err
	}
	if _, err := c.exec(ctx, "COMMIT"); err != nil {
		c.rollback(ctx)
		return err
	}
	return nil
}

// Searches reports whether the server can search by itself.
func (s *Store) Searches() bool { return s.pgvector != nil }

// Exceeds reports whether an owner has more memories than so many.
func (s *Store) Exceeds(ctx context.Context, owner memory.Owner, most int) (bool, error) {
	var more bool
	err := s.reads.look(ctx, owner, func(v *view) error {
		each := ` WHERE owner = ?1 AND status = 'active' LIMIT ?2)`
		rows, err := v.query(`SELECT (SELECT count(*) FROM ((SELECT 1 FROM turns`+each+` UNION ALL (SELECT 1 FROM facts`+each+
			` UNION ALL (SELECT 1 FROM links`+each+`) AS found) >= ?2`, most+1)
		return only(rows, err, &more)
	})
	return more, wrap("ask how much there is", err)
}

// BuildNear brings the copy of an owner up to the owner's version, with vectors of a model,
// and makes its indexes. It may be broken off at any time, and goes on where it was. One is
// built at a time; busy says that another is, here or by another server.
func (s *Store) BuildNear(ctx context.Context, owner memory.Owner, model string) (busy bool, err error) {
	if s.pgvector == nil {
		return false, errNoPgvector
	}
	if !s.pgvector.builds.TryLock() {
		return true, nil
	}
	defer s.pgvector.builds.Unlock()
	if err := s.prepareNear(ctx); err != nil {
		return false, fmt.Errorf("make the tables for pgvector: %w", explainServer(err))
	}
	err = s.alone(ctx, func(c *session) error {
		for more := true; more; {
			if more, err = s.follow(ctx, owner, model, nearStep); err != nil {
				return err
			}
		}
		return wrap("make the indexes of "+string(owner), s.makeIndexes(ctx, c, owner, model))
	})
	if errors.Is(err, errBusy) {
		return true, nil
	}
	return false, explainServer(err)
}

// errBusy says that another server is at it.
var errBusy = errors.New("another server makes indexes")

// alone runs do with a connection that waits as long as it takes, while no other server
// makes or removes indexes of near: two that do wait for each other for ever. Who waits
// here would be waited for, too: it is errBusy instead.
func (s *Store) alone(ctx context.Context, do func(*session) error) error {
	c, err := s.apart(ctx)
	if err != nil {
		return err
	}
	defer c.drop() // and with the connection the lock and what is set
	var mine bool
	rows, err := c.query(ctx, `SELECT pg_try_advisory_lock(`+nearLock+`), set_config('statement_timeout', '0', false)`)
	if err := only(rows, err, &mine, new(string)); err != nil {
		return err
	}
	if !mine {
		return errBusy
	}
	defer func() { // whoever is next need not wait until the server knows that we hung up
		_, _ = c.exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(`+nearLock+`)`)
	}()
	return do(c)
}

// nearLock is the lock of who makes indexes of this schema's near.
const nearLock = `hashtextextended('loci near', 'near_state'::regclass::oid::bigint)`

var errNoPgvector = memory.Errorf(memory.NotFound, "the server has no pgvector")

// nearName is what the names of the indexes of an owner and a model begin with.
func nearName(owner memory.Owner, model string) string {
	sum := sha256.Sum256([]byte(string(owner) + "\x00" + model))
	return "near_" + hex.EncodeToString(sum[:12])
}

// makeIndexes makes the two indexes of an owner and a model, unless they are there. The
// tables are written to meanwhile.
func (s *Store) makeIndexes(ctx context.Context, c *session, owner memory.Owner, model string) error {
	for _, step := range []statement{
		{within, []any{s.pgvector.schema, false}},
		{`SELECT set_config('maintenance_work_mem', ?::text, false) FROM pg_settings WHERE name = 'maintenance_work_mem' AND setting::bigint < ?::bigint`,
			[]any{strconv.Itoa(buildMemory), buildMemory}},
	} {
		if _, err := c.exec(ctx, step.text, step.args...); err != nil {
			return err
		}
	}
	var dims int
	rows, err := c.query(ctx, `SELECT dims FROM near_state WHERE owner = ? AND model = ?`, string(owner), model)
	if err := only(rows, err, &dims); err != nil {
		return err
	}
	name := nearName(owner, model)
	of := ` WHERE owner = ` + quoteText(string(owner)) + ` AND model = ` + quoteText(model)
	made := []statement{{name + "_words", []any{` ON near USING gin (words)` + of}}}
	if dims > 0 && dims <= maxNearDims {
		made = append(made, statement{name + "_vectors", []any{fmt.Sprintf(` ON near USING hnsw ((vector::halfvec(%d)) halfvec_cosine_ops)`, dims) + of}})
	}
	for _, index := range made {
		var valid bool
		rows, err := c.query(ctx, `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(?)`, index.text)
		err = only(rows, err, &valid)
		if err == nil && valid {
			continue
		}
		if err != nil && !noRows(err) {
			return err
		}
		// One that is not valid was broken off.
		for _, step := range []string{`DROP INDEX CONCURRENTLY IF EXISTS ` + index.text, `CREATE INDEX CONCURRENTLY ` + index.text + index.args[0].(string)} {
			if _, err := c.conn.ExecContext(ctx, step); err != nil {
				return err
			}
		}
	}
	if _, err := c.exec(ctx, `ANALYZE near`); err != nil {
		return err
	}
	_, err = c.exec(ctx, `UPDATE near_state SET ready = true WHERE owner = ? AND model = ?`, string(owner), model)
	return err
}

// quoteText writes a text as a constant of SQL.
func quoteText(s string) string { return `'` + strings.ReplaceAll(escape(s), `'`, `''`) + `'` }

// TidyNear removes the copies of an owner by other models than this one of whose vectors
// there are none left, and indexes of whom nothing else is left. While another server makes
// indexes it does nothing.
func (s *Store) TidyNear(ctx context.Context, owner memory.Owner, model string) error {
	if s.pgvector == nil {
		return nil
	}
	err := s.onServer(ctx, func(c *session) error {
		// A search reads the state first: who sees a copy sees all of it.
		for _, text := range []string{
			`DELETE FROM near_state s WHERE owner = ? AND model <> ? AND NOT EXISTS (SELECT 1 FROM near n
				JOIN vectors v ON v.owner = n.owner AND v.memory = n.memory AND v.model = n.model WHERE n.owner = s.owner AND n.model = s.model)`,
			`DELETE FROM near n WHERE owner = ? AND model <> ? AND NOT EXISTS (SELECT 1 FROM near_state s WHERE s.owner = n.owner AND s.model = n.model)`,
			`DELETE FROM near_terms n WHERE owner = ? AND model <> ? AND NOT EXISTS (SELECT 1 FROM near_state s WHERE s.owner = n.owner AND s.model = n.model)`,
		} {
			if _, err := c.exec(ctx, text, string(owner), model); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.alone(ctx, func(c *session) error { return dropIndexes(ctx, c) })
	}
	if missing(err) || errors.Is(err, errBusy) {
		return nil
	}
	return wrap("tidy what the server searches", explainServer(err))
}

// dropIndexes removes the indexes that are of no owner and model.
func dropIndexes(ctx context.Context, c *session) error {
	rows, err := c.query(ctx, `SELECT owner, model FROM near_state`)
	wanted, err := collect(rows, err, func(row scanner) (string, error) {
		var owner memory.Owner
		var model string
		err := row.Scan(&owner, &model)
		return nearName(owner, model), err
	})
	if err != nil {
		return err
	}
	rows, err = c.query(ctx, `SELECT relname FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid WHERE i.indrelid = to_regclass('near')`)
	all, err := collect(rows, err, func(row scanner) (name string, err error) { return name, row.Scan(&name) })
	if err != nil {
		return err
	}
	for _, name := range all {
		base, _ := strings.CutSuffix(strings.TrimSuffix(name, "_words"), "_vectors")
		if base == name || slices.Contains(wanted, base) {
			continue
		}
		if _, err := c.conn.ExecContext(ctx, `DROP INDEX CONCURRENTLY IF EXISTS `+name); err != nil {
			return err
		}
	}
	return nil
}

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
		err = v.since(followed, model, after, func(item memory.Item) error {
			if count >= most && item.Version != last {
				return errEnough
			}
			count, last = count+1, item.Version
			into.add(item)
			return nil
		})
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
	// dropNear takes memories out of the copies, whatever their model, and their terms off
	// the counts.
	dropNear = `WITH gone AS (DELETE FROM near WHERE owner = ?1 AND memory IN (SELECT value FROM json_each(?2)) AND (?3 = '' OR model = ?3)
			RETURNING model, words, vector IS NULL AS bare),
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
		if _, err := c.exec(ctx, dropNear, owner, listed(b.gone), b.model); err != nil {
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

// eraseNear takes what is erased out of the copies, in the transaction that erases it:
// its row, and the terms that nothing else has; of an owner who has nothing left, all.
// Another server may have begun a copy since this one was opened. A copy whose vectors went
// with the extension is removed whole.
func (t *tx) eraseNear(owner memory.Owner, ids []string) error {
	var there, vectors bool
	if err := t.row(`SELECT to_regclass('near') IS NOT NULL AND to_regclass('near_state') IS NOT NULL, (`+hasVectors+`)`, nil, &there, &vectors); err != nil || !there {
		return err
	}
	rows, err := t.query(`SELECT model FROM near_state WHERE owner = ? ORDER BY model FOR UPDATE`, owner)
	models, err := collect(rows, err, func(row scanner) (m string, err error) { return m, row.Scan(&m) })
	if err != nil || len(models) == 0 {
		return err
	}
	left := 0
	if vectors {
		if err := t.exec(dropNear, owner, listed(ids), ""); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM near_terms WHERE owner = ? AND n <= 0`, owner); err != nil {
			return err
		}
		if err := t.row(`SELECT coalesce(max(memories), 0) FROM near_state WHERE owner = ?`, []any{owner}, &left); err != nil || left > 0 {
			return err
		}
	}
	for _, table := range []string{"near", "near_terms", "near_state"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE owner = ?`, owner); err != nil {
			return err
		}
	}
	return t.dropNearIndexes(owner, models)
}

// dropNearIndexes removes the indexes of an owner, whose conditions have the owner's name.
// Where somebody else has the table for longer it leaves them to [Store.TidyNear].
func (t *tx) dropNearIndexes(owner memory.Owner, models []string) error {
	names := make([]string, 0, 2*len(models))
	for _, m := range models {
		names = append(names, nearName(owner, m)+"_words", nearName(owner, m)+"_vectors")
	}
	for _, text := range []string{`SAVEPOINT near`, `SET LOCAL lock_timeout = '200ms'`} {
		if _, err := t.count(text); err != nil {
			return err
		}
	}
	if _, err := t.session.conn.ExecContext(t.ctx, `DROP INDEX IF EXISTS `+strings.Join(names, ", ")); err != nil {
		if !refused(err) {
			return err
		}
		_, err = t.count(`ROLLBACK TO SAVEPOINT near`)
		return err
	}
	for _, text := range []string{`SET LOCAL lock_timeout TO DEFAULT`, `RELEASE SAVEPOINT near`} {
		if _, err := t.count(text); err != nil {
			return err
		}
	}
	return nil
}
