package proxy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

const done = "It is done as you asked, and nothing else was touched."

// topics are the questions and facts of a session of ten turns.
var topics = []struct{ ask, fact string }{
	{"Which database do we deploy on?", "The project deploys on PostgreSQL 16"},
	{"How do I like my commits written?", "User likes commits written in the imperative"},
	{"Which linter runs in CI?", "The linter in CI is ruff"},
	{"Rename the handler in the billing service.", "The billing service is owned by the payments team"},
	{"What is our test runner?", "The test runner is Bun, not Jest"},
	{"Fix the flaky login test.", "The login test is flaky because of the clock"},
	{"Where do the logs of the importer go?", "The importer logs to /var/log/importer"},
	{"Which shell do I use in scripts?", "User uses zsh in scripts"},
	{"Which database did we deploy on, once more?", "The staging database is reset every night"},
	{"Add a field to the API.", "The API is called Halyard"},
}

var blockForms = regexp.MustCompile(`\{"role":"system","content":"<loci-memory>(?:[^"\\]|\\.)*"\},|,?\{"type":"(?:input_)?text","text":"<loci-memory>(?:[^"\\]|\\.)*"\},?`)

// TestPrefixOfRecordedSessions changes memory between requests. A request that continues the one before must begin
// with the same bytes, and without its blocks be the client's.
func TestPrefixOfRecordedSessions(t *testing.T) {
	for agent, runs := range map[string][]string{
		"codex": {"run2", "resume"}, "opencode": {"run2", "resume"}, "aider": {"session"}, "qwen": {"run2", "resume"}, "pi": {"run2", "resume"}, "cn": {"run3", "resume"}, "cline": {"run1"},
	} {
		t.Run(agent, func(t *testing.T) {
			r := newRig(t, func(s *setup) { s.keep = true })
			client, upstream, allowed, shared, blocks := "", "", 0, 0, 0
			r.onReplay = func(body string) {
				sent := listIn(t, r.upstream.one(t).body)
				if bare := blockForms.ReplaceAllStringFunc(sent, func(b string) string {
					blocks++
					if strings.HasPrefix(b, ",") && strings.HasSuffix(b, ",") {
						return ","
					}
					return ""
				}); bare != listIn(t, body) {
					t.Errorf("without its blocks the request is\n%s\nnot\n%s", bare, listIn(t, body))
				}
				same := common(upstream, sent)
				front := sent[:same]
				for _, at := range blockForms.FindAllStringIndex(sent, -1) {
					if at[1] > same {
						front = front[:min(len(front), at[0])]
					}
				}
				most := common(client, listIn(t, body))
				allowed, shared = allowed+most, shared+min(most, len(blockForms.ReplaceAllString(front, "")))
				client, upstream = listIn(t, body), sent
				r.know(topics[blocks%len(topics)].fact)
			}
			r.know("User always uses tabs, never spaces")
			for _, run := range runs {
				r.replay(t, agent, run)
			}
			if allowed == 0 || blocks < 2 || shared*100 < allowed*99 {
				t.Errorf("%d of %d bytes are shared in %d blocks, want 99 %%", shared, allowed, blocks)
			}
		})
	}
}

// listIn returns the raw messages of a body without cache markers, which are not part of the cached prefix.
func listIn(t *testing.T, body string) string {
	t.Helper()
	var b struct{ Messages, Input json.RawMessage }
	noError(t)(json.Unmarshal([]byte(body), &b))
	return strings.TrimSuffix(strings.ReplaceAll(string(b.Messages)+string(b.Input), cacheMark, ""), "]")
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
