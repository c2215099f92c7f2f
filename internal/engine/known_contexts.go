package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// dropKnownContexts parts a lesson's candidates from those that a context of the
// owner's says, attached to this conversation or not: what stands in a document is
// never learned again.
func (e *Engine) dropKnownContexts(ctx context.Context, l *lesson) error {
	if len(l.cands) == 0 {
		return nil
	}
	contexts, err := e.Store.Contexts(ctx, l.scope.Owner, memory.At{})
	if err != nil {
		return fmt.Errorf("read contexts to compare with: %w", err)
	}
	// A model writes its files from what the user says.
	if contexts = slices.DeleteFunc(contexts, isFile); len(contexts) == 0 {
		return nil
	}
	var kept []learn.Candidate
	for _, c := range l.cands {
		name := learn.InContext(c, l.quote(c), contexts)
		if name == "" {
			if name, err = e.nearContext(ctx, c, contexts); err != nil {
				return err
			}
		}
		if name == "" {
			kept = append(kept, c)
			continue
		}
		l.dropped = append(l.dropped, learn.Dropped{Candidate: c, Reason: learn.SaidInContext(name)})
	}
	l.cands = kept
	return nil
}

// quote returns the words that a candidate was learned from, "" where that is not known.
func (l lesson) quote(c learn.Candidate) string {
	if c.Span == nil {
		return ""
	}
	words := l.turn(c.Turn).Content
	if c.Span.Start < 0 || c.Span.Start > c.Span.End || c.Span.End > len(words) {
		return ""
	}
	return words[c.Span.Start:c.Span.End]
}

// nearContext compares a candidate with every passage of contexts, by the embedder.
func (e *Engine) nearContext(ctx context.Context, c learn.Candidate, contexts []memory.Context) (string, error) {
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, c.Text)
	if err != nil {
		return "", fmt.Errorf("embed to compare with contexts: %w", err)
	}
	for _, known := range contexts {
		passages, of, err := e.passages.of(ctx, e.Embedder, known)
		if err != nil {
			return "", fmt.Errorf("embed context %s: %w", known.ID, err)
		}
		for i, p := range passages {
			if name := learn.NearContext(c, known, p, cosine(vectors[0], of[i]), e.sayingSame()); name != "" {
				return name, nil
			}
		}
	}
	return "", nil
}

// cosine is the similarity of vectors of unit length.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// passagesKept is of how many contexts the passages are kept, whosever they are.
const passagesKept = 64

// passageCache keeps the vectors of contexts that were compared with last: they change
// seldom, and every lesson is compared with all of them.
type passageCache struct {
	mu   sync.Mutex // guards what follows
	kept []embedded // newest last
}

type embedded struct {
	owner    memory.Owner
	id       string
	version  int64
	model    string
	passages []string
	vectors  [][]float32
}

func (p *passageCache) of(ctx context.Context, embedder memory.Embedder, c memory.Context) ([]string, [][]float32, error) {
	same := func(k embedded) bool {
		return k.owner == c.Owner && k.id == c.ID && k.version == c.Version && k.model == embedder.Fingerprint()
	}
	p.mu.Lock()
	i := slices.IndexFunc(p.kept, same)
	if i >= 0 {
		defer p.mu.Unlock()
		return p.kept[i].passages, p.kept[i].vectors, nil
	}
	p.mu.Unlock()
	most, count := 0, (func(string) int)(nil)
	if w, ok := embedder.(interface {
		Window() (most int, count func(text string) int)
	}); ok {
		most, count = w.Window()
	}
	passages := learn.Passages(c.Content, most, count)
	vectors, err := embedder.Embed(ctx, memory.AsDocument, passages...)
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(k embedded) bool { return k.owner == c.Owner && k.id == c.ID })
	if len(p.kept) >= passagesKept {
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.kept = append(p.kept, embedded{c.Owner, c.ID, c.Version, embedder.Fingerprint(), passages, vectors})
	return passages, vectors, nil
}

// forget drops what is kept of an owner, whose words may have been erased.
func (p *passageCache) forget(owner memory.Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(k embedded) bool { return k.owner == owner })
}

// attached returns the contexts that are attached to a conversation, for a model that is to
// know what needs no learning: whole, or as much as room, in tokens, allows.
func (e *Engine) attached(ctx context.Context, owner memory.Owner, conversation string, room int) (string, error) {
	contexts, err := e.contextsOf(ctx, owner, conversation)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range contexts {
		b.WriteString(recall.ContextText(c, &room))
	}
	return strings.TrimSpace(b.String()), nil
}
