package embed

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/memory"
)

// Cache is an embedder that remembers the vectors of the texts embedded last: each step of a
// tool loop asks the same question, and what is learned is compared before it is stored. It is
// safe for concurrent use, and nobody may change the vectors it returns.
type Cache struct {
	memory.Embedder
	most int

	background atomic.Uint64 // bits of a float64; 0: not measured

	mu     sync.Mutex // guards what follows
	of     string     // model and dims of the vectors remembered
	recent list.List  // of *embedded, the last used first
	place  map[cacheKey]*list.Element
}

type cacheKey struct {
	as   memory.EmbedAs
	text string
}

type embedded struct {
	cacheKey
	vector []float32
}

const (
	cacheSize = 512     // vectors; those of 384 dims take 800 KB
	cacheText = 4 << 10 // bytes of the longest text that is remembered
	cacheRun  = 16      // texts embedded together; more are an import, which would evict all else
)

// NewCache returns e with a memory for what it embedded.
func NewCache(e memory.Embedder) *Cache {
	return &Cache{Embedder: e, most: cacheSize, place: map[cacheKey]*list.Element{}}
}

// OfWords and Remote say what the embedder within does: see [memory.Embedder].
func (c *Cache) OfWords() bool {
	w, ok := c.Embedder.(interface{ OfWords() bool })
	return ok && w.OfWords()
}

// Remote reports whether the embedder within asks a server.
func (c *Cache) Remote() bool {
	r, ok := c.Embedder.(interface{ Remote() bool })
	return ok && r.Remote()
}

// Skipped returns why the embedder within is not asked for now, nil where it is.
func (c *Cache) Skipped() error {
	if s, ok := c.Embedder.(interface{ Skipped() error }); ok {
		return s.Skipped()
	}
	return nil
}

// Window returns how much of a text the embedder within embeds together, and what counts it;
// 0 where it does not say.
func (c *Cache) Window() (most int, count func(text string) int) {
	if w, ok := c.Embedder.(interface {
		Window() (most int, count func(text string) int)
	}); ok {
		return w.Window()
	}
	return 0, nil
}

// Embed embeds the texts that were not embedded lately.
func (c *Cache) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if len(texts) > cacheRun {
		return c.ask(ctx, as, texts...)
	}
	out := make([][]float32, len(texts))
	var missing []string
	for i, text := range texts {
		if out[i] = c.known(cacheKey{as, text}); out[i] == nil {
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	vectors, err := c.ask(ctx, as, missing...)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		if out[i] == nil {
			out[i], vectors = vectors[0], vectors[1:]
			c.remember(cacheKey{as, text}, out[i])
		}
	}
	return out, nil
}

// ask asks the embedder within. If that is another by now, or gives vectors of another length, what is
// remembered and measured is forgotten.
func (c *Cache) ask(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out, err := c.Embedder.Embed(ctx, as, texts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := fmt.Sprint(c.Fingerprint(), c.Dims()); c.of != of {
		c.of = of
		c.background.Store(0)
		c.recent.Init()
		clear(c.place)
	}
	return out, err
}

// Knows reports whether the vector of a text is remembered. It does not count as
// asking it.
func (c *Cache) Knows(as memory.EmbedAs, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.place[cacheKey{as, text}] != nil
}

func (c *Cache) known(key cacheKey) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.place[key]
	if at == nil {
		return nil
	}
	c.recent.MoveToFront(at)
	return at.Value.(*embedded).vector
}

func (c *Cache) remember(key cacheKey, v []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(key.text) > cacheText || c.place[key] != nil || len(v) != c.Dims() {
		return
	}
	c.place[key] = c.recent.PushFront(&embedded{key, v})
	if last := c.recent.Back(); c.recent.Len() > c.most {
		delete(c.place, c.recent.Remove(last).(*embedded).cacheKey)
	}
}
