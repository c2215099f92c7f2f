package eval

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

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

// Measured ingests a data set into a target, asks every question once and scores what is found: all
// conversations are of one owner, or each of its own, who is also asked another's questions. The target
// should be empty. Figures do not depend on how many workers there are.
func Measured(ctx context.Context, target Target, set Dataset, pooled bool, workers int) (Report, error) {
	r := &retrieval{target: target, set: set, workers: workers}
	if err := r.own(ctx, pooled); err != nil {
		return Report{}, err
	}
	if others := r.others(pooled); len(others) > 0 {
		r.probes = append(r.probes, others...)
		if err := r.search(ctx, others...); err != nil {
			return Report{}, err
		}
	}
	return r.report(), nil
}

// Workers is how many questions are asked at once.
var Workers = 2 * runtime.GOMAXPROCS(0)

// retrieval is a data set on its way through a target.
type retrieval struct {
	target  Target
	set     Dataset
	workers int
	probes  []*probe          // in the order of the data set, those put to another conversation last
	session map[string]string // of each turn, by its owner and ref
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

// search asks some questions.
func (r *retrieval) search(ctx context.Context, probes ...*probe) error {
	return parallel(ctx, len(probes), r.workers, func(ctx context.Context, i int) (err error) {
		p := probes[i]
		if p.found, err = r.target.Search(ctx, p.owner, p.Text, searchDepth); err != nil {
			return fmt.Errorf("search %q: %w", p.Text, err)
		}
		return nil
	})
}

// own puts each conversation and its questions to an owner of its own, each question when its time has
// come, or all of them to one who knows everything.
func (r *retrieval) own(ctx context.Context, pooled bool) error {
	owners, turns := make([]memory.Owner, len(r.set.Conversations)), make([][]Turn, len(r.set.Conversations))
	asks := make([][]*probe, len(r.set.Conversations))
	r.session = map[string]string{}
	for i, c := range r.set.Conversations {
		prefix := ""
		owners[i] = ownerOf(r.set, i)
		if pooled { // so that refs and sessions are unique
			owners[i], prefix = memory.User(memory.DefaultNamespace, r.set.Name+"-pooled"), fmt.Sprint(i, "/")
		}
		for _, t := range c.Turns {
			t.Ref, t.Session = prefix+t.Ref, prefix+t.Session
			turns[i], r.session[owners[i].Name()+"\x00"+t.Ref] = append(turns[i], t), t.Session
		}
		for _, q := range c.Questions {
			p := &probe{Question: q, conversation: i, owner: owners[i], prefix: prefix, ranks: map[string][]int{}}
			asks[i] = append(asks[i], p)
		}
		r.probes = append(r.probes, asks[i]...)
	}
	if pooled {
		if err := r.target.Ingest(ctx, owners[0], slices.Concat(turns...)); err != nil {
			return err
		}
		return r.search(ctx, r.probes...)
	}
	return parallel(ctx, len(owners), r.workers, func(ctx context.Context, i int) error {
		c, known := r.set.Conversations[i], 0
		grow := func(upTo int) error {
			fresh := turns[i][known:max(known, upTo)]
			if known += len(fresh); len(fresh) == 0 {
				return nil
			}
			return r.target.Ingest(ctx, owners[i], fresh)
		}
		slices.SortStableFunc(asks[i], func(a, b *probe) int {
			return cmp.Compare(c.known(a.Question), c.known(b.Question))
		})
		for _, p := range asks[i] {
			err := grow(c.known(p.Question))
			if err == nil {
				err = r.search(ctx, p)
			}
			if err != nil {
				return err
			}
		}
		return grow(len(turns[i])) // the rest is there for the questions of others
	})
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
