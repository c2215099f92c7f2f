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

// FactsInput is the input of the prompt that asks a model for the facts in new turns.
type FactsInput struct {
	Utterances        []extract.Utterance // the new turns
	Preceding         []extract.Utterance // the messages before the new turns, as context
	Facts             []memory.Fact       // facts similar to the turns, and facts learned from the preceding turns
	AttachedDocuments string              // text of the documents attached to the conversation; "" for none
	LearningGoals     string              // topics that the user or the project wants Loci to remember; "" means all topics
	Now               time.Time           // the current time, for turns without a time
	Zone              *time.Location      // time zone of the dates in the prompt; nil means UTC
}

// AskFacts returns the prompt that asks a model how new turns change memory.
func AskFacts(a FactsInput, p *prompt.Set) (memory.Prompt, error) {
	zone := a.Zone
	if zone == nil {
		zone = time.UTC
	}
	d := prompt.Extract{NewestTurnAt: a.Now.In(zone), Context: a.AttachedDocuments, LearningGoals: a.LearningGoals}
	turn := func(id string, s extract.Utterance, words string) prompt.Turn {
		at := s.Turn.CreatedAt
		if !at.IsZero() {
			at = at.In(zone)
		}
		return prompt.Turn{ID: id, Role: string(s.Turn.Role), Name: s.Turn.Name, At: at, Text: words}
	}
	for _, s := range a.Preceding {
		d.Preceding = append(d.Preceding, turn("", s, beginningAndEnd(s.Text)))
	}
	for i, s := range a.Utterances {
		if i > 0 && s.AnsweredMessage != "" && a.Utterances[i-1].Turn.Role == memory.RoleUser { // s answers a message that is not among the new turns
			d.Turns = append(d.Turns, prompt.Turn{Role: string(memory.RoleAssistant), Text: beginningAndEnd(s.AnsweredMessage)})
		}
		d.Turns = append(d.Turns, turn(shortTurnID(i), s, s.TextForModel()))
		if !s.Turn.CreatedAt.IsZero() {
			d.NewestTurnAt = s.Turn.CreatedAt.In(zone)
		}
	}
	for i, f := range a.Facts {
		d.Facts = append(d.Facts, prompt.FactLine{ID: shortFactID(i), Text: f.Content, Pending: f.Status == memory.Pending})
	}
	return p.Fill(d)
}

// maxContextBytes is the maximum number of bytes of a context message in a prompt: half from its beginning
// and half from its end, where most questions are.
const maxContextBytes = 320

func beginningAndEnd(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxContextBytes {
		return s
	}
	end := s[len(s)-maxContextBytes/2:]
	return text.Clip(s, maxContextBytes/2) + " … " + strings.ToValidUTF8(end, "")
}

// shortFactID returns the short id of fact i in a prompt: "k1" for the first.
func shortFactID(i int) string { return "k" + strconv.Itoa(i+1) }

// shortTurnID returns the short id of turn i in a prompt: "t1" for the first. Models copy long ids wrongly.
func shortTurnID(i int) string { return "t" + strconv.Itoa(i+1) }

// AskDecisions returns the prompt that asks a model how each candidate changes the facts similar to it.
func AskDecisions(cands []extract.Candidate, p *prompt.Set) (memory.Prompt, error) {
	var d prompt.Reconcile
	for i, n := range liveNeighbours(cands) {
		d.Facts = append(d.Facts, prompt.FactLine{ID: strconv.Itoa(i), Text: n.Fact.Content, At: n.Fact.ObservedAt})
	}
	for i, c := range cands {
		d.Candidates = append(d.Candidates, prompt.FactLine{ID: strconv.Itoa(i + 1), Text: c.Text, At: c.ObservedAt})
	}
	return p.Fill(d)
}

// liveNeighbours returns the live (active or pending) neighbours of all candidates, without duplicates. The
// prompt uses the index of a neighbour as its short id.
func liveNeighbours(cands []extract.Candidate) []extract.Neighbor {
	var out []extract.Neighbor
	seen := map[string]bool{}
	for _, c := range cands {
		for _, n := range c.Neighbors {
			if n.Fact.Status.Live() && !seen[n.Fact.ID] {
				seen[n.Fact.ID] = true
				out = append(out, n)
			}
		}
	}
	return out
}
