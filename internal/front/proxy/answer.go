package proxy

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// memoryHit is a recalled memory as an answer names it (SPEC section 6).
type memoryHit struct {
	ID        string      `json:"id"`
	Kind      memory.Kind `json:"kind"`
	Role      memory.Role `json:"role,omitempty"`
	Content   string      `json:"content"`
	CreatedAt time.Time   `json:"created_at"`
	Score     float64     `json:"score"`
}

// withHits adds memory_hits to an answer where memory was read for it.
func (d *Door) withHits(body []byte, c *call) []byte {
	if !c.memory || !c.prepared.Read {
		return body
	}
	hits := []memoryHit{}
	for _, h := range c.prepared.Hits {
		hit := memoryHit{ID: h.Memory.ID(), Kind: h.Memory.Kind(), Content: h.Memory.Content(), CreatedAt: h.Memory.CreatedAt(), Score: h.Score}
		if h.Memory.Turn != nil {
			hit.Role = h.Memory.Turn.Role
		}
		hits = append(hits, hit)
	}
	value, err := json.Marshal(hits)
	if err != nil {
		return body
	}
	added, err := wire.AddFields(body, wire.Field{Name: "memory_hits", Value: value})
	if err != nil {
		return body
	}
	return added
}

// refuse answers an error the way OpenAI's clients read it.
func refuse(w http.ResponseWriter, err error) {
	p := httpx.ProblemOf(err)
	kind := "invalid_request_error"
	if p.Status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	body, encodeErr := json.Marshal(map[string]any{"error": map[string]any{
		"message": p.Detail, "type": kind, "code": string(p.Code), "param": nil,
	}})
	if encodeErr != nil {
		panic(encodeErr) // strings always encode
	}
	writeJSON(w, p.Status, body)
}

// refuseUpstream says that the upstream could not be asked.
func (d *Door) refuseUpstream(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	d.Log.Warn("upstream failed", "path", r.URL.Path, "err", err)
	body, encodeErr := json.Marshal(map[string]any{"error": map[string]any{
		"message": "Loci could not reach the upstream " + d.BaseURL + ": " + err.Error(), "type": "server_error", "code": "upstream_unavailable", "param": nil,
	}})
	if encodeErr != nil {
		panic(encodeErr) // strings always encode
	}
	writeJSON(w, http.StatusBadGateway, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is no error of ours
}

// copyHeader passes an answer's headers on; the upstream has taken off those of
// its connection.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = append([]string(nil), values...)
	}
}

func closeBody(resp *http.Response) { _ = resp.Body.Close() } // read or given up on

// flusher sends each piece at once.
type flusher struct{ http.ResponseWriter }

func (f flusher) write(p []byte) {
	if len(p) == 0 {
		return
	}
	_, _ = f.Write(p) // a client that is gone ends the request's context
	_ = http.NewResponseController(f.ResponseWriter).Flush()
}

// copyFlushing copies a body piece by piece. An answer cut off is cut off for the
// client too.
func copyFlushing(w http.ResponseWriter, body io.Reader) {
	out := flusher{w}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		out.write(buf[:n])
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
