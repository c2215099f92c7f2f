package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	allergy     = "I am allergic to peanuts."
	allergyFact = "User is allergic to peanuts"
	allergyTold = "- is allergic to peanuts" // as a conversation begins with it
	askAllergy  = "What am I allergic to?"
)

func TestAnswerIsTheUpstreamsOwn(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("Hello, Ana 👋 <b>&</b>"))
	l := serve(t, t.TempDir(), up.setting())
	var sent []byte
	c := chat{client: l.sdk(spying(&sent))}
	answer := c.say(t, "Hello!")
	if got := answer.Choices[0].Message.Content; got != "Hello, Ana 👋 <b>&</b>" {
		t.Errorf("the answer is %q", got)
	}
	if answer.ID != "chatcmpl-7" || answer.Usage.TotalTokens != 14 || answer.Choices[0].FinishReason != "stop" {
		t.Errorf("id, usage and finish reason are %q, %d, %q", answer.ID, answer.Usage.TotalTokens, answer.Choices[0].FinishReason)
	}
	if got := string(up.last(t).Body); got != string(sent) {
		t.Errorf("nothing was known, so the request had to stay as it was:\n got %s\nwant %s", got, sent)
	}
	if hits, ok := hitsOf(t, answer); !ok || len(hits) != 0 {
		t.Errorf("memory_hits is %v (there: %v); want an empty list", hits, ok)
	}
}

func TestAnsweredTurnsAreStored(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir(), newUpstream(t).setting())
	c := chat{client: l.sdk()}
	c.say(t, "Hello!")
	c.history = append(c.history, openai.UserMessage("How are you?"))
	if _, err := c.tryStream(t.Context()); err != nil {
		t.Fatalf("stream: %v", err)
	}
	// At once: what the client was told to be over is stored.
	turns := l.turns(t, nil)
	for _, said := range []string{"Hello!", "How are you?"} {
		if count(turns, "user", said) != 1 || count(turns, "assistant", acknowledged(said)) != 1 {
			t.Errorf("%q and its answer have to be there once each; there is:%s", said, contents(turns))
		}
	}
	for _, turn := range turns {
		if turn.Conversation != turns[0].Conversation {
			t.Errorf("one chat became two conversations:%s", contents(turns))
		}
	}
}

func TestStreamArrivesEventByEvent(t *testing.T) {
	t.Parallel()
	words := make(chan string, 1)
	up := newUpstream(t, streams(words, nil))
	l := serve(t, t.TempDir(), up.setting())
	words <- "One, "
	client := l.sdk()
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model: "scripted", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Count.")},
	})
	defer stream.Close()
	// The upstream says the next word only once the client has the last.
	for _, next := range []string{"two, ", "three.", ""} {
		if !stream.Next() {
			t.Fatalf("the stream ended before %q: %v", next, stream.Err())
		}
		if next != "" {
			words <- next
		}
	}
	close(words)
	for stream.Next() {
	}
	if stream.Err() != nil {
		t.Fatalf("stream: %v", stream.Err())
	}
	if turns := l.turns(t, nil); count(turns, "assistant", "One, two, three.") != 1 {
		t.Errorf("the answer has to be stored when the stream is over; there is:%s", contents(turns))
	}
}

func TestStreamsBytesComeBackUnchanged(t *testing.T) {
	t.Parallel()
	odd := ": a comment\r\n\r\n" +
		`data: {"id":"x","choices":[{"index":0,"delta":{"content":"Hi\u0021"},"finish_reason":null}],"odd":1e400}` + "\n\n" +
		"event: ping\ndata:{}\n\n" +
		`data: {"id":"x","choices":[],"usage":{"prompt_tokens":1}}` + "\n\n" +
		"data: [DONE]\n\n: trailing"
	up := newUpstream(t, replies(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, odd))
	l := serve(t, t.TempDir(), up.setting())
	_, got := l.request(t, http.MethodPost, chatPath, []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`), nil)
	if string(got) != odd {
		t.Errorf("the stream came back as\n%q\nwant\n%q", got, odd)
	}
}

func TestSecondConversationIsGivenTheMemoryOfTheFirst(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting())
	first := chat{client: l.sdk()}
	first.say(t, allergy)
	l.settle(t, nil, patience)

	var sent []byte
	second := chat{client: l.sdk(spying(&sent)), history: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."), openai.UserMessage("Hello!"), openai.AssistantMessage("Hello."),
	}}
	answer := second.say(t, askAllergy)
	asked := up.last(t).Body
	if block := blockOf(t, asked); !strings.Contains(block, allergyTold) {
		t.Errorf("the upstream was not told %q:\n%s", allergyFact, asked)
	}
	if got := withoutBlock(t, asked); got != string(sent) {
		t.Errorf("beside the memory the client's bytes had to stay:\n got %s\nwant %s", got, sent)
	}
	hits, _ := hitsOf(t, answer)
	found := slices.ContainsFunc(hits, func(h hit) bool { return h.Score > 0 })
	if !found || !slices.ContainsFunc(hits, func(h hit) bool { return h.Kind == "fact" && h.Content == allergyFact && h.ID != "" && h.Core }) {
		t.Errorf("memory_hits had to name %q: %+v", allergyFact, hits)
	}

	streamed := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(askAllergy)}}
	if _, err := streamed.tryStream(t.Context()); err != nil {
		t.Fatalf("stream: %v", err)
	}
	if asked := up.last(t).Body; !strings.Contains(blockOf(t, asked), allergyTold) {
		t.Errorf("for a streamed answer the upstream was not told %q:\n%s", allergyFact, asked)
	}
}

func TestWhatIsSaidToLociEndsAtLoci(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting())
	l.add(t, allergyFact, nil)
	var sent []byte
	c := chat{client: l.sdk(spying(&sent),
		option.WithJSONSet("memory_id", "kitchen"), option.WithJSONSet("memory_top_k", 0), option.WithHeader("X-Loci-Project", "meals"))}
	answer := c.say(t, askAllergy)
	got := up.last(t)
	if !strings.Contains(string(sent), "memory_id") {
		t.Fatalf("the client did not send what this is about: %s", sent)
	}
	if strings.Contains(string(got.Body), "memory_") || len(messages(t, got.Body)) != 1 {
		t.Errorf("the upstream was sent %s", got.Body)
	}
	for name := range got.Header {
		if strings.HasPrefix(name, "X-Loci-") {
			t.Errorf("the upstream was sent %s: %q", name, got.Header[name])
		}
	}
	if hits, ok := hitsOf(t, answer); ok && len(hits) > 0 {
		t.Errorf("memory_top_k was 0, and memory_hits is %+v", hits)
	}
	if turns := l.turns(t, nil); len(turns) == 0 || turns[0].Conversation != "kitchen" {
		t.Errorf("memory_id had to name the conversation: %+v", turns)
	}
}

func TestRetryAddsNoTurn(t *testing.T) {
	t.Parallel()
	busy := replies(http.StatusServiceUnavailable, http.Header{"Retry-After-Ms": {"1"}}, `{"error":{"message":"busy"}}`)
	up := newUpstream(t, busy, busy)
	l := serve(t, t.TempDir(), up.setting())
	l.add(t, allergyFact, nil)
	c := chat{client: l.sdk(option.WithMaxRetries(3))}
	c.say(t, askAllergy)
	asked := up.requests(chatPath)
	if len(asked) != 3 {
		t.Fatalf("the upstream was asked %d times, want 3", len(asked))
	}
	for _, again := range asked[1:] {
		if string(again.Body) != string(asked[0].Body) {
			t.Errorf("a retry differs:\n got %s\nwant %s", again.Body, asked[0].Body)
		}
	}
	if turns := l.turns(t, nil); len(turns) != 2 {
		t.Errorf("one exchange had to leave two turns; there is:%s", contents(turns))
	}
}

func TestHangUpMidStreamLeavesWhatWasSaid(t *testing.T) {
	t.Parallel()
	words, gone := make(chan string, 2), make(chan struct{})
	up := newUpstream(t, streams(words, gone))
	l := serve(t, t.TempDir(), up.setting())
	words <- "Once upon "
	words <- "a time"
	client := l.sdk()
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model: "scripted", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me a story.")},
	})
	for range 2 {
		if !stream.Next() {
			t.Fatalf("the stream ended: %v", stream.Err())
		}
	}
	if err := stream.Close(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	<-gone // the upstream need not talk on either
	eventually(t, l, "the half answer", patience, func() bool {
		return count(l.turns(t, nil), "assistant", "Once upon a time") == 1
	})
	if turns := l.turns(t, nil); count(turns, "user", "Tell me a story.") != 1 || len(turns) != 2 {
		t.Errorf("the question and half the answer had to be left; there is:%s", contents(turns))
	}
}

func TestBuiltInModelAnswersWithoutAnUpstream(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	first := chat{client: l.sdk()}
	first.say(t, allergy)
	l.settle(t, nil, patience)
	second := chat{client: l.sdk()}
	if got := second.say(t, askAllergy).Choices[0].Message.Content; !strings.Contains(got, "allergic to peanuts") {
		t.Errorf("asked %q it answered %q", askAllergy, got)
	}
	streamed := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(askAllergy)}}
	got, err := streamed.tryStream(t.Context())
	if err != nil || !strings.Contains(got, "allergic to peanuts") {
		t.Errorf("asked %q, streaming, it answered %q, %v", askAllergy, got, err)
	}
}
