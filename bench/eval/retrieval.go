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

// Target is a measured system: only packages, or a server over HTTP. Calls for several owners may be concurrent; turns
// of one owner come in order.
type Target interface {
	// Ingest stores turns of an owner, in order.
	Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error
	// Search returns the k best turns, best first.
	Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error)
}

// Found is a turn found by a target.
type Found struct {
	Ref   string
	Score float64
}

// searchDepth is the number of turns per search, enough for all measures, even those of sessions.
const searchDepth = 200

// Measured ingests a data set into an empty target, asks every question once and scores the results. Either one owner
// has all conversations (pooled), or each has an owner, who is also asked another's questions.
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

// Workers is the number of concurrent questions.
var Workers = 2 * runtime.GOMAXPROCS(0)

// retrieval is the state of [Measured].
type retrieval struct {
	target  Target
	set     Dataset
	workers int
	probes  []*probe          // in the order of the data set, foreign ones last
	session map[string]string // session of each turn, by owner and ref
}

// probe is a question to an owner, with its result.
type probe struct {
	Question
	conversation int // index of the conversation of the question
	owner        memory.Owner
	prefix       string // of its refs and sessions if pooled
	foreign      bool   // the question belongs to another conversation
	found        []Found
	ranks        map[string][]int // ranks of its gold, by level
}

// answerable reports whether the owner's turns have the answer.
func (p *probe) answerable() bool { return !p.foreign && !p.Unanswerable }

// search runs probes.
func (r *retrieval) search(ctx context.Context, probes ...*probe) error {
	return parallel(ctx, len(probes), r.workers, func(ctx context.Context, i int) (err error) {
		p := probes[i]
		if p.found, err = r.target.Search(ctx, p.owner, p.Text, searchDepth); err != nil {
			return fmt.Errorf("search %q: %w", p.Text, err)
		}
		return nil
	})
}

// own ingests each conversation for a separate owner and asks its questions at their time, or, if pooled, ingests all
// for one owner and then asks.
func (r *retrieval) own(ctx context.Context, pooled bool) error {
	owners, turns := make([]memory.Owner, len(r.set.Conversations)), make([][]Turn, len(r.set.Conversations))
	asks := make([][]*probe, len(r.set.Conversations))
	r.session = map[string]string{}
	for i, c := range r.set.Conversations {
		prefix := ""
		owners[i] = ownerOf(r.set, i)
		if pooled { // makes refs and sessions unique
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
		c, ingested := r.set.Conversations[i], 0
		grow := func(upTo int) error {
			fresh := turns[i][ingested:max(ingested, upTo)]
			if ingested += len(fresh); len(fresh) == 0 {
				return nil
			}
			return r.target.Ingest(ctx, owners[i], fresh)
		}
		slices.SortStableFunc(asks[i], func(a, b *probe) int {
			return cmp.Compare(c.turnsBefore(a.Question), c.turnsBefore(b.Question))
		})
		for _, p := range asks[i] {
			err := grow(c.turnsBefore(p.Question))
			if err == nil {
				err = r.search(ctx, p)
			}
			if err != nil {
				return err
			}
		}
		return grow(len(turns[i])) // foreign questions need all turns
	})
}

// others returns every question as a probe of the next conversation, if any, with that one's speakers.
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

// parallel calls do for 0 to n-1 with a limit of workers, waits for all and returns the first error. After an error it
// starts no more.
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
