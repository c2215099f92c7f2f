package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
)

const messagesPath = "/v1/messages"

// anthropicSDK returns Anthropic's client, which only knows the server's address.
func (l *loci) anthropicSDK() anthropic.Client {
	return anthropic.NewClient(
		anthropicoption.WithoutEnvironmentDefaults(),
		anthropicoption.WithBaseURL(l.url), anthropicoption.WithAPIKey(clientKey), anthropicoption.WithMaxRetries(0),
	)
}

// saysMessage answers in the Messages API, streamed where that is asked for.
func saysMessage(text string) answer {
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		if !strings.Contains(string(body), `"stream":true`) {
			replies(http.StatusOK, nil, `{"id":"msg_7","type":"message","role":"assistant","model":"scripted","content":[{"type":"text","text":`+quote(text)+`}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":3}}`)(w, r, body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"message_start","message":{"id":"msg_7","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(text) + `}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}`,
			`{"type":"message_stop"}`,
		} {
			name := strings.Split(event, `"`)[3]
			_, _ = w.Write([]byte("event: " + name + "\ndata: " + event + "\n\n"))
			w.(http.Flusher).Flush()
		}
	}
}

// conversation is a chat as Anthropic's clients hold it.
type conversation struct {
	client  anthropic.Client
	history []anthropic.MessageParam
}

func (c *conversation) params(text string) anthropic.MessageNewParams {
	c.history = append(c.history, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
	return anthropic.MessageNewParams{Model: "scripted", MaxTokens: 64, Messages: c.history}
}

func (c *conversation) say(t *testing.T, text string) *anthropic.Message {
	t.Helper()
	m, err := c.client.Messages.New(t.Context(), c.params(text))
	if err != nil {
		t.Fatalf("chat: %v", err)
	}
	c.history = append(c.history, m.ToParam())
	return m
}

func (c *conversation) stream(ctx context.Context, t *testing.T, text string) *anthropic.Message {
	t.Helper()
	stream := c.client.Messages.NewStreaming(ctx, c.params(text))
	defer stream.Close()
	m := &anthropic.Message{}
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatalf("stream: %v", err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatalf("stream: %v", err)
	}
	c.history = append(c.history, m.ToParam())
	return m
}

func textOf(m *anthropic.Message) string {
	var b strings.Builder
	for _, block := range m.Content {
		b.WriteString(block.Text)
	}
	return b.String()
}

func TestAnthropicsClientIsRemembered(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.at[messagesPath] = saysMessage("I will keep that in mind.")
	up.at[messagesPath+"/count_tokens"] = replies(http.StatusOK, nil, `{"input_tokens":42}`)
	l := serve(t, t.TempDir(), up.setting())

	first := conversation{client: l.anthropicSDK()}
	if m := first.say(t, "I am allergic to peanuts."); textOf(m) != "I will keep that in mind." || m.JSON.ExtraFields["memory_hits"].Raw() == "" {
		t.Errorf("answered %s", m.RawJSON())
	}
	if m := first.stream(t.Context(), t, "I live in Lisbon."); textOf(m) != "I will keep that in mind." || m.Usage.OutputTokens != 3 {
		t.Errorf("streamed %+v", m)
	}
	l.settle(t, nil, patience)
	if facts := l.facts(t, nil); count(facts, "", allergyFact) != 1 {
		t.Errorf("learned:%s", contents(facts))
	}

	second := conversation{client: l.anthropicSDK()}
	second.say(t, "What am I allergic to?")
	sent := up.requests(messagesPath)
	last := sent[len(sent)-1]
	if body := string(last.Body); !strings.Contains(body, allergyTold) || !strings.Contains(body, `{"text":"What am I allergic to?","type":"text"}`) {
		t.Errorf("the upstream was not told %q:\n%s", allergyFact, body)
	}
	if last.Header.Get("X-Api-Key") != clientKey || last.Header.Get("Anthropic-Version") == "" {
		t.Errorf("headers that went on: %v", last.Header)
	}
	if turns := l.turns(t, nil); len(turns) != 6 || count(turns, "user", "I live in Lisbon.") != 1 {
		t.Errorf("turns:%s", contents(turns))
	}
	n, err := second.client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "scripted", Messages: second.history[:1]})
	if err != nil || n.InputTokens != 42 {
		t.Errorf("count_tokens: %v, %v", n, err)
	}
}

func TestAnthropicsClientIsAnsweredWithoutAModel(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.add(t, allergyFact, nil)
	c := conversation{client: l.anthropicSDK()}
	if m := c.say(t, "What am I allergic to?"); !strings.Contains(textOf(m), "peanuts") || m.StopReason != anthropic.StopReasonEndTurn {
		t.Errorf("answered %s", m.RawJSON())
	}
	if m := c.stream(t.Context(), t, "And what else am I allergic to?"); !strings.Contains(textOf(m), "peanuts") || m.StopReason != anthropic.StopReasonEndTurn {
		t.Errorf("streamed %+v", m)
	}
	_, err := c.client.Messages.New(t.Context(), anthropic.MessageNewParams{Model: "m", Messages: []anthropic.MessageParam{{}}})
	if err == nil || !strings.Contains(err.Error(), "invalid_request_error") {
		t.Errorf("a message without a role: %v", err)
	}
}
