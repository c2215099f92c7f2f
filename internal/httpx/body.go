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
	// DefaultMaxBody is how much a request may send. Chats carry images as text,
	// and the largest that providers take are some 20 MB.
	DefaultMaxBody = 32 << 20

	// MaxStream is how much a request to one of Options.Streamed may send.
	MaxStream = 16 << 30

	// DefaultBodyTime is how long a body may take to arrive. It bounds slow clients
	// without bounding how long an answer may stream, as http.Server.ReadTimeout
	// would.
	DefaultBodyTime = 2 * time.Minute

	// DefaultStallTime is how long a client may send nothing in the middle of a body, which
	// meanwhile counts in the [Budget].
	DefaultStallTime = 20 * time.Second

	// maxPathValue is longer than any id Loci makes or takes.
	maxPathValue = 512
)

// WriteJSON answers with a status and a value as JSON, whose <, > and & stay as they are.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// The status is out; a client that is gone is not an error.
	_ = enc.Encode(v)
}

// ReadBody reads a whole body within the limits [Guard] has set. [memory.TooLarge]
// past the size; [memory.Invalid] when it came too slowly or was cut off;
// [memory.Unavailable] when all requests together hold too much: see [OverBudget].
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case OverBudget(err):
		r.Body.(*countedBody).partial = body
		return nil, err
	case errors.As(err, &tooLarge):
		return nil, memory.Errorf(memory.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, memory.Errorf(memory.Invalid, "the body came too slowly")
	}
	return nil, memory.Errorf(memory.Invalid, "the body was cut off: %v", err)
}

// PathValue returns a part of the path by its name in the route. [memory.Invalid]
// where it is empty, too long to be an id, or not text.
func PathValue(r *http.Request, name string) (string, error) {
	v := r.PathValue(name)
	switch {
	case v == "":
		return "", memory.Errorf(memory.Invalid, "the path has no %s", name)
	case len(v) > maxPathValue:
		return "", memory.Errorf(memory.Invalid, "the %s in the path is longer than %d bytes", name, maxPathValue)
	case !utf8.ValidString(v):
		return "", memory.Errorf(memory.Invalid, "the %s in the path is not UTF-8", name)
	}
	return v, nil
}

// limitBody bounds the request's body in size and in time, and counts what is read of it.
// The function that it returns gives back what was counted.
func (g *guard) limitBody(w http.ResponseWriter, r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	timed := &timedBody{control: http.NewResponseController(w), stall: g.StallTime, log: stateOf(r.Context()).log}
	if slices.Contains(g.Streamed, r.URL.Path) {
		timed.ReadCloser = http.MaxBytesReader(w, r.Body, MaxStream)
		timed.wait()
		r.Body = timed
		return func() {}
	}
	timed.ReadCloser, timed.end = http.MaxBytesReader(w, r.Body, g.MaxBody), time.Now().Add(g.BodyTime)
	timed.wait()
	counted := &countedBody{ReadCloser: timed, budget: g.Budget}
	r.Body = counted
	return func() { g.Budget.give(counted.held) }
}

// timedBody bounds how long the body takes, in all and until more of it comes. It lifts
// the connection's deadline once the body is in: what is read afterwards is only whether
// the client is still there, and an answer may stream for long.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	end     time.Time // zero: however long it takes
	stall   time.Duration
	log     *slog.Logger
}

// wait sets the deadline for the next bytes. Not every connection has deadlines (tests'
// recorders have none); the size limit holds without.
func (b *timedBody) wait() {
	at := time.Now().Add(b.stall)
	if !b.end.IsZero() && at.After(b.end) {
		at = b.end
	}
	if err := b.control.SetReadDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		b.log.Warn("no deadline for a body", "error", err)
	}
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.wait()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{}) // unsupported here means none was set
	}
	return n, err
}
