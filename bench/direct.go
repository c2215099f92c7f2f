package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Direct is a [Target] without store and server: the index and the ranking alone,
// for choosing between rankings.
type Direct struct {
	Embedder memory.Embedder // nil: words only
	Options  recall.Options
	Now      time.Time // zero: long after everything was said

	items     map[memory.Owner][]memory.Item
	snapshots map[memory.Owner]*index.Snapshot
}

// Ingest keeps turns for the next search.
func (d *Direct) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	if d.items == nil {
		d.items, d.snapshots = map[memory.Owner][]memory.Item{}, map[memory.Owner]*index.Snapshot{}
	}
	delete(d.snapshots, owner)
	for _, t := range turns {
		item := memory.Item{Memory: memory.Memory{Turn: &memory.Turn{
			ID: t.Ref, Owner: owner, Conversation: t.Session, Index: len(d.items[owner]), Role: t.Role, Name: t.Name,
			Content: t.Content, Status: memory.Active, CreatedAt: t.At, RecordedAt: t.At,
		}}}
		if d.Embedder != nil {
			v, err := d.Embedder.Embed(ctx, memory.AsDocument, t.Content)
			if err != nil {
				return fmt.Errorf("embed turn: %w", err)
			}
			item.Vector = v[0]
		}
		d.items[owner] = append(d.items[owner], item)
	}
	return nil
}

// Candidates returns what the index finds for a question, and the question read.
func (d *Direct) Candidates(ctx context.Context, owner memory.Owner, question string) (recall.Query, []memory.Candidate, error) {
	snap := d.snapshots[owner]
	if snap == nil {
		snap = index.Build(d.items[owner])
		if d.snapshots != nil {
			d.snapshots[owner] = snap
		}
	}
	q := recall.NewQuery(question, d.now(), recall.QueryOptions{})
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.Text, Now: d.now()}
	if d.Embedder != nil {
		v, err := d.Embedder.Embed(ctx, memory.AsQuestion, q.Text)
		if err != nil {
			return q, nil, fmt.Errorf("embed question: %w", err)
		}
		s.Vector = v[0]
	}
	found, err := snap.Search(ctx, s)
	return q, found, err
}

// Search ranks what the index finds.
func (d *Direct) Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error) {
	q, found, err := d.Candidates(ctx, owner, question)
	if err != nil {
		return nil, err
	}
	o := d.Options
	o.Limit = k
	kept, _ := recall.Rank(q, found, o, d.now())
	out := make([]Found, len(kept))
	for i, c := range kept {
		out[i] = Found{Ref: c.ID, Score: c.Score}
	}
	return out, nil
}

func (d *Direct) now() time.Time {
	if d.Now.IsZero() {
		return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return d.Now
}
