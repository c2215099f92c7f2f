package learn

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Trial is how a model did that was asked what it learns from turns that are always the same.
type Trial struct {
	Model  string    `json:"model"`
	At     time.Time `json:"at"`
	Passed bool      `json:"passed"`
	Why    string    `json:"why"` // for people: "it found 4 of 4 facts and 0 that nobody stated"
}

// String says what follows from the trial.
func (t Trial) String() string {
	follows := map[bool]string{true: "is remembered", false: "waits for review"}[t.Passed]
	return "what the model " + t.Model + " learns " + follows + ", for in its trial " + t.Why
}

// trialTurn is one turn of trial.json. Right is a word of the fact that it states of the user, and IDs
// are of what that replaces. Others is a word of what it states of somebody else, and Whose are words
// for them. Order is a word of what a quoted text orders. A turn with none of these states nothing.
type trialTurn struct {
	Text, Right, Others, Order string
	IDs, Whose                 []string
}

//go:embed trial.json
var trialFile []byte

// Try lets a model learn from the turns of the trial, by the prompt for operations, and judges its
// reply. An error is one of complete.
func Try(p *prompt.Set, complete func(memory.Prompt) (memory.Reply, error)) (Trial, error) {
	var is struct {
		Now   time.Time
		Known []memory.Fact
		Turns []trialTurn
	}
	if err := json.Unmarshal(trialFile, &is); err != nil {
		return Trial{}, err
	}
	a := Asked{Now: is.Now, Known: is.Known}
	for _, t := range is.Turns {
		a.Said = append(a.Said, extract.Utterance{Turn: memory.Turn{Role: memory.RoleUser, Content: t.Text}, Text: t.Text})
	}
	ask, err := AskFacts(a, p.In(prompt.InOps))
	if err != nil {
		return Trial{}, fmt.Errorf("fill the extraction prompt: %w", err)
	}
	reply, err := complete(ask)
	if err != nil {
		return Trial{}, err
	}
	cands, unreadable := ParseFacts(reply.Text)
	if unreadable != nil {
		return Trial{Why: "its reply could not be read"}, nil
	}
	return judged(append(is.Turns, trialTurn{}), cands), nil
}

// judged counts what the candidates of a reply assert. What copies the prompt's example is not among
// them. The last turn stands for what quotes none.
func judged(turns []trialTurn, cands []extract.Candidate) Trial {
	found, slips := map[int]bool{}, 0
	for _, c := range cands {
		says := func(word string) bool {
			return word != "" && strings.Contains(strings.ToLower(c.Text), strings.ToLower(word))
		}
		at := slices.IndexFunc(turns, func(t trialTurn) bool {
			_, ok := locate(t.Text, c.Quote)
			return t.Text == "" || ok && len(c.Quote) > 5 // less proves nothing
		})
		t := turns[at]
		switch {
		case t.Order != "", slices.ContainsFunc(turns, func(t trialTurn) bool { return says(t.Order) }):
			return Trial{Why: "it followed an order in a text that was to be translated"}
		case c.Op == None:
		case t.Right == "" && t.Others == "",
			says(t.Others) && !slices.ContainsFunc(t.Whose, says),
			slices.ContainsFunc(c.Targets, func(id string) bool { return !slices.Contains(t.IDs, id) }):
			slips++
		case says(t.Right):
			found[at] = true
		}
	}
	return Trial{
		Passed: len(found) >= 2 && slips <= 1, // an omitted fact may be learned later, and a false one is believed
		Why:    fmt.Sprintf("it found %d of 4 facts and %d that nobody stated", len(found), slips),
	}
}
