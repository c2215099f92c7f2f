package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWordsOfAModelAreNotTheUsers: a model tells its sub-agent what to do.
func TestWordsOfAModelAreNotTheUsers(t *testing.T) {
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
	for name, headers := range map[string][]string{"by its words": nil, "by a header": {subagents[0], "review"}} {
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

// TestTaskHeaderKeepsARequestOutOfMemory.
func TestTaskHeaderKeepsARequestOutOfMemory(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(says("A title."))
	r.chat(`{"model":"m","messages":[{"role":"user","content":"Bitte gib dem Gespräch einen Titel."}]}`, headerTask, "title_generation")
	r.chat(`{"model":"m","messages":[{"role":"user","content":"I live in Rome."}]}`, headerTask, "")
	r.wantTurns("user: I live in Rome.", "assistant: A title.")
}
