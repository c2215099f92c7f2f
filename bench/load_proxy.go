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
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
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

// newUpstream is a model server that streams short answers: at once, or as slowModel after thinkTime.
func newUpstream() *httptest.Server {
	answers := talk.New(8).Sentences(997)
	var next atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"model":"`+slowModel+`"`)) {
			time.Sleep(thinkTime)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := next.Add(1)
		chunk := `{"id":"c%d","object":"chat.completion.chunk","created":1,"model":"m",` +
			`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
		for _, event := range []string{
			fmt.Sprintf(chunk, n, fmt.Sprintf(`{"role":"assistant","content":%q}`, answers[n%int64(len(answers))]), "null"),
			fmt.Sprintf(chunk, n, "{}", `"stop"`), "[DONE]",
		} {
			fmt.Fprintf(w, "data: %s\n\n", event) // a client that goes away is no error
			_ = http.NewResponseController(w).Flush()
		}
	}))
}

// proxy measures streamed chats through Loci, with memory off and on, beside the upstream itself: the
// time to the first event, and the whole exchange, which Loci ends only when what was said is stored.
func (l *load) proxy(ctx context.Context) error {
	for _, upstream := range []struct {
		model, name string
		clients     int
		spread      time.Duration // else the waiting would keep all in step
	}{
		{"fast", "upstream answers at once", 1, 0},
		{slowModel, fmt.Sprintf("upstream answers after %v", thinkTime), proxyClients, thinkTime},
	} {
		doors := []*chats{
			{load: l, name: "the upstream alone", base: l.upstream.URL},
			{load: l, name: "Loci, memory off", base: l.serving.url, off: true},
			{load: l, name: "Loci", base: l.serving.url},
		}
		var tasks []task
		for _, door := range doors {
			door.model = upstream.model
			for c := range upstream.clients {
				door.talks = append(door.talks, &conversation{talk: talk.New(uint64(100 + c))})
			}
			tasks = append(tasks, task{name: door.name, spread: upstream.spread, do: door.chat})
		}
		whole, busy, err := l.inTurns(ctx, upstream.clients, tasks)
		if err != nil {
			return err
		}
		for i, door := range doors {
			var first []time.Duration
			for _, t := range door.talks {
				first = append(first, t.first...)
			}
			part := "proxy, " + upstream.name
			err := l.out.Rows(latencies(part, "first byte, "+door.name, upstream.clients, first, busy[i]),
				latencies(part, "whole exchange, "+door.name, upstream.clients, whole[i], busy[i]))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// chats are conversations of several clients with a model, through one door.
type chats struct {
	*load
	name, base, model string
	off               bool // memory is
	talks             []*conversation
}

// conversation is one under way, and how long its first events took.
type conversation struct {
	talk     *talk.Talk
	messages []map[string]any
	first    []time.Duration
}

func (v *conversation) add(role memory.Role, content string) {
	v.messages = append(v.messages, map[string]any{"role": role, "content": content})
}

// chat goes on with a client's conversation by one exchange. It returns how long all of it took, and
// keeps how long the first event did.
func (c *chats) chat(ctx context.Context, who, i int) (time.Duration, error) {
	v := c.talks[who]
	switch {
	case len(v.messages) >= longest:
		v.messages = nil
		fallthrough
	case len(v.messages)%4 == 0:
		v.add(memory.RoleUser, v.talk.Question(c.said))
	default: // every other message tells something
		v.add(memory.RoleUser, v.talk.Sentence())
	}
	request := map[string]any{"model": c.model, "stream": true, "messages": v.messages}
	if c.off {
		request["memory_mode"] = chatapi.ModeOff
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", "bench")
	began := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end below
	var first time.Duration
	var events strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if first == 0 && strings.HasPrefix(lines.Text(), "data: ") {
			first = time.Since(began)
		}
		events.WriteString(lines.Text())
	}
	whole := time.Since(began)
	_, answer, ok := strings.Cut(events.String(), `"content":"`)
	if answer, _, _ = strings.Cut(answer, `"`); !ok || lines.Err() != nil {
		return 0, fmt.Errorf("chat: %s, %v, an answer without words: %s", resp.Status, lines.Err(), events.String())
	}
	if i >= 0 {
		v.first = append(v.first, first)
	}
	v.add(memory.RoleAssistant, answer)
	return whole, nil
}
