package assembly

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// stage is a server in a profile, driven over HTTP, before a model that follows a
// script.
type stage struct {
	t     *testing.T
	loci  *Loci
	url   string
	model *scripted
	clock *shifted
	log   *lines
}

func newStage(t *testing.T, profile string, flags ...map[string]string) *stage {
	t.Helper()
	return newStageBefore(t, &scripted{}, profile, flags...)
}

// newStageBefore is newStage before a model that is prepared already.
func newStageBefore(t *testing.T, model *scripted, profile string, flags ...map[string]string) *stage {
	t.Helper()
	model.reply = "OK."
	s := &stage{t: t, model: model, clock: &shifted{}, log: &lines{}}
	upstream := httptest.NewServer(s.model)
	t.Cleanup(upstream.Close)
	set := map[string]string{
		"profile": profile, "store": "memory", "data": t.TempDir(), "upstream.url": upstream.URL + "/v1", "learn.model": "learner", "learn.trust": "always",
		"recall.deadline": "60s",
	}
	if server := os.Getenv("TEST_MONGODB"); server != "" && profile == "platform" { // whose own store that is
		set["store"] = strings.TrimSuffix(server, "/") + "/loci_test_" + strings.ToLower(rand.Text())
	}
	for _, some := range flags {
		maps.Copy(set, some)
	}
	config, err := load(set)
	if err != nil {
		t.Fatal(err)
	}
	if s.loci, err = Open(context.Background(), config, Options{Now: s.clock.now, Log: s.log, Embedder: model.embedder}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.loci.Run(ctx) }()
	server := httptest.NewServer(s.loci.Handler())
	s.url = server.URL
	t.Cleanup(func() {
		server.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		noError(t)(s.loci.Close())
	})
	return s
}

// do sends a request and returns the status and the body. Headers come in pairs.
func (s *stage) do(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	r := try(http.NewRequest(method, s.url+path, strings.NewReader(body))).orFail(s.t)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp := try(http.DefaultClient.Do(r)).orFail(s.t)
	defer func() { _ = resp.Body.Close() }()
	answer := try(io.ReadAll(resp.Body)).orFail(s.t)
	return resp.StatusCode, string(answer)
}

// ok is do for what must succeed, decoded into out, nil for nothing.
func (s *stage) ok(out any, method, path, body string, headers ...string) string {
	s.t.Helper()
	status, answer := s.do(method, path, body, headers...)
	if status >= 300 {
		s.t.Fatalf("%s %s: status %d: %s", method, path, status, answer)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(answer), out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return answer
}

// talk is a chat as a client keeps it.
type talk struct {
	*stage
	messages []map[string]string
	headers  []string
	extras   map[string]any
}

func (s *stage) talk(headers ...string) *talk { return &talk{stage: s, headers: headers} }

// send asks with the messages as they are, and returns what the model was asked and
// the whole answer. What is due then is learned.
func (c *talk) send() (asked chatAsked, answer string) {
	c.t.Helper()
	body := map[string]any{"model": "chatter", "messages": c.messages}
	for k, v := range c.extras {
		body[k] = v
	}
	data := try(json.Marshal(body)).orFail(c.t)
	answer = c.ok(nil, "POST", "/v1/chat/completions", string(data), c.headers...)
	c.settle()
	return c.model.lastChat(c.t), answer
}

// says adds what the user says, sends it and keeps the reply.
func (c *talk) says(text string) (asked chatAsked, answer string) {
	c.t.Helper()
	c.messages = append(c.messages, map[string]string{"role": "user", "content": text})
	asked, answer = c.send()
	c.messages = append(c.messages, map[string]string{"role": "assistant", "content": c.model.reply})
	return asked, answer
}

// settle waits until what is due is done. A lesson that was put off because a chat was under way is
// given at once: by then the chat is over.
func (s *stage) settle() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.loci.engine.Background.Wait() // what a chat left to be done beside its answer
	for again := true; again; {
		noError(s.t)(s.loci.Settle(ctx))
		again = false
		for _, user := range []string{"default", "ana", "ben"} {
			all := try(s.loci.engine.Store.Jobs(ctx, userNamed(user))).orFail(s.t)
			for _, j := range all {
				if j.State == memory.JobQueued && j.Error == "a chat is running" {
					s.clock.pass(j.RunAt.Sub(s.clock.now()))
					again = true
				}
			}
		}
	}
}

// facts returns what is known, the newest first.
func (s *stage) facts(query string, headers ...string) []string {
	s.t.Helper()
	var page struct {
		Memories []struct{ Content string }
	}
	s.ok(&page, "GET", "/api/memory?limit=100"+query, "", headers...)
	out := []string{}
	for _, m := range page.Memories {
		out = append(out, m.Content)
	}
	return out
}

func (s *stage) wantFacts(query string, want []string, headers ...string) {
	s.t.Helper()
	got := s.facts(query, headers...)
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		s.t.Errorf("facts%s are %q, want %q", query, got, want)
	}
}

// remember writes facts down by hand.
func (s *stage) remember(headers []string, facts ...string) {
	s.t.Helper()
	for _, f := range facts {
		s.ok(nil, "POST", "/api/memory", fmt.Sprintf(`{"content":%q}`, f), headers...)
	}
}

// has and lacks look for texts in what something says.
func (s *stage) has(where, text string, want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.t.Errorf("%s lacks %q:\n%.1500s", where, w, text)
		}
	}
}

func (s *stage) lacks(where, text string, unwanted ...string) {
	s.t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			s.t.Errorf("%s has %q:\n%.1500s", where, w, text)
		}
	}
}

// chatAsked is a chat request as the model got it.
type chatAsked struct {
	Model    string
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	header http.Header
	body   string
}

// says returns the content of the i-th message, from the end if i is negative; all
// that is not text stays JSON.
func (c chatAsked) says(i int) string {
	if i < 0 {
		i += len(c.Messages)
	}
	if i < 0 || i >= len(c.Messages) {
		return ""
	}
	var text string
	if json.Unmarshal(c.Messages[i].Content, &text) != nil {
		return string(c.Messages[i].Content)
	}
	return text
}

// scripted is a model server: it answers chats with reply, and the learning model's
// prompts with the next line for that prompt. With no line left, learning fails.
type scripted struct {
	mu       sync.Mutex // guards what follows
	reply    string
	models   []string        // beside learner
	only     bool            // it has these alone, and answers no chats
	away     bool            // it answers nothing but chats
	dims     int             // of its vectors; 0: it has none
	embedder memory.Embedder // of Loci itself, nil for that of the settings
	lines    []scriptLine
	replies  map[string]string // by requests
	chats    []chatAsked
	prompts  []promptAsked
}

type scriptLine struct{ prompt, reply string }

// promptAsked is what the learning model was asked: the file's name, and its text.
type promptAsked struct {
	name, system, user, body string
	header                   http.Header
}

// promptWords tell prompts apart.
var promptWords = map[string]string{
	"extract": "Reply with what the turns change in it", "memory_extraction": "Decide whether the last exchange",
	"memory_formation": "You are an expert memory archivist.", "reconcile": "Compare each new fact with the remembered ones",
	"conflict_resolution": "Compare the New Fact to the Existing Memory.", "summarize": "You keep the running summary",
	"write": "You answer a user's query.", "describe": "You say what images show",
}

// on adds a reply to a prompt.
func (m *scripted) on(prompt, reply string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, scriptLine{prompt, reply})
}

func (m *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if m.away && !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/models") {
		var list []string
		ids := slices.Clone(m.models)
		if !m.only {
			ids = append(ids, "learner")
		}
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"id":%q}`, id))
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(list, ","))
		return
	}
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		m.embed(w, body)
		return
	}
	asked := chatAsked{header: r.Header.Clone(), body: string(body)}
	if err := json.Unmarshal(body, &asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	reply := m.reply
	if m.only || asked.Model != "chatter" {
		p := promptAsked{system: asked.says(0), user: asked.says(-1), body: string(body), header: asked.header}
		for name, words := range promptWords {
			if strings.Contains(p.system, words) {
				p.name = name
			}
		}
		i := slices.IndexFunc(m.lines, func(l scriptLine) bool { return l.prompt == p.name })
		before, same := m.replies[string(body)]
		if i >= 0 || !same { // a lesson that somebody wrote beside is read again
			m.prompts = append(m.prompts, p)
		}
		if i < 0 && same {
			m.lines, i = append(m.lines, scriptLine{p.name, before}), len(m.lines)
		}
		if i < 0 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"error":{"message":"no line for %s"}}`, p.name)
			return
		}
		reply = m.lines[i].reply
		if m.replies == nil {
			m.replies = map[string]string{}
		}
		m.replies[string(body)] = reply
		m.lines = slices.Delete(m.lines, i, i+1)
	} else {
		m.chats = append(m.chats, asked)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "c", "object": "chat.completion", "model": asked.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": reply}}},
	})
}

// embed answers with vectors that count words, if it has any.
func (m *scripted) embed(w http.ResponseWriter, body []byte) {
	var asked struct{ Input []string }
	if m.dims == 0 || json.Unmarshal(body, &asked) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var data []map[string]any
	for i, text := range asked.Input {
		vector := make([]float32, m.dims)
		vector[0] = 0.1
		for _, word := range strings.Fields(strings.ToLower(text)) {
			vector[1+int(word[0])%(m.dims-1)]++
		}
		data = append(data, map[string]any{"index": i, "embedding": vector})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// becomes changes what it is, as a server that comes or gets other models.
func (m *scripted) becomes(change func(m *scripted)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *scripted) lastChat(t *testing.T) chatAsked {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.chats) == 0 {
		t.Fatal("the model was not asked")
	}
	return m.chats[len(m.chats)-1]
}

// taken returns the prompts of this name since the last look, all for "".
func (m *scripted) taken(name string) []promptAsked {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out, rest []promptAsked
	for _, p := range m.prompts {
		if name == "" || p.name == name {
			out = append(out, p)
		} else {
			rest = append(rest, p)
		}
	}
	m.prompts = rest
	return out
}

// shifted is a clock that goes on by itself and can be moved.
type shifted struct{ by atomic.Int64 }

func (c *shifted) now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func (c *shifted) pass(d time.Duration) { c.by.Add(int64(d)) }

// lines keeps a log.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	noError(t)(os.WriteFile(path, []byte(text), 0o600))
}

// readTree returns the paths and texts of all files under a folder.
func readTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	noError(t)(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(text) + "\n")
		return err
	}))
	return b.String()
}
