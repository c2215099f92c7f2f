package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Usage is what a model was asked for and gave.
type Usage struct {
	Calls, Failures int // failures: answers of status 400 and more, or none
	Untold          int // answers that did not say how many tokens they took
	Input, Output   int // tokens, as the server counts them
	Busy            time.Duration
}

func (u Usage) less(v Usage) Usage {
	return Usage{u.Calls - v.Calls, u.Failures - v.Failures, u.Untold - v.Untold, u.Input - v.Input, u.Output - v.Output, u.Busy - v.Busy}
}

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Calls + v.Calls, u.Failures + v.Failures, u.Untold + v.Untold, u.Input + v.Input, u.Output + v.Output, u.Busy + v.Busy}
}

// meter stands between the program and a model server, and counts.
type meter struct {
	server *httptest.Server
	path   string
	idle   func()

	mu    sync.Mutex // guards usage
	usage Usage
}

// newMeter returns a meter of the server at base. [memory.Invalid] if that is no
// URL.
func newMeter(base string) (*meter, error) {
	target, err := url.Parse(base)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, memory.Errorf(memory.Invalid, "--url: %q is not a valid URL; one looks like http://localhost:11434/v1", base)
	}
	m := &meter{path: strings.TrimRight(target.EscapedPath(), "/")}
	if target.RawQuery != "" {
		m.path += "?" + target.RawQuery
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	m.idle = transport.CloseIdleConnections
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
			r.Out.Header.Del("Accept-Encoding") // usage is read of the plain answer
		},
		ModifyResponse: m.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			m.add(r, Usage{Failures: 1})
			http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err.Error()), http.StatusBadGateway)
		},
	}
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		proxy.ServeHTTP(w, r)
		m.add(r, Usage{Calls: 1, Busy: time.Since(began)})
	}))
	return m, nil
}

// base is the URL that stands for the server's.
func (m *meter) base() string { return m.server.URL + m.path }

// answered reads how many tokens an answer took.
func (m *meter) answered(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.StatusCode >= http.StatusBadRequest {
		m.add(r.Request, Usage{Failures: 1})
		return nil
	}
	var answer struct {
		Usage *struct {
			Input  int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Usage == nil {
		m.add(r.Request, Usage{Untold: 1})
		return nil
	}
	m.add(r.Request, Usage{Input: answer.Usage.Input, Output: answer.Usage.Output})
	return nil
}

// add counts what a request took. A list of models is no call of one.
func (m *meter) add(r *http.Request, u Usage) {
	if r.Method != http.MethodPost {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = m.usage.plus(u)
}

// read returns what was counted so far; of no meter nothing.
func (m *meter) read() Usage {
	if m == nil {
		return Usage{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

func (m *meter) close() {
	if m != nil {
		m.server.Close()
		m.idle()
	}
}
