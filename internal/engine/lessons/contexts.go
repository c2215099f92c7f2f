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
func (e reader) nearContext(ctx context.Context, c extract.Candidate, contexts []memory.Context) (string, error) {
	near, err := e.VectorToCompare(ctx, c.Text)
	if err != nil || near == nil {
		return "", err
	}
	for _, known := range contexts {
		passages, of, err := e.passages(ctx, known)
		if err != nil {
			return "", fmt.Errorf("embed context %s: %w", known.ID, err)
		}
		for i, p := range passages {
			if name := learn.NearContext(c, known, p, cosine(near, of[i]), e.Retrieve.DuplicateScore()); name != "" {
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

// contextVectors keeps the vectors of contexts' passages, without their words, by the model, their
// length and the words: every candidate is compared with all contexts of its owner. The zero value is ready.
type contextVectors struct {
	sync.Mutex // guards what follows
	of         map[[sha256.Size]byte][][]float32
	kept       int // vectors in all
}

// mostContextVectors bounds what is kept: at 384 numbers a vector, 50 MB.
const mostContextVectors = 32 << 10

// passages cuts a context into passages as long as the embedder reads at once, with their vectors.
func (e reader) passages(ctx context.Context, c memory.Context) ([]string, [][]float32, error) {
	most, count := 0, (func(string) int)(nil)
	if w, ok := e.Embedder.(interface {
		Window() (most int, count func(text string) int)
	}); ok {
		most, count = w.Window()
	}
	passages := learn.Passages(c.Content, most, count)
	k, key := &e.contexts, sha256.Sum256(fmt.Append(nil, e.Embedder.Fingerprint(), e.Embedder.Dims(), c.Content))
	k.Lock()
	vectors := k.of[key]
	k.Unlock()
	if vectors != nil {
		return passages, vectors, nil
	}
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, passages...)
	if err != nil {
		return nil, nil, err
	}
	k.Lock()
	defer k.Unlock()
	if k.kept += len(vectors); k.of == nil || k.kept > mostContextVectors {
		k.of, k.kept = map[[sha256.Size]byte][][]float32{}, len(vectors)
	}
	k.of[key] = vectors
	return passages, vectors, nil
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
