package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// answered answers with a response that has an id.
func answered(id, text string) http.HandlerFunc {
	return sends(http.StatusOK, `{"id":"`+id+`","status":"completed","output":[{"type":"message","id":"msg_`+id+`","role":"assistant","content":[{"type":"output_text","text":`+jsonText(text)+`}]}]}`, "Content-Type", "application/json")
}

// TestRequestContinuesItsPreviousAnswer sends only new messages, or only a tool's result, with the id of the
// previous answer.
func TestRequestContinuesItsPreviousAnswer(t *testing.T) {
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
	r.wantTurns("user: What pet have I got?", "assistant: A cat.", "user: What does it weigh?", "assistant: ", "tool: ", "assistant: Four kilos.", "user: Is that much?", "assistant: Yes.")
	if n := r.conversations(); n != 1 {
		t.Errorf("%d conversations, want one", n)
	}

	r.upstream.answers(answered("resp_e", "Hm."))
	send(`{"model":"m","previous_response_id":"resp_of_long_ago","input":"And what did I say on Monday evening?"}`)
	if n := r.conversations(); n != 2 {
		t.Errorf("%d conversations after an unknown answer, want two", n)
	}
	if sent := send(`{"model":"m","previous_response_id":"resp_of_long_ago","input":[{"type":"function_call_output","call_id":"t9","output":"9"}]}`); strings.Contains(sent, "Ünal") || r.conversations() != 2 {
		t.Errorf("a result that belongs nowhere went on as %s", sent)
	}
}

func TestUpstreamConversationIsAConversation(t *testing.T) {
	r := newRig(t)
	for i, conversation := range []string{`"conv_1"`, `{"id":"conv_1"}`, `"conv_1"`} {
		r.upstream.answers(answered(fmt.Sprint("resp_", i), fmt.Sprint("Answer ", i)))
		r.read(r.send(http.MethodPost, "/v1/responses", fmt.Sprintf(`{"conversation":%s,"input":"Question %d"}`, conversation, i)))
	}
	r.wantTurnsOf("conv_1", "user: Question 0", "assistant: Answer 0", "user: Question 1", "assistant: Answer 1", "user: Question 2", "assistant: Answer 2")
	r.read(r.send(http.MethodPost, "/v1/responses", `{"conversation":"conv_1","memory_id":"mine","input":"Elsewhere"}`))
	r.wantTurnsOf("mine", "user: Elsewhere", "assistant: Answer 2")
}

// TestNobodyContinuesAnothersAnswer uses the id of another user's answer.
func TestNobodyContinuesAnothersAnswer(t *testing.T) {
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

// respond sends a body; the upstream's response has that id.
func (r *rig) respond(id, text, body string) {
	r.t.Helper()
	r.upstream.answers(answered(id, text))
	resp := r.send(http.MethodPost, "/v1/responses", body)
	if got := r.read(resp); resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s", body, resp.StatusCode, got)
	}
	r.upstream.one(r.t)
}

// TestAnswerIDPlacesARepeatedMessage sends equal messages: after the latest answer it is a new turn, after the
// one before a retry, and after an earlier one a new branch.
func TestAnswerIDPlacesARepeatedMessage(t *testing.T) {
	const next, asked = "Please tell me the next chapter now.", "user: Please tell me the next chapter now."
	r := newRig(t)
	r.respond("resp_1", "One.", `{"input":"Tell me of the lighthouse."}`)
	r.respond("resp_2", "Two.", `{"previous_response_id":"resp_1","input":"`+next+`"}`)
	r.respond("resp_3", "Three.", `{"previous_response_id":"resp_2","input":"`+next+`"}`)
	r.wantTurns("user: Tell me of the lighthouse.", "assistant: One.", asked, "assistant: Two.", asked, "assistant: Three.")
	r.respond("resp_4", "3.", `{"previous_response_id":"resp_2","input":"`+next+`"}`)
	r.wantTurns("user: Tell me of the lighthouse.", "assistant: One.", asked, "assistant: Two.", asked, "assistant: 3.")
	r.respond("resp_5", "A sad one.", `{"previous_response_id":"resp_1","input":"How does it end?"}`)
	r.wantTurns("user: Tell me of the lighthouse.", "assistant: One.", "user: How does it end?", "assistant: A sad one.")
	r.respond("resp_6", "Four.", `{"previous_response_id":"resp_3","input":"And then?"}`)
	r.wantTurns("user: Tell me of the lighthouse.", "assistant: One.", asked, "assistant: Two.", asked, "assistant: Three.", "user: And then?", "assistant: Four.")
	if n := r.conversations(); n != 1 {
		t.Errorf("%d conversations, want one", n)
	}
}

// TestUnstoredAnswerKeepsItsPlace covers an answer without text and one off the record.
func TestUnstoredAnswerKeepsItsPlace(t *testing.T) {
	r := newRig(t)
	const request = `{"id":"a1","type":"mcp_approval_request","name":"x","arguments":"{}"}`
	r.upstream.answers(streams(named(`{"type":"response.created","response":{"id":"resp_1"}}`), named(`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[`+request+`]}}`)))
	r.read(r.send(http.MethodPost, "/v1/responses", `{"stream":true,"input":"What does the server say?"}`))
	r.upstream.one(t)
	r.respond("resp_2", "It says hi.", `{"previous_response_id":"resp_1","input":[{"type":"mcp_approval_response","approval_request_id":"a1","approve":true}]}`)
	r.wantTurns("user: What does the server say?", "tool: ", "assistant: It says hi.")

	r.store.onAppend = func(context.Context, memory.Batch) error { return errors.New("full") }
	r.respond("resp_3", "Lost.", `{"previous_response_id":"resp_2","input":"And now?"}`)
	r.store.onAppend = nil
	r.respond("resp_4", "Bye.", `{"previous_response_id":"resp_3","input":"Good bye"}`)
	r.wantTurns("user: What does the server say?", "tool: ", "assistant: It says hi.", "user: Good bye", "assistant: Bye.")
	if n := r.conversations(); n != 1 {
		t.Errorf("%d conversations, want one", n)
	}
}

// TestUnknownAnswersSeparateChats begins two chats with equal messages after different unknown answers. A retry
// stays in its chat.
func TestUnknownAnswersSeparateChats(t *testing.T) {
	r := newRig(t)
	r.respond("resp_1", "Monday.", `{"previous_response_id":"resp_x","input":"Go on"}`)
	r.respond("resp_2", "Tuesday.", `{"previous_response_id":"resp_y","input":"Go on"}`)
	r.respond("resp_3", "Tuesday!", `{"previous_response_id":"resp_y","input":"Go on"}`)
	if turns := r.turns(); len(turns) != 4 || r.conversations() != 2 {
		t.Errorf("stored %q in %d conversations, want both", turns, r.conversations())
	}
}

// TestReferencedItemsAreResolved sends ids of an answer's items instead of its text.
func TestReferencedItemsAreResolved(t *testing.T) {
	for name, reference := range map[string]string{"": `{"type":"item_reference","id":"msg_resp_1"}`, "bare": `{"id":"msg_resp_1"}`} {
		r := newRig(t)
		const hello, ask = `{"role":"user","content":"Hi, I am Ana and live in Lisbon."}`, `{"role":"user","content":"How is the weather there?"}`
		r.respond("resp_1", "Hello Ana.", `{"input":[`+hello+`]}`)
		r.upstream.answers(streams(
			named(`{"type":"response.created","response":{"id":"resp_2"}}`), named(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Sunny."}`),
			named(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_2"}}`), named(`{"type":"response.completed","response":{"id":"resp_2"}}`),
		))
		r.read(r.send(http.MethodPost, "/v1/responses", `{"stream":true,"input":[`+hello+`,`+reference+`,`+ask+`]}`))
		r.upstream.one(t)
		again := `{"input":[` + hello + `,` + reference + `,` + ask + `,{"type":"item_reference","id":"rs_unknown"},{"type":"item_reference","id":"msg_2"},{"role":"user","content":"Thanks!"}]}`
		r.respond("resp_3", "Bye.", again)
		r.wantTurns("user: Hi, I am Ana and live in Lisbon.", "assistant: Hello Ana.", "user: How is the weather there?", "assistant: Sunny.", "user: Thanks!", "assistant: Bye.")
		if n := r.conversations(); n != 1 {
			t.Errorf("%q: %d conversations, want one", name, n)
		}
	}
}

// TestOtherServerResolvesReferences requires that references are found in the store, however much of the history
// the client omits.
func TestOtherServerResolvesReferences(t *testing.T) {
	const hello, ask = `{"role":"user","content":"Hi, I am Ana and live in Lisbon."}`, `{"role":"user","content":"How is the weather there?"}`
	const first, second = `{"type":"item_reference","id":"msg_resp_1"}`, `{"type":"item_reference","id":"fc_2"},{"type":"function_call_output","call_id":"t1","output":"sunny"}`
	here := newRig(t)
	here.respond("resp_1", "Hello Ana.", `{"input":[`+hello+`]}`)
	there := newRig(t, func(x *setup) { x.store = here.store.Store })
	there.upstream.answers(sends(http.StatusOK, `{"id":"resp_2","status":"completed","output":[{"type":"reasoning","id":"rs_2"},{"type":"function_call","id":"fc_2","call_id":"t1","name":"look","arguments":"{}"}]}`, "Content-Type", "application/json"))
	there.read(there.send(http.MethodPost, "/v1/responses", `{"input":[`+hello+`,`+first+`,`+ask+`]}`))
	there.upstream.one(t)
	here.respond("resp_3", "Sunny.", `{"input":[`+hello+`,`+first+`,`+ask+`,`+second+`]}`)
	there.respond("resp_4", "Yes.", `{"input":[`+ask+`,`+second+`,{"type":"item_reference","id":"msg_resp_3"},{"role":"user","content":"Really?"}]}`)
	here.wantTurns("user: Hi, I am Ana and live in Lisbon.", "assistant: Hello Ana.", "user: How is the weather there?", "assistant: ", "tool: ", "assistant: Sunny.", "user: Really?", "assistant: Yes.")
	there.respond("resp_5", "Hello Ben.", `{"input":[`+first+`,{"role":"user","content":"Say that again."}]}`)
	here.wantTurns("user: Hi, I am Ana and live in Lisbon.", "assistant: Hello Ana.", "user: Say that again.", "assistant: Hello Ben.")
	if n := here.conversations(); n != 1 {
		t.Errorf("%d conversations, want one", n)
	}
	resp := there.send(http.MethodPost, "/v1/responses", `{"input":[`+hello+`,`+first+`,{"role":"user","content":"And me?"}]}`, httpx.HeaderUser, "ben")
	there.read(resp)
	turns, err := here.store.Turns(t.Context(), memory.User(memory.DefaultNamespace, "ben"), memory.TurnQuery{})
	if err != nil || slices.ContainsFunc(turns, func(x memory.Turn) bool { return x.Role == memory.RoleUser && x.Conversation != turns[0].Conversation }) {
		t.Errorf("ben has %+v, %v; want one conversation of ben's own", turns, err)
	}
}

const callsATool = `{"id":"resp_1","status":"completed","output":[{"type":"function_call","call_id":"t1","name":"find","arguments":"{}"}]}`

// TestToolResultsGetTheirQuestionsMemory covers memory in the instructions, which the upstream does not store.
func TestToolResultsGetTheirQuestionsMemory(t *testing.T) {
	for _, placement := range []chatapi.Placement{chatapi.System, chatapi.Tail, chatapi.User} {
		r := newRig(t, func(x *setup) { x.placement = placement })
		r.know("User has a cat called Ünal")
		r.upstream.answers(sends(http.StatusOK, callsATool, "Content-Type", "application/json"))
		r.read(r.send(http.MethodPost, "/v1/responses", `{"instructions":"Be kind.","input":"What does my cat weigh?"}`))
		_, first, _ := strings.Cut(r.upstream.one(t).body, `"instructions":`)
		first, _, _ = strings.Cut(first, `,"input"`)
		r.know("User has a dog called Rex")
		r.upstream.answers(answered("resp_2", "Four kilos."))
		const results = `{"instructions":"Be kind.","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"t1","output":"4"}]}`
		r.read(r.send(http.MethodPost, "/v1/responses", results))
		if got, want := r.upstream.one(t).body, strings.Replace(results, `"Be kind."`, first, 1); got != want || placement == chatapi.System != strings.Contains(got, "Ünal") {
			t.Errorf("%s: sent %s, want %s", placement, got, want)
		}
	}
}

// TestToolResultsStayOffTheRecord covers the answer to results for a question off the record.
func TestToolResultsStayOffTheRecord(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(sends(http.StatusOK, callsATool, "Content-Type", "application/json"))
	r.read(r.send(http.MethodPost, "/v1/responses", `{"input":"Keep this between us, I have HIV. Where is a clinic?"}`))
	r.upstream.one(t)
	r.respond("resp_2", "An HIV clinic is in Rua Augusta.", `{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"t1","output":"HIV clinic, Rua Augusta"}]}`)
	turns, err := r.store.Turns(t.Context(), nobody, memory.TurnQuery{Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})
	if err != nil || len(turns) != 4 {
		t.Fatalf("stored %+v, %v; want four turns", turns, err)
	}
	for _, turn := range turns {
		if strings.Contains(turn.Content, "HIV") {
			t.Errorf("%s: stored %q", turn.Role, turn.Content)
		}
	}
}
