package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// Usage is what a model was asked for and gave: calls, and tokens as the server counts them.
type Usage struct{ Calls, Input, Output int }

func (u *Usage) add(v Usage) {
	u.Calls, u.Input, u.Output = u.Calls+v.Calls, u.Input+v.Input, u.Output+v.Output
}

// Prices are what a million tokens cost.
type Prices struct{ Input, Output float64 }

// Cost is what a model's tokens cost.
func (p Prices) Cost(u Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output) / 1e6
}

// meter stands between the program and a model server, and counts.
type meter struct {
	server *httptest.Server
	base   string // the URL that stands for the server's

	mu    sync.Mutex // guards usage
	usage Usage
}

// newMeter returns a meter of the server at base. [memory.Invalid] if that is no URL.
func newMeter(base string) (*meter, error) {
	target, err := url.Parse(base)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, memory.Errorf(memory.Invalid, "--url: %q is not a valid URL; one looks like http://localhost:11434/v1", base)
	}
	m := &meter{}
	m.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			r.Out.Header.Del("Accept-Encoding") // usage is read of the plain answer
		},
		ModifyResponse: m.answered,
	})
	m.base = m.server.URL + target.RequestURI()
	return m, nil
}

// answered reads how many tokens an answer took. A list of models is no call of one.
func (m *meter) answered(r *http.Response) error {
	if r.Request.Method != http.MethodPost {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Usage struct {
			Input  int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
	}
	_ = json.Unmarshal(body, &answer) // of a failure there is no usage
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.add(Usage{1, answer.Usage.Input, answer.Usage.Output})
	return nil
}

// take returns what was counted since it was last asked; of no meter nothing.
func (m *meter) take() (u Usage) {
	if m == nil {
		return u
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u, m.usage = m.usage, u
	return u
}

func (m *meter) close() {
	if m != nil {
		m.server.Close()
	}
}
