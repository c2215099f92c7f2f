package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// agentRun is a recorded run of a coding agent; see testdata/agents/README.md.
type agentRun struct {
	Client, Run string
	Requests    []struct {
		Method, Path string
		Headers      [][2]string
		Body         json.RawMessage
		Status       int
		Answer       string
	}
}

func readAgentRun(t *testing.T, agent, run string) agentRun {
	t.Helper()
	data := try(os.ReadFile(filepath.Join("testdata", "agents", agent, run+".json"))).orFail(t)
	var recorded agentRun
	noError(t)(json.Unmarshal(data, &recorded))
	if len(recorded.Requests) == 0 {
		t.Fatalf("%s/%s has no requests", agent, run)
	}
	return recorded
}

// replay sends the requests of a run. The upstream gives the recorded answers.
func (r *rig) replay(t *testing.T, agent, run string) {
	t.Helper()
	for i, q := range readAgentRun(t, agent, run).Requests {
		kind := "application/json"
		if !strings.HasPrefix(q.Answer, "{") {
			kind = "text/event-stream"
		}
		r.upstream.answers(sends(q.Status, q.Answer, "Content-Type", kind))
		var headers []string
		for _, h := range q.Headers {
			headers = append(headers, h[0], h[1])
		}
		resp := r.send(q.Method, q.Path, string(q.Body), headers...)
		if got := r.read(resp); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s/%s, request %d: %d %s", agent, run, i, resp.StatusCode, got)
		}
		if r.onReplay != nil {
			r.onReplay(string(q.Body))
		}
	}
}

// userTurns returns the user's turns of each conversation, sorted, without turns that a client sent as history
// and without empty turns of messages off the record. A user turn off its conversation's path is an error.
func (r *rig) userTurns() [][]string {
	r.t.Helper()
	turns := try(r.store.Turns(context.Background(), nobody, memory.TurnQuery{Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})).orFail(r.t)
	of := map[string][]string{}
	for _, turn := range turns {
		if turn.Role != memory.RoleUser || turn.History || turn.Status == memory.Retired && turn.Content == "" {
			continue
		}
		if turn.Status != memory.Active {
			r.t.Errorf("the user's turn is %s: %q", turn.Status, turn.Content)
		}
		of[turn.Conversation] = append(of[turn.Conversation], turn.Content)
	}
	var out [][]string
	for _, turn := range of {
		out = append(out, turn)
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

const (
	tabs  = "I always use tabs, never spaces, and our API is called Halyard. Please list the files here."
	name  = "Which name does our API have?"
	zsh   = "And now I use zsh."
	porto = "I moved to Porto last week. Ask a subagent to find the API's name."
	fly   = "My deploys go to Fly.io. Please list the files here."

	aiderTabs  = "I always use tabs, never spaces, and our API is called Halyard. What does main.py do?"
	aiderPorto = "I moved to Porto last week. What does main.py do?"
)

// TestRecordedAgents replays runs of coding agents. Only the user's messages may be stored, no project files and
// no requests by the agent itself.
func TestRecordedAgents(t *testing.T) {
	for _, c := range []struct {
		agent string
		runs  []string
		want  [][]string // the user's turns of each conversation
	}{
		{"codex", []string{"run1", "run2", "resume", "run3"}, [][]string{{tabs}, {name, zsh}, {porto}}},
		{"codex", []string{"compact", "resume-compacted"}, [][]string{{fly, "What did I say about deploys?"}}},
		{"opencode", []string{"run1", "run2", "resume", "run3"}, [][]string{{tabs}, {name, zsh}, {porto}}},
		{"opencode", []string{"compact"}, [][]string{{fly}}},
		{"aider", []string{"run1", "run2", "run3"}, [][]string{{aiderTabs}, {name}, {aiderPorto}}},
		{"aider", []string{"session"}, [][]string{{"I use fish, never bash.", "Which shell do I use?"}}},
		{"aider", []string{"commit"}, nil},
		{"aider", []string{"summary"}, [][]string{{"What did I say about tabs?"}}},
		{"qwen", []string{"run1", "run2", "resume", "run3"}, [][]string{{tabs}, {name, zsh}, {porto}}},
		{"qwen", []string{"sub"}, [][]string{{"I have a cat. Ask a subagent to find the API's name."}}},
		{"qwen", []string{"run2", "resume", "compact"}, [][]string{{name, zsh, "My deploys go to Fly.io. What did I say about zsh?"}}},
		{"pi", []string{"run1", "run2", "resume", "run3"}, [][]string{{tabs}, {name, zsh}, {porto}}},
		{"cn", []string{"run1", "run2", "run3", "resume"}, [][]string{{tabs}, {name}, {porto, zsh}}},
		{"cline", []string{"run1", "run2", "run3"}, [][]string{{tabs}, {name}, {porto}}},
	} {
		t.Run(c.agent+"/"+strings.Join(c.runs, "+"), func(t *testing.T) {
			r := newRig(t)
			for _, run := range c.runs {
				r.replay(t, c.agent, run)
			}
			slices.SortFunc(c.want, slices.Compare)
			if got := r.userTurns(); !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("stored of the user:\ngot  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestCacheKeyNamesNoConversation covers sub-agents, which share their parent's prompt_cache_key.
func TestCacheKeyNamesNoConversation(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(says("All right."))
	for _, words := range []string{"I live in Rome.", "I collect stamps."} {
		r.chat(`{"model":"m","prompt_cache_key":"shop","messages":[{"role":"user","content":"` + words + `"}]}`)
	}
	r.engine.Close()
	if got := r.conversations(); got != 2 {
		t.Errorf("two chats with one cache key are %d conversations, want 2", got)
	}
}
