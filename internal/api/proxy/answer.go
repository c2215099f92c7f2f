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

// memoryHit is a recalled memory in an answer's field memory_hits.
type memoryHit struct {
	ID        string      `json:"id"`
	Kind      memory.Kind `json:"kind"`
	Role      memory.Role `json:"role"`
	Content   string      `json:"content"`
	Home      string      `json:"home,omitempty"` // owner of a memory that another user or a pool shares; otherwise empty
	CreatedAt time.Time   `json:"created_at"`
	Score     float64     `json:"score"`
	Core      bool        `json:"core,omitempty"` // a fact of the core or a profile entry, not a search result
}

// memoriesEntry is a recalled memory in an answer's field memories.
type memoriesEntry struct {
	ID        string    `json:"id"`
	Content   string    `json:"content"`
	Home      string    `json:"home,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Score     float64   `json:"score"`
}

// withHits adds memory_hits and, if requested, memories to an answer. It returns false and the unchanged
// answer if memory was not read or the answer is not a JSON object.
func (c *call) withHits(body []byte) ([]byte, bool) {
	if !c.usesMemory || !c.promptMemory.WasRead {
		return body, false
	}
	hits, memories := []memoryHit{}, []memoriesEntry{}
	add := func(hit memoryHit) {
		hits = append(hits, hit)
		memories = append(memories, memoriesEntry{hit.ID, hit.Content, hit.Home, hit.CreatedAt, hit.Score})
	}
	for _, h := range c.promptMemory.Hits {
		hit := memoryHit{ID: h.Memory.ID(), Kind: h.Memory.Kind(), Role: recall.RoleOf(h.Memory), Content: h.Memory.Content(), CreatedAt: h.Memory.CreatedAt(), Score: h.Score}
		if h.Memory.Link != nil {
			hit.Home = string(h.Memory.Fact.Scope.Owner)
		}
		add(hit)
	}
	role := recall.RoleOf(memory.Memory{})
	for _, m := range c.promptMemory.Core.Facts {
		f := m.Fact
		add(memoryHit{ID: f.ID, Kind: memory.KindFact, Role: role, Content: f.Content, CreatedAt: f.CreatedAt, Core: true})
	}
	for _, e := range c.promptMemory.Core.Profile {
		add(memoryHit{ID: e.Key, Kind: recall.KindProfile, Role: role, Content: recall.EntryText(e), CreatedAt: e.UpdatedAt, Core: true})
	}
	fields := []chatapi.Field{{Name: "memory_hits", Value: hits}}
	if c.addMemories {
		fields = append(fields, chatapi.Field{Name: "memories", Value: memories})
	}
	added, err := chatapi.AddFields(body, fields...)
	if err != nil {
		return body, false
	}
	return added, true
}

// hitsEvent returns the stream event with memory_hits, which is sent before the last event, or nil if the
// request does not ask for memory_hits.
func (c *call) hitsEvent(a chatapi.Answer, createdAt time.Time) []byte {
	if !c.wantsHits || c.dialect.EncodeEmptyEvent == nil {
		return nil
	}
	chunk, ok := c.withHits(c.dialect.EncodeEmptyEvent(a, createdAt))
	if !ok {
		return nil
	}
	return append(append([]byte("data: "), chunk...), "\n\n"...)
}

// writeError writes an error in the format of the path's dialect.
func writeError(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	writeJSON(w, status, dialectOf(r.URL.Path).EncodeError(status, code, message, httpx.RequestID(r.Context())))
}

// Refuse writes an error about a request in the format of the path's dialect.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := httpx.LogProblem(r.Context(), err)
	maps.Copy(w.Header(), p.GetHeaders())
	writeError(w, r, p.Status, string(p.Code), p.Detail)
}

// writeNoAnswerError is writeUpstreamError for an upstream that did not answer.
func (d *Handler) writeNoAnswerError(w http.ResponseWriter, r *http.Request, err error) {
	d.writeUpstreamError(w, r, err, "the upstream did not answer")
}

// writeUpstreamError responds that the upstream failed, unless the request was invalid or the client
// disconnected. The client gets only a summary of err, because the full error contains the upstream's address.
func (d *Handler) writeUpstreamError(w http.ResponseWriter, r *http.Request, err error, problem string) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, memory.Invalid):
		Refuse(w, r, err)
	case r.Context().Err() == nil:
		d.Log.Warn("upstream failed", "request", httpx.RequestID(r.Context()), "path", r.URL.Path, "what", problem, "err", err)
		writeError(w, r, http.StatusBadGateway, "upstream_unavailable", problem+": "+llm.DescribeFailure(err))
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// relayResponse copies a response to the client as it arrives.
func relayResponse(w http.ResponseWriter, resp *http.Response) {
	sendHeaders(w, resp)
	finishResponse(w, resp, copyFlushing(flusher{w}, resp.Body))
}

// sendHeaders sends a response's status and headers at once, because the first byte of the body may take long.
func sendHeaders(w http.ResponseWriter, resp *http.Response) {
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_ = http.NewResponseController(w).Flush() // the client may have disconnected
}

// finishResponse sends a response's trailers. If err says that the response was cut off, it instead breaks the
// client's connection, to show the client that the answer is incomplete.
func finishResponse(w http.ResponseWriter, resp *http.Response, err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Trailer {
		if !isReservedHeader(name) {
			w.Header()[http.TrailerPrefix+name] = values
		}
	}
}

// copyHeader copies a response's headers. It adds headers that keep browsers from running the response as a
// page of Loci's origin.
func copyHeader(dst, src http.Header) {
	for name, values := range src {
		if !isReservedHeader(name) {
			dst[name] = slices.Clone(values)
		}
	}
	dst.Set("Content-Security-Policy", "sandbox")
	dst.Set("X-Content-Type-Options", "nosniff")
}

// isReservedHeader reports whether only Loci, not the upstream, may set a response header.
func isReservedHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == "Set-Cookie" || strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "X-Loci-")
}

func closeBody(resp *http.Response) { _ = resp.Body.Close() } // the body was only read

// flusher sends each written piece at once.
type flusher struct{ http.ResponseWriter }

func (f flusher) write(p []byte) {
	if len(p) > 0 {
		_, _ = f.Write(p) // if the client disconnected, the request's context ends
	}
	_ = http.NewResponseController(f.ResponseWriter).Flush()
}

// copyFlushing copies a body and flushes each piece.
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
