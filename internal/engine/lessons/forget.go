package lessons

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// grant plans what a lesson asks to forget in plain words. The turns
// that ask leave recall as well, since they repeat what is to be forgotten.
func (e *Learner) grant(ctx context.Context, l lesson, run string, p *planned) error {
	var found []memory.Memory
	for _, wish := range l.forget {
		meant, err := e.wished(ctx, l, wish)
		if err != nil {
			return err
		}
		found = append(found, meant...)
	}
	if len(found) == 0 {
		return nil
	}
	author := memory.Author{Kind: memory.ByRule, Name: "rules"} // who sent the chat is not known
	const reason = "the user asked to forget it"
	var err error
	if p.Changes, p.jobs, err = e.Curate.Forgetting(ctx, l.scope.Owner, run, found, reason, author); err != nil {
		return err
	}
	p.Forgotten = found
	for _, m := range found {
		p.gone[m.ID()] = true
	}
	return nil
}

// wished returns the memories that a wish to forget means: what was said before it.
func (e *Learner) wished(ctx context.Context, l lesson, wish learn.Command) ([]memory.Memory, error) {
	found, err := e.Curate.Meant(ctx, l.scope, wish)
	if err != nil {
		return nil, err
	}
	asked := l.turn(wish.Span.Turn)
	meant := slices.DeleteFunc(found, func(m memory.Memory) bool { return curate.SaidAfter(m, asked) })
	if len(meant) == 0 && !wish.Unsaid {
		return nil, nil
	}
	stored, err := e.Store.Get(ctx, l.scope.Owner, asked.ID)
	if err != nil {
		return nil, fmt.Errorf("read the turn that asked to forget: %w", err)
	}
	return append(meant, stored...), nil
}
