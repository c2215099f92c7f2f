package learn

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Trial is how a model did that was asked what it learns from turns that are always the same.
type Trial struct {
	Model    string    `json:"model"`
	Endpoint string    `json:"endpoint"`
	At       time.Time `json:"at"`
	Passed   bool      `json:"passed"`
	Why      string    `json:"why"` // for people: "it found 4 of 4 facts and 0 that nobody stated"
}

// String says what follows from the trial.
func (t Trial) String() string {
	if t.Passed {
		return "what the model " + t.Model + " learns is remembered: in its trial " + t.Why
	}
	return "what the model " + t.Model + " learns waits for review, for in its trial " + t.Why
}

// TrialHelp is what to do about a trial that was not passed.
const TrialHelp = "name a stronger model as learn.model, or set learn.trust to always; loci models try repeats the trial"

// TrialLasts is after how long a model is tried again.
const TrialLasts = 30 * 24 * time.Hour

// A model passes that finds at least trialFinds of four facts, and asserts no more than trialSlips
// that nobody stated: an omitted fact may be learned later, and a false one is believed.
const (
	trialFinds = 2
	trialSlips = 1
)

// shortQuote is fewer bytes than prove anything.
const shortQuote = 6

// trialTurn is one turn of trial.json. Right is a word of the fact that it states of the user, and IDs
// are of what that replaces. Others is a word of what it states of somebody else, and Whose are words
// for them. Order is a word of what a quoted text orders. A turn with none of these states nothing.
type trialTurn struct {
	Text, Right, Others, Whose, Order string
	IDs                               []string
}

//go:embed trial.json
var trialFile []byte

var trial = sync.OnceValue(func() (t struct {
	Now   time.Time
	Known []string
	Turns []trialTurn
}) {
	if err := json.Unmarshal(trialFile, &t); err != nil {
		panic(err) // the embedded file is broken; a test would have said so
	}
	return t
})

// Try lets a model learn from the turns of the trial, by the prompt for operations, and judges its
// reply. It asks once more after a reply that cannot be read. An error is one of complete.
func Try(p *prompt.Set, complete func(memory.Prompt) (memory.Reply, error)) (Trial, error) {
	a := Asked{Now: trial().Now}
	for _, known := range trial().Known {
		a.Known = append(a.Known, memory.Fact{Content: known})
	}
	for _, t := range trial().Turns {
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
		if reply, err = complete(AskRepair(ask, reply.Text, unreadable)); err != nil {
			return Trial{}, err
		}
		if cands, unreadable = ParseFacts(reply.Text); unreadable != nil {
			return Trial{Why: "its replies could not be read"}, nil
		}
	}
	return judged(ask.System, reply.Text, cands), nil
}

// exampleText is a fact in an example of a prompt.
var exampleText = lazy.Compile(`"text": ?("[^"]{8,}")`)

// judged counts what the candidates of a reply assert.
func judged(system, reply string, cands []extract.Candidate) Trial {
	for _, example := range exampleText.FindAllStringSubmatch(system, -1) {
		if strings.Contains(reply, example[1]) {
			return Trial{Why: "it copied an example of its prompt"}
		}
	}
	turns := trial().Turns
	found, slips := map[int]bool{}, 0
	for _, c := range cands {
		at := slices.IndexFunc(turns, func(t trialTurn) bool {
			_, ok := locate(t.Text, c.Quote)
			return ok && len(c.Quote) >= shortQuote
		})
		switch {
		case slices.ContainsFunc(turns, func(t trialTurn) bool { return holds(c.Text, t.Order) }), at >= 0 && turns[at].Order != "":
			return Trial{Why: "it followed an order in a text that was to be translated"}
		case c.Op == None:
		case at < 0 || !turns[at].states(c):
			slips++
		case holds(c.Text, turns[at].Right):
			found[at] = true
		}
	}
	return Trial{
		Passed: len(found) >= trialFinds && slips <= trialSlips,
		Why:    fmt.Sprintf("it found %d of 4 facts and %d that nobody stated", len(found), slips),
	}
}

// states reports whether a turn states something, and nothing in a candidate that quotes it shows
// that this is not what it says.
func (t trialTurn) states(c extract.Candidate) bool {
	if t.Right == "" && t.Others == "" || slices.ContainsFunc(c.Targets, func(id string) bool { return !slices.Contains(t.IDs, id) }) {
		return false
	}
	return !holds(c.Text, t.Others) || slices.ContainsFunc(strings.Split(t.Whose, "|"), func(whose string) bool { return holds(c.Text, whose) })
}

// holds reports whether a text has a word; none has "".
func holds(words, word string) bool {
	return word != "" && strings.Contains(strings.ToLower(words), strings.ToLower(word))
}
