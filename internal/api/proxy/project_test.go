package proxy

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// projects returns the projects of the user's stored turns.
func (r *rig) projects() []string {
	r.t.Helper()
	turns := try(r.store.Turns(context.Background(), nobody, memory.TurnQuery{})).orFail(r.t)
	var out []string
	for _, turn := range turns {
		if turn.Role == memory.RoleUser {
			out = append(out, turn.Project)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestProjectOfARecordedAgent expects the agent's working directory as the project. Recordings of other agents
// lack that part of the system message.
func TestProjectOfARecordedAgent(t *testing.T) {
	for _, agent := range []string{"codex", "qwen", "pi"} {
		r := newRig(t)
		r.door.ProjectFromFolder = true
		r.replay(t, agent, "run1")
		r.replay(t, agent, "run3")
		if got, want := r.projects(), []string{"/home/user/code/tern", "/home/user/code/wren"}; !slices.Equal(got, want) {
			t.Errorf("%s: projects %q, want %q", agent, got, want)
		}
	}
}

func TestProjectOfARequest(t *testing.T) {
	const system = `{"role":"system","content":"<env>\nWorking directory: /src/tern\n</env>"}`
	const user = `{"role":"user","content":"hello"}`
	const plain = `{"messages":[` + system + `,` + user + `]}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		off     bool
		want    string
	}{
		"folder":              {body: plain, want: "/src/tern"},
		"folder, off":         {body: plain, off: true},
		"header":              {body: plain, headers: []string{"X-Loci-Project", "wren"}, want: "wren"},
		"field":               {body: `{"memory_project":"wren","messages":[` + system + `,` + user + `]}`, want: "wren"},
		"configured header":   {body: plain, headers: []string{"X-Workspace", "wren"}, want: "wren"},
		"Loci's own first":    {body: plain, headers: []string{"X-Workspace", "wren", "X-Loci-Project", "teal"}, want: "teal"},
		"written by a person": {body: `{"messages":[{"role":"user","content":"Working directory: /src/tern"}]}`},
		"wrapped":             {body: `{"messages":[{"role":"user","content":"<environment_context>\n<cwd>/src/tern</cwd>\n</environment_context>\nhello"}]}`, want: "/src/tern"},
		"moved":               {body: `{"messages":[{"role":"user","content":"<environment_context>\n<cwd>/src/a</cwd>\n</environment_context>"},{"role":"user","content":"<environment_context>\n<cwd>/src/b</cwd>\n</environment_context>"},` + user + `]}`, want: "/src/b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.door.ProjectFromFolder, r.door.ProjectHeaders = !c.off, []string{"X-Workspace"}
			r.upstream.answers(says("Hi."))
			r.chat(c.body, c.headers...)
			if got := r.projects(); !slices.Equal(got, []string{c.want}) {
				t.Errorf("project %q, want %q", got, c.want)
			}
		})
	}
}
