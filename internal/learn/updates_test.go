package learn

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// knowing is one person's memory, with a program that learns without a model.
type knowing struct {
	facts []memory.Fact
	ids   int
}

// learn reads turns and stores their facts.
func (k *knowing) learn(at time.Time, content string) {
	k.ids++
	utterances := Guard([]memory.Turn{{ID: fmt.Sprint("T", k.ids), Index: k.ids, Role: memory.RoleUser, Content: content, CreatedAt: at}}, GuardOptions{})
	cands, _ := Filter(extract.FactsByRules(utterances), utterances)
	for i := range cands {
		cands[i].Neighbors = k.near(cands[i])
	}
	fresh, again, _ := Dedupe(cands, DedupeOptions{})
	changes, _ := Plan(fresh, Reconcile(fresh), again, PlanOptions{
		Now: at, Author: memory.Author{Kind: memory.ByRule, Name: "rules"},
		NewID: func() string { k.ids++; return fmt.Sprint("F", k.ids) },
	})
	for _, c := range changes {
		f := c.After.Fact
		if i := slices.IndexFunc(k.facts, func(old memory.Fact) bool { return old.ID == f.ID }); i >= 0 {
			k.facts[i] = *f
		} else {
			k.facts = append(k.facts, *f)
		}
	}
}

// liveNeighbour returns search results: five facts that share words with a candidate, and those of its
// subject and attribute.
func (k *knowing) near(c extract.Candidate) []extract.Neighbor {
	words, out := text.Terms(c.Text), []extract.Neighbor{}
	for _, f := range k.facts {
		terms, shared := text.Terms(f.Content), 0
		for _, t := range words {
			if t != "user" && slices.Contains(terms, t) {
				shared++
			}
		}
		if shared > 0 {
			out = append(out, extract.Neighbor{Fact: f, Similarity: float64(shared) / float64(max(len(words), len(terms)))})
		}
	}
	slices.SortStableFunc(out, func(a, b extract.Neighbor) int { return cmp.Compare(b.Similarity, a.Similarity) })
	out = out[:min(5, len(out))]
	for _, f := range k.facts {
		if c.Attribute != "" && f.Attribute == c.Attribute && f.Subject == c.Subject && !slices.ContainsFunc(out, func(n extract.Neighbor) bool { return n.Fact.ID == f.ID }) {
			out = append(out, extract.Neighbor{Fact: f})
		}
	}
	return out
}

// standing are the texts of the active facts, a line each.
func (k *knowing) standing() []string {
	var out []string
	for _, f := range k.facts {
		if f.Status == memory.Active {
			out = append(out, f.Content)
		}
	}
	return out
}

// besides are each person's earlier statements; none of them changes.
const besides = "My cousin Milo is an astronaut. I like crosswords. I have two bicycles at home. I collect stamps. My aunt Zelda lives in Perth. I'm left-handed."

// TestNewerStatementsReplaceWhatTheyChange makes one statement and then another, and checks all
// remaining facts.
func TestNewerStatementsReplaceWhatTheyChange(t *testing.T) {
	const file = "testdata/updates.txt"
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	row, want, rows, right := "", "", 0, 0
	check := func() {
		if row == "" {
			return
		}
		first, second, ok := strings.Cut(strings.TrimPrefix(row, "? "), " => ")
		if !ok {
			t.Fatalf("%q has no =>", row)
		}
		var k knowing
		k.learn(monday.AddDate(0, -1, 0), besides)
		before := k.standing()
		k.learn(monday, first)
		k.learn(monday.AddDate(0, 0, 7), second)
		got := ""
		for _, f := range k.standing() {
			if !slices.Contains(before, f) {
				got += "\t" + f + "\n"
			}
		}
		for _, f := range before {
			if !slices.Contains(k.standing(), f) {
				t.Errorf("%s ends %q", row, f)
			}
		}
		rows++
		if !strings.HasPrefix(row, "? ") {
			right++
		}
		fmt.Fprintf(&out, "%s\n%s", row, got)
		if got != want && !*update {
			t.Errorf("%s\n leaves\n%swant\n%s", row, got, want)
		}
	}
	for line := range strings.Lines(string(golden)) {
		if strings.HasPrefix(line, "\t") {
			want += line
			continue
		}
		check()
		row, want = strings.TrimSuffix(line, "\n"), ""
		if row == "" || row[0] == '#' {
			fmt.Fprintln(&out, row)
			row = ""
		}
	}
	check()
	t.Logf("%d of %d rows end as they should", right, rows)
	if rows < 150 || right*100 < 90*rows {
		t.Errorf("%d of %d rows end as they should, want nine of ten of 150", right, rows)
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
