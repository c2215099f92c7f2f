package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
)

func TestReembedOfAllAndPruneSayWhatTheyDid(t *testing.T) {
	half := client.AllVectors{Vectors: client.Vectors{Model: "m", Memories: 5, Lacking: 3, UnderWay: true}, Users: 2, CompleteUsers: 1}
	whole := client.AllVectors{Vectors: client.Vectors{Model: "m", Memories: 5}, Users: 2, CompleteUsers: 2}
	for _, c := range []struct {
		args    string
		answers map[string]any
		want    string
		sent    string
	}{
		{"--all", map[string]any{"POST /api/reembed/all": half, "GET /api/reembed/all": whole}, "embedded 3 memories with m\n2 of 2 users have all their vectors\n", "POST /api/reembed/all {}"},
		{"--all --dry-run", map[string]any{"POST /api/reembed/all": half}, "3 of 5 memories have no vector of model m; to compute them: loci reembed\n1 of 2 users have all their vectors\n", `POST /api/reembed/all {"dry_run":true}`},
		{
			"--prune", map[string]any{"POST /api/reembed/prune": client.Pruned{Model: "m", Vectors: 7, Models: []client.PrunedModel{{Model: "old", Users: 1, Vectors: 7}}}},
			"7 vectors of old\n7 vectors deleted; the vectors of m are kept\n", "POST /api/reembed/prune {}",
		},
		{
			"--prune --all --dry-run", map[string]any{"POST /api/reembed/prune": client.Pruned{Model: "m", Vectors: 7, Models: []client.PrunedModel{{Model: "old", Users: 3, Vectors: 7}}}},
			"7 vectors of old of 3 users\n7 vectors to delete; the vectors of m are kept\n", `POST /api/reembed/prune {"dry_run":true,"all":true}`,
		},
	} {
		s := newStandIn(t, c.answers)
		got, err := s.loci(t, append([]string{"reembed"}, strings.Fields(c.args)...)...)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.args, got, err, c.want)
		}
		if len(s.got) < 2 || s.got[1] != c.sent {
			t.Errorf("%s: sent %q, want %q", c.args, s.got, c.sent)
		}
	}
}

// embeddings is an OpenAI-compatible server that answers until it is told to wait.
type embeddings struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // how often, by text
	holds int            // texts after which it answers no more
	full  chan struct{}  // closed when it does so
	let   chan struct{}  // closed: it answers again
}

func newEmbeddings(t *testing.T, holds int) *embeddings {
	t.Helper()
	e := &embeddings{asked: map[string]int{}, holds: holds, full: make(chan struct{}), let: make(chan struct{})}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if e.wait(in.Input) {
			select {
			case <-e.let:
			case <-r.Context().Done():
				return
			}
		}
		var out struct {
			Data []map[string]any `json:"data"`
		}
		for i := range in.Input {
			out.Data = append(out.Data, map[string]any{"index": i, "embedding": []float32{1, 0, 0, 0}})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(e.Close)
	return e
}

// wait counts the texts of notes, and reports whether to hold the answer back.
func (e *embeddings) wait(texts []string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	notes := 0
	for _, text := range texts {
		if strings.HasPrefix(text, "Note ") {
			notes++
		}
	}
	select {
	case <-e.let:
	default:
		if notes > 0 && len(e.asked)+notes > e.holds {
			select {
			case <-e.full:
			default:
				close(e.full)
			}
			return true
		}
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "Note ") {
			e.asked[text]++
		}
	}
	return false
}

// A server that is killed while it embeds has kept what it wrote, recall finds all by
// words until the rest is done, and the next start embeds the rest alone.
func TestReembeddingGoesOnWhereAKilledServerWas(t *testing.T) {
	const (
		memories = 600
		holds    = 300 // between the second and the third transaction
		at       = 128 // a transaction
	)
	data := t.TempDir()
	loci := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		cmd := newRootCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append(args, "--data", data, "--addr", "127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &out)
		}
	}
	var file strings.Builder
	for i := range memories {
		fmt.Fprintf(&file, "- Note %d is about teapot %d\n", i, i*7)
	}
	notes := t.TempDir() + "/notes.md"
	noError(t)(os.WriteFile(notes, []byte(file.String()), 0o600))
	loci("import", notes)

	far := newEmbeddings(t, holds)
	first := started(t, data, far.URL)
	select {
	case <-far.full:
	case <-t.Context().Done():
	}
	is, err := first.Vectors(t.Context())
	if err != nil || is.Lacking == 0 || is.Lacking == is.Memories || !is.UnderWay {
		t.Fatalf("midway: %+v, %v; want some of them lacking", is, err)
	}
	if by := first.byVector(t); by != 0 {
		t.Errorf("midway: %d hits compared by vector, want none", by)
	}
	first.kill(t)
	close(far.let)

	second := started(t, data, far.URL)
	got := try(second.reembed(t)).orFail(t)
	is, err = second.Vectors(t.Context())
	if err != nil || is.Lacking != 0 || is.Memories != memories {
		t.Errorf("resumed: %+v, %v, %q; want none of %d lacking", is, err, got, memories)
	}
	if by := second.byVector(t); by == 0 {
		t.Error("resumed: nothing compared by vector")
	}
	second.kill(t)
	far.mu.Lock()
	defer far.mu.Unlock()
	again := 0
	for _, n := range far.asked {
		again += n - 1
	}
	if len(far.asked) != memories || again > at {
		t.Errorf("%d of %d embedded, %d of them twice; want all, and no more twice than a transaction holds", len(far.asked), memories, again)
	}
}

// served is a Loci in a process of its own.
type served struct {
	*client.Client
	process *exec.Cmd
	addr    string
	ended   chan error // what the process ended with
}

// started starts this binary as loci serve and waits until it answers. Somebody else may
// take the port that was free: then it ends, and begins with another.
func started(t *testing.T, data, embedURL string) *served {
	t.Helper()
	return startedWith(t, data, "LOCI_EMBEDDER=remote:m", "LOCI_EMBED_URL="+embedURL)
}

// startedWith is started with settings in the environment.
func startedWith(t *testing.T, data string, env ...string) *served {
	t.Helper()
	for range 3 {
		if s := tried(t, data, env...); s != nil {
			return s
		}
	}
	t.Fatal("loci serve ended three times before it answered")
	return nil
}

// tried returns nil if the process ended by itself.
func tried(t *testing.T, data string, env ...string) *served {
	t.Helper()
	l := try(net.Listen("tcp", "127.0.0.1:0")).orFail(t)
	addr := l.Addr().String()
	noError(t)(l.Close())
	binary := try(os.Executable()).orFail(t)
	s := &served{client.New("http://"+addr, client.Options{}), exec.Command(binary, "serve", "--addr", addr, "--data", data), addr, make(chan error, 1)}
	s.process.Env = append(os.Environ(), env...)
	noError(t)(s.process.StdinPipe()) // TestMain ends the server where this process ends
	noError(t)(s.process.Start())
	waited := make(chan struct{})
	go func() { s.ended <- s.process.Wait(); close(waited) }()
	t.Cleanup(func() { _ = s.process.Process.Kill(); <-waited }) // if the test has not
	for {
		if _, err := s.Health(t.Context()); err == nil {
			return s
		}
		select {
		case err := <-s.ended:
			t.Logf("loci serve ended: %v", err)
			return nil
		case <-time.After(10 * time.Millisecond): // until it listens
		case <-t.Context().Done():
			t.Fatal("it does not answer")
		}
	}
}

func (s *served) kill(t *testing.T) {
	t.Helper()
	noError(t)(s.process.Process.Kill())
	<-s.ended // which says that it was killed
}

func (s *served) byVector(t *testing.T) int {
	t.Helper()
	found := try(s.Search(t.Context(), client.SearchRequest{Query: "which note is about teapot 70?", Explain: true})).orFail(t)
	if len(found.Hits) == 0 {
		t.Fatal("nothing is found")
	}
	n := 0
	for _, h := range found.Hits {
		if h.Why.Get("vector") > 0 {
			n++
		}
	}
	return n
}

func (s *served) reembed(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"reembed", "--addr", s.addr})
	err := cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}
