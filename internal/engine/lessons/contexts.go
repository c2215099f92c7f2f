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
func (e extractor) dropContextCopies(ctx context.Context, l *Lesson) error {
	if len(l.candidates) == 0 {
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
	var remaining []extract.Candidate
	for _, c := range l.candidates {
		name := learn.ContextContaining(c, l.sourceText(c), contexts)
		if name == "" {
			if name, err = e.similarContextName(ctx, c, contexts); err != nil {
				return err
			}
		}
		if name == "" {
			remaining = append(remaining, c)
			continue
		}
		l.dropped = append(l.dropped, learn.DroppedCandidate{Candidate: c, Reason: learn.ContextReason(name)})
	}
	l.candidates = remaining
	return nil
}

// sourceText returns the text from which a candidate was learned, or "" if unknown.
func (l Lesson) sourceText(c extract.Candidate) string {
	if c.Span == nil {
		return ""
	}
	content := l.turnByID(c.TurnID).Content
	if c.Span.Start < 0 || c.Span.Start > c.Span.End || c.Span.End > len(content) {
		return ""
	}
	return content[c.Span.Start:c.Span.End]
}

// similarContextName returns the name of a context with a passage similar to a candidate, or "".
func (e extractor) similarContextName(ctx context.Context, c extract.Candidate, contexts []memory.Context) (string, error) {
	vector, err := e.VectorToCompare(ctx, c.Text)
	if err != nil || vector == nil {
		return "", err
	}
	for _, stored := range contexts {
		passages, vectors, err := e.passages(ctx, stored)
		if err != nil {
			return "", fmt.Errorf("embed context %s: %w", stored.ID, err)
		}
		for i, p := range passages {
			if name := learn.SimilarContext(c, stored, p, cosine(vector, vectors[i]), e.Retrieve.DuplicateThreshold()); name != "" {
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

// maxCachedContexts bounds the contexts with cached vectors: each candidate is compared with all contexts.
const maxCachedContexts = 128

// passages splits a context into passages that fit the embedder, with their vectors.
func (e extractor) passages(ctx context.Context, c memory.Context) ([]string, [][]float32, error) {
	maxTokens, count := 0, (func(string) int)(nil)
	if w, ok := e.Embedder.(interface {
		Window() (maxTokens int, count func(text string) int)
	}); ok {
		maxTokens, count = w.Window()
	}
	passages := learn.Passages(c.Content, maxTokens, count)
	key := sha256.Sum256(fmt.Append(nil, e.Embedder.Fingerprint(), e.Embedder.Dims(), c.Content))
	vectors, isCached := e.passageVectors.Get(key)
	if isCached {
		return passages, vectors, nil
	}
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, passages...)
	if err == nil {
		e.passageVectors.Set(key, vectors)
	}
	return passages, vectors, err
}

// attachedText returns the text of the contexts attached to a conversation, cut to at most maxTokens tokens.
// A prompt contains it, so that the model does not learn it again.
func (e extractor) attachedText(ctx context.Context, owner memory.Owner, conversation string, maxTokens int) (string, error) {
	contexts, err := e.AttachedContexts(ctx, owner, conversation)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range contexts {
		b.WriteString(recall.ContextText(c, &maxTokens))
	}
	return strings.TrimSpace(b.String()), nil
}
