package httpx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// patience is how long a piece waits for a client that reads none.
const patience = 30 * time.Second

// Patient writes the pieces of an answer, each at once, and waits only so long for the client.
type Patient struct {
	http.ResponseWriter

	mu            sync.Mutex // guards what follows
	writing, over bool
}

// Send writes a piece, unless the answer is over. A client that is gone, or reads none, ends the
// request's context.
func (p *Patient) Send(piece string) {
	control := http.NewResponseController(p.ResponseWriter)
	p.mu.Lock()
	if p.writing = !p.over; p.writing {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // tests' recorders have none
	}
	p.mu.Unlock()
	if !p.writing {
		return
	}
	_, _ = io.WriteString(p, piece)
	_ = control.Flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = false
	_ = control.SetWriteDeadline(time.Time{}) // over HTTP/2 one that passes ends the stream
}

// End lets the piece go that is being written, and those that follow, for an answer of a request
// that ends before its time. A server that stops cuts it off by itself.
func (p *Patient) End(request context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over = true; p.writing && !errors.Is(context.Cause(request), ErrStopping) {
		_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now())
	}
}

// Last sends a piece although the answer is over.
func (p *Patient) Last(piece string) {
	p.mu.Lock()
	p.over = false
	p.mu.Unlock()
	p.Send(piece)
}
