package eval

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

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
	r := &retrieval{target: target, set: set, workers: cmp.Or(o.Workers, 2*runtime.GOMAXPROCS(0))}
	if err := r.own(ctx, o.Pooled); err != nil {
		return Report{}, err
	}
	if err := r.run(ctx, stage{ask: r.others(o.Pooled)}, r.workers); err != nil {
		return Report{}, err
	}
	return r.report(), nil
}

// retrieval is a data set on its way through a target.
type retrieval struct {
	target  Target
	set     Dataset
	workers int
	probes  []*probe // in the order of the data set, those put to another conversation last

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

// answerable reports whether the turns of its owner answer it.
func (p *probe) answerable() bool { return !p.foreign && !p.Unanswerable }

// run runs a stage.
func (r *retrieval) run(ctx context.Context, s stage, workers int) error {
	if len(s.turns) > 0 {
		if err := r.target.Ingest(ctx, s.owner, s.turns); err != nil {
			return fmt.Errorf("ingest %s: %w", s.owner.Name(), err)
		}
		r.mu.Lock()
		r.ingested = append(r.ingested, s)
		r.mu.Unlock()
	}
	return parallel(ctx, len(s.ask), workers, func(ctx context.Context, i int) (err error) {
		a := s.ask[i]
		if a.found, err = r.target.Search(ctx, a.owner, a.Text, searchDepth); err != nil {
			return fmt.Errorf("search %q: %w", a.Text, err)
		}
		return nil
	})
}

// own puts each conversation and its questions to an owner of its own, or all of them to one.
func (r *retrieval) own(ctx context.Context, pooled bool) error {
	var owners [][]stage
	within := 1
	if pooled {
		owner := memory.User(memory.DefaultNamespace, r.set.Name+"-pooled")
		owners, within = [][]stage{r.stages(owner, 0, len(r.set.Conversations))}, r.workers
	} else {
		for i := range r.set.Conversations {
			owners = append(owners, r.stages(ownerOf(r.set, i), i, i+1))
		}
	}
	return parallel(ctx, len(owners), r.workers, func(ctx context.Context, i int) error {
		for _, s := range owners[i] {
			if err := r.run(ctx, s, within); err != nil {
				return err
			}
		}
		return nil
	})
}

// stages has one owner say the conversations from one place to another. They grow side by side: when a
// question is asked of the first third of its own, a third of every other is known too. Of several,
// refs and sessions begin with the conversation that they belong to, so that they are unique.
func (r *retrieval) stages(owner memory.Owner, from, to int) (stages []stage) {
	all, several := r.set.Conversations, min(1, to-from-1)
	prefix := func(i int) string { return strings.Repeat(fmt.Sprint(i, "/"), several) }
	var asks []*probe
	for i := from; i < to; i++ {
		for _, q := range all[i].Questions {
			p := &probe{Question: q, conversation: i, owner: owner, prefix: prefix(i), ranks: map[string][]int{}}
			asks = append(asks, p)
		}
	}
	r.probes = append(r.probes, asks...)
	earlier := func(a, b *probe) int { // which knows the smaller share of its conversation
		one, other := all[a.conversation], all[b.conversation]
		return cmp.Compare(one.known(a.Question)*max(1, len(other.Turns)), other.known(b.Question)*max(1, len(one.Turns)))
	}
	asks = slices.Clone(asks)
	slices.SortStableFunc(asks, earlier)
	known := make([]int, len(all))
	grow := func(part, of int) {
		s := stage{owner: owner}
		for i := from; i < to; i++ {
			upTo := max(known[i], len(all[i].Turns)*part/of)
			for _, t := range all[i].Turns[known[i]:upTo] {
				t.Ref, t.Session = prefix(i)+t.Ref, prefix(i)+t.Session
				s.turns = append(s.turns, t)
			}
			known[i] = upTo
		}
		stages = append(stages, s)
	}
	for i, a := range asks {
		if c := all[a.conversation]; i == 0 || earlier(asks[i-1], a) != 0 {
			grow(c.known(a.Question), max(1, len(c.Turns)))
		}
		last := &stages[len(stages)-1]
		last.ask = append(last.ask, a)
	}
	grow(1, 1) // the rest is there for the questions of others
	return stages
}

// others puts every question to the next conversation, its speakers' names swapped in, if there is one.
func (r *retrieval) others(pooled bool) (foreign []*probe) {
	if pooled || len(r.set.Conversations) < 2 {
		return nil
	}
	for i, c := range r.set.Conversations {
		next := (i + 1) % len(r.set.Conversations)
		var pairs []string
		from, to := c.speakers(), r.set.Conversations[next].speakers()
		for j := range min(len(from), len(to)) {
			pairs = append(pairs, from[j], to[j])
		}
		rename := strings.NewReplacer(pairs...)
		for _, q := range c.answerable() {
			q.Text = rename.Replace(q.Text)
			foreign = append(foreign, &probe{Question: q, conversation: i, owner: ownerOf(r.set, next), foreign: true})
		}
	}
	r.probes = append(r.probes, foreign...)
	return foreign
}

func ownerOf(set Dataset, i int) memory.Owner {
	return memory.User(memory.DefaultNamespace, fmt.Sprintf("%s-%d", set.Name, i))
}

// parallel calls do for 0 to n-1, at most workers at once, and returns the first error when all have
// returned. After an error no more are started.
func parallel(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error {
			if err := running.Err(); err != nil {
				return err
			}
			return do(running, i)
		})
	}
	return group.Wait()
}
