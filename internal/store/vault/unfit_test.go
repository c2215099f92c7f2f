package vault

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestFileThatIsNotUnderstoodIsNotForgotten moves files that cannot be taken over as they are.
func TestFileThatIsNotUnderstoodIsNotForgotten(t *testing.T) {
	v := newVault(t)
	milk := memtest.Fact(memtest.Ana, "Ana drinks milk")
	milk.ID = "milk"
	v.apply(memtest.Add(tea()), memtest.Add(milk))
	text := v.read(teaFile)
	v.remove(teaFile)
	const moved = "entries/trip/facts/tea.md"
	v.write(moved, strings.Replace(text, "status: active", "status: gone", 1))
	if r := v.scan(ScanOptions{ConfirmDeletions: true}); len(r.Edits) > 0 || len(r.Problems) != 1 || r.Problems[0].Path != moved {
		t.Errorf("moved, with a status that there is not: %+v", r)
	}
	v.remove(moved)
	for _, to := range []string{"entries/trip/summaries/a.md", "entries/global/profile/a.md", "entries/global/contexts/a.md", "entries/trip/turns/user/a.md"} {
		v.write(to, text)
		if r := v.scan(ScanOptions{ConfirmDeletions: true}); len(r.Edits) > 0 || len(r.Problems) != 1 || r.Problems[0].Path != to || !strings.Contains(r.Problems[0].Reason, "in files of this folder") {
			t.Errorf("moved to %s: %+v", to, r)
		}
		v.remove(to)
	}
	v.write(teaFile, text)
	v.quiet()

	var milkFile string
	for name := range tree(t, v.dir) {
		if strings.HasSuffix(name, "__milk.md") {
			milkFile = name
		}
	}
	noError(t)(os.Rename(v.path(teaFile), v.path(milkFile)))
	if r := v.scan(ScanOptions{ConfirmDeletions: true}); len(r.Edits) > 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, `its id was "milk" and is "tea" now`) {
		t.Errorf("one file was moved over another: %+v", r)
	}
}

// TestFrontMatterThatContradictsIsTold changes one key of a file at a time.
func TestFrontMatterThatContradictsIsTold(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := v.read(teaFile)
	for line, told := range map[string]string{
		"confidence: 2":    "a number from 0 to 1",
		"confidence: high": "a number from 0 to 1",
		"confidence: [1]":  "a number from 0 to 1",
		"pinned: maybe":    "true or false",
		"pinned: 1":        "true or false",
		"tags: {a: b}":     "a list like [a, b]",
		"category: [a, b]": "a text",
		"project: {a: b}":  "a text",
		"created_at: soon": "a time like",
		"valid_from: 2027-01-01\nvalid_to: 2026-01-01": "before valid_from",
		"id: other":             `its id was "tea"`,
		"status: deleted":       "one of active, pending, retired, rejected, superseded",
		"status: superseded":    "only Loci sets",
		"status: [active]":      "one of active",
		"kind: summary":         `must be "fact" in files of this folder`,
		"role: user":            `must be "memory" in files of this folder`,
		"conversation_id: trip": "move the file to entries/trip/facts",
		"trust: boss":           "one of person, user",
		"observed_seq: x":       "a whole number",
		"metadata: [1]":         "a JSON object",
	} {
		key, _, _ := strings.Cut(line, ":")
		v.write(teaFile, withLine(text, key, line))
		r := v.scan()
		if len(r.Edits) > 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, told) {
			t.Errorf("%s: %+v, want %q", line, r, told)
		}
		v.write(teaFile, text)
		v.quiet()
	}
}

// withLine puts a line in the place of a key's, or adds it.
func withLine(text, key, line string) string {
	lines := strings.Split(text, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
	return strings.Join(slices.Insert(lines, 1, line), "\n")
}

// TestWhatLociKeepsCountOfIsWrittenBack changes and takes out keys that are not for a person.
func TestWhatLociKeepsCountOfIsWrittenBack(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := v.read(teaFile)
	for _, key := range []string{"id", "kind", "role", "conversation_id", "updated_at", "source", "trust", "status", "confidence", "created_at"} {
		v.write(teaFile, withLine(text, key, "mine: 1"))
		v.quiet()
		v.settled()
		if got := v.read(teaFile); !strings.Contains(got, "\n"+key+": ") || !strings.Contains(got, "mine: 1\n") {
			t.Errorf("without %s:\n%s", key, got)
		}
		v.quiet()
		v.write(teaFile, text)
		v.quiet()
	}
	for _, line := range []string{"updated_at: 2031-01-01", "source: me", "trust: assistant", "model: mine"} {
		key, _, _ := strings.Cut(line, ":")
		v.write(teaFile, withLine(text, key, line))
		v.quiet()
		v.settled()
		if got := v.read(teaFile); strings.Contains(got, line) {
			t.Errorf("%s is there still:\n%s", line, got)
		}
		v.quiet()
	}
}

// TestNameOfNoChatIsTold writes a fact into a folder whose name is none of Loci's.
func TestNameOfNoChatIsTold(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write("entries/My Trip/facts/a.md", "Ana likes figs")
	r := v.scan()
	if len(r.Edits) > 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "entries/%4dy%20%54rip/facts") {
		t.Errorf("report: %+v", r)
	}
	v.move(teaFile, "entries/My Trip/facts/tea.md")
	if r := v.scan(ScanOptions{ConfirmDeletions: true}); len(r.Edits) > 0 || len(r.Problems) != 2 {
		t.Errorf("moved there: %+v", r)
	}
}

// TestTwoNewFilesWithOneID copies a file before Loci looks, and after.
func TestTwoNewFilesWithOneID(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := v.read(teaFile)
	v.remove(teaFile)
	v.write("entries/global/facts/a.md", text)
	v.write("entries/trip/facts/b.md", text)
	r := v.scan(ScanOptions{ConfirmDeletions: true})
	if len(r.Problems) != 1 || r.Problems[0].Path != "entries/trip/facts/b.md" || len(r.Edits) > 0 {
		t.Errorf("report: %+v", r)
	}
	if f := v.fact("tea"); f.Status != memory.Active {
		t.Errorf("it is %s", f.Status)
	}
}

// TestCrashBeforeAcceptOfAStatus ends Loci between the change that a status means and the
// answer: the file is neither put aside nor read the other way round.
func TestCrashBeforeAcceptOfAStatus(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	for _, c := range []struct {
		at, was, says string
		is            memory.Status
		then          string
	}{
		{teaFile, "active", "retired", memory.Retired, "deleted/" + teaFile},
		{"deleted/" + teaFile, "retired", "active", memory.Active, teaFile},
		{teaFile, "active", "pending", memory.Pending, teaFile},
		{teaFile, "pending", "rejected", memory.Rejected, "deleted/" + teaFile},
	} {
		v.write(c.at, strings.Replace(v.read(c.at), "status: "+c.was, "status: "+c.says, 1))
		e := v.edit()
		if e.Content.Fact.Status != c.is {
			t.Fatalf("%s, to which a person writes %s, is to be %s", c.was, c.says, e.Content.Fact.Status)
		}
		f := v.fact("tea")
		f.Status = c.is
		v.apply(memtest.Change(memory.ActionUpdate, f))
		v.reopen() // the edit was not answered
		v.settled()
		v.quiet()
		if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{c.then}) {
			t.Fatalf("to which a person writes %s: files %q", c.says, got)
		}
		if got := v.fact("tea").Status; got != c.is {
			t.Fatalf("to which a person writes %s: it is %s", c.says, got)
		}
	}
}
