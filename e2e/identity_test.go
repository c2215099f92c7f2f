package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const lociKey = "loci-key-that-stays-at-home"

func TestLocisKeyNeverReachesTheUpstream(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting(), "LOCI_API_KEY="+lociKey)
	for name, test := range map[string]struct {
		opts []option.RequestOption
		want string // the Authorization that the upstream sees
	}{
		"beside the client's own": {[]option.RequestOption{option.WithHeader("X-Loci-Key", lociKey)}, "Bearer " + clientKey},
		"as the bearer":           {[]option.RequestOption{option.WithAPIKey(lociKey)}, ""},
	} {
		c := chat{client: l.sdk(test.opts...)}
		c.say(t, "Hello!")
		if got := up.last(t).Header.Get("Authorization"); got != test.want {
			t.Errorf("%s: the upstream was sent Authorization %q, want %q", name, got, test.want)
		}
	}
	stranger := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello!")}}
	var refused *openai.Error
	if _, err := stranger.try(t.Context()); !errors.As(err, &refused) || refused.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the key the SDK saw %v, want a 401", err)
	}
	if n := len(up.requests(chatPath)); n != 2 {
		t.Errorf("a stranger's request reached the upstream: it got %d, want 2", n)
	}
	keepsKey(t, l, up, lociKey)
}

func TestUpstreamsKeyTakesThePlaceOfTheClients(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting(), "LOCI_UPSTREAM_KEY=sk-of-the-house")
	c := chat{client: l.sdk()}
	c.say(t, "Hello!")
	if got := up.last(t).Header.Get("Authorization"); got != "Bearer sk-of-the-house" {
		t.Errorf("the upstream was sent Authorization %q", got)
	}
	keepsKey(t, l, up, clientKey)
	if _, health := l.request(t, http.MethodGet, "/health", nil, nil); strings.Contains(string(health), "sk-of-the-house") {
		t.Errorf("/health tells the upstream's key: %s", health)
	}
}

// keepsKey checks that a key is in nothing that left the server.
func keepsKey(t *testing.T, l *loci, up *upstream, key string) {
	t.Helper()
	for _, r := range up.requests(chatPath) {
		if strings.Contains(string(r.Body), key) {
			t.Errorf("the key is in a body for the upstream: %s", r.Body)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), key) {
				t.Errorf("the key is in a header for the upstream: %s: %q", name, values)
			}
		}
	}
	if strings.Contains(l.log.String(), key) {
		t.Errorf("the key is in the log:\n%s", l.log)
	}
}

func TestUsersNeverSeeEachOthersMemory(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting())
	first := chat{client: l.sdk(as("ana"))}
	first.say(t, allergy)
	l.settle(t, user("ana"), patience)

	var sent []byte
	other := chat{client: l.sdk(as("ben"), spying(&sent))}
	answer := other.say(t, askAllergy)
	if got := string(up.last(t).Body); got != string(sent) {
		t.Errorf("ben was given memory that cannot be his:\n got %s\nwant %s", got, sent)
	}
	if hits, _ := hitsOf(t, answer); len(hits) > 0 {
		t.Errorf("ben's memory_hits is %+v", hits)
	}
	for _, name := range []string{"ben", "default"} {
		if facts := l.facts(t, user(name)); len(facts) > 0 {
			t.Errorf("%s's facts are:%s", name, contents(facts))
		}
	}
	ana := l.facts(t, user("ana"))
	if len(ana) == 0 {
		t.Fatal("ana's facts are gone")
	}
	if status, body := l.request(t, http.MethodGet, "/api/memory/"+ana[0].ID, nil, user("ben")); status != http.StatusNotFound {
		t.Errorf("by its id ben gets ana's fact: %d %s", status, body)
	}
	again := chat{client: l.sdk(as("ana"))}
	again.say(t, askAllergy)
	if asked := up.last(t).Body; !strings.Contains(blockOf(t, asked), allergyTold) {
		t.Errorf("ana was not given her own memory:\n%s", asked)
	}
}

func TestManyUsersWithoutANameMeansNoMemory(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	l := serve(t, t.TempDir(), up.setting(), "LOCI_USERS=multi")
	l.add(t, allergyFact, user("default"))
	var sent []byte
	c := chat{client: l.sdk(spying(&sent))}
	answer := c.say(t, askAllergy)
	if got := string(up.last(t).Body); got != string(sent) {
		t.Errorf("nobody in particular was given memory:\n got %s\nwant %s", got, sent)
	}
	if hits, ok := hitsOf(t, answer); ok {
		t.Errorf("the answer has memory_hits: %+v", hits)
	}
	if turns := l.turns(t, user("default")); len(turns) > 0 {
		t.Errorf("it was recorded:%s", contents(turns))
	}
	if status, body := l.request(t, http.MethodGet, "/api/memory", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a list for nobody in particular: %d %s", status, body)
	}

	// The body's user names one as well.
	named, err := c.client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "scripted", User: openai.String("default"), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(askAllergy)},
	})
	if err != nil {
		t.Fatalf("chat: %v", err)
	}
	if hits, _ := hitsOf(t, named); len(hits) == 0 || !strings.Contains(blockOf(t, up.last(t).Body), allergyTold) {
		t.Errorf("the user that the body names was not given memory: %+v\n%s", hits, up.last(t).Body)
	}
}
