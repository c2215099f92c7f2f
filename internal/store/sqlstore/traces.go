package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// SaveTraces writes traces, except traces with text that was erased after them: see [memory.Traces].
func (s *Store) SaveTraces(ctx context.Context, maxPerOwner int, traces ...memory.Trace) error {
	data := make([]string, len(traces)) // encoded before the transaction, to keep it short
	for i, t := range traces {
		if err := checkOwner(t.Owner); err != nil {
			return err
		}
		text, err := encodeTrace(t)
		if err != nil {
			return memory.Errorf(memory.Invalid, "trace %s: %w", t.ID, err)
		}
		data[i] = text
	}
	return s.write(ctx, "", func(t *tx) error {
		for i, trace := range traces {
			if erased, err := t.lastErasure(trace.Owner); err != nil {
				return err
			} else if trace.At.Before(erased) {
				continue
			}
			if gone, err := t.showsErasedFact(trace); err != nil {
				return err
			} else if gone {
				continue
			}
			if err := t.writeTrace(trace, data[i]); err != nil {
				return err
			}
		}
		return t.evictTraces(max(maxPerOwner, 0), s.traceBytes, traces)
	})
}

func encodeTrace(t memory.Trace) (string, error) {
	t.At = memory.Time(t.At)
	return toJSON(t)
}

// lastErasure returns the time of the owner's last erasure, or the zero time.
func (t *tx) lastErasure(owner memory.Owner) (at time.Time, err error) {
	if err := t.lockOwnerShared(owner); err != nil {
		return at, err
	}
	err = t.queryRow(`SELECT j.at FROM owners o JOIN journal j ON j.owner = o.owner AND j.version = o.horizon
		WHERE o.owner = ? AND o.horizon > 0 LIMIT 1`, []any{owner}, timeColumn{&at})
	if isNoRows(err) {
		err = nil
	}
	return at, wrap("read the time of the last erasure", err)
}

// lockOwnerShared blocks erasures of an owner until the traces are written. SQLite has one writer and
// needs no lock.
func (t *tx) lockOwnerShared(owner memory.Owner) error {
	if t.session.translator == nil {
		return nil
	}
	var version int64
	if err := t.queryRow(`SELECT version FROM owners WHERE owner = ? FOR SHARE`, []any{owner}, &version); err != nil && !isNoRows(err) {
		return fmt.Errorf("lock the owner: %w", err)
	}
	return nil
}

// showsErasedFact reports whether a trace contains text of other owners' facts, or of links, that were
// erased after the trace was recorded.
func (t *tx) showsErasedFact(trace memory.Trace) (bool, error) {
	for owner, facts := range trace.OtherOwnersFacts() {
		if err := t.lockOwnerShared(owner); err != nil {
			return false, err
		}
		var erasedCount int
		err := t.queryRow(`SELECT (SELECT COUNT(*) FROM facts WHERE owner = ? AND id IN (SELECT value FROM json_each(?)) AND status = 'retired' AND content = '')
			+ (SELECT COUNT(*) FROM links WHERE owner = ? AND id IN (SELECT value FROM json_each(?)) AND status = 'retired' AND hash = '')`,
			[]any{owner, textList(facts), owner, textList(facts)}, &erasedCount)
		if err != nil {
			return false, fmt.Errorf("check whether shown facts are erased: %w", err)
		}
		if erasedCount > 0 {
			return true, nil
		}
	}
	return false, nil
}

func (t *tx) writeTrace(trace memory.Trace, data string) error {
	err := t.exec(`INSERT INTO traces (owner, id, at, data) VALUES (?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET at = excluded.at, data = excluded.data`,
		trace.Owner, trace.ID, toMicros(trace.At), data)
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return t.recordShownFacts(trace)
}

// recordShownFacts stores the ids of other owners' facts that a trace shows.
func (t *tx) recordShownFacts(trace memory.Trace) error {
	for _, facts := range trace.OtherOwnersFacts() {
		for _, id := range facts {
			err := t.exec(`INSERT INTO trace_facts (owner, fact, trace) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, trace.Owner, id, trace.ID)
			if err != nil {
				return fmt.Errorf("store the facts that the trace shows: %w", err)
			}
		}
	}
	return nil
}

// evictTraces removes the oldest traces of the owners of newTraces, beyond maxPerOwner traces or maxBytes
// bytes for each owner; maxBytes 0 means no limit in bytes.
func (t *tx) evictTraces(maxPerOwner int, maxBytes int64, newTraces []memory.Trace) error {
	done := map[memory.Owner]bool{}
	for _, trace := range newTraces {
		if done[trace.Owner] {
			continue
		}
		done[trace.Owner] = true
		if _, err := t.removeTraces(trace.Owner, ` IN (SELECT id FROM traces WHERE owner = ?1 ORDER BY at DESC, id DESC LIMIT 9223372036854775807 OFFSET ?2)`, maxPerOwner); err != nil {
			return err
		}
		if maxBytes <= 0 {
			continue
		}
		if _, err := t.removeTraces(trace.Owner, ` IN (SELECT id FROM (SELECT id, sum(octet_length(data)) OVER (ORDER BY at DESC, id DESC) AS size
			FROM traces WHERE owner = ?1) newest WHERE size > ?2)`, maxBytes); err != nil {
			return err
		}
	}
	return nil
}

// Trace returns a trace: see [memory.Traces].
func (s *Store) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	found, err := queryOwner(ctx, s.reader, owner, `SELECT data FROM traces WHERE owner = ? AND id = ?`, []any{id}, scanTrace)
	if err != nil {
		return memory.Trace{}, fmt.Errorf("read the trace: %w", err)
	}
	if len(found) == 0 {
		return memory.Trace{}, memory.Errorf(memory.NotFound, "there is no trace %s", id)
	}
	return found[0], nil
}

func scanTrace(row scanner) (t memory.Trace, err error) {
	data, err := scanText[string](row)
	if err == nil && json.Unmarshal([]byte(data), &t) != nil {
		return t, &unreadableRowError{"a trace is not JSON"}
	}
	return t, err
}

// Traces returns the traces that match q: see [memory.Traces]. It filters an owner's few traces in Go,
// since this call is rare and indexes would slow down every search.
func (s *Store) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	found, err := queryOwner(ctx, s.reader, owner, `SELECT data FROM traces WHERE owner = ? ORDER BY at DESC, id DESC`, nil, scanTrace)
	found = slices.DeleteFunc(found, func(t memory.Trace) bool { return !q.Matches(t) })
	return found[:min(len(found), ownerdata.PageSize(q.Limit))], wrap("read traces", err)
}
