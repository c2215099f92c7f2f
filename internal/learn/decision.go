package learn

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// The verdicts of decisions, which are also the operations of models.
const (
	Add           extract.FactOperation = "add"    // store the candidate
	Update        extract.FactOperation = "update" // the candidate replaces the target
	Delete        extract.FactOperation = "delete" // the target fact is no longer true
	None          extract.FactOperation = "none"   // the target already means the same as the candidate
	ForgetTargets extract.FactOperation = "forget" // the user asks to forget the targets
)

// Decision is one result of reconciliation.
type Decision struct {
	CandidateIndex int // index in the list of candidates; -1 if the decision names no candidate
	Verdict        extract.FactOperation
	TargetID       string // id of the existing fact; "" for Add
	Text           string // for Update: the words to store instead of the candidate's words
	Reason         string
}

var verdictsByName = map[string]extract.FactOperation{
	"add": Add, "new": Add, "insert": Add, "create": Add,
	"update": Update, "replace": Update, "merge": Update, "refine": Update, "supersede": Update,
	"delete": Delete, "remove": Delete, "retire": Delete, "end": Delete, "forget": ForgetTargets,
	"none": None, "same": None, "ignore": None, "noop": None, "no-op": None, "skip": None, "keep": None, "duplicate": None, "redundant": None,
}

// ParseDecisions reads a model's reply about cands: the reconciliation prompt's decisions, a list of facts
// with events, or {"action": "replace", "target_id": …}. It ignores decisions about unknown candidates, and
// returns [memory.Invalid] if the reply has no decisions.
func ParseDecisions(reply string, cands []extract.Candidate) ([]Decision, error) {
	targets := map[string]string{} // maps short and full ids to full ids
	for i, n := range liveNeighbours(cands) {
		targets[strconv.Itoa(i)], targets[strings.ToLower(n.Fact.ID)] = n.Fact.ID, n.Fact.ID
	}
	elements, listed := replyElements(withoutThinking(reply), "decisions", "memory")
	var out []Decision
	for _, e := range elements[:min(len(elements), maxDecisions)] {
		var w struct {
			New                         replyIDs
			Event, Action, Text, Reason string
			ID                          replyIDs
			TargetID                    replyIDs `json:"target_id"`
		}
		if !decodeLoosely(e, &w) {
			continue
		}
		verdict, ok := verdictsByName[strings.ToLower(firstNonEmpty(w.Event, w.Action))]
		if listed = listed || ok; !ok {
			continue
		}
		if verdict == ForgetTargets { // in this reply format "forget" is no request of the user
			verdict = Delete
		}
		d := Decision{CandidateIndex: -1, Verdict: verdict, Text: w.Text, Reason: w.Reason}
		for _, id := range append(w.ID, w.TargetID...) {
			d.TargetID = targets[id]
		}
		if len(w.New) == 1 {
			if n, err := strconv.Atoi(w.New[0]); err == nil && 1 <= n && n <= len(cands) {
				d.CandidateIndex = n - 1
			}
		} else if d.CandidateIndex = slices.IndexFunc(cands, func(c extract.Candidate) bool { return text.Hash(c.Text) == text.Hash(w.Text) }); d.CandidateIndex < 0 && len(cands) == 1 && verdict != Delete {
			d.CandidateIndex = 0
		}
		switch {
		case verdict == Delete && d.TargetID == "", verdict != Delete && d.CandidateIndex < 0:
			continue
		case verdict == Add:
			d.TargetID = ""
		}
		out = append(out, d)
	}
	if !listed {
		return nil, memory.Errorf(memory.Invalid, "reply has no decisions")
	}
	return out, nil
}

// maxDecisions is the maximum number of decisions read from a reply; the rest is ignored.
const maxDecisions = 256
