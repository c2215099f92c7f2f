package vault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// A person has the file of a fact open, Loci changes the fact by command, and the person saves
// what they have. What they changed counts, what they left as it was does not: a plain model
// of keys and values says what is to be.

// sheet is the model's fact: values by key.
type sheet map[string]string

func sheetOf(f memory.Fact) sheet {
	s := sheet{}
	for _, field := range showing(memory.FileContent{Fact: &f}).fields(func(id string) string { return id }) {
		switch field.key {
		case "status", "tags", "category", "pinned", "confidence", "valid_to":
			s[field.key] = field.value
		}
	}
	s["words"] = f.Content
	return s
}

func (s sheet) live() bool { return s["status"] == "active" || s["status"] == "pending" }

// joined is what becomes of it, or that both are to be kept.
func joined(base, theirs, ours sheet) (sheet, bool) {
	out := sheet{}
	for key := range ours {
		switch {
		case theirs[key] == base[key] || theirs[key] == ours[key]:
			out[key] = ours[key]
		case ours[key] == base[key]:
			out[key] = theirs[key]
		case key == "status" && !ours.live() && theirs[key] == "retired":
			out[key] = ours[key]
		default:
			return nil, true
		}
	}
	if theirs["words"] != base["words"] && theirs["words"] != ours["words"] && base.live() && !ours.live() {
		return nil, true
	}
	return out, false
}

// commands are what Loci does to a fact; nil: it would not.
var commands = []struct {
	name string
	do   func(f memory.Fact, n int) *memory.Fact
}{
	{"forget", endingAs(memory.Retired)},
	{"replace", func(f memory.Fact, n int) *memory.Fact {
		next := endingAs(memory.Superseded)(f, n)
		if next != nil {
			next.SupersededBy, next.ValidTo = "other", memtest.Epoch.AddDate(0, 0, n)
		}
		return next
	}},
	{"restore", func(f memory.Fact, _ int) *memory.Fact {
		if f.Status.Live() {
			return nil
		}
		f.Status, f.SupersededBy, f.ValidTo = memory.Active, "", time.Time{}
		return &f
	}},
	{"reword", func(f memory.Fact, n int) *memory.Fact {
		f.Content = fmt.Sprintf("Ana drinks tea number %d", n)
		return &f
	}},
	{"tag", func(f memory.Fact, n int) *memory.Fact { f.Tags = []string{fmt.Sprint("by", n)}; return &f }},
	{"reinforce", func(f memory.Fact, n int) *memory.Fact { f.Confidence = 1 / float64(n+2); return &f }},
	{"pin", func(f memory.Fact, _ int) *memory.Fact { f.Core = memory.Pin(!f.Pinned()); return &f }},
}

func endingAs(to memory.Status) func(memory.Fact, int) *memory.Fact {
	return func(f memory.Fact, _ int) *memory.Fact {
		if !f.Status.Live() {
			return nil
		}
		f.Status = to
		return &f
	}
}

// saves are what a person changes besides a comment: a key with its value, "" for none.
var saves = []struct{ key, value string }{
	{"", ""}, {"words", "Ana drinks coffee"}, {"tags", "[mine]"}, {"tags", ""}, {"category", "mine"}, {"confidence", "0.125"},
	{"pinned", "true"}, {"valid_to", "2999-01-01T00:00:00Z"}, {"status", "retired"}, {"status", "active"},
}

// desk is a vault with one fact and a person who has its file open.
type desk struct {
	*vault
	n    int
	path string // of what is open
	text string
	base sheet // what it says
}

func newDesk(t *testing.T) *desk {
	d := &desk{vault: newVault(t)}
	other := tea()
	other.ID, other.Content, other.Hash = "other", "Ana drinks cocoa", memtest.Hash("Ana drinks cocoa")
	d.apply(memtest.Add(tea()), memtest.Add(other))
	d.open()
	return d
}

func (d *desk) open() {
	d.settled()
	d.path = d.files.records.byTarget[key{memtest.Ana, "fact:tea"}].Path
	d.text, d.base = d.vault.read(d.path), sheetOf(d.fact("tea"))
}

// command lets Loci change the fact; unwritten: its file is not written yet.
func (d *desk) command(do func(memory.Fact, int) *memory.Fact, unwritten bool) {
	d.Helper()
	d.n++
	next := do(d.fact("tea"), d.n)
	if next == nil {
		return
	}
	next.UpdatedAt, next.Hash = d.now.Now(), memtest.Hash(next.Content)
	k := key{memtest.Ana, "fact:tea"}
	if unwritten {
		d.settled()
		d.files.disk.Lock() // until it is released, it waits for the answer to an edit
		d.files.pendingEdits[k] = Edit{}
		d.files.disk.Unlock()
	}
	d.apply(memtest.Change(memory.ActionUpdate, *next))
}

func (d *desk) release() {
	k := key{memtest.Ana, "fact:tea"}
	d.files.disk.Lock()
	delete(d.files.pendingEdits, k)
	d.files.disk.Unlock()
	d.files.markDirty(k)
}

// save writes what is open with another value of a key and a comment that nobody else wrote.
func (d *desk) save(key, value string) (theirs sheet, comment string) {
	d.Helper()
	d.n++
	comment = fmt.Sprintf("# comment %d", d.n)
	theirs = sheet{}
	for k, v := range d.base {
		theirs[k] = v
	}
	pg := splitFile(d.text)
	fields, words := []field(nil), pg.text()
	if key == "words" {
		words = value
	} else if key != "" {
		fields = []field{{key: key, value: value}}
	}
	if key != "" {
		theirs[key] = value
	}
	pg, _ = pg.withFields(fields, words)
	pg.front += comment + "\n"
	d.write(d.path, pg.String())
	return theirs, comment
}

// taken takes what is in the vault over, and reports whether something was refused.
func (d *desk) taken() (clash bool) {
	d.Helper()
	r := d.scan()
	if len(r.Problems) > 0 { // what lies where the memory lay while it was forgotten
		p := r.Problems[0]
		if !strings.Contains(p.Reason, "has the same id") || !strings.HasPrefix(p.Path, "deleted/") || len(r.Edits) > 0 {
			d.Fatalf("report: %+v", r)
		}
		noError(d)(os.Rename(d.vault.path(p.Path), d.vault.path(strings.TrimSuffix(p.Path, ".md")+conflictMark+"1.md")))
		return true
	}
	if len(r.Edits) > 1 {
		d.Fatalf("report: %+v", r)
	}
	for _, e := range r.Edits {
		if e.Conflict != "" {
			noError(d)(d.Refuse(d.Context(), e))
			d.release()
			d.settled()
			return true
		}
		f := *e.Content.Fact
		f.UpdatedAt = d.now.Now()
		noError(d)(d.Apply(d.Context(), e.Owner, memtest.Run(e.RunID()), memtest.Change(memory.ActionUpdate, f)))
		noError(d)(d.Accept(d.Context(), e, e.Target))
	}
	d.release()
	d.settled()
	d.quiet()
	return false
}

// check compares what became of a save with the model, and looks for what was written.
func (d *desk) check(what string, theirs, ours sheet, comment string, moved bool) {
	d.Helper()
	want, clash := joined(d.base, theirs, ours)
	clash = clash || moved
	if clash {
		want = ours
	}
	if got := d.taken(); got != clash {
		d.Errorf("%s: both are kept is %v, want %v", what, got, clash)
	}
	if diff := differ(sheetOf(d.fact("tea")), want); diff != "" {
		d.Errorf("%s: the fact is (-got +want):\n%s", what, diff)
	}
	said := false
	for name, text := range tree(d.T, d.dir) {
		said = said || strings.Contains(text, comment)
		if strings.Contains(name, conflictMark) {
			noError(d)(os.Remove(d.vault.path(name)))
		}
	}
	if !said {
		d.Errorf("%s: what the person wrote is nowhere", what)
	}
}

// movedAway reports whether Loci's own file lies elsewhere than what is open.
func (d *desk) movedAway() bool {
	return d.files.records.byTarget[key{memtest.Ana, "fact:tea"}].Path != d.path
}

// rounds is how many random histories of stale copies are played.
var rounds = 30

func TestOnlyWhatAPersonChangedCounts(t *testing.T) {
	t.Parallel()
	for _, c := range commands {
		for _, first := range []bool{false, true} {
			for _, unwritten := range []bool{true, false} {
				for _, s := range saves {
					what := fmt.Sprintf("%s, forgotten before %v, not written yet %v; the person writes %s: %s", c.name, first, unwritten, s.key, s.value)
					d := newDesk(t)
					if first {
						d.command(commands[0].do, false)
						d.open()
					}
					d.command(c.do, unwritten)
					ours := sheetOf(d.fact("tea"))
					theirs, comment := d.save(s.key, s.value)
					d.check(what, theirs, ours, comment, d.movedAway())
				}
			}
		}
	}
}

// TestStaleCopiesInRandomHistories lets commands, looks into the file and saves of what was seen
// then follow each other in any order.
func TestStaleCopiesInRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := newDesk(t)
		var done []string
		for range 25 {
			unwritten := rng.IntN(2) == 0
			c := commands[rng.IntN(len(commands))]
			done = append(done, fmt.Sprint(c.name, unwritten))
			d.command(c.do, unwritten)
			if rng.IntN(3) == 0 {
				s := saves[rng.IntN(len(saves))]
				done = append(done, "save "+s.key+" "+s.value)
				ours := sheetOf(d.fact("tea"))
				theirs, comment := d.save(s.key, s.value)
				d.check(fmt.Sprintf("seed %d, %s", seed, strings.Join(done, ", ")), theirs, ours, comment, d.movedAway())
				d.open()
				done = append(done, "open")
			}
			d.release()
			d.settled()
			if rng.IntN(2) == 0 {
				d.open()
				done = append(done, "open")
			}
			if t.Failed() {
				return
			}
		}
	}
}

// TestATimeThatALociWrote: those of an editor's plugin are none.
func TestATimeThatALociWrote(t *testing.T) {
	for when, want := range map[string]bool{
		"2026-05-03T14:02:11.204113Z":      true,
		"2026-05-03T14:02:11.2Z":           true,
		"2026-05-03T14:02:11Z":             false, // a second, as plugins have it
		"2026-05-03T14:02":                 false,
		"2026-05-03T14:02:11.204113+02:00": false,
		"2026-05-03T14:02:11.204113":       false,
		"2026-05-03T14:02:11.200Z":         false, // Loci leaves noughts out
		"Sunday, May 3rd 2026":             false,
		"":                                 false,
	} {
		d, err := readDocument("---\nkind: fact\nupdated_at: " + when + "\n---\nwords\n")
		if got := hasLociTime(d); got != want || err != nil {
			t.Errorf("%q: %v", when, got)
		}
	}
}
