package web

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// headerTrace names the trace of an answer.
const headerTrace = "X-Loci-Trace"

// Bounds of what is noted: traces of an owner, and owners.
const (
	notedTraces = 200
	notedOwners = 1000
)

// notes are the traces of the answers that went out since the server started, by
// whose memory they read. A trace can be found by its id alone, so that this is how a
// conversation finds those of its answers; older ones are not known.
type notes struct {
	mu sync.Mutex // guards of
	of map[memory.Owner][]note
}

// note is what a trace says that does not change any more.
type note struct {
	id           string
	read         bool // the rest is known
	conversation string
	at           time.Time
	took         time.Duration
	hits         int
}

// Noting returns next with the traces of its answers noted.
func (p *Page) Noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { // an answer that is cut off has one too
			if id := w.Header().Get(headerTrace); id != "" {
				p.notes.add(httpx.IdentityOf(r.Context()).Owner, id)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (n *notes) add(owner memory.Owner, trace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.of[owner]
	if n.of == nil || list == nil && len(n.of) >= notedOwners {
		n.of = map[memory.Owner][]note{}
	}
	if len(list) >= notedTraces {
		list = slices.Delete(list, 0, notedTraces/4)
	}
	n.of[owner] = append(list, note{id: trace})
}

// noted returns what is known of an owner's answers, oldest first.
func (p *Page) noted(ctx context.Context, owner memory.Owner) []note {
	p.notes.mu.Lock()
	list := slices.Clone(p.notes.of[owner])
	p.notes.mu.Unlock()
	known, fresh := list[:0], map[string]note{}
	for _, one := range list {
		if !one.read {
			t, err := p.engine.Trace(ctx, owner, one.id)
			if err != nil { // it is gone, or cannot be had just now
				continue
			}
			one = note{id: one.id, read: true, conversation: t.Conversation, at: t.At, took: t.Took, hits: len(t.Hits)}
			fresh[one.id] = one
		}
		known = append(known, one)
	}
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	for i, one := range p.notes.of[owner] {
		if known, ok := fresh[one.id]; ok {
			p.notes.of[owner][i] = known
		}
	}
	return known
}

// slack is how far the clocks of a turn and of its trace may be apart: both are read
// while the same request is taken in.
const slack = time.Second

// answered returns the trace of what a conversation's user turns were answered with,
// by the turn's id: that of the turn which was said nearest before, the newest of
// several.
func (p *Page) answered(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) map[string]note {
	out := map[string]note{}
	for _, one := range p.noted(ctx, owner) {
		if one.conversation != conversation {
			continue
		}
		nearest, by := "", time.Duration(0)
		for _, t := range turns { // in order: of those said at once, the last was asked
			away := one.at.Sub(t.CreatedAt)
			if t.Role != memory.RoleUser || t.Status != memory.Active || away < -slack {
				continue
			}
			if away = away.Abs(); nearest == "" || away <= by {
				nearest, by = t.ID, away
			}
		}
		if nearest != "" {
			out[nearest] = one
		}
	}
	return out
}
