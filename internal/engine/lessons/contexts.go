package lessons

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// dropContextCopies drops candidates that repeat one of the owner's contexts, attached or not. Text of a
// document must not be learned again.
func (e reader) dropKnownContexts(ctx context.Context, l *Lesson) error {
	if len(l.cands) == 0 {
		return nil
	}
	contexts, err := e.Store.Contexts(ctx, l.scope.Owner, memory.At{})
	if err != nil {
		return fmt.Errorf("read contexts to compare with: %w", err)
	}
	// A model's files contain text from the user's messages, so they are not compared.
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
		l.dropped = append(l.dropped, learn.Dropped{Candidate: c, Reason: learn.ContextSaysSo(name)})
	}
	l.cands = kept
	return nil
}

// quoteOf returns the text from which a candidate was learned, or "" if unknown.
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

// similarContext returns the name of a context with a passage similar to a candidate, or "".
func (e reader) nearContext(ctx context.Context, c extract.Candidate, contexts []memory.Context) (string, error) {
	near, err := e.VectorToCompare(ctx, c.Text)
	if err != nil || near == nil {
		return "", err
	}
	for _, stored := range contexts {
		passages, of, err := e.passages(ctx, stored)
		if err != nil {
			return "", fmt.Errorf("embed context %s: %w", stored.ID, err)
		}
		for i, p := range passages {
			if name := learn.NearContext(c, stored, p, cosine(near, of[i]), e.Retrieve.DuplicateScore()); name != "" {
				return name, nil
			}
		}
	}
	return "", nil
}

// cosine returns the cosine of two unit vectors.
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

// maxCachedContexts bounds the contexts with cached vectors, since every candidate is compared with all
// contexts of its owner.
const contextsKept = 128

// passages splits a context into passages that fit the embedder, with their vectors.
func (e reader) passages(ctx context.Context, c memory.Context) ([]string, [][]float32, error) {
	most, count := 0, (func(string) int)(nil)
	if w, ok := e.Embedder.(interface {
		Window() (most int, count func(text string) int)
	}); ok {
		most, count = w.Window()
	}
	passages := learn.Passages(c.Content, most, count)
	key := sha256.Sum256(fmt.Append(nil, e.Embedder.Fingerprint(), e.Embedder.Dims(), c.Content))
	vectors, found := e.contexts.Get(key)
	if found {
		return passages, vectors, nil
	}
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, passages...)
	if err == nil {
		e.contexts.Set(key, vectors)
	}
	return passages, vectors, err
}

// attachedText returns the text of the contexts attached to a conversation, for a prompt: the model must
// not learn it again. It is cut to at most maxTokens tokens.
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
