package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long another process may take for what it does in its own
	// time. Nothing that works comes near it.
	patience = 30 * time.Second

	// leases is patience with what a killed process held: a job is free again when its lease of a
	// minute has run out, and a question whose exchange never ended is learned from after two.
	leases = 200 * time.Second
)

// loci is a running server, a process of its own.
type loci struct {
	url string
	cmd *exec.Cmd
	log *transcript
}

// address is how serve says where it listens.
var address = regexp.MustCompile(`(?:chat \(OpenAI\)\s+|"at":")(https?://[^/\s"]+)`)

// serve starts a server on a data folder, at a port of the system's choice, with
// settings of the form LOCI_NAME=value. It ends with the test.
func serve(t *testing.T, data string, settings ...string) *loci {
	t.Helper()
	return serveAs(t, data, nil, settings...)
}

// serveAs is serve with more arguments.
func serveAs(t *testing.T, data string, more []string, settings ...string) *loci {
	t.Helper()
	l := &loci{
		cmd: exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", data}, more...)...),
		log: &transcript{address: make(chan string, 1), ended: make(chan struct{})},
	}
	l.cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, settings...)
	stderr, err := l.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatalf("start loci: %v", err)
	}
	go l.log.follow(stderr)
	t.Cleanup(func() { l.stop(t) })
	select {
	case l.url = <-l.log.address:
		return l
	case <-l.log.ended:
	case <-time.After(patience):
	}
	t.Fatalf("loci serve did not say where it listens:\n%s", l.log)
	return nil
}

// stop lets the server come to its end by itself.
func (l *loci) stop(t *testing.T) {
	if l.cmd.ProcessState != nil {
		return
	}
	late := time.AfterFunc(patience, func() { _ = l.cmd.Process.Kill() })
	defer late.Stop()
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	<-l.log.ended
	if err := l.cmd.Wait(); err != nil {
		t.Errorf("loci ended with %v:\n%s", err, l.log)
	}
	if t.Failed() {
		t.Logf("loci said:\n%s", l.log)
	}
}

// kill ends the server at once, as kill -9 does.
func (l *loci) kill(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill loci: %v", err)
	}
	<-l.log.ended
	_ = l.cmd.Wait() // its status says that it was killed
}

// transcript is what a process says on its standard error.
type transcript struct {
	address chan string   // where it listens, once
	ended   chan struct{} // closed when it says no more
	mu      sync.Mutex
	text    bytes.Buffer // guarded by mu
}

func (s *transcript) follow(r io.Reader) {
	defer close(s.ended)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.text.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			s.address <- found[1]
		}
	}
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// remembered is a memory as the REST API shows it.
type remembered struct {
	ID           string    `json:"id"`
	Content      string    `json:"content"`
	Role         string    `json:"role"`
	Conversation string    `json:"conversation"`
	LearnedAt    time.Time `json:"learned_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// user is the header that says whose memory a request is about.
func user(name string) http.Header { return http.Header{"X-Loci-User": {name}} }

// memories lists all memories of a kind, newest first.
func (l *loci) memories(t *testing.T, kind string, header http.Header) []remembered {
	t.Helper()
	var all []remembered
	for cursor := ""; ; {
		query := url.Values{"kind": {kind}, "limit": {"500"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		status, body := l.request(t, http.MethodGet, "/api/memory?"+query.Encode(), nil, header)
		var page struct {
			Memories []remembered
			Next     string `json:"next_cursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
			t.Fatalf("list %ss: status %d, %v:\n%s", kind, status, err, body)
		}
		all = append(all, page.Memories...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

func (l *loci) turns(t *testing.T, header http.Header) []remembered {
	t.Helper()
	return l.memories(t, "turn", header)
}

func (l *loci) facts(t *testing.T, header http.Header) []remembered {
	t.Helper()
	return l.memories(t, "fact", header)
}

// count returns how many memories have a role and a content.
func count(memories []remembered, role, content string) int {
	n := 0
	for _, m := range memories {
		if m.Role == role && m.Content == content {
			n++
		}
	}
	return n
}

// settle waits until a user's every turn was learned from.
func (l *loci) settle(t *testing.T, header http.Header, within time.Duration) {
	t.Helper()
	eventually(t, l, "learning from every turn of the user's", within, func() bool {
		for _, turn := range l.turns(t, header) {
			if turn.Role == "user" && turn.LearnedAt.IsZero() {
				return false
			}
		}
		return true
	})
}

// eventually waits for what a server does in its own time, looking less often the
// longer it takes.
func eventually(t *testing.T, l *loci, what string, within time.Duration, done func() bool) {
	t.Helper()
	late := time.After(within)
	for wait := 5 * time.Millisecond; !done(); wait = min(2*wait, time.Second) {
		select {
		case <-late:
			t.Fatalf("still waiting after %s for %s; loci said:\n%s", within, what, l.log)
		case <-time.After(wait):
		}
	}
}

// request sends one plain HTTP request and returns the whole answer.
func (l *loci) request(t *testing.T, method, path string, body []byte, header http.Header) (int, []byte) {
	t.Helper()
	resp, answer := l.exchange(t, method, path, body, header)
	return resp.StatusCode, answer
}

func (l *loci) exchange(t *testing.T, method, path string, body []byte, header http.Header) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, l.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return resp, answer
}

// add writes a fact down by hand.
func (l *loci) add(t *testing.T, content string, header http.Header) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"content": content})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := l.request(t, http.MethodPost, "/api/memory", body, header); status != http.StatusCreated {
		t.Fatalf("add %q: status %d:\n%s", content, status, answer)
	}
}

// contents returns what memories say, one a line, for failures.
func contents(memories []remembered) string {
	var b strings.Builder
	for _, m := range memories {
		b.WriteString("\n  " + m.Role + " " + m.Content)
	}
	return b.String()
}
