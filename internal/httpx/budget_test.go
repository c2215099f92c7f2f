package httpx

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// holding is a server whose door reads each body and holds it until release is closed.
func holding(t *testing.T, o Options) (url string, held chan int, release chan struct{}) {
	t.Helper()
	held, release = make(chan int, 16), make(chan struct{})
	srv := httptest.NewServer(Guard(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(r)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		held <- len(body)
		<-release
	})))
	t.Cleanup(srv.Close)
	return srv.URL, held, release
}

func TestBodiesShareOneBudget(t *testing.T) {
	url, held, release := holding(t, Options{Budget: NewBudget(1 << 20)})
	var waiting sync.WaitGroup
	send := func(size int) {
		waiting.Go(func() {
			resp, err := http.Post(url, "text/plain", bytes.NewReader(make([]byte, size)))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
		<-held
	}
	send(900 << 10)
	resp, err := http.Post(url, "text/plain", bytes.NewReader(make([]byte, 200<<10)))
	if err != nil {
		t.Fatal(err)
	}
	problem, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.StatusCode != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(string(problem), string(memory.Unavailable)) {
		t.Errorf("over the budget: got %d, Retry-After %q and %s", resp.StatusCode, resp.Header.Get("Retry-After"), problem)
	}
	send(8 << 10) // small ones have a share of their own
	close(release)
	waiting.Wait()
	send(900 << 10)
	waiting.Wait()
}

// TestUnfinishedBodiesCountByWhatCame: what a client announces takes nothing.
func TestUnfinishedBodiesCountByWhatCame(t *testing.T) {
	url, held, release := holding(t, Options{Budget: NewBudget(1 << 20)})
	close(release)
	for range 10 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\nfirst words"); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.Post(url, "text/plain", bytes.NewReader(make([]byte, 900<<10)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || <-held != 900<<10 {
		t.Errorf("a body beside ten unfinished ones: got %d, want 200", resp.StatusCode)
	}
}

// TestStalledBodiesGiveBackTheirShare: a client that stops sending is cut off long before
// the time for a whole body is over.
func TestStalledBodiesGiveBackTheirShare(t *testing.T) {
	budget := NewBudget(1 << 20)
	url, _, _ := holding(t, Options{Budget: budget, BodyTime: time.Hour, StallTime: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n"+strings.Repeat("x", 500_000)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "arrived too slowly") {
		t.Errorf("a stalled body: got %q, %v; want it refused", answer, err)
	}
	if used := budget.usedBytes.Load(); used != 0 {
		t.Errorf("%d bytes are still counted, want none", used)
	}
}

// TestBodyOverTheBudgetCanBeStreamed: what was read and what was not make the whole body.
func TestBodyOverTheBudgetCanBeStreamed(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	h := Guard(Options{Budget: NewBudget(100 << 10)}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := ReadBody(r); !IsOverBudget(err) {
			t.Errorf("read: got %v, want that the budget is used up", err)
		}
		whole, err := io.ReadAll(UnreadBody(r))
		if err != nil || !bytes.Equal(whole, sent) {
			t.Errorf("got %d bytes and %v, want the %d that were sent", len(whole), err, len(sent))
		}
	}))
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", bytes.NewReader(sent))
	r.RemoteAddr = "127.0.0.1:50000"
	h.ServeHTTP(httptest.NewRecorder(), r)
}
