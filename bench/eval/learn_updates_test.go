package eval

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// TestUpdatesEndWhatTheyChange tells the program the rows of internal/learn's table,
// each as a user of their own, and looks at what stands: there facts are near by a
// simple search, here by that of the program.
func TestUpdatesEndWhatTheyChange(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../../internal/learn/testdata/updates.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := newPupil(t)
	rows, wrong := 0, 0
	for block := range strings.SplitSeq(string(table), "\n") {
		first, second, ok := strings.Cut(block, " => ")
		if !ok || block[0] == '#' || block[0] == '\t' || strings.HasPrefix(block, "? ") {
			continue
		}
		rows++
		got := p.standing(t, fmt.Sprint("row-", rows), first, second)
		if want := expected(string(table), block); !slices.Equal(got, want) {
			wrong++
			t.Logf("%s\n leaves %q\n want %q", block, got, want)
		}
	}
	t.Logf("%d of %d rows end as they should", rows-wrong, rows)
	if rows < 150 || wrong*20 > rows {
		t.Errorf("%d of %d rows end otherwise than they should, want one in twenty at most of 150", wrong, rows)
	}
}

// expected returns the facts that stand after a row of the table, sorted.
func expected(table, row string) []string {
	_, rest, _ := strings.Cut(table, row+"\n")
	var out []string
	for line := range strings.Lines(rest) {
		fact, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			break
		}
		out = append(out, fact)
	}
	slices.Sort(out)
	return out
}

// besides is what each user has told before, of others mostly, in words that the rows
// have too; nothing of it changes.
const besides = "My cousin Milo is an astronaut. I like crosswords. I have two bicycles at home. I collect stamps. My aunt Zelda lives in Perth. I'm left-handed. " +
	"My cousin Milo has a dog named Bolt. My aunt Zelda works at Acme. My uncle Ben lives in Berlin. My niece Ada plays tennis. My nephew Kim plays the guitar. " +
	"My cousin Milo drinks coffee every morning. My uncle Ben has a girlfriend. My uncle Ben is vegan. My niece Ada is planning a trip to Rome in October. " +
	"My aunt Zelda runs a small bakery. My nephew Kim is learning Japanese. My neighbour Olga drives a red Toyota. My neighbour Olga has two cats."

// standing has a user tell two things, a week apart, and returns the words of their
// active facts, sorted.
func (p *pupil) standing(t *testing.T, user, first, second string) []string {
	t.Helper()
	at := time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)
	turns := []Turn{
		{Session: "0", At: at.AddDate(0, -1, 0), Role: memory.RoleUser, Content: besides},
		{Session: "1", At: at, Role: memory.RoleUser, Content: first},
		{Session: "2", At: at.AddDate(0, 0, 7), Role: memory.RoleUser, Content: second},
	}
	var before, active []string
	for i := range turns {
		if _, err := p.tell(t.Context(), user, turns[i:i+1], &LessonOutcome{}, nil); err != nil {
			t.Fatal(err)
		}
		known, err := p.facts(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		active = nil
		for _, m := range known {
			if m.Status == memory.Active {
				active = append(active, m.Content)
			}
		}
		if i == 0 {
			before = active
		}
	}
	for _, fact := range before {
		at := slices.Index(active, fact)
		if at < 0 {
			t.Errorf("%s => %s ends %q", first, second, fact)
			continue
		}
		active = slices.Delete(active, at, at+1)
	}
	if len(before) < 15 {
		t.Fatalf("only %d facts were learned before: %q", len(before), before)
	}
	slices.Sort(active)
	return active
}
