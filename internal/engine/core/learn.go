package core

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// RunOf is the run that completes a job.
func RunOf(job string) string { return "run-" + job }

// Version returns the owner's version.
func (e *Core) Version(ctx context.Context, owner memory.Owner) (int64, error) {
	versions, err := e.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return 0, fmt.Errorf("read the version: %w", err)
	}
	return versions[0], nil
}

// rewords are the actions after which a fact may have other words than before.
var rewords = map[memory.Action]bool{memory.ActionAdd: true, memory.ActionUpdate: true, memory.ActionUndo: true}

// FactVectors embeds the facts that changes add or reword.
func (e *Core) FactVectors(ctx context.Context, changes []memory.Change) ([]memory.Vector, error) {
	var out []memory.Vector
	for _, c := range changes {
		if c.After.Fact == nil || !c.After.Fact.Status.Live() || !rewords[c.Action] {
			continue
		}
		v, err := e.TextVectors(ctx, c.After.Fact.ID, c.After.Fact.Content)
		if err != nil {
			return nil, fmt.Errorf("embed facts: %w", err)
		}
		out = append(out, v...)
	}
	return out, nil
}
