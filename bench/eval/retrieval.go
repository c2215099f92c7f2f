package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// Target is what is measured: the packages alone, or a server over HTTP. Several owners may be
// spoken to at once; turns of one owner come in order.
type Target interface {
	// Ingest stores turns of one owner, in order.
	Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error
	// Search returns the k best turns, best first.
	Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error)
}

// Found is a turn that a target found.
type Found struct {
	Ref   string
	Score float64
}

// searchDepth turns are fetched for a question: enough for every measure, also where the best turn
// of each session counts.
const searchDepth = 200

// RetrievalOptions say how a data set is measured. The zero value means every conversation apart,
// and some workers.
type RetrievalOptions struct {
	Pooled  bool // all conversations are one owner's
	Workers int  // at once; 0: two for each processor. Figures do not depend on it
}

// Measured ingests a data set into a target, asks every question once and scores what is found.
// Conversations apart are also asked each other's questions. The target should be empty.
func Measured(ctx context.Context, target Target, set Dataset, o RetrievalOptions) (Report, error) {
	r := &retrieval{target: target, set: set, o: o}
	if r.o.Workers == 0 {
		r.o.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	var err error
	if o.Pooled {
		err = r.run(ctx, r.pooled(), r.o.Workers)
	} else if err = r.scoped(ctx); err == nil {
		err = r.run(ctx, []stage{{ask: r.others()}}, r.o.Workers)
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
	probes []*probe // in the order of the data set, those put to another conversation last

	mu       sync.Mutex // guards ingested
	ingested []stage
}

// stage is turns to ingest and, when those are known, questions in any order.
type stage struct {
	owner memory.Owner
	turns []Turn
	ask   []*probe
}

// probe is one question to one owner, and what came of it.
type probe struct {
	Question
	conversation int // whose question it is
	owner        memory.Owner
	prefix       string // of the refs and sessions of its conversation there
	foreign      bool   // it is put to another conversation
	found        []Found
	ranks        map[string][]int // of its gold, by level
}

// own reports whether the turns of its owner answer it.
func (p *probe) own() bool { return !p.foreign && !p.Unanswerable }

// best is the score of the best found, 0 for nothing.
func (p *probe) best() float64 {
	if len(p.found) == 0 {
		return 0
	}
	return p.found[0].Score
}

// run runs stages, one after the other.
func (r *retrieval) run(ctx context.Context, stages []stage, workers int) error {
	for _, s := range stages {
		if len(s.turns) > 0 {
			if err := r.target.Ingest(ctx, s.owner, s.turns); err != nil {
				return fmt.Errorf("ingest %s: %w", s.owner.Name(), err)
			}
			r.mu.Lock()
			r.ingested = append(r.ingested, s)
			r.mu.Unlock()
		}
		err := parallel(ctx, len(s.ask), workers, func(ctx context.Context, i int) (err error) {
			a := s.ask[i]
			if a.found, err = r.target.Search(ctx, a.owner, a.Text, searchDepth); err != nil {
				return fmt.Errorf("search %q: %w", a.Text, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scoped puts each conversation and its questions to an owner of its own.
func (r *retrieval) scoped(ctx context.Context) error {
	var owners [][]stage
	for i, c := range r.set.Conversations {
		owner := ownerOf(r.set, i)
		var stages []stage
		known := 0
		for _, a := range r.asks(i, owner, "") {
			if upTo := c.known(a.Question); upTo > known || len(stages) == 0 {
				stages = append(stages, stage{owner: owner, turns: c.Turns[known:upTo]})
				known = upTo
			}
			last := &stages[len(stages)-1]
			last.ask = append(last.ask, a)
		}
		// The rest is there for the questions of others.
		owners = append(owners, append(stages, stage{owner: owner, turns: c.Turns[known:]}))
	}
	return parallel(ctx, len(owners), r.o.Workers, func(ctx context.Context, i int) error { return r.run(ctx, owners[i], 1) })
}

// asks returns the questions of one conversation, in the order in which they can be asked.
func (r *retrieval) asks(conversation int, owner memory.Owner, prefix string) []*probe {
	c, from := r.set.Conversations[conversation], len(r.probes)
	for _, q := range c.Questions {
		r.probes = append(r.probes, &probe{Question: q, conversation: conversation, owner: owner, prefix: prefix, ranks: map[string][]int{}})
	}
	asks := slices.Clone(r.probes[from:])
	slices.SortStableFunc(asks, func(a, b *probe) int { return c.known(a.Question) - c.known(b.Question) })
	return asks
}

// within is which of several conversations something belongs to, in front of its refs and sessions,
// so that they are unique in the owner of all.
func within(conversation int) string { return fmt.Sprint(conversation, "/") }

// pooled returns the stages of one owner who said all of it. The conversations grow side by side:
// when a question is asked of the first third of its own, a third of every other is known too.
func (r *retrieval) pooled() []stage {
	owner := memory.User(memory.DefaultNamespace, r.set.Name+"-pooled")
	var asks []*probe
	for i := range r.set.Conversations {
		asks = append(asks, r.asks(i, owner, within(i))...)
	}
	share := func(a *probe) (known, of int) {
		c := r.set.Conversations[a.conversation]
		return c.known(a.Question), max(1, len(c.Turns))
	}
	earlier := func(a, b *probe) int {
		known, of := share(a)
		its, ofIts := share(b)
		return cmp.Compare(known*ofIts, its*of)
	}
	slices.SortStableFunc(asks, earlier)
	var stages []stage
	known := make([]int, len(r.set.Conversations))
	for i, a := range asks {
		if i == 0 || earlier(asks[i-1], a) != 0 {
			s := stage{owner: owner}
			part, of := share(a)
			for j, c := range r.set.Conversations {
				upTo := max(known[j], len(c.Turns)*part/of)
				for _, t := range c.Turns[known[j]:upTo] {
					t.Ref, t.Session = within(j)+t.Ref, within(j)+t.Session
					s.turns = append(s.turns, t)
				}
				known[j] = upTo
			}
			stages = append(stages, s)
		}
		last := &stages[len(stages)-1]
		last.ask = append(last.ask, a)
	}
	return stages
}

// others puts every question to the next conversation, its speakers' names swapped in.
func (r *retrieval) others() (foreign []*probe) {
	for i, c := range r.set.Conversations {
		next, rename, ok := r.set.next(i)
		if !ok {
			return nil
		}
		for _, q := range c.answerable() {
			q.Text = rename.Replace(q.Text)
			foreign = append(foreign, &probe{Question: q, conversation: i, owner: ownerOf(r.set, next), foreign: true})
		}
	}
	r.probes = append(r.probes, foreign...)
	return foreign
}

// next returns the conversation after one, and what makes names of the former's speakers of those of
// the latter; ok is false if there is no other.
func (d Dataset) next(i int) (next int, rename *strings.Replacer, ok bool) {
	next = (i + 1) % len(d.Conversations)
	from, to := d.Conversations[i].speakers(), d.Conversations[next].speakers()
	var pairs []string
	for j := range min(len(from), len(to)) {
		pairs = append(pairs, from[j], to[j])
	}
	return next, strings.NewReplacer(pairs...), next != i
}

func ownerOf(set Dataset, i int) memory.Owner {
	return memory.User(memory.DefaultNamespace, fmt.Sprintf("%s-%d", set.Name, i))
}

// parallel calls do for 0 to n-1, at most workers at once, and returns their errors when all have
// returned. After an error no more are started.
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
