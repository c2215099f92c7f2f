package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Foresee says what will become of the request: whether it is kept and learned from,
// and what the last thing said asks to forget. Nothing is changed. It is for an answer
// that tells the user; ask before the question is recorded. With an error, which comes
// by the deadline of recall, Found is not known.
func (x *Exchange) Foresee(ctx context.Context) (f curate.Foresight, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.e.Opts.Deadline)
	defer cancel()
	err = x.guarded(func() (err error) { f, err = x.foresee(ctx); return err })
	return f, err
}

func (x *Exchange) foresee(ctx context.Context) (curate.Foresight, error) {
	pause := x.e.Paused(ctx, x.In.Owner)
	f := curate.Foresight{Kept: x.Writes && pause != core.PauseMemory && pause != core.PauseUnknown, Paused: pause}
	f.Learned = f.Kept && (x.learns || x.unsure) && pause == core.PauseNone && x.e.Lessons.Learns() && x.e.Opts.LearnAfter != core.Never
	f.Granted = f.Learned || f.Kept && pause == core.PauseLearning
	var about []string
	for _, wish := range x.wishes.Forget {
		found, err := x.foreseen(ctx, f, wish)
		if err != nil {
			f.Forget = wish.What
			return f, err
		}
		if wish.Of != extract.NamesNothing && found == 0 {
			continue // nobody who is known: it was no wish about memory
		}
		f.Found += found
		if wish.All {
			wish.What = "everything"
		}
		about = append(about, wish.What)
	}
	f.Forget = strings.Join(about, ", ")
	return f, nil
}

// foreseen returns how many memories a wish will take out of recall: earlier wishes
// and answers of the built-in model, which repeat what is known, are none.
func (x *Exchange) foreseen(ctx context.Context, f curate.Foresight, wish extract.Command) (int, error) {
	if !f.Granted {
		return 0, nil
	}
	found, err := x.e.Curate.Meant(ctx, memory.Scope{Owner: x.In.Owner, Project: x.In.Extras.Project}, wish)
	if err != nil {
		return 0, err
	}
	found = slices.DeleteFunc(found, func(m memory.Memory) bool {
		if m.Turn == nil || m.Turn.Role != memory.RoleUser {
			return m.Turn != nil && m.Turn.Name == memory.RecallModel
		}
		return len(learn.WishesIn(*m.Turn).Forget) > 0
	})
	if wish.OffTheRecord {
		return len(found) + 1, nil // what is being said
	}
	return len(found), nil
}

// asksToForget reports whether the new user turn is not learned from and wishes
// something to be forgotten.
func (x *Exchange) asksToForget() bool {
	return !x.learns && !x.Hides() && x.Asked != "" && len(x.wishes.Forget) > 0
}
