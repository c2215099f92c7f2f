package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestKilledReplica kills a replica while it learns, three times, and logs how long the
// other takes to go on with its job.
func TestKilledReplica(t *testing.T) {
	store := "LOCI_STORE=" + leasePostgres(t)
	model := leaseModel(t)
	settings := []string{store, "LOCI_LEARN_MODEL=m", "LOCI_LEARN_TRUST=always", "LOCI_LEARN_URL=" + model.url, "LOCI_LOG_LEVEL=error"}
	other := start(t, t.TempDir(), settings...)
	for n := range 3 {
		victim := start(t, t.TempDir(), settings...)
		header := http.Header{"X-Loci-User": {fmt.Sprint("user", n)}}
		asked := model.hold()
		if status, body := victim.do("POST", "/api/memory/add", `{"text":"I live in Lisbon and I like tea."}`, header); status >= 300 {
			t.Fatalf("add: %d %s", status, body)
		}
		// Either server may have claimed the job. The one that did is killed by what the model sees.
		first := <-asked
		killed, survivor := victim, other
		if leaseOwner(first.RemoteAddr) == other.cmd.Process.Pid {
			killed, survivor = other, victim
		}
		again := model.answer()
		since := time.Now()
		_ = killed.cmd.Process.Signal(syscall.SIGKILL)
		select {
		case <-again:
			t.Logf("kill %d: the other replica went on after %.1f s", n+1, time.Since(since).Seconds())
		case <-time.After(2 * time.Minute):
			t.Fatalf("kill %d: nobody went on:\n%s", n+1, survivor.log())
		}
		<-killed.ended
		_ = killed.cmd.Wait()
		other = survivor
	}
}

// modelServer is a model that lets its first question wait for ever and answers the next.
type modelServer struct {
	url string

	mu    sync.Mutex
	asked chan *http.Request // guarded by mu; nil: questions are answered
	again chan struct{}      // guarded by mu; closed by the next answer
}

func leaseModel(t *testing.T) *modelServer {
	m := &modelServer{}
	s := httptest.NewServer(m)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	m.url = s.URL + "/v1"
	return m
}

func (m *modelServer) hold() chan *http.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = make(chan *http.Request, 1)
	return m.asked
}

func (m *modelServer) answer() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.again = nil, make(chan struct{})
	return m.again
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	if r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []any{map[string]any{"id": "m", "object": "model"}}})
		return
	}
	m.mu.Lock()
	asked := m.asked
	if asked == nil && m.again != nil {
		close(m.again)
		m.again = nil
	}
	m.mu.Unlock()
	if asked != nil {
		select {
		case asked <- r:
		default:
		}
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\"facts\":[]}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
}

// leaseOwner returns the process that a loopback connection comes from, 0 if it is not found.
func leaseOwner(remote string) int {
	_, port, _ := bytes.Cut([]byte(remote), []byte(":"))
	n, err := strconv.Atoi(string(port))
	if err != nil {
		return 0
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0
	}
	want := []byte(fmt.Sprintf("0100007F:%04X", n))
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		if len(fields) < 10 || !bytes.Equal(fields[1], want) {
			continue
		}
		found, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, fd := range found {
			if to, err := os.Readlink(fd); err == nil && to == "socket:["+string(fields[9])+"]" {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
				return pid
			}
		}
	}
	return 0
}

// leasePostgres starts a private PostgreSQL server for the length of the test and returns
// the address of a database.
func leasePostgres(t *testing.T) string {
	t.Helper()
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	dir, err := os.MkdirTemp("", "loci-pg-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("sh", "-c", `set -e
"$1/initdb" -D "$2/data" -U loci -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off >>"$2/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -INT $pid
wait $pid || true
rm -rf "$2"`, "sh", filepath.Dir(initdb), dir)
	server.Dir = dir
	if os.Getuid() == 0 { // root must not run it
		if err := leaseAsPostgres(server, dir); err != nil {
			t.Skipf("PostgreSQL cannot be run: %v", err)
		}
	}
	open, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = open.Close(); _ = server.Wait() })
	for range 600 {
		said, _ := os.ReadFile(filepath.Join(dir, "log"))
		if bytes.Contains(said, []byte("ready to accept connections")) {
			return "postgres:///postgres?user=loci&host=" + url.QueryEscape(dir)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("PostgreSQL does not answer")
	return ""
}

func leaseAsPostgres(c *exec.Cmd, dir string) error {
	who, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errUID := strconv.Atoi(who.Uid)
	gid, errGID := strconv.Atoi(who.Gid)
	if err := errors.Join(errUID, errGID, os.Chown(dir, uid, gid)); err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}
