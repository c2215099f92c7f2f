package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// interrupted is a store that lets something happen right before a batch is written.
type interrupted struct {
	memory.Store
	before func(b memory.Batch)
}

func (s *interrupted) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	s.before(b)
	return s.Store.Append(ctx, owner, b)
}

// interrupt has do done once, right before the engine writes a batch that has a turn of
// the role.
func (r *rig) interrupt(role memory.Role, do func()) {
	r.Background.Wait()
	done := false
	r.Store = &interrupted{r.Store, func(b memory.Batch) {
		if !done && slices.ContainsFunc(b.Turns, func(t memory.Turn) bool { return t.Role == role }) {
			done = true
			do()
		}
	}}
}

// unwound says how what is active of an owner's conversation is not a path from each of its
// beginnings, or has two turns in one place.
func (r *rig) unwound(t *testing.T, chat string) (wrong []string) {
	t.Helper()
	turns := try(r.Store.Turns(t.Context(), ana, memory.TurnQuery{Conversation: chat})).orFail(t)
	ends := map[string]int{} // of the paths so far, and their indexes
	last := -1
	for _, turn := range turns {
		if at, ok := ends[turn.Parent]; turn.Index <= last || turn.Parent != "" && (!ok || turn.Index <= at) {
			wrong = append(wrong, fmt.Sprintf("%s %q is at %d after %.8s, and before it %d", turn.Role, turn.Content, turn.Index, turn.Parent, last))
		}
		delete(ends, turn.Parent)
		ends[turn.ID], last = turn.Index, turn.Index
	}
	return wrong
}

// Two servers take part in one chat at once, in every order of their steps: what is
// active is one path afterwards.
func TestTwoServersAtOnceLeaveOnePath(t *testing.T) {
	const (
		berlin  = inBerlin + `,{"role":"assistant","content":"Noted."}`
		cello   = `{"role":"user","content":"I play the cello."}`
		another = `{"role":"user","content":"I have a cat named Tom."}`
	)
	for name, c := range map[string]struct{ known, one, two string }{
		"the same question":         {"", inLisbon, inLisbon},
		"the same, later":           {berlin, berlin + "," + cello, berlin + "," + cello},
		"two edits":                 {berlin, inLisbon, cello},
		"two beginnings":            {"", inLisbon, inBerlin},
		"two messages":              {berlin, berlin + "," + cello, berlin + "," + another},
		"an edit and a message":     {berlin, inLisbon, berlin + "," + cello},
		"another answer":            {berlin, inBerlin, inBerlin},
		"another, and a message":    {berlin, inBerlin, berlin + "," + cello},
		"another answer and edited": {berlin, inBerlin, inLisbon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, resent := range []bool{true, false} {
				for _, at := range interleavings(3, 5) {
					takePart(t, resent, c.known, c.one, c.two, at)
				}
			}
		})
	}
}

// interleavings returns all ways in which so many steps in order fall on so many points.
func interleavings(steps, points int) [][]int {
	if steps == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, rest := range interleavings(steps-1, points) {
		first := 0
		if len(rest) > 0 {
			first = rest[len(rest)-1]
		}
		for p := first; p < points; p++ {
			out = append(out, append(slices.Clone(rest), p))
		}
	}
	return out
}

// takePart has a chat go on at two servers: at says at which of the points of the first
// one's exchange the second one asks, stores the question and stores the answer. The
// points are: before it, before the question is written, when it is, before the answer is
// written, when it is.
func takePart(t *testing.T, resent bool, known, one, two string, at []int) {
	t.Helper()
	r := newRig(t, stores["inmem"])
	other := r.second(t)
	in := func(said string) exchange.Incoming {
		in := exchange.Incoming{Owner: ana, Chat: decode(t, "["+said+"]")}
		if in.ChatID = "c"; !resent {
			in.ChatID, in.Extras.ID = "", "c"
		}
		return in
	}
	ctx := t.Context()
	if known != "" {
		first := decode(t, "["+known+"]").Messages
		r.exchange(t, in(inBerlin), first[1].Text)
	}
	var y *exchange.Exchange
	steps := []func(){
		func() { y = other.Exchange.Open(ctx, in(two)); y.Prepare(ctx); y.Placement() },
		func() {
			y.RecordQuestion(ctx)
			if _, err := y.QuestionID(); err != nil {
				t.Error(err)
			}
		},
		func() { y.RecordAnswer(ctx, answered("The second answer.")) },
	}
	reach := func(point int) {
		for len(at) > 0 && at[0] <= point {
			steps[0]()
			steps, at = steps[1:], at[1:]
		}
	}
	order := fmt.Sprintf("all is sent %v, steps at %v", resent, at)
	reach(0)
	x := r.Exchange.Open(ctx, in(one))
	x.Prepare(ctx)
	x.Placement()
	r.interrupt(memory.RoleUser, func() { reach(1) })
	x.RecordQuestion(ctx)
	if _, err := x.QuestionID(); err != nil {
		t.Error(err)
	}
	reach(2)
	r.interrupt(memory.RoleAssistant, func() { reach(3) })
	x.RecordAnswer(ctx, answered("The first answer."))
	reach(4)
	for _, wrong := range r.unwound(t, "c") {
		t.Errorf("%s: %s", order, wrong)
	}
	if t.Failed() {
		t.Logf("%s: path %q, off it %q", order, r.path(t, "c"), r.offPath(t, "c"))
	}
}

// A turn that is forgotten at another server while an edit replaces it stays forgotten, and
// when the client goes back to it, too.
func TestWhatIsForgottenWhileItIsReplacedStaysForgotten(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		other := r.second(t)
		in := func(said string) exchange.Incoming {
			return exchange.Incoming{Owner: ana, Chat: decode(t, "["+said+"]"), ChatID: "c"}
		}
		r.exchange(t, in(inBerlin), "Noted.")
		berlin := r.turns(t, ana)[0].ID
		is := func() memory.Status {
			t.Helper()
			found, err := r.Store.Get(t.Context(), ana, berlin)
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			return found[0].Turn.Status
		}
		x := r.Exchange.Open(t.Context(), in(inLisbon))
		x.Prepare(t.Context())
		r.interrupt(memory.RoleUser, func() {
			if _, _, err := other.Curate.ForgetMatching(t.Context(), ana, curate.ForgetRequest{IDs: []string{berlin}}, her); err != nil {
				t.Error(err)
			}
		})
		x.RecordQuestion(t.Context())
		x.RecordAnswer(t.Context(), answered("A lovely town."))
		if got := is(); got != memory.Retired {
			t.Errorf("what was forgotten while it was replaced is %s", got)
		}
		r.exchange(t, in(inBerlin+`,{"role":"assistant","content":"Noted."},{"role":"user","content":"I play the cello."}`), "OK.")
		if got := is(); got != memory.Retired {
			t.Errorf("gone back to, what was forgotten is %s", got)
		}
	})
}

// The answer to a question that is forgotten meanwhile is stored without its words, whether
// the question was asked for the first time or again.
func TestAnAnswerToWhatIsForgottenHasNoWords(t *testing.T) {
	for _, before := range []int{0, 1} {
		onEach(t, func(t *testing.T, r *rig) {
			other := r.second(t)
			in := exchange.Incoming{Owner: ana, Chat: decode(t, "["+inBerlin+"]"), ChatID: "c"}
			for range before {
				r.exchange(t, in, "Noted.")
			}
			x := r.Exchange.Open(t.Context(), in)
			x.Prepare(t.Context())
			x.RecordQuestion(t.Context())
			noError(t)(x.QuestionID())
			var ids []string
			for _, turn := range r.turns(t, ana) {
				ids = append(ids, turn.ID)
			}
			noError(t)(other.Curate.ForgetMatching(t.Context(), ana, curate.ForgetRequest{IDs: ids}, her))
			x.RecordAnswer(t.Context(), answered("So you live in Berlin."))
			all := try(r.Store.Turns(t.Context(), ana, memory.TurnQuery{Conversation: "c", Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})).orFail(t)
			for _, turn := range all {
				if turn.Content == "So you live in Berlin." {
					t.Errorf("asked %d times before: the answer is stored, %s", before, turn.Status)
				}
			}
		})
	}
}
