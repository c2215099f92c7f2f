package httpx

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

const (
	// DefaultMaxBody is how much a request may send. Chats carry images as text,
	// and the largest that providers take are some 20 MB.
	DefaultMaxBody = 32 << 20

	// DefaultBodyTime is how long a body may take to arrive. It bounds slow clients
	// without bounding how long an answer may stream, as http.Server.ReadTimeout
	// would.
	DefaultBodyTime = 2 * time.Minute

	// maxPathValue is longer than any id Loci makes or takes.
	maxPathValue = 512
)

// ReadBody reads a whole body within the limits [Guard] has set. [memory.TooLarge]
// past the size; [memory.Invalid] when it came too slowly or was cut off.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
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

// limitBody bounds the request's body in size and in time.
func limitBody(w http.ResponseWriter, r *http.Request, size int64, within time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	control := http.NewResponseController(w)
	// Not every connection has deadlines (tests' recorders have none); the size
	// limit holds without.
	if err := control.SetReadDeadline(time.Now().Add(within)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		stateOf(r.Context()).log.Warn("no deadline for a body", "error", err)
	}
	r.Body = &timedBody{ReadCloser: http.MaxBytesReader(w, r.Body, size), control: control}
}

// timedBody lifts the connection's deadline once the body is in: what is read
// afterwards is only whether the client is still there, and an answer may stream
// for long.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{}) // unsupported here means none was set
	}
	return n, err
}
