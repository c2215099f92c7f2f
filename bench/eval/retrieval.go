package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Target is what is measured: the packages alone, or a server over HTTP. Several
// owners may be spoken to at once; turns of one owner come in order.
type Target interface {
	// Ingest stores turns of one owner, in order.
	Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error
	// Search returns the k best turns, best first.
	Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error)
}

// Turn is one message of a data set.
type Turn struct {
	Ref     string // the data set's own id, unique within an owner
	Session string // becomes the conversation
	Role    memory.Role
	Name    string // of the speaker, "" for user and assistant
	Content string
	At      time.Time
}

// Found is a turn that a target found.
type Found struct {
	Ref   string
	Score float64
}

// Question is asked of one owner's turns.
type Question struct {
	ID       string // unique within its data set
	Text     string
	Category string
	Answer   string    // the right one, "" where the data set has none
	At       time.Time // when it is asked; zero: not known
	Gold     []string  // refs of the turns, or their sessions, that answer; none: nothing does
	Sessions []string  // that answer, where the data set names them apart from turns; none: those of the turns
	Before   int       // the first so many turns are known when it is asked; 0: all
}

// Conversation is what one owner said and is asked.
type Conversation struct {
	Name      string
	Turns     []Turn
	Questions []Question
	Sessions  bool // gold is sessions; the best turn of each stands for it

	// Unanswerable are questions that these turns do not answer, though they are
	// about the same people and things.
	Unanswerable []Question

	// What was wrong with the gold: ids that did not stand as they should and were
	// repaired, ids that name nothing (or nothing that was known when it was asked)
	// and were left out, and answerable questions left out since no gold remains.
	Repaired, Excluded, WithoutGold int
}

// Dataset is a named list of conversations.
type Dataset struct {
	Name          string
	Conversations []Conversation
}

// searchDepth turns are fetched for a question: enough for every k that is
// measured, also where the best turn of each session counts. Asking for more lets
// diversity look further, which moved no figure on the development data.
const searchDepth = 200

// RetrievalOptions say how a data set is measured. The zero value means every
// conversation apart, and some workers.
type RetrievalOptions struct {
	Pooled  bool // all conversations are one owner's
	Workers int  // at once; 0: two for each processor. Figures do not depend on it
}

// Measured ingests a data set into a target, asks every question once and scores
// what is found. Conversations apart are also asked each other's questions. The
// target should be empty.
func Measured(ctx context.Context, target Target, set Dataset, o RetrievalOptions) (Report, error) {
	if o.Workers == 0 {
		o.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	r := &retrieval{target: target, set: set, o: o}
	owners, within := [][]stage(nil), 1
	if o.Pooled {
		owners, within = [][]stage{r.pooled()}, o.Workers
	} else {
		owners = r.scoped()
	}
	err := r.runAll(ctx, owners, within)
	if err == nil && !o.Pooled {
		err = r.run(ctx, stage{ask: r.others()}, o.Workers)
	}
	if err != nil {
		return Report{}, err
	}
	return r.report(), nil
}

// retrieval is a data set on its way through a target.
type retrieval struct {
	target Target
	set    Dataset
	o      RetrievalOptions

	own, unanswerable, foreign []*probe // in the order of the data set
}

// stage is turns to ingest and, when those are known, questions in any order.
type stage struct {
	owner memory.Owner
	turns []Turn
	ask   []*probe
}

// probe is one question to one owner, and what came of it.
type probe struct {
	conversation int // whose question it is
	question     Question
	owner        memory.Owner
	text         string
	found        []Found
}

// runAll runs the stages of several owners, those of one in order.
func (r *retrieval) runAll(ctx context.Context, owners [][]stage, within int) error {
	return parallel(ctx, len(owners), r.o.Workers, func(ctx context.Context, i int) error {
		for _, s := range owners[i] {
			if err := r.run(ctx, s, within); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *retrieval) run(ctx context.Context, s stage, workers int) error {
	if len(s.turns) > 0 {
		if err := r.target.Ingest(ctx, s.owner, s.turns); err != nil {
			return fmt.Errorf("ingest %s: %w", s.owner.Name(), err)
		}
	}
	return parallel(ctx, len(s.ask), workers, func(ctx context.Context, i int) (err error) {
		a := s.ask[i]
		if a.found, err = r.target.Search(ctx, a.owner, a.text, searchDepth); err != nil {
			return fmt.Errorf("search %q: %w", a.text, err)
		}
		return nil
	})
}

// scoped returns the stages of each conversation.
func (r *retrieval) scoped() [][]stage {
	var owners [][]stage
	for i, c := range r.set.Conversations {
		owner := ownerOf(r.set, i)
		asks := r.asks(i, owner)
		slices.SortStableFunc(asks, func(a, b *probe) int { return c.known(a.question) - c.known(b.question) })
		var stages []stage
		known := 0
		for _, a := range asks {
			if upTo := c.known(a.question); upTo > known || len(stages) == 0 {
				stages = append(stages, stage{owner: owner, turns: c.Turns[known:upTo]})
				known = upTo
			}
			last := &stages[len(stages)-1]
			last.ask = append(last.ask, a)
		}
		// The rest is there for the questions of others.
		owners = append(owners, append(stages, stage{owner: owner, turns: c.Turns[known:]}))
	}
	return owners
}

// asks returns the questions of one conversation, to be put to owner.
func (r *retrieval) asks(conversation int, owner memory.Owner) []*probe {
	ask := func(into *[]*probe, questions []Question) {
		for _, q := range questions {
			*into = append(*into, &probe{conversation: conversation, question: q, owner: owner, text: q.Text})
		}
	}
	own, unanswerable := len(r.own), len(r.unanswerable)
	ask(&r.own, r.set.Conversations[conversation].Questions)
	ask(&r.unanswerable, r.set.Conversations[conversation].Unanswerable)
	return slices.Concat(r.own[own:], r.unanswerable[unanswerable:])
}

// known is how many turns are known when a question is asked.
func (c Conversation) known(q Question) int {
	if q.Before <= 0 || q.Before > len(c.Turns) {
		return len(c.Turns)
	}
	return q.Before
}

// others puts every question to the next conversation, its speakers' names swapped
// in.
func (r *retrieval) others() []*probe {
	n := len(r.set.Conversations)
	if n < 2 {
		return nil
	}
	for i, c := range r.set.Conversations {
		j := (i + 1) % n
		rename := swap(speakers(c), speakers(r.set.Conversations[j]))
		for _, q := range c.Questions {
			r.foreign = append(r.foreign, &probe{conversation: i, question: q, owner: ownerOf(r.set, j), text: rename.Replace(q.Text)})
		}
	}
	return r.foreign
}

func (r *retrieval) report() Report {
	report := Report{Dataset: r.set.Name, Pooled: r.o.Pooled, Conversations: len(r.set.Conversations), Categories: map[string]Measure{}}
	for _, c := range r.set.Conversations {
		report.Repaired += c.Repaired
		report.Excluded += c.Excluded
		report.WithoutGold += c.WithoutGold
	}
	sessions := r.sessions()
	for _, level := range []Level{TurnLevel, SessionLevel} {
		for _, a := range r.own {
			if o, ok := r.outcome(a, level, sessions); ok {
				report.Outcomes = append(report.Outcomes, o)
			}
		}
	}
	report.own, report.unanswerable, report.foreign = bests(r.own), bests(r.unanswerable), bests(r.foreign)
	report.summarise()
	return report
}

// parallel calls do for 0 to n-1, at most workers at once, and returns their
// errors when all have returned. After an error no more are started.
func parallel(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	slots, errs := make(chan struct{}, workers), make([]error, n)
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if errs[i] = do(ctx, i); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return context.Cause(ctx)
}
