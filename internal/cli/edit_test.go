package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// editWith makes $EDITOR a script.
func editWith(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script is the editor")
	}
	path := filepath.Join(t.TempDir(), "editor")
	noError(t)(os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", path+" --wait")
}

// TestAFactIsEditedByFlagsAndInAnEditor goes through a memory of its own, without a server.
func TestAFactIsEditedByFlagsAndInAnEditor(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	read := func(out string) (m client.Memory) {
		t.Helper()
		noError(t)(json.Unmarshal([]byte(out), &m))
		return m
	}
	run("", "add", "User lives in Rome")
	if out := run("User lives in Berlin", "add", "User lives in Berlin"); !strings.Contains(out, "replaces ") || !strings.Contains(out, "User lives in Rome") {
		t.Errorf("added: %q, want it to name what it replaces", out)
	}
	run("", "undo", "--yes")
	id := read(run("Berlin", "add", "User lives in Berlin", "--tag", "home", "--category", "places", "--json")).ID

	m := read(run("", "edit", id, "--content", "User lives in Lisbon", "--json"))
	if m.Content != "User lives in Lisbon" || m.Category != "places" || len(m.Tags) != 1 || m.Pinned {
		t.Errorf("other words: %+v, want the rest as it was", m)
	}
	m = read(run("", "edit", id, "--tag", "city", "--tag", "river", "--category", "homes", "--pin", "--confidence", "0.5", "--expires", "2099-12-31", "--json"))
	if m.Content != "User lives in Lisbon" || m.Category != "homes" || strings.Join(m.Tags, " ") != "city river" || !m.Pinned || m.Confidence != 0.5 || m.ExpiresAt.Year() != 2099 {
		t.Errorf("other marks: %+v", m)
	}
	m = read(run("", "edit", id, "--tag", "", "--category", "", "--unpin", "--no-expiry", "--json"))
	if len(m.Tags) > 0 || m.Category != "" || m.Pinned || !m.ExpiresAt.IsZero() {
		t.Errorf("no marks: %+v", m)
	}
	run("pinned, homes, #city, #river", "edit", id, "--tag", "city", "--tag", "river", "--category", "homes", "--pin")

	if m = read(run("", "edit", id, "--core", "never", "--json")); m.Core != memory.CoreNever || m.Pinned {
		t.Errorf("never in a prompt: %+v", m)
	}
	run("search only", "history", id)
	run("search only", "history")
	run("#river, confidence", "edit", id, "--core", "auto")
	run("no longer search only", "history")

	editWith(t, `test "$1" = --wait && sed -i.bak s/Lisbon/Porto/ "$2" && rm "$2.bak"`)
	run("User lives in Porto", "edit", id)
	run("", "undo", "--yes")
	run("User lives in Lisbon", "list")

	turn := read(func() string {
		run("", "add", "--said", "Good morning.")
		var all client.Memories
		noError(t)(json.Unmarshal([]byte(run("", "list", "--kind", "turn", "--json")), &all))
		b := try(json.Marshal(all.Memories[0])).orFail(t)
		return string(b)
	}()).ID
	wrong := func(want string, args ...string) {
		t.Helper()
		if out, err := tryAt(t, data, "sqlite", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("loci %v: %q %v, want an error with %q", args, out, err, want)
		}
	}
	wrong("turn", "edit", turn)
	wrong("turn", "edit", turn, "--content", "Good evening.")
	wrong("absent", "edit", "absent")
	wrong("there is no memory", "edit", id, "--content", "x", "--user", "ben")
	wrong("id is empty", "edit", "")
	wrong("pin", "edit", id, "--pin", "--unpin")
	wrong("auto, always or never", "edit", id, "--core", "often")
	wrong("core", "edit", id, "--core", "never", "--pin")
	wrong("content", "edit", id, "--content", "")
	editWith(t, "true")
	wrong("the text was not changed", "edit", id)
	editWith(t, `: > "$2"`)
	wrong("loci forget --id", "edit", id)
	editWith(t, "exit 3")
	wrong("exit status 3", "edit", id)
	// Somebody else edits the fact while the editor is open, for which memory is free.
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	command := try(os.Executable()).orFail(t)
	editWith(t, `echo "User lives in Rome" > "$2"; EDIT_MEANWHILE="`+data+" "+id+`" "`+command+`" -test.run '^TestEditsMeanwhile$' > "`+tmp+`/said" 2>&1 || cat "`+tmp+`/said" >&2`)
	wrong("your text is saved in "+tmp, "edit", id)
	left, err := filepath.Glob(filepath.Join(tmp, "loci-*.txt"))
	if err != nil || len(left) != 1 {
		t.Fatalf("files left: %q %v", left, err)
	}
	if words, err := os.ReadFile(left[0]); err != nil || strings.TrimSpace(string(words)) != "User lives in Rome" {
		t.Errorf("what is left is %q, %v", words, err)
	}
	run("", "edit", id, "--content", "User lives in Lisbon")

	t.Setenv("EDITOR", "")
	wrong("$EDITOR", "edit", id)
	run("User lives in Lisbon", "list")
}

// TestEditsMeanwhile is a second process that edits a fact, for the test above.
func TestEditsMeanwhile(t *testing.T) {
	data, id, ok := strings.Cut(os.Getenv("EDIT_MEANWHILE"), " ")
	if !ok {
		t.Skip("it is for another test")
	}
	noError(t)(tryAt(t, data, "sqlite", "edit", id, "--content", "User lives in Oslo"))
}
