package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stdio runs loci mcp with pipes.
type stdio struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

func runMCP(t *testing.T, args ...string) *stdio {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	s := &stdio{t: t, in: to, lines: bufio.NewScanner(from), ended: make(chan error, 1)}
	s.lines.Buffer(nil, 1<<20)
	cmd := newRootCommand()
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(append([]string{"mcp"}, args...))
	go func() {
		err := cmd.ExecuteContext(context.Background())
		_ = out.Close()
		s.ended <- err
	}()
	return s
}

// ask sends a line and returns the next one that comes back.
func (s *stdio) ask(line string) string {
	s.t.Helper()
	noError(s.t)(io.WriteString(s.in, line+"\n"))
	if !s.lines.Scan() {
		s.t.Fatalf("no answer to %s: %v", line, s.lines.Err())
	}
	return s.lines.Text()
}

// past returns got, or the first line after it that is not a message of that id.
func (s *stdio) past(id, got string) string {
	for strings.Contains(got, `"id":"`+id+`"`) && s.lines.Scan() {
		got = s.lines.Text()
	}
	return got
}

// end closes the input and waits for the command, whatever it still has to say.
func (s *stdio) end() error {
	_ = s.in.Close()
	for s.lines.Scan() {
	}
	return <-s.ended
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestMCPOnStandardInput: without a server, and for a second command with that of the first.
func TestMCPOnStandardInput(t *testing.T) {
	dir := t.TempDir()
	one := runMCP(t, "--data", dir)
	if got := one.ask(initialize); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("initialize: %s", got)
	}
	if got := one.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"content":"User plays the cello"}}}`); !strings.Contains(got, "saved") {
		t.Fatalf("remember: %s", got)
	}
	two := runMCP(t, "--data", dir)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	recall := `{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"recall","arguments":{"query":"which instrument does the user play?"},` + meta + `}}`
	if got := two.ask(recall); !strings.Contains(got, "cello") || !strings.Contains(got, `"id":"r"`) {
		t.Errorf("recall by another process: %s", got)
	}
	if got := two.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get – é","arguments":{},` + meta + `}}`); !strings.Contains(got, `"error"`) || strings.Contains(got, "header") {
		t.Errorf("a tool with an odd name: %s", got)
	}
	if got := two.ask(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{},` + meta + `}}`); !strings.Contains(got, "acknowledged") {
		t.Errorf("a stream begins with %s", got)
	}
	// A stream may end by itself before it is cancelled: then its result comes first.
	got := two.past("l", two.ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`+"\n{nonsense"))
	if !strings.Contains(got, "-32700") {
		t.Errorf("a line that is not JSON: %s", got)
	}
	if err := one.end(); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	if got := two.past("l", two.ask(recall)); !strings.Contains(got, "cello") {
		t.Errorf("once the first is gone: %s", got)
	}
	if err := two.end(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
}

func TestMCPErrorsOfTheServerAreAnswers(t *testing.T) {
	var cancelled atomic.Bool
	begun := make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/health":
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		case bytes.Contains(body, []byte(`"id":1`)):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"title":"Unauthorized","detail":"this needs Loci's key"}`)
		default:
			begun <- true
			<-r.Context().Done()
			cancelled.Store(true)
			begun <- true
		}
	}))
	defer s.Close()
	m := runMCP(t, "--addr", s.URL)
	var got struct {
		ID    int
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(m.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &got); err != nil || got.ID != 1 || !strings.Contains(got.Error.Message, "key") {
		t.Errorf("refused with %+v, %v; want the server's words", got, err)
	}
	noError(t)(io.WriteString(m.in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n"))
	<-begun
	noError(t)(io.WriteString(m.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"))
	<-begun
	if err := m.end(); err != nil || !cancelled.Load() {
		t.Errorf("ended with %v, cancelled: %v", err, cancelled.Load())
	}
}
