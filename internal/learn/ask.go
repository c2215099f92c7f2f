package learn

import (
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Asked is what a model is asked about new turns.
type Asked struct {
	Said     []extract.Utterance // the new turns
	Before   []extract.Utterance // what was said just before, so that they can be understood
	Known    []memory.Fact       // what is remembered already: near to the turns, or taught just before
	Attached string              // the documents that are always in the prompt, "" for none
	Wishes   string              // what the user or the project wants remembered, "" for anything
	Now      time.Time           // for turns without a time of their own
	Zone     *time.Location
}

// AskFacts returns the prompt that asks a model what new turns change in memory.
func AskFacts(a Asked, p *prompt.Set) (memory.Prompt, error) {
	zone := a.Zone
	if zone == nil {
		zone = time.UTC
	}
	d := prompt.Extract{Today: a.Now.In(zone), Context: a.Attached, Wishes: a.Wishes}
	turn := func(id string, s extract.Utterance, words string) prompt.Turn {
		at := s.Turn.CreatedAt
		if !at.IsZero() {
			at = at.In(zone)
		}
		return prompt.Turn{ID: id, Role: string(s.Turn.Role), Name: s.Turn.Name, At: at, Text: words}
	}
	for _, s := range a.Before {
		d.Before = append(d.Before, turn("", s, shortened(s.Text)))
	}
	for i, s := range a.Said {
		if i > 0 && s.Before != "" && a.Said[i-1].Turn.Role == memory.RoleUser { // what a turn answers, inside of a batch
			d.Turns = append(d.Turns, prompt.Turn{Role: string(memory.RoleAssistant), Text: shortened(s.Before)})
		}
		d.Turns = append(d.Turns, turn(turnName(i), s, s.Shown()))
		if !s.Turn.CreatedAt.IsZero() {
			d.Today = s.Turn.CreatedAt.In(zone)
		}
	}
	for i, f := range a.Known {
		d.Known = append(d.Known, prompt.Line{ID: factName(i), Text: f.Content, Waits: f.Status == memory.Pending})
	}
	return p.Fill(d)
}

// shown is how many bytes of a message that is not learned from a model reads: its
// beginning, and its end, where questions are.
const shown = 320

func shortened(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= shown {
		return s
	}
	end := s[len(s)-shown/2:]
	return text.Clip(s, shown/2) + " … " + strings.ToValidUTF8(end, "")
}

// factName is how a prompt names the i-th known fact.
func factName(i int) string { return "k" + strconv.Itoa(i+1) }

// turnName is how a prompt names the i-th turn: long ids are copied wrongly.
func turnName(i int) string { return "t" + strconv.Itoa(i+1) }

// AskDecisions returns the prompt that asks a model what each candidate does to
// the facts near it.
func AskDecisions(cands []extract.Candidate, p *prompt.Set) (memory.Prompt, error) {
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
func neighbours(cands []extract.Candidate) []extract.Neighbour {
	var out []extract.Neighbour
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
