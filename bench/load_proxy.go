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
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const (
	// proxyClients is the number of concurrent chats with slowModel, which answers after thinkTime.
	proxyClients = 32
	thinkTime    = 200 * time.Millisecond
	slowModel    = "slow"

	// longest is the maximum number of messages in a conversation.
	longest = 12
)

// newUpstream returns a model server that streams short answers, as slowModel after thinkTime.
func newUpstream() *httptest.Server {
	answers := talk.New(8).Sentences(997)
	var next atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"model":"`+slowModel+`"`)) {
			time.Sleep(thinkTime)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := next.Add(1)
		answer := answers[n%int64(len(answers))]
		chunk := `{"id":"c%d","object":"chat.completion.chunk","created":1,"model":"m",` +
			`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
		for _, event := range []string{
			fmt.Sprintf(chunk, n, fmt.Sprintf(`{"role":"assistant","content":%q}`, answer), "null"),
			fmt.Sprintf(chunk, n, "{}", `"stop"`), "[DONE]",
		} {
			fmt.Fprintf(w, "data: %s\n\n", event) // the client may disconnect
			_ = http.NewResponseController(w).Flush()
		}
	}))
}

// proxy measures streamed chats through Loci, with memory off and on, compared with the upstream itself: the time to
// the first event, and the whole exchange, which Loci ends after the turns are stored.
func (l *load) proxy(ctx context.Context) error {
	for _, upstream := range []struct {
		model, name string
		clients     int
		spread      time.Duration // keeps the clients from running in step
	}{
		{"fast", "upstream answers at once", 1, 0},
		{slowModel, fmt.Sprintf("upstream answers after %v", thinkTime), proxyClients, thinkTime},
	} {
		doors := []struct{ name, base, mode string }{
			{"the upstream alone", l.upstream.URL, chatapi.ModeOff},
			{"Loci, memory off", l.serving.url, chatapi.ModeOff},
			{"Loci", l.serving.url, chatapi.ModeReadWrite},
		}
		var tasks []task
		talks := make([][]*conversation, len(doors))
		for i, door := range doors {
			for c := range upstream.clients {
				v := &conversation{load: l, base: door.base, talk: talk.New(uint64(100 + c))}
				v.request = map[string]any{"model": upstream.model, "stream": true, "memory_mode": door.mode}
				talks[i] = append(talks[i], v)
			}
			tasks = append(tasks, task{
				name: door.name, spread: upstream.spread,
				do: func(ctx context.Context, client, n int) (time.Duration, error) {
					return talks[i][client].chat(ctx, n)
				},
			})
		}
		whole, busy, err := l.inTurns(ctx, upstream.clients, tasks)
		if err != nil {
			return err
		}
		for i, door := range doors {
			var first []time.Duration
			for _, t := range talks[i] {
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

// conversation is a running conversation with a model, and the times to its first events.
type conversation struct {
	*load
	base     string
	request  map[string]any // without its messages
	talk     *talk.Talk
	messages []client.Message
	first    []time.Duration
}

func (v *conversation) add(role memory.Role, content string) {
	v.messages = append(v.messages, client.Message{Role: role, Content: content})
}

// chat adds one exchange to the conversation. It returns its total time, and stores the time to the first event.
func (v *conversation) chat(ctx context.Context, i int) (time.Duration, error) {
	if len(v.messages) >= longest {
		v.messages = nil
	}
	if len(v.messages)%4 == 0 {
		v.add(memory.RoleUser, v.talk.Question(v.turns))
	} else { // every other message is a statement
		v.add(memory.RoleUser, v.talk.Sentence())
	}
	v.request["messages"] = v.messages
	body, err := json.Marshal(v.request)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", "bench")
	began := time.Now()
	resp, err := v.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // the body is read completely below
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
		return 0, fmt.Errorf("chat: %s, %v, an answer without text: %s", resp.Status, lines.Err(), events.String())
	}
	if i >= 0 {
		v.first = append(v.first, first)
	}
	v.add(memory.RoleAssistant, answer)
	return whole, nil
}
