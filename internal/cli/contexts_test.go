package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestContextsAreWrittenAttachedAndUndone goes through a memory of its own, without a server.
func TestContextsAreWrittenAttachedAndUndone(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "house rules.md")
	run := wanting(t, data)
	write := func(words string) {
		t.Helper()
		noError(t)(os.WriteFile(file, []byte(words), 0o600))
	}
	run("no contexts yet", "contexts", "list")
	write("# Rules\n\nShoes off.\n")
	var d client.ContextDocument
	noError(t)(json.Unmarshal([]byte(run("Shoes off.", "contexts", "add", file, "--json")), &d))
	if d.Title != "house rules" {
		t.Errorf("the title is %q", d.Title)
	}
	run("house rules", "contexts", "list")
	run("no contexts yet", "contexts", "list", "--user", "ben")
	if out := run("", "contexts", "show", d.ID); out != "# Rules\n\nShoes off.\n" {
		t.Errorf("it says %q", out)
	}
	write("Shoes on.")
	run("house rules", "contexts", "edit", d.ID, file)
	run("The house", "contexts", "edit", d.ID, "--title", "The house")
	run("Shoes on.", "contexts", "show", d.ID)

	run("", "add", "--said", "Good morning.")
	var turns client.Memories
	noError(t)(json.Unmarshal([]byte(run("", "list", "--kind", "turn", "--json")), &turns))
	chat := turns.Memories[0].Conversation
	run(d.ID, "contexts", "attach", chat, d.ID)
	run(`"contexts":["`+d.ID+`"]`, "export", "--kinds", "turns")
	run("none", "contexts", "attach", chat, d.ID, "--off")

	run("to undo this", "contexts", "remove", d.ID)
	run("no contexts yet", "contexts", "list")
	run("", "undo", "--yes")
	run("The house", "contexts", "list")
	run("erased", "contexts", "remove", d.ID, "--erase")
	run("no contexts yet", "contexts", "list")
	for _, wrong := range [][]string{
		{"contexts", "show", d.ID}, {"contexts", "edit", d.ID}, {"contexts", "edit", "absent", file}, {"contexts", "remove", "absent"},
		{"contexts", "add"}, {"contexts", "add", file + ".absent"}, {"contexts", "attach", chat}, {"contexts", "attach", chat, "absent"}, {"contexts", "attach", "absent", d.ID},
	} {
		if out, err := tryAt(t, data, "sqlite", wrong...); err == nil {
			t.Errorf("loci %v: %q, want an error", wrong, out)
		}
	}
}
