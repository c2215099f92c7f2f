package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// SaveTraces writes traces: see [memory.Traces].
func (s *Store) SaveTraces(ctx context.Context, keep int, traces ...memory.Trace) error {
	for _, t := range traces {
		if err := checkOwner(t.Owner); err != nil {
			return err
		}
	}
	return s.write(ctx, func(t *tx) error {
		for _, trace := range traces {
			if err := t.saveTrace(trace); err != nil {
				return err
			}
		}
		return t.evictTraces(max(keep, 0), traces)
	})
}

func (t *tx) saveTrace(trace memory.Trace) error {
	trace.At = memory.Time(trace.At)
	data, err := toJSON(trace)
	if err != nil {
		return memory.Errorf(memory.Invalid, "trace %s: %w", trace.ID, err)
	}
	_, err = t.exec(`INSERT INTO traces (owner, id, at, data) VALUES (?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET at = excluded.at, data = excluded.data`,
		trace.Owner, trace.ID, micros(trace.At), data)
	return wrap("write the trace", err)
}

func (t *tx) evictTraces(keep int, traces []memory.Trace) error {
	done := map[memory.Owner]bool{}
	for _, trace := range traces {
		if done[trace.Owner] {
			continue
		}
		done[trace.Owner] = true
		_, err := t.exec(`DELETE FROM traces WHERE owner = ? AND id IN
			(SELECT id FROM traces WHERE owner = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`,
			trace.Owner, trace.Owner, keep)
		if err != nil {
			return fmt.Errorf("evict traces: %w", err)
		}
	}
	return nil
}

// Trace returns one: see [memory.Traces].
func (s *Store) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	var trace memory.Trace
	err := s.reads.see(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT data FROM traces WHERE owner = ? AND id = ?`, id)
		found, err := collect(rows, err, func(row scanner) (data string, err error) { return data, row.Scan(&data) })
		if err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
		if len(found) == 0 {
			return memory.Errorf(memory.NotFound, "no trace %s", id)
		}
		return json.Unmarshal([]byte(found[0]), &trace)
	})
	return trace, err
}
