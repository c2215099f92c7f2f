package proxy

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// memoryHit is a recalled memory as an answer names it.
type memoryHit struct {
	ID        string      `json:"id"`
	Kind      memory.Kind `json:"kind"`
	Role      memory.Role `json:"role"`
	Content   string      `json:"content"`
	Home      string      `json:"home,omitempty"` // whose it is, where it is seen by link
	CreatedAt time.Time   `json:"created_at"`
	Score     float64     `json:"score"`
	Core      bool        `json:"core,omitempty"` // not searched for: a fact of the core or a profile entry
}

// namedMemory is the same memory where clients look for memories.
type namedMemory struct {
	ID        string    `json:"id"`
	Content   string    `json:"content"`
	Home      string    `json:"home,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Score     float64   `json:"score"`
}

// withHits adds memory_hits to an answer and, by setting, memories. It is false, and
// the answer as it was, where memory was not read for it or the answer is not JSON
// object.
func (c *call) withHits(body []byte) ([]byte, bool) {
	if !c.memory || !c.prepared.Read {
		return body, false
	}
	hits, memories := []memoryHit{}, []namedMemory{}
	add := func(hit memoryHit) {
		hits = append(hits, hit)
		memories = append(memories, namedMemory{hit.ID, hit.Content, hit.Home, hit.CreatedAt, hit.Score})
	}
	for _, h := range c.prepared.Hits {
		hit := memoryHit{ID: h.Memory.ID(), Kind: h.Memory.Kind(), Role: recall.RoleOf(h.Memory), Content: h.Memory.Content(), CreatedAt: h.Memory.CreatedAt(), Score: h.Score}
		if h.Memory.Link != nil {
			hit.Home = string(h.Memory.Fact.Scope.Owner)
		}
		add(hit)
	}
	stated := recall.RoleOf(memory.Memory{})
	for _, m := range c.prepared.Core.Facts {
		f := m.Fact
		add(memoryHit{ID: f.ID, Kind: memory.KindFact, Role: stated, Content: f.Content, CreatedAt: f.CreatedAt, Core: true})
	}
	for _, e := range c.prepared.Core.Profile {
		add(memoryHit{ID: e.Key, Kind: recall.KindProfile, Role: stated, Content: recall.EntryText(e), CreatedAt: e.UpdatedAt, Core: true})
	}
	fields := []chatapi.Field{{Name: "memory_hits", Value: hits}}
	if c.named {
		fields = append(fields, chatapi.Field{Name: "memories", Value: memories})
	}
	added, err := chatapi.AddFields(body, fields...)
	if err != nil {
		return body, false
	}
	return added, true
}

// hitsEvent returns the event that names what was recalled, where the request wants one in its
// stream; nil for none. It comes last but one.
func (c *call) hitsEvent(a chatapi.Answer, created time.Time) []byte {
	if !c.hits || c.dialect.EncodeEmpty == nil {
		return nil
	}
	chunk, ok := c.withHits(c.dialect.EncodeEmpty(a, created))
	if !ok {
		return nil
	}
	return append(append([]byte("data: "), chunk...), "\n\n"...)
}

// writeError answers with an error in the shape that the clients of a path read.
func writeError(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	writeJSON(w, status, dialectOf(r.URL.Path).EncodeError(status, code, message, httpx.RequestID(r.Context())))
}

// Refuse tells a client what is wrong with its request, the way that its path's
// clients read it.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := httpx.Tell(r.Context(), err)
	maps.Copy(w.Header(), p.GetHeaders())
	writeError(w, r, p.Status, string(p.Code), p.Detail)
}

// refuseUpstream says that the upstream did not answer, unless it was the request
// that could not be sent or the client that did not wait. The error, which has the
// upstream's address, is for the log.
func (d *Handler) refuseUpstream(w http.ResponseWriter, r *http.Request, err error) {
	d.tellUpstream(w, r, err, "the upstream did not answer")
}

// tellUpstream is refuseUpstream where the upstream did something else wrong.
func (d *Handler) tellUpstream(w http.ResponseWriter, r *http.Request, err error, what string) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, memory.Invalid):
		Refuse(w, r, err)
	case r.Context().Err() == nil:
		d.Log.Warn("upstream failed", "request", httpx.RequestID(r.Context()), "path", r.URL.Path, "what", what, "err", err)
		writeError(w, r, http.StatusBadGateway, "upstream_unavailable", what+": "+llm.Trouble(err))
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is not an error of ours
}

// pass brings an answer back as it comes.
func pass(w http.ResponseWriter, resp *http.Response) {
	begin(w, resp)
	finish(w, resp, copyFlushing(flusher{w}, resp.Body))
}

// begin passes on an answer's status and headers at once: an upstream may be long
// about the first byte after them.
func begin(w http.ResponseWriter, resp *http.Response) {
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_ = http.NewResponseController(w).Flush() // a client that is gone is not an error of ours
}

// finish passes on an answer's trailers. One that was cut off is cut off for the
// client too: only a broken connection says that it is not whole.
func finish(w http.ResponseWriter, resp *http.Response, err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Trailer {
		if !ownHeader(name) {
			w.Header()[http.TrailerPrefix+name] = values
		}
	}
}

// copyHeader passes an answer's headers on; the upstream has taken off those of
// its connection. The answer is served from Loci's own origin, so a browser must not
// run it as a page of Loci's.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		if !ownHeader(name) {
			to[name] = slices.Clone(values)
		}
	}
	to.Set("Content-Security-Policy", "sandbox")
	to.Set("X-Content-Type-Options", "nosniff")
}

// ownHeader reports whether only Loci may set a header on an answer.
func ownHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == "Set-Cookie" || strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "X-Loci-")
}

func closeBody(resp *http.Response) { _ = resp.Body.Close() } // read or given up on

// flusher sends each piece at once, and a head that is not out yet with it.
type flusher struct{ http.ResponseWriter }

func (f flusher) write(p []byte) {
	if len(p) > 0 {
		_, _ = f.Write(p) // a client that is gone ends the request's context
	}
	_ = http.NewResponseController(f.ResponseWriter).Flush()
}

// copyFlushing copies a body piece by piece to its end.
func copyFlushing(out flusher, body io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		out.write(buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
