package attack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the Loci under attack: $LOCI_BINARY, or one built from this checkout.
var binary string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if os.Getenv("LOCI_ATTACK") == "" {
		fmt.Println("attacks are skipped: set LOCI_ATTACK=1 to run them")
		return 0
	}
	if binary = os.Getenv("LOCI_BINARY"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "loci-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "loci")
	build := exec.Command("go", "build", "-o", binary, "./cmd/loci")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build loci: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is a running Loci, a process of its own.
type server struct {
	url string
	cmd *exec.Cmd

	mu     sync.Mutex
	stderr bytes.Buffer // guarded by mu
	ended  chan struct{}
}

var listens = regexp.MustCompile(`chat \(OpenAI\)\s+(http://[^/\s]+)/v1`)

// start runs `loci serve` on a data folder with settings of the form NAME=value, and
// stops it when the test ends.
func start(t *testing.T, data string, settings ...string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", data), ended: make(chan struct{})}
	s.cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, settings...)
	pipe, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start loci: %v", err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.stderr.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() { s.stop() })
	select {
	case s.url = <-address:
		return s
	case <-s.ended:
	case <-time.After(30 * time.Second):
	}
	t.Fatalf("loci did not start:\n%s", s.log())
	return nil
}

// stop ends the server; it is killed if it takes more than 30 seconds.
func (s *server) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	late := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.ended
	_ = s.cmd.Wait()
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// do sends one request and returns its status and body; status 0 means that no answer came.
func (s *server) do(method, path, body string, header http.Header) (int, string) {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(answer)
}

// rss returns the server's resident memory in MiB.
func (s *server) rss(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatal("no VmRSS in /proc")
	return 0
}

// upstream is a model server that answers every chat at once with the same words.
func upstream(t *testing.T, words string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, words)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// line returns the line of a text that begins with a prefix.
func line(text, prefix string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, prefix) {
			return strings.TrimSpace(l)
		}
	}
	return "no " + prefix
}
