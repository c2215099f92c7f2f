package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/memory"
)

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
		for steps, more := 1, true; more; steps++ {
			if more, err = s.follow(ctx, owner, model, nearStep); err != nil {
				return err
			}
			if steps&(steps-1) != 0 { // as soon as there is twice as much
				continue
			}
			if _, err := c.exec(ctx, `ANALYZE near`); err != nil { // without it a step walks through all that was copied
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
