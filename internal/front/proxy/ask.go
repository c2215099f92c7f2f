package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/wire"
)

// ask sends the request with memory and, if that is refused in a way that memory
// may have caused, the client's own bytes once more.
func (d *Door) ask(r *http.Request, c *call) (*http.Response, error) {
	if c.memory {
		readableEncodings(r.Header)
	}
	placement := d.Placement
	if d.strict.has(c.strictName()) {
		placement = wire.User
	}
	body := c.With(c.prepared.Block, placement)
	c.sent = d.Now()
	resp, err := d.send(r, body)
	c.answered = d.Now()
	if err != nil || c.prepared.Block == "" || !refusesMemory(resp.StatusCode) {
		return resp, err
	}
	bare := c.Bare()
	if bytes.Equal(body, bare) {
		return resp, nil
	}
	closeBody(resp)
	again, err := d.send(r, bare)
	if err != nil {
		return nil, err
	}
	if again.StatusCode < http.StatusMultipleChoices && placement != wire.User {
		d.strict.add(c.strictName())
	}
	c.prepared = c.exchange.Withdraw(r.Context(), fmt.Sprintf("the upstream refused it with status %d", resp.StatusCode))
	return again, nil
}

func (d *Door) send(r *http.Request, body []byte) (*http.Response, error) {
	return d.Upstream.Do(r.Context(), http.MethodPost, upstreamPath(r), r.Header, bytes.NewReader(body))
}

// refusesMemory reports whether a status may mean that the upstream could not
// take the request with a memory message in it.
func refusesMemory(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

// readableEncodings leaves of what the client accepts only what can be read for
// recording.
func readableEncodings(h http.Header) {
	accepted := h.Values("Accept-Encoding")
	if len(accepted) == 0 {
		return
	}
	readable := "identity"
	for e := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(e, " ", ""), ";")
		refused := strings.TrimRight(quality, "0.") == "q="
		if (strings.EqualFold(name, "gzip") || name == "*") && !refused {
			readable = "gzip"
		}
	}
	h.Set("Accept-Encoding", readable)
}

// strictName is what a call's model is remembered by: what it refuses in one dialect
// it may take in another.
func (c *call) strictName() string { return c.dialect.Path + " " + c.Model }

// strictModels remembers which models of the upstream refused memory in a place
// of its own: their chat template is strict.
type strictModels struct {
	mu     sync.Mutex
	models map[string]bool // by strictName; guarded by mu
}

func (s *strictModels) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models[name]
}

// maxStrict bounds what is remembered, since clients choose the names.
const maxStrict = 1000

func (s *strictModels) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil || len(s.models) >= maxStrict {
		s.models = map[string]bool{}
	}
	s.models[name] = true
}
