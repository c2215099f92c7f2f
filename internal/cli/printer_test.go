package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// at is a time of the day that these tests play on.
func at(hour, minute int) time.Time { return time.Date(2026, 5, 3, hour, minute, 0, 0, time.UTC) }

// written returns what is written on a printer, with times as in UTC.
func written(t *testing.T, write func(printer)) string {
	t.Helper()
	here := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = here })
	var b strings.Builder
	write(printer{Writer: &b})
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

var (
	ana   = memory.Author{Kind: memory.ByPerson, Name: "ana"}
	rules = memory.Author{Kind: memory.ByRule, Name: "rules"}
	model = memory.Author{Kind: memory.ByModel, Name: "small", Prompt: "c43299581fc5"}
)

func factOf(id, content string, status memory.Status) *memory.Fact {
	return &memory.Fact{ID: id, Content: content, Status: status, Confidence: 0.9}
}

// step is a change of a fact, before and after.
func step(id string, action memory.Action, before, after *memory.Fact, by memory.Author, reason string) client.Change {
	run, _, _ := strings.Cut(id, "/")
	c := client.Change{ID: id, Run: run, Action: action, Target: "fact:" + after.ID, Reason: reason, Author: by, CreatedAt: at(14, 2), After: &memory.State{Fact: after}}
	if before != nil {
		c.Before = &memory.State{Fact: before}
	}
	return c
}

func replaced(c client.Change, old, next string) client.Change {
	c.OldID, c.NewID = old, next
	return c
}

func TestJournalTellsRunsAndWhatTheyChanged(t *testing.T) {
	berlin, lisbon := factOf("f1", "User lives in Berlin", memory.Active), factOf("f2", "User lives in Lisbon", memory.Active)
	gone := factOf("f1", "User lives in Berlin", memory.Superseded)
	pinned := factOf("f2", "User lives in Lisbon", memory.Active)
	pinned.Core, pinned.Tags, pinned.Confidence, pinned.ExpiresAt = memory.CoreAlways, []string{"place", "now"}, 1, at(20, 0)
	turn := client.Change{ID: "r4/1", Run: "r4", Action: memory.ActionRetire, Target: "turn:t1", Author: ana, CreatedAt: at(15, 0), After: &memory.State{Turn: &memory.TurnState{ID: "t1", Status: memory.Retired}}}
	profile := client.Change{ID: "r4/2", Run: "r4", Action: memory.ActionAdd, Target: "profile:timezone", Author: ana, CreatedAt: at(15, 0), After: &memory.State{Profile: &memory.ProfileEntry{Key: "timezone", Value: "Europe/Lisbon", Status: memory.Active}}}
	page := client.Changes{Next: "abc", Changes: []client.Change{
		profile, turn,
		step("r3/1", memory.ActionUpdate, lisbon, pinned, ana, "edited by hand"),
		step("r2/3", memory.ActionAdd, nil, factOf("f3", "User may like\x1b[2J climbing\nand rain", memory.Pending), model, "it is doubtful"),
		replaced(step("r2/2", memory.ActionAdd, nil, lisbon, model, "a newer home"), "f1", "f2"),
		replaced(step("r2/1", memory.ActionReplace, berlin, gone, model, "a newer home"), "f1", "f2"),
		step("r1/1", memory.ActionAdd, nil, berlin, rules, ""),
	}}
	words := factTexts(page.Changes)
	words["t1"] = "I moved to\nLisbon"
	wantText(t, written(t, func(s printer) { s.printJournal(page, words) }), `
2026-05-03 15:00  by person ana  r4
  /2  added      timezone  timezone = Europe/Lisbon
  /1  forgotten  t1  turn: I moved to Lisbon
2026-05-03 14:02  by person ana  r3
  /1  edited     f2  User lives in Lisbon [pinned, tags place, now, confidence 0.90 → 1.00, expires 2026-05-03 20:00]  (edited by hand)
2026-05-03 14:02  by model small, prompt c43299581fc5  r2
  /3  proposed   f3  User may like�[2J climbing and rain  (it is doubtful)
  /2  added      f2  User lives in Lisbon  (a newer home)
  /1  replaced   f1  User lives in [-Berlin-] {+Lisbon+}  (a newer home)
2026-05-03 14:02  by rules  r1
  /1  added      f1  User lives in Berlin
more: --cursor abc
`)
}

func TestLifeTellsWhereAFactIsFromAndWhatBecameOfIt(t *testing.T) {
	berlin, gone := factOf("f1", "User lives in Berlin", memory.Active), factOf("f1", "User lives in Berlin, by the river", memory.Superseded)
	river := factOf("f1", "User lives in Berlin, by the river", memory.Active)
	l := memoryHistory{
		Memory: client.Memory{ID: "f1", Kind: memory.KindFact, Content: gone.Content, Status: memory.Superseded, Category: "home", Tags: []string{"place"}, Confidence: 1, ObservedAt: at(13, 0), SupersededBy: "f2"},
		Quote:  &client.Quote{Turn: "t1", Conversation: "c1", Role: memory.RoleUser, SaidAt: at(13, 0), Before: strings.Repeat("so much to tell ", 8), Words: "I live in Berlin", After: ", and " + strings.Repeat("it is fine ", 9)},
		Replaced: []client.Memory{
			{ID: "f0", Content: "User lives in Bonn"},
		},
		ReplacedBy: &client.Memory{ID: "f2", Content: "User lives in Lisbon"},
		Changes: []client.Change{
			replaced(step("r3/2", memory.ActionAdd, nil, factOf("f2", "User lives in Lisbon", memory.Active), rules, "a newer home"), "f1", "f2"),
			replaced(step("r3/1", memory.ActionReplace, river, gone, rules, "a newer home"), "f1", "f2"),
			step("r2/1", memory.ActionUpdate, berlin, river, ana, "edited by hand"),
			replaced(step("r1/2", memory.ActionAdd, nil, berlin, model, "new"), "f0", "f1"),
		},
	}
	wantText(t, written(t, func(s printer) { s.printHistory(l) }), `
f1  User lives in Berlin, by the river
fact, superseded, home, #place, confidence 1.00, said 2026-05-03 13:00
said      …uch to tell so much to tell so much to tell so much to tell «I live in Berlin», and it is fine it is fine it is fine it is fine it is fin…
          user, 2026-05-03 13:00, conversation c1
replaced  f0  User lives in [-Bonn-] {+Berlin, by the river+}
became    f2  User lives in [-Berlin, by the river-] {+Lisbon+}
2026-05-03 14:02  added      by model small, prompt c43299581fc5  (new)  r1/2
2026-05-03 14:02  edited     by person ana  (edited by hand)  r2/1
                  User lives in [-Berlin-] {+Berlin, by the river+}
2026-05-03 14:02  replaced   by rules  (a newer home)  r3/1
`)
}

func TestAnUndoSaysWhatComesAndGoes(t *testing.T) {
	berlin, gone := factOf("f1", "User lives in Berlin", memory.Active), factOf("f1", "User lives in Berlin", memory.Superseded)
	lisbon, retired := factOf("f2", "User lives in Lisbon", memory.Active), factOf("f2", "User lives in Lisbon", memory.Retired)
	waits, dropped := factOf("f3", "User likes rain", memory.Pending), factOf("f3", "User likes rain", memory.Retired)
	would := client.Undone{DryRun: true, Steps: []client.Change{
		step("", memory.ActionUndo, lisbon, retired, ana, ""),
		step("", memory.ActionUndo, gone, berlin, ana, ""),
		step("", memory.ActionUndo, waits, dropped, ana, ""),
	}}
	wantText(t, written(t, func(s printer) { s.printUndo(would, "run r2", "loci undo --run r2 --yes", nil) }), `
would undo run r2
  - User lives in Lisbon
  + User lives in Berlin
  ~ User likes rain  (pending → retired)
to do it: loci undo --run r2 --yes
`)
	would.Steps = would.Steps[:1]
	would.Later = []client.Change{step("r3/1", memory.ActionUpdate, factOf("f2", "User lives in Porto", memory.Active), lisbon, ana, "edited by hand")}
	wantText(t, written(t, func(s printer) { s.printUndo(would, "run r2", "loci undo --run r2 --yes", nil) }), `
would undo run r2
  - User lives in Lisbon
later changes of the same memories:
  2026-05-03 14:02  edited     User lives in [-Porto-] {+Lisbon+}  by person ana  r3/1
to undo all changes: loci undo --run r2 --cascade --yes
`)
	done := client.Undone{Receipt: client.Receipt{Run: "r9"}, Steps: would.Steps}
	wantText(t, written(t, func(s printer) { s.printUndo(done, "run r2", "to undo this: loci undo --run r9 --yes", nil) }), `
undid run r2
  - User lives in Lisbon
to undo this: loci undo --run r9 --yes
`)
	if got := written(t, func(s printer) { s.colour = true; s.printUndo(done, "run r2", "", nil) }); !strings.Contains(got, "\x1b[31m- User lives in Lisbon\x1b[0m") {
		t.Errorf("in colour: %q", got)
	}
}

func TestWhatWaitsIsShownWithWhatItContradicts(t *testing.T) {
	all := []client.Waiting{
		{
			Memory: client.Memory{ID: "f2", Content: "User lives in Lisbon"}, Reason: "it would replace what is known", Author: model,
			Quote:     &client.Quote{Role: memory.RoleUser, SaidAt: at(13, 0), Before: "I moved to Lisbon."},
			Conflicts: []client.Memory{{ID: "f1", Content: "User lives in Berlin", ObservedAt: at(9, 0)}},
		},
		{Memory: client.Memory{ID: "f3", Content: "User likes rain"}},
	}
	wantText(t, written(t, func(s printer) { s.printPendingFacts(all) }), `
1 of 2  f2
  fact      User lives in Lisbon
  reason    it would replace what is known  (by model small, prompt c43299581fc5)
  said      I moved to Lisbon.
            user, 2026-05-03 13:00
  instead of User lives in Berlin  (said 2026-05-03 09:00, f1)
            User lives in [-Berlin-] {+Lisbon+}
2 of 2  f3
  fact      User likes rain
  reason    no reason given  (by unknown)
`)
}

func TestJobsSayWhyTheyFailedAndWhenTheyAreTriedAgain(t *testing.T) {
	all := []client.Job{
		{ID: "learn-3", Kind: memory.JobLearn, State: memory.JobParked, Attempts: 8, CreatedAt: at(9, 0), Error: "ask for facts: the model\nis gone"},
		{ID: "learn-2", Kind: memory.JobLearn, State: memory.JobQueued, Attempts: 1, CreatedAt: at(9, 0), RunAt: at(10, 10), Error: "busy"},
		{ID: "sum-1", Kind: memory.JobSummarize, State: memory.JobQueued, CreatedAt: at(9, 0), RunAt: at(9, 0)},
		{ID: "embed-1", Kind: memory.JobEmbed, State: memory.JobRunning, CreatedAt: at(9, 0)},
	}
	wantText(t, written(t, func(s printer) { s.printJobs(all, at(10, 0)) }), `
parked   learn     learn-3  since 2026-05-03 09:00  failed 8 times
         ask for facts: the model is gone
queued   learn     learn-2  since 2026-05-03 09:00  next try 2026-05-03 10:10  failed 1 time
         busy
queued   summarize sum-1  since 2026-05-03 09:00  due now
running  embed     embed-1  since 2026-05-03 09:00
parked jobs do not run again by themselves; to try again: loci jobs --retry ID, or --all
`)
}

// TestWhoRunsTheServerIsToldFromAUser, in every line that says who decided.
func TestWhoRunsTheServerIsToldFromAUser(t *testing.T) {
	as := func(name string) memory.Author { return memory.Author{Kind: memory.ByPerson, Name: name, Admin: true} }
	for want, a := range map[string]memory.Author{
		"by person ana": ana, "by administrator, as ana": as("ana"), "by administrator": as(""),
	} {
		if got := authorText(a); got != want {
			t.Errorf("%+v is said as %q, want %q", a, got, want)
		}
	}
}
