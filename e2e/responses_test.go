package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

const responsesPath = "/v1/responses"

// saysResponse answers in the Responses API, streamed where that is asked for.
func saysResponse(id, text string) answer {
	whole := `{"id":"` + id + `","object":"response","created_at":1700000000,"status":"completed","error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"scripted","output":[{"type":"message","id":"msg_7","status":"completed","role":"assistant","content":[{"type":"output_text","text":` + quote(text) + `,"annotations":[]}]}],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1,"usage":{"input_tokens":11,"output_tokens":3,"total_tokens":14}}`
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		if !strings.Contains(string(body), `"stream":true`) {
			replies(http.StatusOK, nil, whole)(w, r, body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"response.created","sequence_number":0,"response":{"id":"` + id + `","status":"in_progress","output":[]}}`,
			`{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_7","output_index":0,"content_index":0,"delta":` + quote(text) + `}`,
			`{"type":"response.completed","sequence_number":2,"response":` + whole + `}`,
		} {
			_, _ = w.Write([]byte("event: " + strings.Split(event, `"`)[3] + "\ndata: " + event + "\n\n"))
			w.(http.Flusher).Flush()
		}
	}
}

// respond asks one thing, after the answer of that id if there is one.
func respond(t *testing.T, client openai.Client, text, previous string) *responses.Response {
	t.Helper()
	r, err := client.Responses.New(t.Context(), responseParams(text, previous))
	if err != nil {
		t.Fatalf("response: %v", err)
	}
	return r
}

func responseParams(text, previous string) responses.ResponseNewParams {
	p := responses.ResponseNewParams{Model: "scripted", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}}
	if previous != "" {
		p.PreviousResponseID = param.NewOpt(previous)
	}
	return p
}

// respondStreaming is respond with a streamed answer; it returns what was said in pieces
// and the whole that came last.
func respondStreaming(t *testing.T, client openai.Client, text, previous string) (said string, whole responses.Response) {
	t.Helper()
	stream := client.Responses.NewStreaming(t.Context(), responseParams(text, previous))
	defer stream.Close()
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_text.delta":
			said += e.Delta
		case "response.completed":
			whole = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatalf("stream: %v", err)
	}
	return said, whole
}

func TestResponsesAreRemembered(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting())
	client := l.sdk()

	up.at[responsesPath] = saysResponse("resp_1", "I will keep that in mind.")
	first := respond(t, client, "I am allergic to peanuts.", "")
	if first.OutputText() != "I will keep that in mind." || first.JSON.ExtraFields["memory_hits"].Raw() == "" {
		t.Errorf("answered %s", first.RawJSON())
	}
	up.at[responsesPath] = saysResponse("resp_2", "Lisbon is lovely.")
	if said, whole := respondStreaming(t, client, "I live in Lisbon.", first.ID); said != "Lisbon is lovely." || whole.ID != "resp_2" {
		t.Errorf("streamed %q, and %s", said, whole.RawJSON())
	}
	l.settle(t, nil, patience)
	if facts := l.facts(t, nil); count(facts, "", allergyFact) != 1 {
		t.Errorf("learned:%s", contents(facts))
	}
	turns := l.turns(t, nil)
	if len(turns) != 4 {
		t.Errorf("turns:%s", contents(turns))
	}
	for _, turn := range turns {
		if turn.Conversation != turns[0].Conversation {
			t.Errorf("%q was said in another conversation", turn.Content)
		}
	}

	respond(t, client, "What am I allergic to?", "")
	sent := up.requests(responsesPath)
	if last := string(sent[len(sent)-1].Body); !strings.Contains(last, allergyTold) || !strings.Contains(last, `{"role":"user","content":"What am I allergic to?"}`) {
		t.Errorf("the upstream was not told %q:\n%s", allergyFact, last)
	}
}

func TestResponsesAreAnsweredWithoutAModel(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.add(t, allergyFact, nil)
	client := l.sdk()
	first := respond(t, client, "What am I allergic to?", "")
	if !strings.Contains(first.OutputText(), "peanuts") || first.Status != responses.ResponseStatusCompleted {
		t.Errorf("answered %s", first.RawJSON())
	}
	said, whole := respondStreaming(t, client, "And what else am I allergic to?", first.ID)
	if !strings.Contains(said, "peanuts") || whole.OutputText() != said {
		t.Errorf("streamed %q, and %s", said, whole.RawJSON())
	}
	turns := l.turns(t, nil)
	if len(turns) != 4 || turns[0].Conversation != turns[3].Conversation {
		t.Errorf("turns:%s", contents(turns))
	}
}
