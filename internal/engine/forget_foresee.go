package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Foresight is what will become of a request in memory.
type Foresight struct {
	Kept    bool  // what is said is kept
	Learned bool  // and learned from
	Granted bool  // wishes to forget are granted, whether it is learned from or not
	Paused  Pause // what the user has put on hold

	Forget string // what the user asks to be forgotten, "everything" for all; "" for nothing
	Found  int    // how many memories that is about, of those that it will be about
}

// Foresee says what will become of the request: whether it is kept and learned from,
// and what the last thing said asks to forget. Nothing is changed. It is for an answer
// that tells the user; ask before the question is recorded. With an error, which comes
// by the deadline of recall, Found is not known.
func (x *Exchange) Foresee(ctx context.Context) (f Foresight, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.e.opts.Deadline)
	defer cancel()
	err = x.guarded(func() (err error) { f, err = x.foresee(ctx); return err })
	return f, err
}

func (x *Exchange) foresee(ctx context.Context) (Foresight, error) {
	pause := x.e.Paused(ctx, x.in.Owner)
	f := Foresight{Kept: x.writes && pause != PauseMemory && pause != PauseUnknown, Paused: pause}
	f.Learned = f.Kept && (x.learns || x.unsure) && pause == PauseNone && x.e.learns() && x.e.opts.LearnAfter != Never
	f.Granted = f.Learned || f.Kept && pause == PauseLearning
	t := memory.Turn{Role: memory.RoleUser, Content: x.in.Chat.Question(1)}
	_, wishes := learn.Commands([]learn.Said{{Turn: t, Text: t.Content}})
	var about []string
	for _, wish := range wishes {
		found, err := x.foreseen(ctx, f, wish)
		if err != nil {
			f.Forget = wish.What
			return f, err
		}
		if wish.Of != learn.NamesNothing && found == 0 {
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
func (x *Exchange) foreseen(ctx context.Context, f Foresight, wish learn.Command) (int, error) {
	if !f.Granted {
		return 0, nil
	}
	found, err := x.e.meant(ctx, memory.Scope{Owner: x.in.Owner, Project: x.in.Extras.Project}, wish)
	if err != nil {
		return 0, err
	}
	found = slices.DeleteFunc(found, func(m memory.Memory) bool {
		if m.Turn == nil || m.Turn.Role != memory.RoleUser {
			return m.Turn != nil && m.Turn.Name == memory.RecallModel
		}
		_, asks := learn.Commands([]learn.Said{{Turn: *m.Turn, Text: m.Turn.Content}})
		return len(asks) > 0
	})
	if wish.Unsaid {
		return len(found) + 1, nil // what is being said
	}
	return len(found), nil
}
