package learn

import (
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// ForgetRequest is a turn's request to forget, with the ids of the facts that the model selected.
type ForgetRequest struct {
	Turn  string
	Facts []string
}

// ForgetOps separates operations to forget from other candidates, and drops those without a user's quote.
func ForgetOps(cands []extract.Candidate, utterances []extract.Utterance) (others []extract.Candidate, named []ForgetRequest) {
	for _, c := range cands {
		if c.Op != ToForget {
			others = append(others, c)
			continue
		}
		at := slices.IndexFunc(utterances, func(s extract.Utterance) bool {
			_, ok := locate(s.Text, c.Quote)
			return ok && s.Turn.Role == memory.RoleUser
		})
		if at >= 0 && c.ReviewReason == "" {
			named = append(named, ForgetRequest{utterances[at].Turn.ID, c.Targets})
		}
	}
	return others, named
}

// Forget returns the changes that exclude memories from search. It retires facts together with their turns,
// removes links, and retires turns and summaries. Each memory changes once, in the order of found.
func Forget(found []memory.Memory, now time.Time, reason string, author memory.Author) []memory.Change {
	f := forgetter{now: memory.Time(now), reason: reason, author: author, done: map[string]bool{}}
	for _, m := range found {
		switch {
		case m.Link != nil:
			f.link(*m.Link)
		case m.Fact != nil:
			f.fact(*m.Fact)
		case m.Turn != nil:
			if m.Turn.Status == memory.Active {
				f.turn(m.Turn.ID)
			}
		case m.Summary != nil:
			f.summary(*m.Summary)
		}
	}
	return f.changes
}

type forgetter struct {
	now     time.Time
	reason  string
	author  memory.Author
	changes []memory.Change
	done    map[string]bool
}

func (f *forgetter) change(action memory.Action, after memory.Image, base int64) {
	if target := after.Target(); !f.done[target] {
		f.done[target] = true
		f.changes = append(f.changes, memory.Change{Action: action, After: after, Base: base, Reason: f.reason, Author: f.author})
	}
}

func (f *forgetter) fact(fact memory.Fact) {
	if fact.Status != memory.Active && fact.Status != memory.Pending {
		return
	}
	fact.Status, fact.UpdatedAt = memory.Retired, f.now
	f.change(memory.ActionRetire, memory.Image{Fact: &fact}, fact.Version)
	// The turns of imported facts are not in this store.
	if fact.Source != memory.Extracted {
		return
	}
	if quote := fact.Provenance.Quote; quote != nil {
		f.turn(quote.Turn)
	}
	for _, id := range fact.Provenance.Turns { // the turns that repeated the fact
		f.turn(id)
	}
}

func (f *forgetter) turn(id string) {
	f.change(memory.ActionRetire, memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Retired}}, 0)
}

func (f *forgetter) link(link memory.Link) {
	if link.Status.Live() {
		link.Status = memory.Retired
		f.change(memory.ActionUnlink, memory.Image{Link: &link}, link.Version)
	}
}

func (f *forgetter) summary(s memory.Summary) {
	if s.Status == memory.Active {
		s.Status = memory.Retired
		f.change(memory.ActionRetire, memory.Image{Summary: &s}, s.Version)
	}
}
