package lessons

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// dropKnownContexts parts a lesson's candidates from those that a context of the
// owner's says, attached to this conversation or not: what stands in a document is
// never learned again.
func (e reader) dropKnownContexts(ctx context.Context, l *Lesson) error {
	if len(l.cands) == 0 {
		return nil
	}
	contexts, err := e.Store.Contexts(ctx, l.scope.Owner, memory.At{})
	if err != nil {
		return fmt.Errorf("read contexts to compare with: %w", err)
	}
	// A model writes its files from what the user says.
	if contexts = slices.DeleteFunc(contexts, core.IsFile); len(contexts) == 0 {
		return nil
	}
	var kept []extract.Candidate
	passages := sync.OnceValues(func() ([]passage, error) { return e.passages(ctx, contexts) })
	for _, c := range l.cands {
		name := learn.InContext(c, l.quote(c), contexts)
		if name == "" {
			if name, err = e.nearContext(ctx, c, passages); err != nil {
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
func (l Lesson) quote(c extract.Candidate) string {
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
func (e reader) nearContext(ctx context.Context, c extract.Candidate, passages func() ([]passage, error)) (string, error) {
	near, err := e.VectorToCompare(ctx, c.Text)
	if err != nil || near == nil {
		return "", err
	}
	known, err := passages()
	if err != nil {
		return "", err
	}
	for _, p := range known {
		if name := learn.NearContext(c, p.of, p.text, cosine(near, p.vector), e.Retrieve.DuplicateScore()); name != "" {
			return name, nil
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

// passage is a part of a context.
type passage struct {
	of     memory.Context
	text   string
	vector []float32
}

// passages cuts contexts into passages as long as the embedder reads at once, with their vectors.
func (e reader) passages(ctx context.Context, contexts []memory.Context) (out []passage, err error) {
	most, count := 0, (func(string) int)(nil)
	if w, ok := e.Embedder.(interface {
		Window() (most int, count func(text string) int)
	}); ok {
		most, count = w.Window()
	}
	for _, c := range contexts {
		texts := learn.Passages(c.Content, most, count)
		key := contextKey{e.Embedder.Fingerprint(), sha256.Sum256([]byte(c.Content))}
		vectors := e.contexts.get(key)
		if vectors == nil {
			if vectors, err = e.Embedder.Embed(ctx, memory.AsDocument, texts...); err != nil {
				return nil, fmt.Errorf("embed context %s: %w", c.ID, err)
			}
			e.contexts.put(key, vectors)
		}
		for i, text := range texts {
			out = append(out, passage{c, text, vectors[i]})
		}
	}
	return out, nil
}

// contextKey is a model and the words of a context.
type contextKey struct {
	model string
	words [sha256.Size]byte
}

// contextVectors keeps the vectors of contexts, without their words: every lesson is compared
// with all contexts of its owner. The zero value is ready.
type contextVectors struct {
	mu   sync.Mutex // guards what follows
	of   map[contextKey][][]float32
	kept int // vectors in all
}

// mostContextVectors bounds what is kept: at 384 numbers a vector, 50 MB.
const mostContextVectors = 32 << 10

func (k *contextVectors) get(key contextKey) [][]float32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[key]
}

func (k *contextVectors) put(key contextKey, vectors [][]float32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept += len(vectors); k.of == nil || k.kept > mostContextVectors {
		k.of, k.kept = map[contextKey][][]float32{}, len(vectors)
	}
	k.of[key] = vectors
}

// attached returns the contexts that are attached to a conversation, for a model that is to
// know what needs no learning: whole, or as much as room, in tokens, allows.
func (e reader) attached(ctx context.Context, owner memory.Owner, conversation string, room int) (string, error) {
	contexts, err := e.ContextsOf(ctx, owner, conversation)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range contexts {
		b.WriteString(recall.ContextText(c, &room))
	}
	return strings.TrimSpace(b.String()), nil
}
