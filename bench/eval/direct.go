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

// Direct is a [Target] without store and server: the index and the ranking alone, for choosing
// between rankings. It is safe for concurrent use.
type Direct struct {
	Embedder memory.Embedder // nil: words only
	Options  recall.Options
	// Without changes what the ranking gets, to measure what it is worth with a stage left out; nil
	// leaves it as it is.
	Without func(*recall.Query, []memory.Candidate)

	mu    sync.Mutex // guards what follows
	items map[memory.Owner][]memory.Item
	index *index.Index
}

// afterAll is when questions are asked: long after everything was said.
var afterAll = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// open returns the index, which it makes at the first use.
func (d *Direct) open() *index.Index {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index == nil {
		d.items = map[memory.Owner][]memory.Item{}
		d.index = index.New(d, index.Options{})
	}
	return d.index
}

// Close releases the index.
func (d *Direct) Close() error { return d.open().Close() }

// Ingest keeps turns for the searches that follow.
func (d *Direct) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	d.open()
	said := map[string]int{} // how many turns each conversation has
	for _, item := range d.of(owner) {
		said[item.Memory.Turn.Conversation]++
	}
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
		d.mu.Lock()
		item.Version = int64(len(d.items[owner]) + 1)
		d.items[owner] = append(d.items[owner], item)
		d.mu.Unlock()
	}
	return nil
}

// Candidates returns what the index finds for a question, and the question read.
func (d *Direct) Candidates(ctx context.Context, owner memory.Owner, question string) (recall.Query, []memory.Candidate, error) {
	q := recall.NewQuery(question, afterAll, recall.QueryOptions{})
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.Text, Weights: q.Weights, Now: afterAll}
	if d.Embedder != nil {
		v, err := d.Embedder.Embed(ctx, memory.AsQuestion, q.Near)
		if err != nil {
			return q, nil, fmt.Errorf("embed question: %w", err)
		}
		s.Vector = v[0]
	}
	found, err := d.open().Search(ctx, s)
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
	kept, _ := recall.Rank(q, found, o, afterAll)
	var out []Found
	for _, c := range kept {
		out = append(out, Found{Ref: c.ID, Score: c.Score})
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

// of returns the items so far, which do not change any more.
func (d *Direct) of(owner memory.Owner) []memory.Item {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.items[owner]
}

// Versions implements [memory.Source].
func (d *Direct) Versions(_ context.Context, owners []memory.Owner) ([]int64, error) {
	out := make([]int64, len(owners))
	for i, o := range owners {
		out[i] = int64(len(d.of(o)))
	}
	return out, nil
}

// Since implements [memory.Source].
func (d *Direct) Since(_ context.Context, owner memory.Owner, _ string, after int64, yield func(memory.Item) error) (int64, error) {
	items := d.of(owner)
	for _, item := range items[after:] {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return int64(len(items)), nil
}
