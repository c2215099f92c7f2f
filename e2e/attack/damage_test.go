package attack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	damageCopies = 40
	damageFacts  = 1000 // a user
	damageChats  = 30   // a user, of 20 turns each
	damagePage   = 4096
)

var damageUsers = []string{"ana", "ben", "cleo"}

// TestDamagedDatabase flips bits and bytes in copies of a database, starts a server on each
// and compares what it serves with the original, at once and after its background check.
// A server that answers with less, or with status 500, has to say that it is not ready.
func TestDamagedDatabase(t *testing.T) {
	original := filepath.Join(t.TempDir(), "original")
	whole := damageFill(t, original)
	file := filepath.Join(original, "loci.db")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d facts and turns of %d users in %d KiB", len(whole), len(damageUsers), info.Size()>>10)
	count := map[string]int{}
	for i := range damageCopies {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		where := damageFlip(t, filepath.Join(dir, "loci.db"), uint64(i))
		first, later := damageOutcome(t, dir, whole)
		count["at once: "+first]++
		count["after the check: "+later]++
		t.Logf("copy %2d, %s: at once %s, after the check %s", i, where, first, later)
		if strings.HasPrefix(later, "UNSEEN") {
			t.Errorf("copy %d, %s: %s", i, where, later)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := json.MarshalIndent(count, "", "  ")
	t.Logf("%s", text)
}

// damageFill makes a data folder and returns what is to be served of it: contents by user and id.
func damageFill(t *testing.T, dir string) map[string]string {
	t.Helper()
	s := start(t, dir, "LOCI_USERS=multi")
	var work sync.WaitGroup
	for _, user := range damageUsers {
		as := http.Header{"X-Loci-User": {user}}
		for w := range 4 {
			work.Go(func() {
				for i := w; i < damageFacts; i += 4 {
					body := fmt.Sprintf(`{"content":"Gadget %d of %s lies in drawer %d of the %s cupboard","tags":["gadget","t%d"]}`, i, user, i*7919%1000, []string{"red", "oak", "tall"}[i%3], i%50)
					if status, text := s.do(http.MethodPost, "/api/memory", body, as); status != http.StatusCreated {
						t.Errorf("add: %d %s", status, text)
					}
				}
			})
		}
		work.Go(func() {
			for c := range damageChats {
				var said []string
				for i := range 20 {
					said = append(said, fmt.Sprintf(`{"role":%q,"content":"%s said thing %d in talk %d about the weather in town %d."}`, []string{"user", "assistant"}[i%2], user, i, c, c*20+i))
				}
				body := fmt.Sprintf(`{"conversation":"talk-%d","infer":false,"messages":[%s]}`, c, strings.Join(said, ","))
				if status, text := s.do(http.MethodPost, "/api/memory/add", body, as); status >= 300 {
					t.Errorf("keep talk: %d %s", status, text)
				}
			}
		})
	}
	work.Wait()
	whole, failed := damageServed(s)
	if failed != "" || len(whole) < len(damageUsers)*(damageFacts+damageChats*20) {
		t.Fatalf("%d memories are served, %s", len(whole), failed)
	}
	s.stop()
	return whole
}

// damageFlip damages a file at a few places: single bits, or a run of bytes.
func damageFlip(t *testing.T, path string, seed uint64) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 11))
	var where string
	if seed%2 == 0 {
		var pages []string
		for range 8 {
			at := r.IntN(len(data))
			data[at] ^= 1 << r.IntN(8)
			pages = append(pages, fmt.Sprint(at/damagePage))
		}
		where = "8 bits in pages " + strings.Join(pages, " ")
	} else {
		at := r.IntN(len(data) - 64)
		for i := range 64 {
			data[at+i] = byte(r.Uint32())
		}
		where = fmt.Sprintf("64 bytes in page %d", at/damagePage)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return where
}

// damageOutcome starts a server on a damaged folder and says what it serves at once and
// after its background check.
func damageOutcome(t *testing.T, dir string, whole map[string]string) (first, later string) {
	s := damageStart(t, dir)
	if s.url == "" {
		return "refused to start", "refused to start"
	}
	defer s.stop()
	first = damageCompare(s, whole)
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until) && !strings.Contains(s.log(), "checked the database") && damageReady(s); {
		time.Sleep(20 * time.Millisecond)
	}
	return first, damageCompare(s, whole)
}

func damageReady(s *server) bool {
	_, body := s.do(http.MethodGet, "/health/ready", "", nil)
	return strings.Contains(body, `"problems":[]`)
}

// damageCompare asks for everything and says how it compares with what there was.
func damageCompare(s *server, whole map[string]string) string {
	served, failed := damageServed(s)
	lacking, altered := 0, 0
	for key, content := range whole {
		switch got, ok := served[key]; {
		case !ok:
			lacking++
		case got != content:
			altered++
		}
	}
	ready := damageReady(s)
	wrote, answer := s.do(http.MethodPost, "/api/memory", fmt.Sprintf(`{"content":"Probe %d"}`, time.Now().UnixNano()), http.Header{"X-Loci-User": {"probe"}})
	what := ""
	switch {
	case failed != "":
		what = failed
	case lacking > 0 || len(served) > len(whole):
		what = "partial"
	case altered > 0:
		what = "altered text"
	}
	switch {
	case ready && (failed != "" || what == "partial"):
		return "UNSEEN " + what
	case ready && what == "altered text":
		return "altered text, ready"
	case ready:
		return "whole"
	case !strings.Contains(s.log(), "level=ERROR") && !strings.Contains(s.log(), `"level":"ERROR"`):
		return "UNSEEN not ready without a log line"
	case wrote < 300:
		return "UNSEEN not ready, but writes: " + answer
	}
	return "not ready, logged, read-only"
}

// damageServed lists the memories of all users; failed says which status was no success.
func damageServed(s *server) (served map[string]string, failed string) {
	served = map[string]string{}
	for _, user := range damageUsers {
		as := http.Header{"X-Loci-User": {user}}
		for cursor := ""; ; {
			status, text := s.do(http.MethodGet, "/api/memory?kind=all&limit=500&cursor="+url.QueryEscape(cursor), "", as)
			if status != http.StatusOK {
				failed = fmt.Sprintf("status %d", status)
				break
			}
			var page struct {
				Memories []struct{ ID, Content string }
				Next     string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				failed = err.Error()
				break
			}
			for _, m := range page.Memories {
				served[user+" "+m.ID] = m.Content
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if status, _ := s.do(http.MethodPost, "/api/memory/search", `{"query":"drawer of gadget 77"}`, as); status >= 500 {
			failed = fmt.Sprintf("search: status %d", status)
		}
	}
	return served, failed
}

// damageStart is [start] for a server that may refuse; its url is empty then.
func damageStart(t *testing.T, data string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", data), ended: make(chan struct{})}
	s.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "LOCI_USERS=multi"}
	pipe, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.stderr.Write(append(bytes.Clone(lines.Bytes()), '\n'))
			s.mu.Unlock()
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	select {
	case s.url = <-address:
	case <-s.ended:
		_ = s.cmd.Wait()
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		t.Errorf("neither a start nor a refusal:\n%s", s.log())
	}
	return s
}
