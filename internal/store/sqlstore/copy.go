package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Copying says how far [Copy] is.
type Copying struct {
	Comparing bool  // else it copies
	Rows, Of  int64 // of all tables
}

// Copied says what [Copy] found the same on both sides.
type Copied struct {
	Owners int              `json:"owners"`
	Rows   int64            `json:"rows"`
	Before int64            `json:"rows_before"` // of them, those that an earlier copy had brought
	Tables map[string]int64 `json:"tables"`      // rows of each
}

// Copy copies everything that one database has into another: the rows of all owners as
// they stand, with ids, versions, clocks, journal, vectors, jobs and traces. An address
// is sqlite:PATH or one of PostgreSQL.
//
// Nobody else may write to either meanwhile. SQLite's files are locked, and so are the
// tables of a PostgreSQL source; what writes to a PostgreSQL target is found in the end.
// Both schemas are brought up to date first; apart from that the source is left as it is.
//
// The target must be empty, or have what an earlier Copy of this source brought. A copy
// that broke off, however it did, goes on where it was: owners are copied some at a time,
// each batch in one transaction that also notes how far it is. Until all is there and the
// same, [Store.Whole] says that it is not.
//
// In the end both sides are read and compared, by a count and a hash of each owner's
// rows. Owners that the source changed since they were copied are copied again. What
// differs even then is an error.
func Copy(ctx context.Context, from, to string, report func(Copying)) (Copied, error) {
	c := copier{report: report, point: func() {}}
	done, err := c.run(ctx, from, to)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; the same again goes on where this was", ctx.Err())
	}
	return done, err
}

// The tables, and the key of each. Their order is that in which they are copied.
var tables = []struct{ name, key string }{
	{"owners", "owner"},
	{"facts", "owner, id"},
	{"fact_tags", "owner, tag, fact"},
	{"fact_turns", "owner, turn, fact"},
	{"links", "owner, id"},
	{"vectors", "owner, memory, model"},
	{"conversations", "owner, id"},
	{"turns", "owner, id"},
	{"summaries", "owner, id"},
	{"profile", "owner, key"},
	{"relations", "owner, from_fact, to_fact, kind"},
	{"journal", "owner, version, ordinal"},
	{"runs", "owner, id"},
	{"jobs", "owner, id"},
	{"contexts", "owner, id"},
	{"conversation_events", "owner, conversation, ordinal"},
	{"traces", "owner, id"},
	{"trace_facts", "owner, trace, fact"},
	{"ledger", "owner, day, purpose, model"},
	{"feedback", "owner, memory, at, kind"},
	{"tombstones", "owner, mark, turn"},
	{"secrets", "owner"},
	{"api_keys", "owner, hash"},
}

const (
	// copyBatch is how many rows are copied in one transaction, or one owner's, if they
	// are more: enough for its end to cost little beside them.
	copyBatch = 20_000
	// copyMark is the table that says, while a copy is not done, where it comes from and
	// up to which owner it is.
	copyMark = "unfinished_copy"
)

// copier is a copy under way.
type copier struct {
	from, to *side
	report   func(Copying)
	point    func() // called before and after each commit; tests kill there
	batch    int64  // rows; 0: copyBatch

	total, rows int64
}

func (c *copier) run(ctx context.Context, from, to string) (done Copied, err error) {
	if c.batch == 0 {
		c.batch = copyBatch
	}
	if c.from, err = openSide(ctx, from, true); err != nil {
		return done, fmt.Errorf("open what is copied: %w", err)
	}
	defer func() { err = errors.Join(err, c.from.close()) }()
	if c.to, err = openSide(ctx, to, false); err != nil {
		return done, fmt.Errorf("open where it goes: %w", err)
	}
	defer func() { err = errors.Join(err, c.to.close()) }()
	upto, err := c.begin(ctx)
	if err != nil {
		return done, err
	}
	have, err := c.to.counts(ctx)
	if err != nil {
		return done, err
	}
	want, err := c.from.counts(ctx)
	if err != nil {
		return done, err
	}
	done.Before, c.rows, c.total = have.all(), have.all(), want.all()
	if err := c.spans(ctx, upto, c.copySpan); err != nil {
		return done, err
	}
	c.rows = 0
	err = c.spans(ctx, "", func(ctx context.Context, s span) error {
		done.Owners += s.owners
		return c.compareSpan(ctx, s)
	})
	if err != nil {
		return done, err
	}
	if have, err = c.to.counts(ctx); err != nil {
		return done, err
	}
	for i, t := range tables {
		if have[i] != want[i] {
			return done, memory.Errorf(memory.Conflict, "%s: %s has %d rows and %s has %d: somebody wrote to it meanwhile; empty it and copy anew",
				t.name, c.to.shown, have[i], c.from.shown, want[i])
		}
	}
	done.Rows, done.Tables = want.all(), want.byName()
	return done, c.to.finish(ctx)
}

// begin returns the owner up to whom the target has been copied to, "" for nobody. It
// refuses a target that has anything else, and marks an empty one.
func (c *copier) begin(ctx context.Context) (upto string, err error) {
	marked, err := c.to.marked(ctx)
	if err != nil {
		return "", err
	}
	if marked {
		var source string
		rows, err := c.to.conn.query(ctx, `SELECT source, upto FROM `+copyMark)
		if err := only(rows, err, &source, &upto); err != nil {
			return "", fmt.Errorf("read how far it is: %w", err)
		}
		if source != c.from.identity {
			return "", memory.Errorf(memory.Conflict, "%s holds half of a copy of another database; give that one, or an empty target", c.to.shown)
		}
		return upto, nil
	}
	have, err := c.to.counts(ctx)
	if err != nil {
		return "", err
	}
	if have.all() > 0 {
		return "", memory.Errorf(memory.Conflict, "%s has memory already; what is copied goes into an empty database", c.to.shown)
	}
	return "", c.to.within(ctx, func() error {
		for _, statement := range []string{
			`CREATE TABLE ` + copyMark + ` (source TEXT NOT NULL, upto TEXT NOT NULL)`,
			`INSERT INTO ` + copyMark + ` (source, upto) VALUES (?, '')`,
		} {
			args := []any{c.from.identity}
			if _, err := c.to.conn.exec(ctx, statement, args[:strings.Count(statement, "?")]...); err != nil {
				return fmt.Errorf("mark it: %w", err)
			}
		}
		return nil
	})
}

// span is some owners, one after the other in order, with all between them.
type span struct {
	first, last string
	owners      int
	rows        int64
}

// spans calls do with batches of the source's owners, in order, from the one after on.
func (c *copier) spans(ctx context.Context, after string, do func(context.Context, span) error) error {
	for {
		s := span{last: after}
		for s.rows < c.batch {
			owner, err := c.from.next(ctx, s.last)
			if err != nil {
				return err
			}
			if owner == "" {
				break
			}
			n, err := c.from.size(ctx, owner)
			if err != nil {
				return err
			}
			if s.owners++; s.owners == 1 {
				s.first = owner
			} else if s.rows+n > c.batch {
				s.owners--
				break
			}
			s.last, s.rows = owner, s.rows+n
		}
		if s.owners == 0 {
			return nil
		}
		if err := do(ctx, s); err != nil {
			return err
		}
		after = s.last
	}
}

func (c *copier) did(rows int64, comparing bool) {
	c.rows += rows
	c.report(Copying{Comparing: comparing, Rows: min(c.rows, c.total), Of: c.total})
}

func (c *copier) copySpan(ctx context.Context, s span) error {
	err := c.to.within(ctx, func() error {
		if err := c.copyRows(ctx, s, false); err != nil {
			return err
		}
		_, err := c.to.conn.exec(ctx, `UPDATE `+copyMark+` SET upto = ?`, s.last)
		c.point()
		return err
	})
	c.point()
	return err
}

// copyRows writes the rows of the span's owners, in place of those that are there.
func (c *copier) copyRows(ctx context.Context, s span, instead bool) error {
	for _, t := range tables {
		if instead {
			if _, err := c.to.conn.exec(ctx, `DELETE FROM `+t.name+` WHERE owner BETWEEN ? AND ?`, s.first, s.last); err != nil {
				return fmt.Errorf("clear %s: %w", t.name, err)
			}
		}
		err := c.from.read(ctx, t.name, t.key, s, func(columns []string, next func() ([]any, error)) error {
			return c.to.insert(ctx, t.name, columns, func() ([]any, error) {
				values, err := next()
				if values != nil && !instead {
					c.did(1, false)
				}
				return values, err
			})
		})
		if err != nil {
			return fmt.Errorf("copy %s of owners %q to %q: %w", t.name, s.first, s.last, err)
		}
	}
	return nil
}

// compareSpan holds what both sides have of the span's owners against each other, and
// copies again those that differ.
func (c *copier) compareSpan(ctx context.Context, s span) error {
	differ, err := c.differing(ctx, s)
	if err != nil {
		return err
	}
	for _, owner := range differ {
		one := span{first: owner, last: owner}
		if err := c.to.within(ctx, func() error { return c.copyRows(ctx, one, true) }); err != nil {
			return err
		}
		still, err := c.differing(ctx, one)
		if err != nil {
			return err
		}
		if len(still) > 0 {
			return fmt.Errorf("what %s has of owner %q is not what %s has, even after it was copied again", c.to.shown, owner, c.from.shown)
		}
	}
	c.did(s.rows, true)
	return nil
}

// differing returns the owners of the span of whom the sides have not the same.
func (c *copier) differing(ctx context.Context, s span) ([]string, error) {
	want, err := c.from.digests(ctx, s)
	if err != nil {
		return nil, err
	}
	have, err := c.to.digests(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []string
	for owner, digest := range want {
		if have[owner] != digest {
			out = append(out, owner)
		}
		delete(have, owner)
	}
	for owner := range have {
		out = append(out, owner)
	}
	slices.Sort(out)
	return out, nil
}

// Whole reports, by its error, whether a copy into this database was begun and is not
// done: see [Copy].
func (s *Store) Whole(ctx context.Context) error {
	rows, err := s.reads.ask(ctx, markQuery(s.reads.into))
	var marked bool
	if err := only(rows, err, &marked); err != nil {
		return fmt.Errorf("ask whether the database is whole: %w", err)
	}
	if marked {
		return memory.Errorf(memory.Unavailable, "a copy into this database broke off and is not whole; loci migrate with the same --from and --to goes on with it")
	}
	return nil
}

func markQuery(into *translator) string {
	if into == nil {
		return `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '` + copyMark + `')`
	}
	return `SELECT to_regclass('` + copyMark + `') IS NOT NULL`
}
