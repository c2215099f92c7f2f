package embed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Cache is an embedder that caches recent vectors of an inner embedder: each step of a tool loop asks the same
// question, and learned texts are embedded for a comparison and again when they are stored. It is safe for
// concurrent use. Callers must not change the vectors.
type Cache struct {
	memory.Embedder

	background atomic.Uint64 // mean cosine of unrelated texts, as float64 bits; 0 until measured

	vectors     *recent.Map[cacheKey, []float32]
	mu          sync.Mutex // guards cachedModel, and clearing the cache and the background
	cachedModel string     // fingerprint and dimensions of the cached vectors
}

type cacheKey struct {
	purpose memory.EmbedAs
	text    string
}

const (
	cacheSize      = 512     // number of vectors; 512 vectors of 384 dimensions take 800 KB
	maxCachedText  = 4 << 10 // maximum length of a cached text in bytes
	maxCachedBatch = 16      // maximum number of texts in a cached call; a larger call is an import, which would evict all other vectors
)

// NewCache returns a cache of the embedder e.
func NewCache(e memory.Embedder) *Cache {
	return &Cache{Embedder: e, vectors: recent.New[cacheKey, []float32](cacheSize)}
}

// OfWords reports whether the inner embedder is word-based (see [memory.Embedder]).
func (c *Cache) OfWords() bool {
	w, ok := c.Embedder.(interface{ OfWords() bool })
	return ok && w.OfWords()
}

// Remote reports whether the inner embedder calls a server.
func (c *Cache) Remote() bool {
	r, ok := c.Embedder.(interface{ Remote() bool })
	return ok && r.Remote()
}

// Skipped returns the reason why the inner embedder is currently not used, nil if it is used.
func (c *Cache) Skipped() error {
	if s, ok := c.Embedder.(interface{ Skipped() error }); ok {
		return s.Skipped()
	}
	return nil
}

// Window returns the maximum number of tokens of a text that the inner embedder embeds together, and a token
// counter; 0 and nil if the number is unknown.
func (c *Cache) Window() (maxTokens int, count func(text string) int) {
	if w, ok := c.Embedder.(interface {
		Window() (maxTokens int, count func(text string) int)
	}); ok {
		return w.Window()
	}
	return 0, nil
}

// Embed returns the vectors of texts in order. It calls the inner embedder only for texts that are not cached.
func (c *Cache) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if len(texts) > maxCachedBatch {
		return c.embedUncached(ctx, as, texts...)
	}
	out := make([][]float32, len(texts))
	var missing []string
	for i, text := range texts {
		var ok bool
		if out[i], ok = c.vectors.Get(cacheKey{as, text}); !ok {
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	vectors, err := c.embedUncached(ctx, as, missing...)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		if out[i] == nil {
			out[i], vectors = vectors[0], vectors[1:]
			if len(text) <= maxCachedText && len(out[i]) == c.Dims() {
				c.vectors.Set(cacheKey{as, text}, out[i])
			}
		}
	}
	return out, nil
}

// embedUncached calls the inner embedder. If the model or the length of its vectors has changed, the cache
// and the measured background are cleared.
func (c *Cache) embedUncached(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out, err := c.Embedder.Embed(ctx, as, texts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if model := fmt.Sprint(c.Fingerprint(), c.Dims()); c.cachedModel != model {
		c.cachedModel = model
		c.background.Store(0)
		c.vectors.DeleteFunc(func(cacheKey, []float32) bool { return true })
	}
	return out, err
}

// Knows reports whether the vector of a text is cached.
func (c *Cache) Knows(as memory.EmbedAs, text string) bool {
	_, ok := c.vectors.Get(cacheKey{as, text})
	return ok
}
