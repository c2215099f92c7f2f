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

	log   turnLog
	index *index.Index
}

// Ingest keeps turns for the searches that follow.
func (d *Direct) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	if d.log == nil {
		d.log = turnLog{}
		d.index = index.New(d.log, index.Options{})
	}
	for _, t := range turns {
		place := len(d.log[owner])
		item := memory.Item{Version: int64(place + 1), Memory: memory.Memory{Turn: &memory.Turn{
			ID: t.Ref, Owner: owner, Conversation: t.Session, Index: place, Role: t.Role, Name: t.Name,
			Content: t.Content, Status: memory.Active, CreatedAt: t.At, RecordedAt: t.At,
		}}}
		if d.Embedder != nil {
			v, err := d.Embedder.Embed(ctx, memory.AsDocument, t.Content)
			if err != nil {
				return fmt.Errorf("embed turn: %w", err)
			}
			item.Vector = v[0]
		}
		d.log[owner] = append(d.log[owner], item)
	}
	return nil
}

// Close releases the index.
func (d *Direct) Close() error {
	if d.index == nil {
		return nil
	}
	return d.index.Close()
}

// Candidates returns what the index finds for a question, and the question read.
func (d *Direct) Candidates(ctx context.Context, owner memory.Owner, question string) (recall.Query, []memory.Candidate, error) {
	q := recall.NewQuery(question, d.now(), recall.QueryOptions{})
	if d.index == nil {
		return q, nil, nil
	}
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.Text, Now: d.now()}
	if d.Embedder != nil {
		v, err := d.Embedder.Embed(ctx, memory.AsQuestion, q.Text)
		if err != nil {
			return q, nil, fmt.Errorf("embed question: %w", err)
		}
		s.Vector = v[0]
	}
	found, err := d.index.Search(ctx, s)
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

// turnLog is a [memory.Source] of turns that only grow, a version each.
type turnLog map[memory.Owner][]memory.Item

func (l turnLog) Versions(_ context.Context, owners []memory.Owner) ([]int64, error) {
	out := make([]int64, len(owners))
	for i, o := range owners {
		out[i] = int64(len(l[o]))
	}
	return out, nil
}

func (l turnLog) Since(_ context.Context, owner memory.Owner, _ string, after int64, yield func(memory.Item) error) (int64, error) {
	items := l[owner]
	for _, item := range items[after:] {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return int64(len(items)), nil
}
