package e2e

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func TestModelsAreTheUpstreamsAndTheBuiltIn(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.at["/v1/models"] = replies(http.StatusOK, nil, `{"object":"list","data":[{"id":"scripted-large","object":"model","created":1,"owned_by":"us"},{"id":"scripted-small","object":"model","created":1,"owned_by":"us"}]}`)
	l := serve(t, t.TempDir(), up.setting())
	client := l.sdk()
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatalf("list models: %v", err)
	}
	var got []string
	for _, m := range page.Data {
		got = append(got, m.ID)
	}
	for _, want := range []string{"scripted-large", "scripted-small", "loci/recall"} {
		if !slices.Contains(got, want) {
			t.Errorf("the models are %q; %s is missing", got, want)
		}
	}
}

func TestEmbeddingsPassAsTheyAre(t *testing.T) {
	t.Parallel()
	const reply = `{ "object":"list", "data":[{"object":"embedding","index":0,"embedding":[0.25,-1e-3]}], "model":"embedder", "usage":{"prompt_tokens":2,"total_tokens":2} }`
	up := newUpstream(t)
	up.at["/v1/embeddings"] = replies(http.StatusOK, nil, reply)
	l := serve(t, t.TempDir(), up.setting())
	var sent []byte
	client := l.sdk(spying(&sent))
	answer, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "embedder", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("peanuts")},
	})
	if err != nil {
		t.Fatalf("embeddings: %v", err)
	}
	if answer.RawJSON() != reply {
		t.Errorf("the answer is\n%s\nwant\n%s", answer.RawJSON(), reply)
	}
	if got := up.requests("/v1/embeddings"); len(got) != 1 || string(got[0].Body) != string(sent) {
		t.Errorf("the upstream got %s, want once %s", got, sent)
	}
	if turns := l.turns(t, nil); len(turns) > 0 {
		t.Errorf("an embedding left turns:%s", contents(turns))
	}
}

func TestUpstreamsRefusalComesThroughUnchanged(t *testing.T) {
	t.Parallel()
	const refusal = "{\"error\" : {\"message\":\"Slow down \\u2014 please.\",\"type\":\"requests\",\"param\":null,\"code\":\"rate_limit_exceeded\"} }\n"
	limits := http.Header{"Retry-After": {"7"}, "X-Ratelimit-Remaining-Requests": {"0"}, "X-Request-Id": {"req_42"}}
	busy := replies(http.StatusTooManyRequests, limits, refusal)
	up := newUpstream(t, busy, busy, busy)
	l := serve(t, t.TempDir(), up.setting())
	l.add(t, allergyFact, nil)

	c := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(askAllergy)}}
	for name, try := range map[string]func() error{
		"whole":  func() error { _, err := c.try(t.Context()); return err },
		"stream": func() error { _, err := c.tryStream(t.Context()); return err },
	} {
		var refused *openai.Error
		if err := try(); !errors.As(err, &refused) {
			t.Fatalf("%s: the SDK saw %v, not the upstream's refusal", name, err)
		}
		if refused.StatusCode != http.StatusTooManyRequests || refused.Code != "rate_limit_exceeded" || refused.Message != "Slow down — please." {
			t.Errorf("%s: the SDK saw status %d, code %q, message %q", name, refused.StatusCode, refused.Code, refused.Message)
		}
		for header, want := range limits {
			if got := refused.Response.Header[header]; !slices.Equal(got, want) {
				t.Errorf("%s: header %s is %q, want %q", name, header, got, want)
			}
		}
	}
	status, body := l.request(t, http.MethodPost, chatPath, []byte(`{"model":"m","messages":[{"role":"user","content":"What am I allergic to?"}]}`), nil)
	if status != http.StatusTooManyRequests || string(body) != refusal {
		t.Errorf("the refusal came back as %d\n%q\nwant 429\n%q", status, body, refusal)
	}
	if n := len(up.requests(chatPath)); n != 3 {
		t.Errorf("a rate limit must not be answered by asking again: 3 requests became %d", n)
	}
}

func TestRefusedMemoryIsTakenBack(t *testing.T) {
	t.Parallel()
	strict := replies(http.StatusBadRequest, nil, `{"error":{"message":"System message must be at the beginning."}}`)
	up := newUpstream(t, strict, says("Hello."))
	l := serve(t, t.TempDir(), up.setting())
	l.add(t, allergyFact, nil)
	var sent []byte
	c := chat{client: l.sdk(spying(&sent))}
	if got := c.say(t, askAllergy).Choices[0].Message.Content; got != "Hello." {
		t.Errorf("the answer is %q", got)
	}
	asked := up.requests(chatPath)
	if len(asked) != 2 || blockOf(t, asked[0].Body) == "" || string(asked[1].Body) != string(sent) {
		t.Fatalf("the upstream had to be asked with memory and then with the client's own bytes; it was sent %s", asked)
	}
	// Such a model gets the memory inside the user message from then on.
	next := chat{client: l.sdk()}
	next.say(t, askAllergy)
	got := messages(t, up.last(t).Body)
	if len(got) != 1 || !strings.Contains(got[0].Content, allergyTold) || !strings.HasSuffix(got[0].Content, askAllergy) {
		t.Errorf("the strict model was then sent %s", up.last(t).Body)
	}
}

func TestUpstreamThatIsDownIsSaid(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting())
	up.Close()
	c := chat{client: l.sdk(option.WithMaxRetries(0)), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello!")}}
	_, err := c.try(t.Context())
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadGateway || !strings.Contains(refused.Message, "upstream") || strings.Contains(refused.Message, up.Listener.Addr().String()) {
		t.Errorf("the SDK saw %v, %q; want a 502 that speaks of the upstream without its address", err, refused)
	}
	if status, _ := l.request(t, http.MethodGet, "/health", nil, nil); status != http.StatusOK {
		t.Errorf("afterwards /health answers %d", status)
	}
}
