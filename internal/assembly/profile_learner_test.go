package assembly

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProfileAssistantChoosesAmongProviders follows design 1's models.yaml: several servers, each
// with its key. The model that is named learns, else the smallest of all.
func TestProfileAssistantChoosesAmongProviders(t *testing.T) {
	for _, c := range []struct {
		name, model, prefer string
		lists               map[string][]string // by provider
		asked, as           string              // which provider, for which model
	}{
		{"the model that is named", "google/gemini-3-flash-preview", "", map[string][]string{"google": {"gemini-3-flash-preview"}, "openai": {"gpt-5-nano"}}, "google", "gemini-3-flash-preview"},
		{"the first that somebody lists", "auto", "gemini-3-flash-preview,gpt-5-nano", map[string][]string{"google": {"gemini-3-pro"}, "openai": {"gpt-5", "gpt-5-nano"}}, "openai", "gpt-5-nano"},
		{"the smallest of all", "auto", "gpt-4o-mini,smallest", map[string][]string{"google": {"gemini-3-flash"}, "openai": {"gpt-5", "gpt-5-nano"}}, "openai", "gpt-5-nano"},
		{"one with the provider's own prefix", "openai/gpt-5", "", map[string][]string{"google": {"gpt-5"}, "openai": {"gpt-5"}}, "openai", "gpt-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			servers := map[string]*scripted{"google": {only: true}, "openai": {only: true}}
			flags := map[string]string{"learn.model": c.model, "learn.prefer": c.prefer}
			for _, name := range []string{"google", "openai"} {
				server := httptest.NewServer(servers[name])
				t.Cleanup(server.Close)
				servers[name].models = c.lists[name]
				flags["learn.providers"] += "," + name + "=" + strings.Replace(server.URL, "http://", "http://key-"+name[:1]+"@", 1) + "/v1"
			}
			flags["learn.providers"] = flags["learn.providers"][1:]
			s := newStage(t, "assistant", flags)
			servers[c.asked].on("memory_extraction", "User likes figs")
			s.talk().says("I like figs.")
			s.wantFacts("", []string{"User likes figs"})
			asked := servers[c.asked].taken("memory_extraction")
			if len(asked) != 1 {
				t.Fatalf("%s was asked %d times", c.asked, len(asked))
			}
			s.has("the request", asked[0].body, `"model":"`+c.as+`"`)
			if key := asked[0].header.Get("Authorization"); key != "Bearer key-"+c.asked[:1] {
				t.Errorf("%s was sent the key %q", c.asked, key)
			}
			if n := len(s.model.taken("")); n != 0 {
				t.Errorf("the upstream was asked %d times to learn", n)
			}
			s.has("/health", s.ok(nil, "GET", "/health", ""), `"learns":"`+c.as+`"`)
		})
	}
}
