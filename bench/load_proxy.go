package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const (
	// proxyClients is how many chats there are at once with a model that thinks for
	// thinkTime.
	proxyClients = 32

	thinkTime = 200 * time.Millisecond

	// slowModel is the name of that model.
	slowModel = "slow"

	// exchanges is how long a conversation grows before the next one begins.
	exchanges = 6
)

// upstream is a model server that streams short answers: at once, or as slowModel
// after thinkTime. Apart from what a proxy adds it does what a model would.
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

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	if bytes.Contains(body, []byte(`"model":"`+slowModel+`"`)) {
		time.Sleep(thinkTime)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	n := u.next.Add(1)
	flush := http.NewResponseController(w)
	for _, event := range []string{
		fmt.Sprintf(`{"id":"c%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`, n, u.answers[n%int64(len(u.answers))]),
		fmt.Sprintf(`{"id":"c%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, n),
		"[DONE]",
	} {
		if _, err := fmt.Fprintf(w, "data: %s\n\n", event); err != nil || flush.Flush() != nil {
			return // the client went away
		}
	}
}

// doors are the ways to the upstream that are compared. The gateway lives in the
// measuring process, where one goroutine wakes the other; Loci with memory off says
// what it takes to go through another process.
var doors = []string{"the upstream alone", "a gateway without memory", "Loci, memory off", "Loci"}

// proxy measures streamed chats through Loci beside gateways without memory and
// beside the upstream itself: the time to the first event, and the whole exchange,
// which Loci ends only when what was said is stored.
func (l *load) proxy(ctx context.Context) error {
	if err := l.running(ctx, l.folder()); err != nil {
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
	for _, setting := range []struct {
		model, name string
		clients     int
		spread      time.Duration // else the waiting would keep all in step
	}{
		{"fast", "upstream answers at once", 1, 0},
		{slowModel, fmt.Sprintf("upstream answers after %v", thinkTime), proxyClients, thinkTime},
	} {
		through := []*chats{
			l.chats(l.upstream.URL, setting.model, "", setting.clients),
			l.chats(plain.URL, setting.model, "", setting.clients),
			l.chats(l.serving.url, setting.model, chatapi.ModeOff, setting.clients),
			l.chats(l.serving.url, setting.model, "", setting.clients),
		}
		tasks := make([]task, len(doors))
		for i, c := range through {
			tasks[i] = task{subject: "proxy, " + setting.name, name: doors[i], clients: setting.clients, spread: setting.spread, do: c.chat}
		}
		whole, err := l.measure(ctx, tasks...)
		if err != nil {
			return err
		}
		first := make([]Row, len(doors))
		for i, c := range through {
			first[i] = c.firstBytes(whole[i])
		}
		l.reportProxy(first, whole)
		if err := l.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reportProxy reports what each of the doors took.
func (l *load) reportProxy(first, whole []Row) {
	for _, of := range []struct {
		name string
		rows []Row
	}{{"first byte", first}, {"whole exchange", whole}} {
		for i, r := range of.rows {
			r.Name = of.name + ", " + r.Name
			if i > 0 {
				r = r.over(of.rows[0])
			}
			l.report(r)
		}
		for i, name := range []string{"the gateway", "Loci, memory off", "Loci"} {
			added := of.rows[1+i].less(of.rows[0], of.name+", added by "+name)
			added.Note = "percentiles less the upstream's"
			l.report(added)
		}
	}
}

// chats are conversations of several clients through one door.
type chats struct {
	l     *load
	base  string
	model string
	mode  string         // of memory; "" as it comes
	talks []conversation // of each client
}

// conversation is one under way, and what its client measured.
type conversation struct {
	talk     *talk.Talk
	messages []chatMessage
	first    []time.Duration
}

type chatMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

func (l *load) chats(base, model string, mode string, clients int) *chats {
	c := &chats{l: l, base: base, model: model, mode: mode, talks: make([]conversation, clients)}
	for i := range c.talks {
		c.talks[i].talk = talk.New(uint64(100 + i))
	}
	return c
}

// chat goes on with a client's conversation by one exchange. It returns how long
// all of it took, and keeps how long the first event did.
func (c *chats) chat(ctx context.Context, clientNo, i int) (time.Duration, error) {
	v := &c.talks[clientNo]
	if len(v.messages) >= 2*exchanges {
		v.messages = nil
	}
	content := v.talk.Question(c.l.said)
	if len(v.messages)%4 == 2 { // every other message tells something
		content = v.talk.Sentence()
	}
	v.messages = append(v.messages, chatMessage{memory.RoleUser, content})
	request := map[string]any{"model": c.model, "stream": true, "messages": v.messages}
	if c.mode != "" {
		request["memory_mode"] = c.mode
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	first, answer, err := c.l.stream(ctx, c.base, body)
	whole := time.Since(started)
	if err != nil {
		return 0, err
	}
	if i >= 0 {
		v.first = append(v.first, first.Sub(started))
	}
	v.messages = append(v.messages, chatMessage{memory.RoleAssistant, answer})
	return whole, nil
}

// firstBytes returns the row of the times to the first event, given that of the
// whole exchanges.
func (c *chats) firstBytes(whole Row) Row {
	var took []time.Duration
	for _, v := range c.talks {
		took = append(took, v.first...)
	}
	r := rowOf(took)
	r.Subject, r.Name, r.Clients, r.Rate = whole.Subject, whole.Name, whole.Clients, whole.Rate
	return r
}

// stream sends a chat and reads its events. It returns when the first was there,
// and the answer's text.
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
	if resp.StatusCode != http.StatusOK {
		return first, "", fmt.Errorf("chat: %s", resp.Status)
	}
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
	if err := lines.Err(); err != nil {
		return first, "", fmt.Errorf("read chat: %w", err)
	}
	if answer == "" {
		return first, "", fmt.Errorf("chat: an answer without words")
	}
	return first, answer, nil
}

// settle waits until nothing is left to learn that is due, so that it does not run
// beside what is measured next.
func (l *load) settle(ctx context.Context) error {
	const patience, look = time.Minute, 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		jobs, err := l.memory.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("wait for learning: %w", err)
		}
		waiting := false
		for _, j := range jobs.Jobs {
			due := j.State == memory.JobQueued && !j.RunAt.After(time.Now())
			waiting = waiting || due || j.State == memory.JobRunning
		}
		if !waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for learning: %w", ctx.Err())
		case <-time.After(look):
		}
	}
}
