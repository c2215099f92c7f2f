package lessons

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

const (
	// slowFor is how long after a silence the model reads fewer messages at once.
	slowFor = time.Hour

	// yieldFor is how long the model gives way to one chat after another before it learns beside them.
	yieldFor = 10 * time.Minute
)

// pace is how fast the learning model replies.
type pace struct {
	mu      sync.Mutex // guards what follows
	replies int
	time    time.Duration
	tokens  int64
	most    int // messages at once, until then
	until   time.Time
	gaveWay time.Time // for the first time since its last reply
}

func (p *pace) replied(took time.Duration, tokens int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies, p.time, p.tokens, p.gaveWay = p.replies+1, p.time+took, p.tokens+tokens, time.Time{}
}

// yields reports whether the model gives way to chats still.
func (p *pace) yields(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaveWay.IsZero() || now.Sub(p.gaveWay) < yieldFor
}

func (p *pace) yielded(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gaveWay.IsZero() {
		p.gaveWay = now
	}
}

// batch returns how many of so many messages the model reads at once.
func (p *pace) batch(n int, now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.until) {
		return n
	}
	return min(n, p.most)
}

func (p *pace) slow(most int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most, p.until = most, now.Add(slowFor)
}

// Took says for people how long a reply of the learning model takes, "" while it gave none.
func (e *Asker) Took() string {
	p := &e.pace
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replies == 0 {
		return ""
	}
	return fmt.Sprintf("a reply takes %.1f seconds on average, at %.0f tokens a second", p.time.Seconds()/float64(p.replies), float64(p.tokens)/max(p.time.Seconds(), 0.1))
}

// silent reports whether a model's server brought nothing for learn.timeout.
func silent(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// askInBatches asks for the facts of turns, half as many at once each time that the server is silent
// for too long.
func (e reader) askInBatches(ctx context.Context, scope memory.Scope, said []extract.Utterance, earlier map[string][]memory.Turn) (cands []extract.Candidate, author memory.Author, err error) {
	for len(said) > 0 {
		n := e.pace.batch(len(said), e.Time())
		more, by, err := e.askForFacts(ctx, scope, said[:n], earlier)
		switch {
		case err == nil:
			cands, author, said = append(cands, learn.Whose(more, said[:n])...), by, said[n:]
		case silent(err) && ctx.Err() == nil && n > 1:
			e.pace.slow(n/2, e.Time())
			e.Log.Warn("the model was silent for too long and reads fewer messages at once", "messages", n/2, "err", err)
		default:
			return nil, memory.Author{}, err
		}
	}
	return cands, author, nil
}
