package eval

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Direct is a [Target] without store and server: the index and the ranking alone,
// for choosing between rankings. It is safe for concurrent use.
type Direct struct {
	Embedder memory.Embedder // nil: words only
	Options  recall.Options
	Now      time.Time // zero: long after everything was said
	// Without changes what the ranking gets, to measure what it is worth with a
	// stage left out; nil leaves it as it is.
	Without func(*recall.Query, []memory.Candidate)

	mu    sync.Mutex // guards index being set
	log   turnLog
	index *index.Index
}

// Ingest keeps turns for the searches that follow.
func (d *Direct) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	d.open()
	said := d.log.said(owner)
	for _, t := range turns {
		item := memory.Item{Memory: memory.Memory{Turn: &memory.Turn{
			ID: t.Ref, Owner: owner, Conversation: t.Session, Index: said[t.Session], Role: t.Role, Name: t.Name,
			Content: t.Content, Status: memory.Active, CreatedAt: t.At, RecordedAt: t.At,
		}}}
		said[t.Session]++
		if d.Embedder != nil {
			v, err := d.Embedder.Embed(ctx, memory.AsDocument, t.Content)
			if err != nil {
				return fmt.Errorf("embed turn: %w", err)
			}
			item.Vector = v[0]
		}
		d.log.add(owner, item)
	}
	return nil
}

// open makes the index at the first use.
func (d *Direct) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index == nil {
		d.log.items = map[memory.Owner][]memory.Item{}
		d.index = index.New(&d.log, index.Options{})
	}
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
	d.open()
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.Text, Weights: q.Weights, Now: d.now()}
	if d.Embedder != nil {
		v, err := d.Embedder.Embed(ctx, memory.AsQuestion, q.Near)
		if err != nil {
			return q, nil, fmt.Errorf("embed question: %w", err)
		}
		s.Vector = v[0]
	}
	found, err := d.index.Search(ctx, s)
	if d.Without != nil {
		d.Without(&q, found)
	}
	return q, found, err
}

// Search ranks what the index finds.
func (d *Direct) Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error) {
	q, found, err := d.Candidates(ctx, owner, question)
	if err != nil {
		return nil, err
	}
	o := d.options()
	o.Limit = k
	kept, _ := recall.Rank(q, found, o, d.now())
	out := make([]Found, len(kept))
	for i, c := range kept {
		out[i] = Found{Ref: c.ID, Score: c.Score}
	}
	return out, nil
}

// options are those of the ranking with this embedder.
func (d *Direct) options() recall.Options {
	o := d.Options
	if e, ok := d.Embedder.(interface{ OfWords() bool }); ok {
		o.OfWords = e.OfWords()
	}
	return o
}

func (d *Direct) now() time.Time {
	if d.Now.IsZero() {
		return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return d.Now
}

// turnLog is a [memory.Source] of turns that only grow, a version each.
type turnLog struct {
	mu    sync.Mutex // guards items
	items map[memory.Owner][]memory.Item
}

// add appends an item as the next version.
func (l *turnLog) add(owner memory.Owner, item memory.Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	item.Version = int64(len(l.items[owner]) + 1)
	l.items[owner] = append(l.items[owner], item)
}

// said returns how many turns each conversation has.
func (l *turnLog) said(owner memory.Owner) map[string]int {
	out := map[string]int{}
	for _, item := range l.of(owner) {
		out[item.Memory.Turn.Conversation]++
	}
	return out
}

// of returns the items so far, which do not change any more.
func (l *turnLog) of(owner memory.Owner) []memory.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[owner]
}

// Versions implements [memory.Source].
func (l *turnLog) Versions(_ context.Context, owners []memory.Owner) ([]int64, error) {
	out := make([]int64, len(owners))
	for i, o := range owners {
		out[i] = int64(len(l.of(o)))
	}
	return out, nil
}

// Since implements [memory.Source].
func (l *turnLog) Since(_ context.Context, owner memory.Owner, _ string, after int64, yield func(memory.Item) error) (int64, error) {
	items := l.of(owner)
	for _, item := range items[after:] {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return int64(len(items)), nil
}
