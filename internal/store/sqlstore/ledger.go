package sqlstore

import (
	"context"
	"time"

	"github.com/loci-memory/loci/memory"
)

// AddUsage adds usage of models to the ledger: see [memory.Ledger].
func (s *Store) AddUsage(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	if err := u.Check(); err != nil {
		return err
	}
	return s.write(ctx, "", func(t *tx) error { return t.addUsage(owner, u) })
}

func (t *tx) addUsage(owner memory.Owner, u memory.Usage) error {
	err := t.exec(`INSERT INTO ledger (owner, day, purpose, model, calls, input_tokens, output_tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, day, purpose, model) DO UPDATE SET calls = ledger.calls + excluded.calls,
			input_tokens = ledger.input_tokens + excluded.input_tokens, output_tokens = ledger.output_tokens + excluded.output_tokens, cost = ledger.cost + excluded.cost`,
		owner, toMicros(memory.StartOfDay(u.Day)), u.Purpose, u.Model, u.Calls, u.InputTokens, u.OutputTokens, u.Cost)
	return wrap("write the ledger", err)
}

// UsageSince returns the ledger's usage since a day: see [memory.Ledger].
func (s *Store) UsageSince(ctx context.Context, owner memory.Owner, since time.Time) ([]memory.Usage, error) {
	out, err := queryOwner(ctx, s.reader, owner, `SELECT day, purpose, model, calls, input_tokens, output_tokens, cost FROM ledger
		WHERE owner = ? AND day >= ? ORDER BY day, purpose, model`, []any{toMicros(memory.StartOfDay(since))}, func(row scanner) (u memory.Usage, err error) {
		err = row.Scan(timeColumn{&u.Day}, &u.Purpose, &u.Model, &u.Calls, &u.InputTokens, &u.OutputTokens, &u.Cost)
		return u, err
	})
	return out, wrap("read the ledger", err)
}
