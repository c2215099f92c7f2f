package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

const (
	// replicasFor is how long the load of the replicas lasts, if it is not told otherwise.
	replicasFor = "LOCI_E2E_REPLICAS"
	loadTime    = 10 * time.Second

	replicaCount = 3
	speakers     = 6
	// killEvery is how long all of them live before one is killed.
	killEvery = 2 * time.Second

	// Of so many requests one is given up, within this time, and asked again at once while the
	// server that has it goes on. It is the time that most take.
	hangUpEvery  = 3
	hangUpWithin = 50 * time.Millisecond
)

// TestReplicasShareOneDatabase lets people chat with, write to and search three servers
// on one PostgreSQL, each request at another, while one after the other is killed and
// started again, and clients hang up and ask again. Nothing that was acknowledged is lost
// or there twice, what was written at one server is found at the next at once, nobody sees
// what is another's, and what the killed were learning is learned by the others.
func TestReplicasShareOneDatabase(t *testing.T) {
	t.Parallel()
	store := "LOCI_STORE=" + postgres(t)
	lasts := loadTime
	if text := os.Getenv(replicasFor); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", replicasFor, err)
		}
	}
	r := &replicas{}
	for range replicaCount {
		r.live = append(r.live, serve(t, t.TempDir(), store, "LOCI_LOG_LEVEL=warn"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all []*speaker
	var talking sync.WaitGroup
	for i := range speakers {
		s := &speaker{name: fmt.Sprint("speaker", i), replicas: r, random: rand.New(rand.NewPCG(uint64(i), 1))}
		all = append(all, s)
		talking.Go(func() { s.talk(ctx) })
	}
	kills := 0
	for end := time.After(lasts); ; {
		select {
		case <-time.After(killEvery):
			i := kills % replicaCount
			kills++
			r.at(i).kill(t)
			r.replace(i, serve(t, t.TempDir(), store, "LOCI_LOG_LEVEL=warn"))
			continue
		case <-end:
		}
		break
	}
	stop()
	talking.Wait()

	l := r.at(0)
	exchanges, facts := 0, 0
	for _, s := range all {
		for _, failure := range s.failures {
			t.Errorf("%s: %s", s.name, failure)
		}
		if err := s.ask(t.Context()); err != nil { // what the end cut off
			t.Fatalf("%s, asked again: %v\n%s", s.name, err, l.log)
		}
		l.settle(t, user(s.name), leases)
		turns, known := l.turns(t, user(s.name)), l.facts(t, user(s.name))
		for _, cat := range s.cats {
			if n := count(turns, "user", adopted(cat)); n != 1 {
				t.Errorf("%s: %q was acknowledged and is there %d times", s.name, adopted(cat), n)
			}
			if n := count(known, "", "User has a cat named "+cat); n != 1 {
				t.Errorf("%s: the cat %s is known %d times", s.name, cat, n)
			}
		}
		for _, answer := range s.answers {
			if count(turns, "assistant", answer) == 0 {
				t.Errorf("%s: the answer %q is not there", s.name, answer)
			}
		}
		for _, content := range s.facts {
			if n := count(known, "", content); n != 1 {
				t.Errorf("%s: %q was acknowledged and is known %d times", s.name, content, n)
			}
		}
		for _, m := range slices.Concat(turns, known) {
			if m.Role != "assistant" && !strings.Contains(m.Content, s.sign()) {
				t.Errorf("%s: %q is somebody else's", s.name, m.Content)
			}
		}
		exchanges += len(s.cats)
		facts += len(s.facts)
	}
	if exchanges < speakers || facts < speakers || kills < 2 {
		t.Errorf("%d exchanges and %d facts over %d kills are too few to see anything", exchanges, facts, kills)
	}
	t.Logf("%d exchanges and %d facts were acknowledged over %d kills in %s", exchanges, facts, kills, lasts)
}

// replicas are servers of which some may be dead.
type replicas struct {
	mu   sync.Mutex
	live []*loci // guarded by mu
}

func (r *replicas) at(i int) *loci {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[i%len(r.live)]
}

func (r *replicas) replace(i int, by *loci) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[i] = by
}

// speaker chats and writes, each time at another server, and keeps what was acknowledged.
type speaker struct {
	name     string
	replicas *replicas
	random   *rand.Rand
	chat     chat
	next     int
	cats     []string // as chats told of them
	pending  string   // the cat that was not acknowledged yet
	answers  []string
	facts    []string // as they were written down
	failures []string
}

// sign is in all that the speaker says, and in nothing that others say.
func (s *speaker) sign() string {
	n, _ := strconv.Atoi(s.name[len("speaker"):])
	return []string{"Qa", "Qe", "Qi", "Qo", "Qu", "Qy"}[n]
}

func (s *speaker) fail(format string, args ...any) {
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

func (s *speaker) talk(ctx context.Context) {
	for ctx.Err() == nil {
		if s.pending == "" {
			s.tell()
		}
		if err := s.ask(ctx); err != nil {
			if ctx.Err() == nil {
				s.fail("chat: %v", err)
			}
			return
		}
		s.write(ctx)
	}
}

// tell begins to say something.
func (s *speaker) tell() {
	if s.next%exchanges == 0 {
		s.chat.history = nil
	}
	s.next++
	s.pending = s.sign() + strings.ToLower(catName(s.next))
	s.chat.history = append(s.chat.history, openai.UserMessage(adopted(s.pending)))
}

// ask sends what was not answered to one server after the other until it is.
func (s *speaker) ask(ctx context.Context) error {
	if s.pending == "" {
		return nil
	}
	var answer string
	send := func(ctx context.Context, l *loci) error {
		s.chat.client = l.sdk(as(s.name), keyed())
		if s.next%2 == 0 {
			var err error
			answer, err = s.chat.tryStream(ctx)
			return err
		}
		whole, err := s.chat.try(ctx)
		if err == nil {
			answer = whole.Choices[0].Message.Content
		}
		return err
	}
	if s.random.IntN(hangUpEvery) == 0 {
		hasty, hangUp := context.WithTimeout(ctx, time.Duration(s.random.Int64N(int64(hangUpWithin))))
		err := send(hasty, s.replicas.at(s.random.IntN(replicaCount)))
		hangUp()
		if err == nil {
			s.answered(answer)
			return nil
		}
	}
	if err := s.anywhere(ctx, func(l *loci) error { return send(ctx, l) }); err != nil {
		return err
	}
	s.answered(answer)
	return nil
}

// answered notes what was acknowledged.
func (s *speaker) answered(answer string) {
	s.cats, s.answers, s.pending = append(s.cats, s.pending), append(s.answers, answer), ""
}

// anywhere calls do with one server after the other until it succeeds.
func (s *speaker) anywhere(ctx context.Context, do func(*loci) error) error {
	start := s.random.IntN(replicaCount)
	late := time.After(patience)
	for i := start; ; i++ {
		err := do(s.replicas.at(i))
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-late:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// write puts a fact down at one server, and looks for it at once at others.
func (s *speaker) write(ctx context.Context) {
	fact := fmt.Sprintf("The boat %s%s is blue", s.sign(), strings.ToLower(catName(s.next)))
	if err := s.anywhere(ctx, func(l *loci) error { return s.post(ctx, l, "/api/memory", map[string]any{"content": fact}, nil) }); err != nil {
		if ctx.Err() == nil {
			s.fail("write %q: %v", fact, err)
		}
		return
	}
	s.facts = append(s.facts, fact)
	var found struct {
		Hits     []hit
		Degraded []string
	}
	question := map[string]any{"query": "What colour is the boat " + strings.Fields(fact)[2] + "?"}
	err := s.anywhere(ctx, func(l *loci) error {
		err := s.post(ctx, l, "/api/memory/search", question, &found)
		if err == nil && len(found.Degraded) > 0 { // it says itself that something is left out
			err = fmt.Errorf("search left out %q", found.Degraded)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.fail("search: %v", err)
	}
	if err == nil && !slices.ContainsFunc(found.Hits, func(h hit) bool { return h.Content == fact }) {
		s.fail("%q was written and is not found at once: %+v", fact, found.Hits)
	}
	for _, h := range found.Hits {
		if !strings.Contains(h.Content, s.sign()) && h.Role != "assistant" {
			s.fail("%q was found, which is somebody else's", h.Content)
		}
	}
}

func (s *speaker) post(ctx context.Context, l *loci, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header = user(s.name)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", resp.Status, &answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Bytes(), into)
}

// runPostgres makes a database and serves it until its standard input ends.
const runPostgres = `set -e
"$1/initdb" -D "$2/data" -U loci -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 -c fsync=off -c full_page_writes=off >>"$2/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -INT $pid
wait $pid || true
rm -rf "$2"`

// postgres starts a private server for the length of the test and returns the address of
// a database. The test is skipped where there are no binaries of one.
func postgres(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Skip("PostgreSQL is not tried: install Debian's postgresql")
	}
	binaries := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "loci-pg-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("sh", "-c", runPostgres, "sh", binaries, dir)
	server.Dir = dir
	if os.Getuid() == 0 {
		asSomebody(t, server, dir)
	}
	open, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = open.Close(); _ = server.Wait() })
	for deadline := time.Now().Add(2 * patience); ; {
		said, _ := os.ReadFile(filepath.Join(dir, "log"))
		if bytes.Contains(said, []byte("ready to accept connections")) {
			return "postgres:///postgres?user=loci&host=" + url.QueryEscape(dir)
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not answer:\n%s", said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// asSomebody lets a command run as somebody else than root, who must not run the server.
func asSomebody(t *testing.T, c *exec.Cmd, dir string) {
	t.Helper()
	who, err := osuser.Lookup("postgres")
	if err != nil {
		t.Skipf("PostgreSQL is not tried: root must not run it, and %v", err)
	}
	uid, _ := strconv.ParseUint(who.Uid, 10, 32)
	gid, _ := strconv.ParseUint(who.Gid, 10, 32)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
}
