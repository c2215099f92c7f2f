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

// Direct is a [Target] with only the index and the ranking, for comparing rankings. It is safe for concurrent use.
type Direct struct {
	Embedder memory.Embedder // nil: words only
	Options  recall.RankOptions
	// Without changes the ranking's input, to measure the ranking without a stage; nil changes nothing.
	Without func(*recall.Query, []memory.Candidate)

	mu    sync.Mutex // guards the fields below
	items map[memory.Owner][]memory.IndexItem
	built map[memory.Owner]*index.Snapshot // of all items of an owner; nil: not yet
}

// afterAll is the time of questions, after all turns.
var afterAll = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Ingest adds turns.
func (d *Direct) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	d.mu.Lock()
	items := d.items[owner]
	d.mu.Unlock()
	counts := map[string]int{} // turns by conversation
	for _, item := range items {
		counts[item.Memory.Turn.Conversation]++
	}
	for _, t := range turns {
		item := memory.IndexItem{Version: int64(len(items) + 1), Memory: memory.Memory{Turn: &memory.Turn{
			ID: t.Ref, Owner: owner, Conversation: t.Session, Index: counts[t.Session], Role: t.Role, Name: t.Name,
			Content: t.Content, Status: memory.Active, CreatedAt: t.At, RecordedAt: t.At,
		}}}
		counts[t.Session]++
		if d.Embedder != nil {
			v, err := d.Embedder.Embed(ctx, memory.AsDocument, t.Content)
			if err != nil {
				return fmt.Errorf("embed turn: %w", err)
			}
			item.Vector = v[0]
		}
		items = append(items, item)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.items == nil {
		d.items, d.built = map[memory.Owner][]memory.IndexItem{}, map[memory.Owner]*index.Snapshot{}
	}
	d.items[owner], d.built[owner] = items, nil
	return nil
}

// index returns an owner's index.
func (d *Direct) index(owner memory.Owner) *index.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.built[owner] == nil && d.items[owner] != nil {
		d.built[owner] = index.Build(d.items[owner])
	}
	return d.built[owner]
}

// Candidates returns the parsed question and its candidates from the index.
func (d *Direct) Candidates(
	ctx context.Context, owner memory.Owner, question string,
) (q recall.Query, found []memory.Candidate, err error) {
	q = recall.NewQuery(question, afterAll, recall.QueryOptions{})
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.SearchText, TermWeights: q.TermWeights, Now: afterAll}
	if d.Embedder != nil {
		v, err := d.Embedder.Embed(ctx, memory.AsQuestion, q.EmbedText)
		if err != nil {
			return q, nil, fmt.Errorf("embed question: %w", err)
		}
		s.Vector = v[0]
	}
	if x := d.index(owner); x != nil {
		found, err = x.Search(ctx, s)
	}
	if d.Without != nil {
		d.Without(&q, found)
	}
	return q, found, err
}

// Search returns the best of the ranked candidates.
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

// options returns the ranking's options for this embedder.
func (d *Direct) options() recall.RankOptions {
	o := d.Options
	if e, ok := d.Embedder.(interface{ OfWords() bool }); ok {
		o.IsWordBased = e.OfWords()
	}
	return o
}
