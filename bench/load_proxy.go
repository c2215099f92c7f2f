package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const (
	// proxyClients is how many chats there are at once with slowModel, which thinks for thinkTime.
	proxyClients = 32
	thinkTime    = 200 * time.Millisecond
	slowModel    = "slow"

	// longest is how many messages a conversation has before the next one begins.
	longest = 12
)

// upstream is a model server that streams short answers: at once, or as slowModel after thinkTime.
type upstream struct {
	*httptest.Server
	answers []string
	next    atomic.Int64
}

func newUpstream() *upstream {
	u := &upstream{answers: talk.New(8).Sentences(997)}
	u.Server = httptest.NewServer(u)
	return u
}

// ServeHTTP implements [http.Handler]. A client that goes away is no error.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"model":"`+slowModel+`"`)) {
		time.Sleep(thinkTime)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	n := u.next.Add(1)
	chunk := `{"id":"c%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	for _, event := range []string{
		fmt.Sprintf(chunk, n, fmt.Sprintf(`{"role":"assistant","content":%q}`, u.answers[n%int64(len(u.answers))]), "null"),
		fmt.Sprintf(chunk, n, "{}", `"stop"`), "[DONE]",
	} {
		fmt.Fprintf(w, "data: %s\n\n", event)
		_ = http.NewResponseController(w).Flush()
	}
}

// doors are the ways to the upstream that are compared. The gateway lives in the measuring process,
// where one goroutine wakes the other; Loci with memory off says what it takes to go through another
// process.
var doors = []string{"the upstream alone", "a gateway without memory", "Loci, memory off", "Loci"}

// proxy measures streamed chats through Loci beside gateways without memory and beside the upstream
// itself: the time to the first event, and the whole exchange, which Loci ends only when what was said
// is stored.
func (l *load) proxy(ctx context.Context) error {
	if err := l.filled(ctx); err != nil {
		return err
	}
	target, err := url.Parse(l.upstream.URL)
	if err != nil {
		return err
	}
	plain := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{MaxIdleConnsPerHost: proxyClients},
		FlushInterval: -1,
	})
	defer plain.Close()
	bases := []string{l.upstream.URL, plain.URL, l.serving.url, l.serving.url}
	for _, setting := range []struct {
		model, name string
		clients     int
		spread      time.Duration // else the waiting would keep all in step
	}{{"fast", "upstream answers at once", 1, 0}, {slowModel, fmt.Sprintf("upstream answers after %v", thinkTime), proxyClients, thinkTime}} {
		var tasks []task
		through := make([]*chats, len(doors))
		for i, door := range doors {
			through[i] = &chats{load: l, base: bases[i], model: setting.model, off: door == "Loci, memory off"}
			for c := range setting.clients {
				through[i].talks = append(through[i].talks, &conversation{talk: talk.New(uint64(100 + c))})
			}
			tasks = append(tasks, task{name: door, spread: setting.spread, do: through[i].chat})
		}
		whole, busy, err := l.inTurns(ctx, setting.clients, tasks)
		if err != nil {
			return err
		}
		first := make([][]time.Duration, len(doors))
		for i, c := range through {
			for _, t := range c.talks {
				first[i] = append(first[i], t.first...)
			}
		}
		err = errors.Join(l.added("proxy, "+setting.name, "first byte", setting.clients, first, busy),
			l.added("proxy, "+setting.name, "whole exchange", setting.clients, whole, busy), l.settle(ctx))
		if err != nil {
			return err
		}
	}
	return nil
}

// added prints what each of the doors took, and what each adds to the upstream, percentile by
// percentile.
func (l *load) added(part, what string, clients int, took [][]time.Duration, busy []time.Duration) error {
	var upstream report.Row
	for i, door := range doors {
		row := latencies(part, what+", "+door, clients, took[i], busy[i])
		if i == 0 {
			upstream = row
		} else {
			row.Note = "added:"
			for _, p := range percentiles[:3] {
				metric := fmt.Sprintf("p%d ms", p)
				row.Note += fmt.Sprintf(" %s %.3f", metric, row.Get(metric)-upstream.Get(metric))
			}
		}
		if err := l.out.Rows(row); err != nil {
			return err
		}
	}
	return nil
}

// chats are conversations of several clients through one door.
type chats struct {
	*load
	base, model string
	off         bool // memory is
	talks       []*conversation
}

// conversation is one under way, and how long its first events took.
type conversation struct {
	talk     *talk.Talk
	messages []chatMessage
	first    []time.Duration
}

type chatMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// chat goes on with a client's conversation by one exchange. It returns how long all of it took, and
// keeps how long the first event did.
func (c *chats) chat(ctx context.Context, who, i int) (time.Duration, error) {
	v := c.talks[who]
	if len(v.messages) >= longest {
		v.messages = nil
	}
	content := v.talk.Question(c.said)
	if len(v.messages)%4 == 2 { // every other message tells something
		content = v.talk.Sentence()
	}
	v.messages = append(v.messages, chatMessage{memory.RoleUser, content})
	request := map[string]any{"model": c.model, "stream": true, "messages": v.messages}
	if c.off {
		request["memory_mode"] = chatapi.ModeOff
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	first, answer, err := c.stream(ctx, c.base, body)
	whole := time.Since(began)
	if err != nil {
		return 0, err
	}
	if i >= 0 {
		v.first = append(v.first, first.Sub(began))
	}
	v.messages = append(v.messages, chatMessage{memory.RoleAssistant, answer})
	return whole, nil
}

// stream sends a chat and reads its events. It returns when the first was there, and the answer's
// text.
func (l *load) stream(ctx context.Context, base string, body []byte) (first time.Time, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return first, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", "bench")
	resp, err := l.http.Do(req)
	if err != nil {
		return first, "", err
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end below
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal(data, &event) == nil && len(event.Choices) > 0 { // [DONE] is no JSON
			answer += event.Choices[0].Delta.Content
		}
	}
	if err := lines.Err(); err != nil || answer == "" {
		return first, "", fmt.Errorf("chat: %s, an answer of %q: %w", resp.Status, answer, err)
	}
	return first, answer, nil
}

// settle waits until nothing is left to learn that is due, so that it does not run beside what is
// measured next.
func (l *load) settle(ctx context.Context) error {
	for range 3_000 {
		jobs, err := l.memory.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("wait for learning: %w", err)
		}
		if !slices.ContainsFunc(jobs.Jobs, func(j client.Job) bool {
			return j.State == memory.JobRunning || j.State == memory.JobQueued && !j.RunAt.After(time.Now())
		}) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("wait for learning: it takes more than a minute")
}
