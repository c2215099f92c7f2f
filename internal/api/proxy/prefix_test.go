package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// session writes the requests of a long session in the form of an agent's recorded ones.
type session struct {
	path    string
	headers []string
	list    string            // the field that holds the messages
	opening []json.RawMessage // the messages before the first of the user's
	user    string            // a message of the user's, with %s for the words in JSON, quotation marks left out
	rest    string            // what follows the words of the last message alone; aider's
	call    string            // a tool call, with %d for its number
	result  string            // what it returned
	answer  string            // an answer with words, as the agent sends it back
	calls   func(n int) string
	says    func(n int) string
	words   string // what the recorded user said
	system  string // a field besides the list
	marks   bool   // the last two messages of the user have a cache breakpoint
}

const said = "It is done as you asked, and nothing else was touched."

// sessionOf takes the forms from a run: request i is its first, the next one, if any, has a tool
// call and a result.
func sessionOf(t *testing.T, agent, run string, i int) session {
	t.Helper()
	recorded := readAgentRun(t, agent, run)
	list := func(i int) []json.RawMessage {
		var body struct{ Messages, Input []json.RawMessage }
		if err := json.Unmarshal(recorded.Requests[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		return append(body.Messages, body.Input...)
	}
	first := list(i)
	s := session{path: recorded.Requests[i].Path, list: "messages", opening: first[:len(first)-1], user: string(first[len(first)-1])}
	for _, h := range recorded.Requests[i].Headers {
		s.headers = append(s.headers, h[0], h[1])
	}
	s.answer = `{"role":"assistant","content":"` + said + `"}`
	s.says = func(int) string {
		return `{"choices":[{"index":0,"message":{"role":"assistant","content":"` + said + `"},"finish_reason":"stop"}]}`
	}
	s.calls = func(n int) string { return `{"choices":[{"index":0,"message":` + fmt.Sprintf(s.call, n) + `}]}` }
	if agent == "codex" {
		s.list = "input"
		s.answer = `{"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + said + `","annotations":[]}]}`
		s.says = func(n int) string {
			return fmt.Sprintf(`{"id":"resp_%d","object":"response","status":"completed","output":[%s]}`, n, s.answer)
		}
		s.calls = func(n int) string {
			return fmt.Sprintf(`{"id":"resp_%d","object":"response","status":"completed","output":[%s]}`, n, fmt.Sprintf(s.call, n))
		}
	}
	s.words = tabs
	if agent == "aider" {
		s.words = "I use fish, never bash."
		var m struct{ Content string }
		if err := json.Unmarshal([]byte(s.user), &m); err != nil {
			t.Fatal(err)
		}
		rest, _ := json.Marshal(strings.TrimPrefix(m.Content, s.words))
		s.rest = string(rest[1 : len(rest)-1])
		s.user = `{"role":"user","content":"%s"}`
	} else {
		second := list(i + 1)
		ids := regexp.MustCompile(`(call|fc)_\d+`)
		s.call = ids.ReplaceAllString(strings.ReplaceAll(string(second[len(second)-2]), "%", "%%"), "${1}_%[1]d")
		s.result = ids.ReplaceAllString(strings.ReplaceAll(string(second[len(second)-1]), "%", "%%"), "${1}_%[1]d")
		s.user = strings.Replace(strings.ReplaceAll(s.user, "%", "%%"), s.words, "%s", 1)
	}
	if !strings.Contains(s.user, "%s") {
		t.Fatalf("%s: the user's words are not in %s", agent, s.user)
	}
	return s
}

// cachedSession is one of the Messages API by a client that marks what is to be cached.
func cachedSession() session {
	return session{
		path: "/v1/messages", list: "messages", marks: true,
		system: `"system":[{"type":"text","text":"You are a coding agent.","cache_control":{"type":"ephemeral"}}],`,
		user:   `{"role":"user","content":[{"type":"text","text":"%s"}]}`,
		call:   `{"role":"assistant","content":[{"type":"tool_use","id":"call_%[1]d","name":"bash","input":{"command":"ls"}}]}`,
		result: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%[1]d","content":"main.py"}]}`,
		answer: `{"role":"assistant","content":[{"type":"text","text":"` + said + `"}]}`,
		calls: func(n int) string {
			return fmt.Sprintf(`{"id":"msg_%[1]d","type":"message","role":"assistant","content":[{"type":"tool_use","id":"call_%[1]d","name":"bash","input":{"command":"ls"}}],"stop_reason":"tool_use"}`, n)
		},
		says: func(n int) string {
			return fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn"}`, n, said)
		},
	}
}

func (s session) body(messages []string) string {
	if s.marks {
		for n, i := 0, len(messages)-1; i >= 0 && n < 2; i-- {
			if front, ok := strings.CutSuffix(messages[i], "}]}"); ok && strings.HasPrefix(messages[i], `{"role":"user"`) {
				messages[i], n = front+cacheMark+"}]}", n+1
			}
		}
	}
	return fmt.Sprintf(`{"model":"m",%s"%s":[%s]}`, s.system, s.list, strings.Join(messages, ","))
}

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// topics are what is known and asked in a session of ten turns.
var topics = []struct{ ask, known string }{
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

// measured is what a session came to. All figures count the list of messages alone.
type measured struct {
	allowed  int // bytes that the client's own requests share with the one before
	shared   int // the same of what went upstream, blocks not counted
	uncached int // tokens of blocks behind what a request shares with the one before
	sent     int // tokens of blocks in all requests
	price    int // of all messages in tokens, where what a request shares with the one before costs a tenth
}

var blockForms = regexp.MustCompile(`\{"role":"system","content":"<loci-memory>(?:[^"\\]|\\.)*"\},|,?\{"type":"(?:input_)?text","text":"<loci-memory>(?:[^"\\]|\\.)*"\},?`)

// run holds the session through a proxy: ten turns, with two tool calls each where the agent
// has them.
func (s session) run(t *testing.T, keep bool) measured {
	r := newRig(t, func(s *setup) { s.keep = keep })
	note := func(words string, pinned bool) {
		t.Helper()
		if _, _, err := r.engine.Curate.Remember(context.Background(), nobody, curate.Note{Content: words, Core: memory.Pin(pinned)}, memory.Author{Kind: memory.ByPerson}); err != nil {
			t.Fatal(err)
		}
	}
	note("User always uses tabs, never spaces", true)
	for _, topic := range topics {
		note(topic.known, false)
	}
	var history, sent, got []string
	for _, m := range s.opening {
		history = append(history, string(m))
	}
	ask := func(messages []string, answer string) {
		t.Helper()
		body := s.body(append([]string(nil), messages...))
		r.upstream.answers(sends(http.StatusOK, answer, "Content-Type", "application/json"))
		if resp := r.send(http.MethodPost, s.path, body, s.headers...); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, r.read(resp))
		} else {
			r.read(resp)
		}
		sent, got = append(sent, listIn(t, body)), append(got, listIn(t, r.upstream.one(t).body))
	}
	for n, topic := range topics {
		user := fmt.Sprintf(s.user, topic.ask)
		last := history
		if s.rest != "" {
			last = append(last[:len(last):len(last)], fmt.Sprintf(s.user, topic.ask+s.rest))
		} else {
			last = append(last[:len(last):len(last)], user)
		}
		history = append(history, user)
		if s.call != "" {
			for step := range 2 {
				id := 1000 + 10*n + step
				ask(last, s.calls(id))
				history = append(history, fmt.Sprintf(s.call, id), fmt.Sprintf(s.result, id))
				last = history
			}
		}
		ask(last, s.says(2000+n))
		history = append(history, s.answer)
	}
	var m measured
	for i := range sent {
		for _, b := range blockForms.FindAllString(got[i], -1) {
			m.sent += text.Tokens(b)
		}
		if i == 0 {
			m.uncached += m.sent
			m.price += text.Tokens(got[i])
			continue
		}
		m.allowed += common(sent[i-1], sent[i])
		n := common(got[i-1], got[i])
		front := got[i][:n]
		m.price += text.Tokens(got[i][n:]) + text.Tokens(front)/10
		for _, at := range blockForms.FindAllStringIndex(got[i], -1) {
			if at[1] > n {
				m.uncached += text.Tokens(got[i][at[0]:at[1]])
				front = front[:min(len(front), at[0])]
			}
		}
		m.shared += min(len(blockForms.ReplaceAllString(front, "")), common(sent[i-1], sent[i]))
		if bare := blockForms.ReplaceAllStringFunc(got[i], func(b string) string {
			if strings.HasPrefix(b, ",") && strings.HasSuffix(b, ",") {
				return ","
			}
			return ""
		}); bare != sent[i] {
			t.Errorf("request %d without its blocks is\n%s\nnot\n%s", i, bare, sent[i])
		}
	}
	return m
}

// listIn returns the messages of a body as they are written, without marks for the cache: those
// say what to cache and are no part of it.
func listIn(t *testing.T, body string) string {
	t.Helper()
	var b struct{ Messages, Input json.RawMessage }
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.ReplaceAll(string(b.Messages)+string(b.Input), cacheMark, ""), "]")
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestSharedPrefixOfSessions: of a session's requests each begins with what the provider has of
// the one before, as far as the agent lets it, and has no more tokens of blocks behind that than
// with the last block alone. Kept blocks are more tokens in all, and cost less where cached
// tokens do.
func TestSharedPrefixOfSessions(t *testing.T) {
	sessions := map[string]session{
		"codex": sessionOf(t, "codex", "run1", 0), "opencode": sessionOf(t, "opencode", "run1", 1), "aider": sessionOf(t, "aider", "session", 0),
		"qwen": sessionOf(t, "qwen", "run1", 0), "pi": sessionOf(t, "pi", "run1", 0), "cn": sessionOf(t, "cn", "run1", 0), "cline": sessionOf(t, "cline", "run1", 0),
		"messages": cachedSession(),
	}
	for name, s := range sessions {
		t.Run(name, func(t *testing.T) {
			before, after := s.run(t, false), s.run(t, true)
			t.Logf("allowed %d; shared %d -> %d (%.1f %% -> %.1f %%); block tokens uncached %d -> %d, sent %d -> %d; price %d -> %d", after.allowed,
				before.shared, after.shared, 100*float64(before.shared)/float64(before.allowed), 100*float64(after.shared)/float64(after.allowed),
				before.uncached, after.uncached, before.sent, after.sent, before.price, after.price)
			if after.allowed != before.allowed || after.shared*100 < after.allowed*99 {
				t.Errorf("%d of %d bytes are shared, want 99 %%", after.shared, after.allowed)
			}
			if after.uncached == 0 || after.uncached > before.uncached {
				t.Errorf("the provider reads %d tokens of blocks anew, want at most the %d that it did", after.uncached, before.uncached)
			}
			if after.price > before.price {
				t.Errorf("the session costs %d tokens, want at most the %d of the last block alone", after.price, before.price)
			}
		})
	}
}
