package learn

import (
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// ForgetRequest is a turn's request to forget, with the ids of the facts that the model selected.
type ForgetRequest struct {
	TurnID  string
	FactIDs []string
}

// SplitForgetOps separates forget operations from other candidates, and drops forget operations that quote no user.
func SplitForgetOps(cands []extract.Candidate, utterances []extract.Utterance) (remaining []extract.Candidate, requests []ForgetRequest) {
	for _, c := range cands {
		if c.Op != ForgetTargets {
			remaining = append(remaining, c)
			continue
		}
		at := slices.IndexFunc(utterances, func(s extract.Utterance) bool {
			_, ok := locateQuote(s.Text, c.Quote)
			return ok && s.Turn.Role == memory.RoleUser
		})
		if at >= 0 && c.ReviewReason == "" {
			requests = append(requests, ForgetRequest{utterances[at].Turn.ID, c.TargetIDs})
		}
	}
	return remaining, requests
}

// Forget returns the changes that exclude memories from search. It retires facts together with their turns,
// removes links, and retires turns and summaries. Each memory changes once, in the order of memories.
func Forget(memories []memory.Memory, now time.Time, reason string, author memory.Author) []memory.Change {
	f := forgetter{now: memory.Time(now), reason: reason, author: author, changedTargets: map[string]bool{}}
	for _, m := range memories {
		switch {
		case m.Link != nil:
			f.unlink(*m.Link)
		case m.Fact != nil:
			f.retireFact(*m.Fact)
		case m.Turn != nil:
			if m.Turn.Status == memory.Active {
				f.retireTurn(m.Turn.ID)
			}
		case m.Summary != nil:
			f.retireSummary(*m.Summary)
		}
	}
	return f.changes
}

type forgetter struct {
	now            time.Time
	reason         string
	author         memory.Author
	changes        []memory.Change
	changedTargets map[string]bool // memories that changes already contains, by [memory.State.Target]
}

func (f *forgetter) addChange(action memory.Action, newState memory.State, version int64) {
	if target := newState.Target(); !f.changedTargets[target] {
		f.changedTargets[target] = true
		f.changes = append(f.changes, memory.Change{Action: action, After: newState, Base: version, Reason: f.reason, Author: f.author})
	}
}

func (f *forgetter) retireFact(fact memory.Fact) {
	if fact.Status != memory.Active && fact.Status != memory.Pending {
		return
	}
	fact.Status, fact.UpdatedAt = memory.Retired, f.now
	f.addChange(memory.ActionRetire, memory.State{Fact: &fact}, fact.Version)
	// The turns of imported facts are not in this store.
	if fact.Source != memory.Extracted {
		return
	}
	if quote := fact.Provenance.Quote; quote != nil {
		f.retireTurn(quote.Turn)
	}
	for _, id := range fact.Provenance.Turns { // the turns that repeated the fact
		f.retireTurn(id)
	}
}

func (f *forgetter) retireTurn(id string) {
	f.addChange(memory.ActionRetire, memory.State{Turn: &memory.TurnState{ID: id, Status: memory.Retired}}, 0)
}

func (f *forgetter) unlink(link memory.Link) {
	if link.Status.Live() {
		link.Status = memory.Retired
		f.addChange(memory.ActionUnlink, memory.State{Link: &link}, link.Version)
	}
}

func (f *forgetter) retireSummary(s memory.Summary) {
	if s.Status == memory.Active {
		s.Status = memory.Retired
		f.addChange(memory.ActionRetire, memory.State{Summary: &s}, s.Version)
	}
}
