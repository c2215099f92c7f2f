package learn

import (
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// AskFacts returns the prompt that asks a model for the facts in said. before is what
// was said just before, so that it can be understood; known is what is remembered
// already and near to it; attached are the documents that are always in the prompt, "" for none; now
// is the date for a model when no turn has one.
func AskFacts(said, before []Said, known []memory.Fact, attached string, p *prompt.Set, now time.Time) (memory.Prompt, error) {
	d := prompt.Extract{Today: now, Context: attached}
	for i, s := range before {
		d.Before = append(d.Before, prompt.Turn{ID: "b" + strconv.Itoa(i+1), Role: string(s.Turn.Role), At: s.Turn.CreatedAt, Text: s.Text})
	}
	for i, s := range said {
		d.Turns = append(d.Turns, prompt.Turn{ID: turnName(i), Role: string(s.Turn.Role), At: s.Turn.CreatedAt, Text: s.Text})
		if !s.Turn.CreatedAt.IsZero() {
			d.Today = s.Turn.CreatedAt
		}
	}
	for _, f := range known {
		d.Known = append(d.Known, f.Content)
	}
	return p.Fill(d)
}

// turnName is how a prompt names the i-th turn: long ids are copied wrongly.
func turnName(i int) string { return "t" + strconv.Itoa(i+1) }

// AskDecisions returns the prompt that asks a model what each candidate does to
// the facts near it.
func AskDecisions(cands []Candidate, p *prompt.Set) (memory.Prompt, error) {
	var d prompt.Reconcile
	for i, n := range neighbours(cands) {
		d.Known = append(d.Known, prompt.Line{ID: strconv.Itoa(i), Text: n.Fact.Content, At: n.Fact.ObservedAt})
	}
	for i, c := range cands {
		d.New = append(d.New, prompt.Line{ID: strconv.Itoa(i + 1), Text: c.Text, At: c.ObservedAt})
	}
	return p.Fill(d)
}

// neighbours returns the live facts near any candidate, each once. Their places
// are their short ids.
func neighbours(cands []Candidate) []Neighbour {
	var out []Neighbour
	seen := map[string]bool{}
	for _, c := range cands {
		for _, n := range c.Near {
			if n.Fact.Status.Live() && !seen[n.Fact.ID] {
				seen[n.Fact.ID] = true
				out = append(out, n)
			}
		}
	}
	return out
}
