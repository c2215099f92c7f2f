package sqlstore

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// erasedRows is how many traces, or entries of one thing's journal, one transaction erases.
// What an owner has more of goes in portions before the transaction of the erasure itself,
// so that none holds the owner's row for long: what was done in one is not done again where
// the next is cut off, and whatever is left goes with the same call again.
const erasedRows = 2000

// betweenErased is the point between two portions, at which tests kill.
const betweenErased = "between erased portions"

func (s *Store) between() {
	if s.failpoint != nil {
		s.failpoint(betweenErased)
	}
}

// lighten erases of an owner what is much and goes with what ids name: traces, and what the
// journal has of a thing. It returns up to which version that of each target was read. Where
// little is to go it does nothing.
func (s *Store) lighten(ctx context.Context, owner memory.Owner, run string, ids []string) (map[string]int64, error) {
	traces, targets, err := s.heavy(ctx, owner, ids)
	if err != nil || len(traces)+len(targets) == 0 {
		return nil, err
	}
	left := map[string]bool{} // targets of what is there to be erased
	err = s.write(ctx, owner, func(t *tx) error {
		clear(left)
		if _, done, err := t.receipt(owner, run); done || err != nil {
			return err
		}
		things, err := (&eraser{}).find(&write{tx: t, owner: owner}, ids)
		for _, i := range things {
			left[i.Target()] = true
		}
		return err
	})
	if err != nil || len(left) == 0 {
		return nil, err
	}
	if _, err := s.eraseTraces(ctx, owner, traces); err != nil {
		return nil, err
	}
	past := map[string]int64{}
	for _, target := range targets {
		for more := left[target]; more; {
			s.between()
			if past[target], more, err = s.lightenPast(ctx, owner, run, target, past[target]); err != nil {
				return nil, err
			}
		}
	}
	return past, nil
}

// heavy returns the ids of an owner's traces if they are more than a portion, and the targets
// of those of ids of which the journal has more than one.
func (s *Store) heavy(ctx context.Context, owner memory.Owner, ids []string) (traces, targets []string, err error) {
	var all listed
	for _, id := range ids {
		for _, kind := range []string{"fact", "link", "turn", "summary", "context", "conversation", "profile"} {
			all = append(all, kind+":"+id)
		}
	}
	one := func(row scanner) (text string, err error) { return text, row.Scan(&text) }
	err = s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT id FROM traces WHERE owner = ?`)
		if traces, err = collect(rows, err, one); err != nil {
			return fmt.Errorf("list traces: %w", err)
		}
		rows, err = v.query(`SELECT target FROM journal WHERE owner = ? AND target IN (SELECT value FROM json_each(?)) GROUP BY target HAVING count(*) > ?`, all, s.rows)
		targets, err = collect(rows, err, one)
		return wrap("count what the journal has", err)
	})
	if len(traces) <= s.rows {
		traces = nil
	}
	return traces, targets, err
}

// lightenPast takes the words of a target out of a portion of the journal after a version, and
// returns the last version of it; more says that it may not be all.
func (s *Store) lightenPast(ctx context.Context, owner memory.Owner, run, target string, after int64) (last int64, more bool, err error) {
	err = s.write(ctx, owner, func(t *tx) error {
		w := &write{tx: t, owner: owner}
		read := 0
		last, read, err = w.rewrite(target, after, s.rows, func(i memory.Image) (memory.Image, bool) { return i.Erased(run), true })
		if err != nil {
			return err
		}
		if more = read >= s.rows; read == 0 {
			last = after
			return nil
		}
		err := w.exec(`UPDATE journal SET reason = '' WHERE owner = ? AND target = ? AND version > ? AND version <= ? AND reason <> ''`, owner, target, after, last)
		if err != nil {
			return fmt.Errorf("erase reasons: %w", err)
		}
		return t.marksFile()
	})
	return last, more, err
}
