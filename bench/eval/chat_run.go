package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// ChatFacts say where the facts of a trial set's memory come from.
type ChatFacts string

// The sources of facts.
const (
	FactsByRules ChatFacts = "rules" // Loci's built-in rules learn from the exchanges
	FactsGiven   ChatFacts = "given" // nothing is learned; the set's own facts are added, as a good model would learn them
)

// ChatOptions say how trial sets are measured.
type ChatOptions struct {
	Config config.Config   // whose models and settings of recall are used
	Facts  ChatFacts       // "": by rules
	Cosine memory.Embedder // of the comparison by plain cosine; nil: there is none
}

// chatTrial is a memory of trial sets in this process, behind the proxy as clients use it.
type chatTrial struct {
	loci     *loci.Loci
	upstream *captured
	stop     context.CancelFunc
	stopped  chan error
	now      time.Time
	facts    ChatFacts
}

// openChatTrial opens a memory of its own.
func openChatTrial(ctx context.Context, o ChatOptions) (t *chatTrial, err error) {
	t = &chatTrial{upstream: newCaptured(), stopped: make(chan error, 1), facts: o.Facts}
	settings := map[string]string{"store": "memory", "upstream.url": t.upstream.URL + "/v1"}
	config, err := o.Config.ForBench(settings)
	if err == nil {
		if o.Facts == FactsGiven {
			config.Learn.After = "never"
		}
		t.loci, err = loci.Open(ctx, config, loci.Options{Now: func() time.Time { return t.clock() }})
	}
	if err != nil {
		t.upstream.Close()
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	t.stop = stop
	go func() { t.stopped <- t.loci.Run(running) }()
	return t, nil
}

func (t *chatTrial) close() error {
	t.stop()
	err := errors.Join(<-t.stopped, t.loci.Close())
	t.upstream.Close()
	return err
}

// captured is an upstream that answers as it is told and keeps the messages it was sent.
type captured struct {
	*httptest.Server
	mu       sync.Mutex // guards what follows
	answer   string
	messages []chatMessage
}

func newCaptured() *captured {
	c := &captured{}
	c.Server = httptest.NewServer(c)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *captured) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []chatMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.messages = asked.Messages
	answer := c.answer
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that is gone is not an error of ours
		"id": "c", "object": "chat.completion", "created": 1, "model": "m",
		"choices": []any{map[string]any{"index": 0, "message": chatMessage{memory.RoleAssistant, answer}, "finish_reason": "stop"}},
	})
}

// chatHit is a memory that was put into a prompt.
type chatHit struct {
	ID      string      `json:"id"`
	Kind    memory.Kind `json:"kind"`
	Content string      `json:"content"`
	Core    bool        `json:"core"`
}

// chatMessage is one message of a request.
type chatMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// send sends a chat through the proxy, and returns what memory added to its prompt.
func (t *chatTrial) send(ctx context.Context, user, mode, id string, messages []chatMessage, answer string) (block string, hits []chatHit, err error) {
	t.upstream.mu.Lock()
	t.upstream.answer, t.upstream.messages = answer, nil
	t.upstream.mu.Unlock()
	chat := map[string]any{"model": "m", "messages": messages, "memory_mode": mode}
	if id != "" {
		chat["memory_id"] = id
	}
	body, err := json.Marshal(chat)
	if err != nil {
		return "", nil, err
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/chat/completions", bytes.NewReader(body))
	req.RemoteAddr = "127.0.0.1:0" // this process is as trusted as loopback
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", user)
	rec := httptest.NewRecorder()
	t.loci.Handler().ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		return "", nil, fmt.Errorf("chat: status %d: %s", rec.Code, rec.Body)
	}
	var answered struct {
		Hits []chatHit `json:"memory_hits"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &answered); err != nil {
		return "", nil, fmt.Errorf("chat: %w", err)
	}
	return t.upstream.added(messages), answered.Hits, nil
}

// added returns what the upstream was sent beside the client's own messages.
func (c *captured) added(own []chatMessage) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, m := range c.messages {
		if slices.Contains(own, m) {
			continue
		}
		for _, o := range own {
			m.Content = strings.Replace(m.Content, o.Content, "", 1)
		}
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// record has a person hold their chats: each exchange goes through the proxy and is learned from
// before the next.
func (t *chatTrial) record(ctx context.Context, p ChatPerson) error {
	for i, c := range p.Chats {
		var messages []chatMessage
		for j, e := range c.Exchanges {
			t.setClock(c.At.Add(time.Duration(j) * time.Minute))
			messages = append(messages, chatMessage{memory.RoleUser, e.User})
			if _, _, err := t.send(ctx, p.ID, "read_write", fmt.Sprint("chat-", i), messages, e.Assistant); err != nil {
				return fmt.Errorf("exchange %s: %w", e.ID, err)
			}
			messages = append(messages, chatMessage{memory.RoleAssistant, e.Assistant})
			if err := t.loci.Settle(ctx); err != nil {
				return fmt.Errorf("learn from exchange %s: %w", e.ID, err)
			}
		}
	}
	t.setClock(p.end())
	if t.facts != FactsGiven {
		return nil
	}
	for _, f := range p.Facts {
		if _, _, err := t.client(p.ID).Add(ctx, client.AddMemory{Content: f.Text}); err != nil {
			return fmt.Errorf("add fact %s: %w", f.ID, err)
		}
	}
	return t.loci.Settle(ctx)
}

// end is when the messages are sent: the day after the last chat.
func (p ChatPerson) end() time.Time {
	return p.Chats[len(p.Chats)-1].At.Add(24 * time.Hour)
}

func (t *chatTrial) clock() time.Time {
	t.upstream.mu.Lock()
	defer t.upstream.mu.Unlock()
	return t.now
}

func (t *chatTrial) setClock(now time.Time) {
	t.upstream.mu.Lock()
	defer t.upstream.mu.Unlock()
	t.now = now
}

func (t *chatTrial) client(user string) *client.Client {
	return client.New("http://localhost", client.Options{User: user, HTTP: &http.Client{Transport: handled{t.loci.Handler()}}})
}

// handled answers requests by a handler in this process.
type handled struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (h handled) RoundTrip(req *http.Request) (*http.Response, error) {
	inner := req.Clone(req.Context())
	inner.RemoteAddr, inner.RequestURI = "127.0.0.1:0", req.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	h.handler.ServeHTTP(rec, inner)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// chatMemory is one memory of a person, and the exchanges and facts of the set that it comes from.
type chatMemory struct {
	id, content string
	from        []string
}

// memories returns the turns and active facts that a person's memory has after the chats.
func (t *chatTrial) memories(ctx context.Context, p ChatPerson) ([]chatMemory, error) {
	c := t.client(p.ID)
	var listed []client.Memory
	for _, kind := range []string{"turn", "fact"} {
		for m, err := range c.AllMemories(ctx, client.ListQuery{Kind: kind, Status: "active"}) {
			if err != nil {
				return nil, fmt.Errorf("list memories: %w", err)
			}
			listed = append(listed, m)
		}
	}
	slices.SortFunc(listed, func(a, b client.Memory) int { return strings.Compare(a.ID, b.ID) })
	by := map[string][]string{} // what a turn says or is, to exchanges
	for _, chat := range p.Chats {
		for _, e := range chat.Exchanges {
			by[e.User], by[e.Assistant] = append(by[e.User], e.ID), append(by[e.Assistant], e.ID)
		}
	}
	for _, m := range listed {
		if m.Kind == memory.KindTurn {
			by[m.ID] = by[m.Content]
		}
	}
	for _, f := range p.Facts {
		by[f.Text] = append(by[f.Text], f.ID)
	}
	var out []chatMemory
	for _, m := range listed {
		known := chatMemory{id: m.ID, content: m.Content, from: slices.Clone(by[m.Content])}
		if m.Provenance != nil {
			for _, turn := range m.Provenance.Turns {
				known.from = append(known.from, by[turn]...)
			}
		}
		out = append(out, known)
	}
	return out, nil
}
