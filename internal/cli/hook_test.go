package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
)

// hookRig is a real server and the hooks that speak to it.
type hookRig struct {
	t      *testing.T
	url    string
	client *client.Client
}

func newHookRig(t *testing.T) *hookRig {
	t.Helper()
	config := try(config.Load(config.Sources{Flags: map[string]string{"data": t.TempDir()}})).orFail(t)
	l := try(loci.Open(t.Context(), config, loci.Options{Log: io.Discard})).orFail(t)
	server := httptest.NewServer(l.Handler())
	t.Cleanup(func() {
		server.Close()
		noError(t)(l.Close())
	})
	return &hookRig{t, server.URL, client.New(server.URL, client.Options{})}
}

// runHook gives a hook its input and returns what it prints, which is all that an agent sees:
// the command never fails.
func runHook(t *testing.T, url, input string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := newRootCommand()
	var out, diagnostics bytes.Buffer
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&out)
	cmd.SetErr(&diagnostics)
	cmd.SetArgs(append([]string{"hook", "--addr", url}, args...))
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		t.Errorf("hook failed on %s: %v", input, err)
	}
	return out.String(), diagnostics.String()
}

// quiet runs a hook that prints nothing.
func (r *hookRig) quiet(input string) {
	r.t.Helper()
	if out, diagnostics := runHook(r.t, r.url, input); out != "" || diagnostics != "" {
		r.t.Errorf("%s printed %q and %q, want nothing", input, out, diagnostics)
	}
}

// turns returns a conversation as "role ref project: words", the oldest first.
func (r *hookRig) turns(conversation string) []string {
	r.t.Helper()
	page := try(r.client.List(r.t.Context(), client.ListQuery{Kind: "turn", Status: "all", Conversation: conversation})).orFail(r.t)
	var out []string
	for _, m := range page.Memories {
		out = append([]string{string(m.Role) + " " + m.Ref + " " + m.Project + ": " + m.Content}, out...)
	}
	return out
}

// TestHookRecordsExchanges: the inputs are in the clients' own form.
func TestHookRecordsExchanges(t *testing.T) {
	r := newHookRig(t)
	for _, c := range []struct {
		name, session string
		inputs        []string
		want          []string
	}{
		{"Codex 0.169", "s1", []string{
			`{"session_id":"s1","turn_id":"t1","transcript_path":null,"cwd":"/srv/app","hook_event_name":"UserPromptSubmit","model":"m","permission_mode":"default","prompt":"Call the API Halyard"}`,
			`{"session_id":"s1","turn_id":"t1","transcript_path":null,"cwd":"/srv/app","hook_event_name":"Stop","model":"m","permission_mode":"default","stop_hook_active":false,"last_assistant_message":"Done."}`,
		}, []string{"user t1 /srv/app: Call the API Halyard", "assistant  /srv/app: Done."}},
		{"Claude Code 2.1.197", "s2", []string{
			`{"session_id":"s2","transcript_path":"/root/.claude/projects/-srv-app/s2.jsonl","cwd":"/srv/app","prompt_id":"p1","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"Call the API Halyard"}`,
			`{"session_id":"s2","transcript_path":"/root/.claude/projects/-srv-app/s2.jsonl","cwd":"/srv/app","prompt_id":"p1","permission_mode":"default","effort":{"level":"high"},"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Done.","background_tasks":[],"session_crons":[]}`,
		}, []string{"user p1 /srv/app: Call the API Halyard", "assistant  /srv/app: Done."}},
		{"older ones, without ids and answers", "s3", []string{
			`{"session_id":"s3","transcript_path":"/nowhere.jsonl","cwd":"/srv/app","hook_event_name":"UserPromptSubmit","prompt":"Call the API Halyard"}`,
			`{"session_id":"s3","transcript_path":"/nowhere.jsonl","cwd":"/srv/app","hook_event_name":"Stop","stop_hook_active":false}`,
			`{"session_id":"s3","transcript_path":"/nowhere.jsonl","cwd":"/srv/app","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Done."}`,
		}, []string{"user  /srv/app: Call the API Halyard", "assistant  /srv/app: Done."}},
		{"every event twice, and a Stop after a Stop hook", "s4", []string{
			`{"session_id":"s4","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"Call the API Halyard"}`,
			`{"session_id":"s4","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"Call the API Halyard"}`,
			`{"session_id":"s4","turn_id":"t1","hook_event_name":"Stop","last_assistant_message":"Done."}`,
			`{"session_id":"s4","turn_id":"t1","hook_event_name":"Stop","last_assistant_message":"Done."}`,
			`{"session_id":"s4","turn_id":"t1","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"Tests pass, too."}`,
		}, []string{"user t1 : Call the API Halyard", "assistant  : Done."}},
		{"the same words in two turns are two", "s5", []string{
			`{"session_id":"s5","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"Go on"}`,
			`{"session_id":"s5","turn_id":"t1","hook_event_name":"Stop","last_assistant_message":"Half done."}`,
			`{"session_id":"s5","turn_id":"t2","hook_event_name":"UserPromptSubmit","prompt":"Go on"}`,
		}, []string{"user t1 : Go on", "assistant  : Half done.", "user t2 : Go on"}},
		{"sub-agents", "s6", []string{
			`{"session_id":"s6","turn_id":"t1","agent_id":"a1","agent_type":"explore","hook_event_name":"UserPromptSubmit","prompt":"Find the API's name"}`,
			`{"session_id":"s6","turn_id":"t1","agent_id":"a1","hook_event_name":"Stop","last_assistant_message":"Halyard."}`,
		}, nil},
		{"what the client wrote in the user's name, and its answer", "s7", []string{
			`{"session_id":"s7","prompt_id":"p1","hook_event_name":"UserPromptSubmit","prompt":"<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>\nRead the output file to retrieve the result: /tmp/b1.output"}`,
			`{"session_id":"s7","prompt_id":"p1","hook_event_name":"Stop","last_assistant_message":"The build is green."}`,
			`{"session_id":"s7","prompt_id":"p2","hook_event_name":"UserPromptSubmit","prompt":"<system-reminder>\nUse tabs.\n</system-reminder>\nCall the API Halyard"}`,
		}, []string{"user p2 : Call the API Halyard"}},
		{"off the record, and its answer", "s8", []string{
			`{"session_id":"s8","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"Don't remember this: I dislike our CTO"}`,
			`{"session_id":"s8","turn_id":"t1","hook_event_name":"Stop","last_assistant_message":"You dislike your CTO."}`,
		}, []string{"user t1 : "}},
	} {
		for _, input := range c.inputs {
			if out, diagnostics := runHook(t, r.url, input); out != "" && !strings.Contains(out, `"hookEventName":"UserPromptSubmit"`) || diagnostics != "" {
				t.Errorf("%s: %s printed %q and %q", c.name, input, out, diagnostics)
			}
		}
		if diff := cmp.Diff(c.want, r.turns(c.session)); diff != "" {
			t.Errorf("%s: recorded (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestHookPrintsTheBlock: what is known comes as context of the prompt, in sub-agents too.
func TestHookPrintsTheBlock(t *testing.T) {
	r := newHookRig(t)
	noError(t)(r.client.Add(t.Context(), client.AddMemory{Content: "Our API is called Halyard & Sons <v2>", Project: "/srv/app"}))
	const in = `"cwd":"/srv/app","hook_event_name":"UserPromptSubmit","prompt":"What is our API called?"}`
	for _, input := range []string{`{"session_id":"s1","turn_id":"t1",` + in, `{"session_id":"s1","turn_id":"t1","agent_id":"a1",` + in} {
		out, diagnostics := runHook(t, r.url, input)
		var answer struct {
			Output struct {
				Event   string `json:"hookEventName"`
				Context string `json:"additionalContext"`
			} `json:"hookSpecificOutput"`
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil || diagnostics != "" {
			t.Fatalf("printed %q and %q: %v", out, diagnostics, err)
		}
		if answer.Output.Event != "UserPromptSubmit" || !strings.Contains(answer.Output.Context, "Halyard & Sons") || !strings.Contains(answer.Output.Context, "<loci-memory>") {
			t.Errorf("%s: got %+v, want the block with Halyard", input, answer.Output)
		}
	}
	r.quiet(`{"session_id":"s2","cwd":"/srv/other","hook_event_name":"UserPromptSubmit","prompt":"What is our API called?"}`)
	noError(t)(r.client.Pause(t.Context(), client.Pause{Pause: "memory"}))
	r.quiet(`{"session_id":"s3","turn_id":"t1",` + in)
	if got := r.turns("s3"); len(got) > 0 {
		t.Errorf("while memory is paused %q is recorded", got)
	}
}

// TestHookTakesLongPrompts: of a pasted log the beginning is asked, and all of it recorded.
func TestHookTakesLongPrompts(t *testing.T) {
	r := newHookRig(t)
	prompt := "What is our API called? " + strings.Repeat("é log ", 50_000)
	r.quiet(`{"session_id":"s1","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"` + prompt + `"}`)
	if got := r.turns("s1"); len(got) != 1 || !strings.HasSuffix(got[0], strings.TrimSpace(prompt)) {
		t.Errorf("%d turns are recorded, want the whole prompt", len(got))
	}
}

// TestHookTakesTheProjectFolder: Claude Code's cwd follows the shell's; its project does not.
func TestHookTakesTheProjectFolder(t *testing.T) {
	r := newHookRig(t)
	t.Setenv("CLAUDE_PROJECT_DIR", "/srv/app")
	r.quiet(`{"session_id":"s1","prompt_id":"p1","cwd":"/srv/app/web","hook_event_name":"UserPromptSubmit","prompt":"Use tabs here"}`)
	if diff := cmp.Diff([]string{"user p1 /srv/app: Use tabs here"}, r.turns("s1")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestHookTakesAUser: loci connect --user writes it into the hook's command.
func TestHookTakesAUser(t *testing.T) {
	r := newHookRig(t)
	runHook(t, r.url, `{"session_id":"s1","turn_id":"t1","hook_event_name":"UserPromptSubmit","prompt":"Use tabs here"}`, "--user", "ana")
	if got := r.turns("s1"); len(got) > 0 {
		t.Errorf("the default user's memory has %q", got)
	}
	r.client = client.New(r.url, client.Options{User: "ana"})
	if diff := cmp.Diff([]string{"user t1 : Use tabs here"}, r.turns("s1")); diff != "" {
		t.Errorf("recorded of ana (-want +got):\n%s", diff)
	}
}

// TestHookNeverFails: whatever is wrong, the agent reads nothing and goes on.
func TestHookNeverFails(t *testing.T) {
	r := newHookRig(t)
	hangs := try(net.Listen("tcp", "127.0.0.1:0")).orFail(t) // takes connections and says nothing
	defer hangs.Close()
	silent := "http://" + hangs.Addr().String()
	const prompt = `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"What is our API called?"}`
	for _, c := range []struct {
		name, url, input string
		args             []string
	}{
		{"no input", r.url, "", nil},
		{"no JSON", r.url, "<html>", nil},
		{"no object", r.url, `["UserPromptSubmit"]`, nil},
		{"a field of another type", r.url, `{"session_id":7,"hook_event_name":"Stop"}`, nil},
		{"cut off", r.url, prompt[:40], nil},
		{"an unknown event", r.url, `{"session_id":"s","hook_event_name":"SubagentStop"}`, nil},
		{"no session", r.url, `{"hook_event_name":"UserPromptSubmit","prompt":"hi"}`, nil},
		{"too long", r.url, `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"` + strings.Repeat("a ", maxHookInputBytes/2) + `"}`, nil},
		{"a server that is away", "http://127.0.0.1:1", prompt, nil},
		{"a server that does not answer", silent, prompt, nil},
		{"a wrong setting", r.url, prompt, []string{"--set", "nonsense=1"}},
		{"an unknown flag", r.url, `{}`, []string{"--nonsense"}},
		{"an argument", r.url, `{}`, []string{"nonsense"}},
	} {
		out, diagnostics := runHook(t, c.url, c.input, c.args...)
		if out != "" || strings.Count(diagnostics, "\n") != 1 || !strings.HasPrefix(diagnostics, "loci hook: ") {
			t.Errorf("%s: printed %q and %q, want one line on standard error", c.name, out, diagnostics)
		}
	}
}
