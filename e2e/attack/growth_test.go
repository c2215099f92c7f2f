package attack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	growthUsers   = 10
	growthClients = 4
)

// TestGrowth sends mixed requests (LOCI_ATTACK_REQUESTS, 20,000 unless set) and logs the
// median of each kind on the fresh server, the grown one, the same data after a restart,
// without traces, and without the rows of finished jobs.
func TestGrowth(t *testing.T) {
	requests := 20_000
	if text := os.Getenv("LOCI_ATTACK_REQUESTS"); text != "" {
		var err error
		if requests, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	settings := []string{"LOCI_UPSTREAM_URL=" + upstream(t, "Noted."), "LOCI_LOG_LEVEL=error"}
	s := start(t, data, settings...)
	growthLoad(t, s, 500) // something for each user, and warm
	growthProbe(t, s, data, "fresh")
	began := time.Now()
	growthLoad(t, s, requests)
	t.Logf("%d requests took %.0f s", requests, time.Since(began).Seconds())
	growthProbe(t, s, data, "grown")
	time.Sleep(5 * time.Second) // what goes on behind the requests
	growthProbe(t, s, data, "grown, at rest")
	for _, step := range []struct{ what, sql string }{
		{"restarted", ""},
		{"without traces", "DELETE FROM trace_facts; DELETE FROM traces;"},
		{"without finished jobs", "DELETE FROM jobs WHERE state = 'done';"},
		{"vacuumed", "VACUUM;"},
	} {
		s.stop()
		if step.sql != "" {
			growthSQL(t, data, step.sql)
		}
		s = start(t, data, settings...)
		growthProbe(t, s, data, "warming up")
		growthProbe(t, s, data, step.what)
	}
	growthTables(t, s, data)
}

// growthLoad sends requests of all kinds by some clients.
func growthLoad(t *testing.T, s *server, requests int) {
	var group sync.WaitGroup
	for c := range growthClients {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), uint64(requests)))
			for i := range requests / growthClients {
				kind := []string{"chat", "chat", "chat", "add", "search", "search", "list", "list", "forget", "history"}[random.IntN(10)]
				if status, body := growthRequest(s, random, kind, fmt.Sprintf("%d-%d", c, i)); status >= 300 || status == 0 {
					t.Errorf("%s: %d %s", kind, status, body)
					return
				}
			}
		})
	}
	group.Wait()
}

var growthWords = []string{"apples", "bees", "clocks", "drums", "engines", "ferries", "gardens", "harps", "islands", "jackets", "kites", "lamps", "maps", "needles", "opals", "pianos"}

func growthRequest(s *server, random *rand.Rand, kind, unique string) (int, string) {
	word := func() string { return growthWords[random.IntN(len(growthWords))] }
	user := http.Header{"X-Loci-User": {fmt.Sprint("user", random.IntN(growthUsers))}}
	switch kind {
	case "chat":
		user.Set("X-Loci-Memory-Id", fmt.Sprint("chat", unique))
		return s.do("POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"I like %s and %s number %s."}]}`, word(), word(), unique), user)
	case "add":
		return s.do("POST", "/api/memory", fmt.Sprintf(`{"content":"User owns %s of the make %s"}`, word(), unique), user)
	case "search":
		return s.do("POST", "/api/memory/search", fmt.Sprintf(`{"query":"Which %s do I like?"}`, word()), user)
	case "list":
		return s.do("GET", "/api/memory?limit=20", "", user)
	case "history":
		return s.do("GET", "/api/changes?limit=20", "", user)
	}
	status, body := s.do("GET", "/api/memory?limit=1&q="+word(), "", user)
	var page struct {
		Memories []struct{ ID string }
	}
	if status != 200 || json.Unmarshal([]byte(body), &page) != nil || len(page.Memories) == 0 {
		return status, body
	}
	if status, body = s.do("DELETE", "/api/memory/"+page.Memories[0].ID, "", user); status == 404 { // another client was quicker
		return 200, ""
	}
	return status, body
}

// growthProbe logs the median of some requests of each kind, one after the other.
func growthProbe(t *testing.T, s *server, data, what string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	line := fmt.Sprintf("%-22s p50 ms:", what)
	for _, kind := range []string{"chat", "add", "search", "list", "history", "forget"} {
		var took []time.Duration
		for i := range 200 {
			began := time.Now()
			if status, body := growthRequest(s, random, kind, fmt.Sprintf("%s-%d-%d", kind, i, began.UnixNano())); status >= 300 || status == 0 {
				t.Fatalf("%s: %d %s", kind, status, body)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		line += fmt.Sprintf("  %s %.2f", kind, float64(took[len(took)/2].Microseconds())/1000)
	}
	size := int64(0)
	for _, name := range []string{"loci.db", "loci.db-wal"} {
		if info, err := os.Stat(filepath.Join(data, name)); err == nil {
			size += info.Size()
		}
	}
	t.Logf("%s  (%d MiB on disk, %d MiB resident)", line, size>>20, s.rss(t))
}

// growthTables logs what takes room.
func growthTables(t *testing.T, s *server, data string) {
	s.stop()
	for _, query := range []string{
		"SELECT 'facts', count(*) FROM facts UNION ALL SELECT 'turns', count(*) FROM turns UNION ALL SELECT 'jobs', count(*) FROM jobs UNION ALL SELECT 'traces', count(*) FROM traces UNION ALL SELECT 'journal', count(*) FROM journal UNION ALL SELECT 'runs', count(*) FROM runs",
	} {
		t.Logf("rows:\n%s", growthSQL(t, data, query))
	}
}

func growthSQL(t *testing.T, data, sql string) string {
	t.Helper()
	out, err := exec.Command("sqlite3", filepath.Join(data, "loci.db"), sql).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	return string(out)
}
