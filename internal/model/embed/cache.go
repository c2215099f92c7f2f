package embed

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/memory"
)

// Cache is an embedder that remembers the vectors of the questions asked last: a
// question is asked again by each step of a tool loop, and by who types on. It is
// safe for concurrent use.
type Cache struct {
	memory.Embedder
	most int

	background atomic.Uint64 // bits of a float64; 0: not measured

	mu     sync.Mutex // guards what follows
	recent list.List  // of *answered, the last asked first
	place  map[string]*list.Element
}

type answered struct {
	question string
	vector   []float32
}

// questions is how many are remembered: 512 of 384 dims take 800 KB.
const questions = 512

// maxQuestion is the longest question that is remembered.
const maxQuestion = 4 << 10

// NewCache returns e with a memory for questions.
func NewCache(e memory.Embedder) *Cache {
	return &Cache{Embedder: e, most: questions, place: map[string]*list.Element{}}
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

// Embed embeds what is no single question that was asked not long ago.
func (c *Cache) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if as != memory.AsQuestion || len(texts) != 1 || len(texts[0]) > maxQuestion {
		return c.Embedder.Embed(ctx, as, texts...)
	}
	if v := c.known(texts[0]); v != nil {
		return [][]float32{v}, nil
	}
	out, err := c.Embedder.Embed(ctx, as, texts...)
	if err == nil {
		c.remember(texts[0], out[0])
	}
	return out, err
}

// Knows reports whether the vector of a question is remembered. It does not count as
// asking it.
func (c *Cache) Knows(question string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.place[question] != nil
}

func (c *Cache) known(question string) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.place[question]
	if at == nil {
		return nil
	}
	c.recent.MoveToFront(at)
	return at.Value.(*answered).vector
}

func (c *Cache) remember(question string, v []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.place[question] != nil {
		return
	}
	c.place[question] = c.recent.PushFront(&answered{question, v})
	if last := c.recent.Back(); c.recent.Len() > c.most {
		delete(c.place, c.recent.Remove(last).(*answered).question)
	}
}
