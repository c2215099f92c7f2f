package compare

import (
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Admission keeps apart what people decide about an owner's facts at the same time, so that
// of two that contradict each other the second is compared with the first. What says
// nothing against each other goes side by side: the store puts such writes into one commit.
// A learner, or another process, may still come in between: see [Comparer.PlannedOn].
type Admission struct {
	mu sync.Mutex
	Of map[memory.Owner][]*Admitted // who is in or waits, in the order of coming; guarded by mu
}

// NewAdmission returns an admission that lets the first writer in.
func NewAdmission() *Admission { return &Admission{Of: map[memory.Owner][]*Admitted{}} }

// Admitted is somebody's place among them.
type Admitted struct {
	among  *Admission
	owner  memory.Owner
	run    string          // the id of what it writes
	about  *memory.Fact    // the fact that it makes active; nil: it is alone, until it shares
	denies bool            // the fact denies something
	terms  func() []string // of the fact's words
	let    chan struct{}   // closed when it lets others in: it is alone no more, or has left
	left   chan struct{}   // closed when it has left

	shares bool            // it is alone no more; guarded by deciders.mu
	beside map[string]bool // the runs of those who were in at the same time; guarded by deciders.mu
}

// Enter waits for a place to write a fact by a run: until nobody who came before is still in
// who is alone or says something against it. leave must be called.
func (d *Admission) Enter(ctx context.Context, owner memory.Owner, run string, about memory.Fact) (*Admitted, error) {
	return d.take(ctx, &Admitted{
		among: d, owner: owner, run: run, about: &about, denies: learn.Denied(about.Content),
		terms: sync.OnceValue(func() []string { return text.Terms(about.Content) }),
	})
}

// EnterAlone waits for a place that nobody else is beside. leave must be called.
func (d *Admission) EnterAlone(ctx context.Context, owner memory.Owner, run string) (*Admitted, error) {
	return d.take(ctx, &Admitted{among: d, owner: owner, run: run})
}

// take has a place wait for all who came before that it may not be beside.
func (d *Admission) take(ctx context.Context, place *Admitted) (*Admitted, error) {
	place.let, place.left, place.beside = make(chan struct{}), make(chan struct{}), map[string]bool{}
	d.mu.Lock()
	before := slices.Clone(d.Of[place.owner])
	d.Of[place.owner] = append(d.Of[place.owner], place)
	for _, other := range before {
		other.beside[place.run], place.beside[other.run] = true, true
	}
	d.mu.Unlock()
	for _, other := range before {
		if err := place.waitFor(ctx, other); err != nil {
			place.Leave()
			return nil, err
		}
	}
	return place, nil
}

// waitFor waits until the place may be beside one who came before.
func (p *Admitted) waitFor(ctx context.Context, other *Admitted) error {
	over := other.left
	switch {
	case p.about == nil:
	case other.about == nil:
		over = other.let
	case !p.against(other):
		return nil
	}
	select {
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.among.mu.Lock()
	defer p.among.mu.Unlock()
	if over == other.left || !other.shares { // what it wrote is what this one is compared with
		delete(p.beside, other.run)
	}
	return nil
}

// against reports whether what a place writes may contradict what one before it does, as
// [Comparer.Conflicts] would find once that is written.
func (p *Admitted) against(other *Admitted) bool {
	if f := p.about; f.Attribute != "" && f.Attribute == other.about.Attribute && f.Subject == other.about.Subject {
		return true
	}
	return p.denies != other.denies && sharesOne(p.terms(), other.terms()) &&
		len(Contradicted(*p.about, []extract.Neighbour{{Fact: *other.about}})) > 0
}

func sharesOne(a, b []string) bool {
	return slices.ContainsFunc(a, func(term string) bool { return slices.Contains(b, term) })
}

// Share lets others in who were kept out for this one's being alone: it turned out to be
// compared with nothing.
func (p *Admitted) Share() {
	p.among.mu.Lock()
	defer p.among.mu.Unlock()
	p.shares = true
	close(p.let)
}

// Leave gives the place up. It may be called again.
func (p *Admitted) Leave() {
	p.among.mu.Lock()
	defer p.among.mu.Unlock()
	in := p.among.Of[p.owner]
	at := slices.Index(in, p)
	if at < 0 {
		return
	}
	if p.among.Of[p.owner] = slices.Delete(in, at, at+1); len(in) == 1 {
		delete(p.among.Of, p.owner)
	}
	if !p.shares {
		close(p.let)
	}
	close(p.left)
}

// WasBeside reports whether a run is of somebody who was in at the same time, and says
// nothing against this one: see [memory.Run.Beside].
func (p *Admitted) WasBeside(run string) bool {
	p.among.mu.Lock()
	defer p.among.mu.Unlock()
	return p.beside[run]
}

// Deciding is a decision that is compared with what is known; leave must be called.
func (e *Comparer) Deciding(ctx context.Context, owner memory.Owner) (leave func(), err error) {
	place, err := e.Admission.EnterAlone(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	return place.Leave, nil
}
