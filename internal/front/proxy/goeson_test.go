package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// answered is a response of that id.
func answered(id, text string) http.HandlerFunc {
	return sends(http.StatusOK, `{"id":"`+id+`","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":`+jsonText(text)+`}]}]}`, "Content-Type", "application/json")
}

// TestARequestThatNamesItsPreviousAnswerGoesOnThere: the server keeps what came before, so
// that only what is new is sent, a tool's result alone as well.
func TestARequestThatNamesItsPreviousAnswerGoesOnThere(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	send := func(body string) string {
		t.Helper()
		resp := r.send(http.MethodPost, "/v1/responses", body)
		if got := r.read(resp); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", body, resp.StatusCode, got)
		}
		return r.upstream.one(t).body
	}
	r.upstream.answers(answered("resp_a", "A cat."))
	send(`{"model":"m","input":"What pet have I got?"}`)
	r.upstream.answers(sends(http.StatusOK, `{"id":"resp_b","status":"completed","output":[{"type":"function_call","call_id":"t1","name":"weigh","arguments":"{}"}]}`, "Content-Type", "application/json"))
	if sent := send(`{"model":"m","previous_response_id":"resp_a","input":"What does it weigh?"}`); !strings.Contains(sent, "Ünal") || !strings.Contains(sent, `"previous_response_id":"resp_a"`) {
		t.Errorf("sent %s, want memory and the id", sent)
	}
	r.upstream.answers(streams(named(`{"type":"response.created","response":{"id":"resp_c"}}`), named(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Four kilos."}`), named(`{"type":"response.completed","response":{"id":"resp_c"}}`)))
	const results = `{"model":"m","stream":true,"previous_response_id":"resp_b","input":[{"type":"function_call_output","call_id":"t1","output":"4"}]}`
	if sent := send(results); sent != results {
		t.Errorf("sent %s, want the client's bytes", sent)
	}
	r.upstream.answers(answered("resp_d", "Yes."))
	send(`{"model":"m","previous_response_id":"resp_c","input":[{"role":"user","content":"Is that much?"}]}`)
	r.wantTurns("user: What pet have I got?", "assistant: A cat.", "user: What does it weigh?", "assistant: ", "tool: 4", "assistant: Four kilos.", "user: Is that much?", "assistant: Yes.")
	if n := r.conversations(); n != 1 {
		t.Errorf("%d conversations, want one", n)
	}

	r.upstream.answers(answered("resp_e", "Hm."))
	send(`{"model":"m","previous_response_id":"resp_of_long_ago","input":"And what did I say on Monday evening?"}`)
	if n := r.conversations(); n != 2 {
		t.Errorf("%d conversations after an answer that is not known, want two", n)
	}
	if sent := send(`{"model":"m","previous_response_id":"resp_of_long_ago","input":[{"type":"function_call_output","call_id":"t9","output":"9"}]}`); strings.Contains(sent, "Ünal") || r.conversations() != 2 {
		t.Errorf("a result that belongs nowhere went on as %s", sent)
	}
}

func TestAConversationOfTheServersIsOneOfLocis(t *testing.T) {
	r := newRig(t)
	for i, conversation := range []string{`"conv_1"`, `{"id":"conv_1"}`, `"conv_1"`} {
		r.upstream.answers(answered(fmt.Sprint("resp_", i), fmt.Sprint("Answer ", i)))
		r.read(r.send(http.MethodPost, "/v1/responses", fmt.Sprintf(`{"conversation":%s,"input":"Question %d"}`, conversation, i)))
	}
	r.wantTurnsOf("conv_1", "user: Question 0", "assistant: Answer 0", "user: Question 1", "assistant: Answer 1", "user: Question 2", "assistant: Answer 2")
	r.read(r.send(http.MethodPost, "/v1/responses", `{"conversation":"conv_1","memory_id":"mine","input":"Elsewhere"}`))
	r.wantTurnsOf("mine", "user: Elsewhere", "assistant: Answer 2")
}

// TestNobodyGoesOnFromAnothersAnswer: an answer's id says nothing to those who were not
// given it.
func TestNobodyGoesOnFromAnothersAnswer(t *testing.T) {
	r := newRig(t)
	say := func(user, body string) {
		r.upstream.answers(answered("resp_1", "Noted."))
		r.read(r.send(http.MethodPost, "/v1/responses", body, httpx.HeaderUser, user))
	}
	say("ana", `{"input":"My cat is called Mitzi."}`)
	say("ben", `{"previous_response_id":"resp_1","input":"And what is my cat called?"}`)
	say("ben", `{"previous_response_id":"resp_1","input":"And my dog?"}`)
	for user, want := range map[string]int{"ana": 2, "ben": 4} {
		turns, err := r.store.Turns(t.Context(), memory.User(memory.DefaultNamespace, user), memory.TurnQuery{})
		if err != nil || len(turns) != want {
			t.Errorf("%s has %d turns, %v; want %d", user, len(turns), err, want)
		}
		for _, turn := range turns {
			if turn.Conversation != turns[0].Conversation {
				t.Errorf("%s has a turn in %s and one in %s", user, turns[0].Conversation, turn.Conversation)
			}
		}
	}
}

// TestLateAnswersAreBounded: the oldest are forgotten, and one that comes again counts once.
func TestLateAnswersAreBounded(t *testing.T) {
	d := &Door{}
	for i := range maxAnswers + 3 {
		for range 2 {
			d.answers.add(nobody, fmt.Sprint("resp_", i), fmt.Sprint("conversation ", i))
		}
	}
	d.answers.add(nobody, strings.Repeat("x", maxAnswerID+1), "c")
	if n := len(d.answers.of); n != maxAnswers || len(d.answers.order) != maxAnswers {
		t.Errorf("%d are kept, %d in order; want %d", n, len(d.answers.order), maxAnswers)
	}
	for i, want := range map[int]string{2: "", 3: "conversation 3", maxAnswers + 2: fmt.Sprint("conversation ", maxAnswers+2)} {
		if got := d.goesOn(nobody, &wire.Chat{Previous: fmt.Sprint("resp_", i)}); got != want {
			t.Errorf("answer %d is of %q, want %q", i, got, want)
		}
	}
}
