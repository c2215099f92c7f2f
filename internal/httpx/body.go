package httpx

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

const (
	// DefaultMaxBody is the maximum size of a request's body in bytes. Chats contain images as text, and the
	// largest chats that providers accept have some 20 MB.
	DefaultMaxBody = 32 << 20

	// MaxStream is the maximum size in bytes of a request's body to a path of Options.StreamedPaths.
	MaxStream = 16 << 30

	// DefaultBodyTime is the maximum time for a body to arrive. Unlike http.Server.ReadTimeout, it does not limit
	// the time of a streamed answer.
	DefaultBodyTime = 2 * time.Minute

	// DefaultStallTime is the maximum pause of a client in the middle of a body, because the received part of
	// the body uses the [Budget] during the pause.
	DefaultStallTime = 20 * time.Second

	// maxPathValue is the maximum length in bytes of a value in a path, more than any valid id has.
	maxPathValue = 512
)

// WriteJSON responds with a status and a value as JSON. It does not escape <, > and &.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// the status is already sent, and the client may have disconnected
	_ = enc.Encode(v)
}

// ReadBody reads a whole body within the limits of [Guard]. It returns [memory.TooLarge] if the body is too
// large, [memory.Invalid] if the body is too slow or cut off, and [memory.Unavailable] if the bodies of all
// requests together use too much memory: see [IsOverBudget].
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case IsOverBudget(err):
		r.Body.(*countedBody).partial = body
		return nil, err
	case errors.As(err, &tooLarge):
		return nil, memory.Errorf(memory.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, memory.Errorf(memory.Invalid, "the body arrived too slowly")
	}
	return nil, memory.Errorf(memory.Invalid, "the body was cut off: %v", err)
}

// PathValue returns a path value by its name in the route. It returns [memory.Invalid] if the value is empty,
// too long for an id, or not valid text.
func PathValue(r *http.Request, name string) (string, error) {
	v := r.PathValue(name)
	switch {
	case v == "":
		return "", memory.Errorf(memory.Invalid, "the path is missing the %s", name)
	case len(v) > maxPathValue:
		return "", memory.Errorf(memory.Invalid, "the %s in the path is longer than %d bytes", name, maxPathValue)
	case !utf8.ValidString(v):
		return "", memory.Errorf(memory.Invalid, "the %s in the path is not UTF-8", name)
	}
	return v, nil
}

// limitBody limits the size and time of a request's body, and counts the read bytes in the budget. The returned
// function releases the counted bytes.
func (g *guard) limitBody(w http.ResponseWriter, r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	timed := &timedBody{control: http.NewResponseController(w), stallTime: g.StallTime, log: stateOf(r.Context()).log}
	if slices.Contains(g.StreamedPaths, r.URL.Path) {
		timed.ReadCloser = http.MaxBytesReader(w, r.Body, MaxStream)
		timed.setDeadline()
		r.Body = timed
		return func() {}
	}
	timed.ReadCloser, timed.deadline = http.MaxBytesReader(w, r.Body, g.MaxBody), time.Now().Add(g.BodyTime)
	timed.setDeadline()
	counted := &countedBody{ReadCloser: timed, budget: g.Budget}
	r.Body = counted
	return func() { g.Budget.release(counted.countedBytes) }
}

// timedBody limits the time for the whole body and for each pause. It removes the connection's deadline once the
// body is complete, because later reads only detect that the client disconnected while the answer is streamed.
type timedBody struct {
	io.ReadCloser
	control   *http.ResponseController
	deadline  time.Time     // deadline of the whole body; zero means no limit
	stallTime time.Duration // maximum pause within the body
	log       *slog.Logger
}

// setDeadline sets the deadline for the next bytes. Some connections, such as tests' recorders, support no
// deadlines and are only limited in size.
func (b *timedBody) setDeadline() {
	at := time.Now().Add(b.stallTime)
	if !b.deadline.IsZero() && at.After(b.deadline) {
		at = b.deadline
	}
	if err := b.control.SetReadDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		b.log.Warn("cannot set a deadline for a request body", "error", err)
	}
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.setDeadline()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{}) // fails only if deadlines are unsupported
	}
	return n, err
}
