package httpx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// writeTimeout is the maximum time of a write to a client that does not read.
const writeTimeout = 30 * time.Second

// PieceWriter writes and flushes the pieces of an answer, and limits the time of each write.
type PieceWriter struct {
	http.ResponseWriter

	mu               sync.Mutex // guards the fields below
	writing, aborted bool
}

// Send writes a piece, unless the answer was aborted. If the client has disconnected or does not read, Send ends
// the request's context.
func (p *PieceWriter) Send(piece string) {
	control := http.NewResponseController(p.ResponseWriter)
	p.mu.Lock()
	if p.writing = !p.aborted; p.writing {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only in tests' recorders
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
	_ = control.SetWriteDeadline(time.Time{}) // over HTTP/2, an expired deadline would end the stream
}

// Abort aborts the current write and ignores later pieces; call it when a request's context ends early. If the
// context ended because the server is stopping, the current write may finish.
func (p *PieceWriter) Abort(requestCtx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted = true; p.writing && !errors.Is(context.Cause(requestCtx), ErrStopping) {
		_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now())
	}
}

// SendLast sends a piece even after [PieceWriter.Abort].
func (p *PieceWriter) SendLast(piece string) {
	p.mu.Lock()
	p.aborted = false
	p.mu.Unlock()
	p.Send(piece)
}
