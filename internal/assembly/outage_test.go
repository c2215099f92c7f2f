package assembly

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// outage is how long the database is away: longer than a read is tried that nothing is
// written for.
const outage = 4 * time.Second

// TestWhatIsSaidWhileTheDatabaseIsAwayIsKeptOnce has the database server go away for some
// seconds while a chat, writers and an import are at work: all is kept, once. Meanwhile health
// checks say so, and nobody is told where the server is.
func TestWhatIsSaidWhileTheDatabaseIsAwayIsKeptOnce(t *testing.T) {
	address := pgtest.NewSchema(t)
	way := startGate(t, address)
	server := startServer(t, way.address, t.TempDir())
	ask := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Loci-User", "ana")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		return answer.StatusCode, string(text)
	}
	if status, text := ask("GET", "/health/ready", ""); status/100 != 2 || !strings.Contains(text, `"problems":[]`) {
		t.Fatalf("ready, at first: %d %s", status, text)
	}

	way.shut()
	back := time.After(outage)
	var group sync.WaitGroup
	group.Go(func() {
		status, text := ask("POST", "/v1/chat/completions", `{"model":"loci/recall","messages":[{"role":"user","content":"The boat is called Albatross."}]}`)
		if status != http.StatusOK {
			t.Errorf("the chat: %d %s", status, text)
		}
	})
	group.Go(func() {
		if status, text := ask("POST", "/api/memory", `{"content":"User lives in Lisbon"}`); status/100 != 2 {
			t.Errorf("the fact: %d %s", status, text)
		}
	})
	group.Go(func() {
		if status, text := ask("PUT", "/api/profile/city", `{"value":"Lisbon"}`); status/100 != 2 {
			t.Errorf("the profile: %d %s", status, text)
		}
	})
	group.Go(func() {
		status, text := ask("POST", "/api/import?format=jsonl", `{"type":"fact","id":"harbour-1","content":"User has a place in the harbour","status":"active","source":"manual","trust":"person","created_at":"2026-05-01T12:00:00Z","observed_at":"2026-05-01T12:00:00Z"}`)
		if status/100 != 2 || !strings.Contains(text, `"facts":1`) {
			t.Errorf("the import: %d %s", status, text)
		}
	})
	for _, path := range []string{"/health", "/health/ready", "/api/stats"} {
		status, text := ask("GET", path, "")
		if map[string]bool{
			"/health": strings.Contains(text, `"status":"ok"`), "/health/ready": status != http.StatusOK || !strings.Contains(text, `"problems":["store"]`),
			"/api/stats": status != http.StatusServiceUnavailable,
		}[path] {
			t.Errorf("%s while the database is away: %d %s", path, status, text)
		}
		for _, inner := range []string{way.dir, "user=", "database=", ".s.PGSQL.5432"} {
			if strings.Contains(text, inner) {
				t.Errorf("%s tells where the database is (%q): %s", path, inner, text)
			}
		}
	}
	<-back
	way.open()
	group.Wait()
	if status, text := ask("GET", "/health/ready", ""); status/100 != 2 {
		t.Errorf("ready, in the end: %d %s", status, text)
	}
	server.stop() // which waits for what goes on behind the chat

	db := pgtest.Open(t, address)
	var facts, turns, entries int
	noError(t)(db.QueryRow(`SELECT (SELECT count(*) FROM facts), (SELECT count(*) FROM turns), (SELECT count(*) FROM profile)`).Scan(&facts, &turns, &entries))
	if facts != 2 || turns != 2 || entries != 1 {
		t.Errorf("kept %d facts, %d turns and %d entries of the profile, want 2, 2 and 1", facts, turns, entries)
	}
}

// gate is a way to a server that can be shut: whoever is on it is cut off, and nobody
// gets through.
type gate struct {
	address string // of its near end
	dir     string

	mu     sync.Mutex // guards what follows
	closed bool
	on     map[net.Conn]bool
}

func startGate(t *testing.T, address string) *gate {
	t.Helper()
	g := &gate{on: map[net.Conn]bool{}}
	g.address, g.dir = pgtest.Proxy(t, address, g.carry)
	return g
}

func (g *gate) carry(near net.Conn, server string) {
	defer near.Close()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.on[near] = true
	g.mu.Unlock()
	far, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer far.Close()
	go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
	_, _ = io.Copy(far, near)
	g.mu.Lock()
	delete(g.on, near)
	g.mu.Unlock()
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for c := range g.on {
		_ = c.Close()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}
