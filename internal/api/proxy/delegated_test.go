package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestModelsOrderIsNotTheUsers sends a sub-agent's message that a model wrote.
func TestModelsOrderIsNotTheUsers(t *testing.T) {
	const order = "Find out where the deployment of Gotham is described."
	call := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
			"tool_calls":[{"id":"x","type":"function","function":{"name":"task","arguments":"{\"description\":\"look\",\"prompt\":\"`+order+`\",\"asked\":\"I live in Rome, where is our app deployed?\"}"}}]}}]}`)
	}
	chat := func(words string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + words + `"}]}`
	}
	const asked = "I live in Rome, where is our app deployed?"
	for name, headers := range map[string][]string{"by its words": nil, "by a header": {subagentHeaders[0], "review"}} {
		r := newRig(t)
		if headers == nil {
			r.upstream.answers(call)
			r.chat(chat(asked))
		}
		r.upstream.answers(says("Done."))
		r.chat(chat(order), headers...)
		r.chat(`{"model":"m","messages":[{"role":"user","content":"` + asked + `"},{"role":"assistant","content":"Done."},{"role":"user","content":"Thank you."}]}`)
		got := strings.Join(r.turns(), "|")
		if strings.Contains(got, "Gotham") || !strings.Contains(got, "Thank you.") {
			t.Errorf("%s: the user's words are %q, want those of the person alone", name, got)
		}
	}
}

// callsWith answers a chat with a tool call that has one argument.
func callsWith(words string) http.HandlerFunc {
	arguments, _ := json.Marshal(map[string]string{"task": words})
	call, _ := json.Marshal(map[string]string{"name": "start", "arguments": string(arguments)})
	return sends(http.StatusOK, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":`+string(call)+`}]},"finish_reason":"tool_calls"}]}`,
		"Content-Type", "application/json")
}

// TestQuotedOrderIsTheModels covers agents that add text around their model's order. A person may quote a
// command at any time, and an order later.
func TestQuotedOrderIsTheModels(t *testing.T) {
	const order = "I live in Gotham, so find out where the deployment is described and report."
	const command = "go test ./internal/api/proxy"
	var clock memtest.Clock
	r := newRig(t, func(s *setup) { s.now = clock.Now })
	ask := func(messages ...string) {
		t.Helper()
		body, _ := json.Marshal(messages[0])
		rest := ""
		for i, m := range messages[1:] {
			text, _ := json.Marshal(m)
			rest += fmt.Sprintf(`,{"role":%q,"content":%s}`, []string{"assistant", "user"}[i%2], text)
		}
		r.chat(`{"model":"m","messages":[{"role":"user","content":` + string(body) + `}` + rest + `]}`)
	}
	r.upstream.answers(callsWith(order))
	ask("Where is our app deployed?")
	r.upstream.answers(callsWith(command))
	ask("Are the tests green?")
	r.upstream.answers(says("Done."))
	quoting := "You are a sub-agent.\n\n# Task\n" + strings.Replace(order, ", ", ",\n", 1) + "\n\nDo not ask back."
	ask(quoting)
	ask("Why does " + command + " fail?")
	clock.Advance(2*time.Minute + time.Second)
	ask(quoting, "Done.", "Go on.")
	ask("Yesterday you wrote: " + order)
	got := strings.Join(r.turns(), "|")
	if strings.Contains(got, "sub-agent") || strings.Contains(got, "Go on.") {
		t.Errorf("the sub-agent's messages are stored: %q", got)
	}
	for _, want := range []string{"Why does " + command, "Yesterday you wrote"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not stored: %q", want, got)
		}
	}
}

// TestSubagentMayStartBeforeTheAnswerEnds covers clients that execute a call as soon as it is complete.
func TestSubagentMayStartBeforeTheAnswerEnds(t *testing.T) {
	const order = "Find out where the deployment of Gotham is described."
	for path, events := range map[string][2]string{
		"/v1/messages": {
			`event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"1","role":"assistant","content":[]}}` + "\n\n" +
				`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Task","input":{}}}` + "\n\n" +
				`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"prompt\":\"` + order + `\"}"}}` + "\n\n" +
				`data: {"type":"content_block_stop","index":0}` + "\n\n",
			`event: message_stop` + "\n" + `data: {"type":"message_stop"}` + "\n\n",
		},
		"/v1/responses": {
			`event: response.output_item.done` + "\n" + `data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"start","arguments":"{\"message\":\"` + order + `\"}"}}` + "\n\n",
			`event: response.completed` + "\n" + `data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}` + "\n\n",
		},
	} {
		t.Run(path, func(t *testing.T) {
			r := newRig(t)
			goOn := make(chan struct{})
			r.upstream.answers(func(w http.ResponseWriter, _ *http.Request) {
				streams(events[0])(w, nil)
				<-goOn
				_, _ = io.WriteString(w, events[1])
			})
			field := map[string]string{"/v1/messages": "messages", "/v1/responses": "input"}[path]
			body := func(words string) string {
				return `{"model":"m","stream":true,"max_tokens":9,"` + field + `":[{"role":"user","content":"` + words + `"}]}`
			}
			resp := r.send(http.MethodPost, path, body("Where is our app deployed?"))
			noError(t)(io.ReadFull(resp.Body, make([]byte, len(events[0]))))
			time.Sleep(100 * time.Millisecond) // Loci decodes after it passes a piece on; an agent takes longer to start
			r.upstream.answers(says("Done."))
			r.read(r.send(http.MethodPost, path, body(order)))
			close(goOn)
			r.read(resp)
			if got := strings.Join(r.turns(), "|"); strings.Contains(got, "user: Find") || !strings.Contains(got, "our app") {
				t.Errorf("stored %q, want the person's words alone", got)
			}
		})
	}
}

// ordered matches the beginning of a recorded sub-agent's message. In arguments the quotation mark is escaped.
var ordered = regexp.MustCompile(`[^\\]"(I live in Gotham|Begin\.")`)

// TestRecordedSubagentsReadMemory requires that they write none, however they are recognized.
func TestRecordedSubagentsReadMemory(t *testing.T) {
	for agent, run := range map[string]string{"codex": "run3", "opencode": "run3", "qwen": "sub", "qwen fork": "run3", "cline": "run3"} {
		t.Run(agent, func(t *testing.T) {
			r := newRig(t)
			r.know("User's API is named Halyard")
			r.replay(t, strings.Fields(agent)[0], run)
			all := try(r.store.Turns(context.Background(), nobody, memory.TurnQuery{Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})).orFail(t)
			for _, turn := range all {
				if strings.Contains(turn.Content, "Gotham") || strings.Contains(turn.Content, "Begin.") {
					t.Errorf("stored: %s %q", turn.Role, turn.Content)
				}
			}
			delegated := 0
			for _, q := range r.upstream.asked() {
				if ordered.MatchString(q.body) {
					delegated++
					if !strings.Contains(q.body, "- API is named Halyard") {
						t.Errorf("the sub-agent gets no memory: %s", q.body)
					}
				}
			}
			if delegated != 1 {
				t.Errorf("%d requests are a sub-agent's, want 1", delegated)
			}
		})
	}
}

func TestTaskHeaderKeepsARequestOutOfMemory(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(says("A title."))
	r.chat(`{"model":"m","messages":[{"role":"user","content":"Bitte gib dem Gespräch einen Titel."}]}`, headerTask, "title_generation")
	r.chat(`{"model":"m","messages":[{"role":"user","content":"I live in Rome."}]}`, headerTask, "")
	r.wantTurns("user: I live in Rome.", "assistant: A title.")
}
