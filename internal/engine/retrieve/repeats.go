package retrieve

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// repeated is how many turns a fact that is replaced names, those that repeat it
// included.
const repeated = 16

// Repeats lets facts that changes replace name the answers that repeat them: recall
// shows such an answer, as it does what the user said, only with what took the fact's
// place. It returns the ids of those answers, which count as learned from, since recall
// asks only of such turns what became of their facts; where answers teach by themselves
// they are left to that. A search that fails leaves them out.
func (e *Retriever) Repeats(ctx context.Context, changes []memory.Change) (learned []string) {
	for i := range changes {
		old := changes[i].After.Fact
		if changes[i].Action != memory.ActionReplace || old == nil {
			continue
		}
		found, err := e.SayingSo(ctx, *old)
		if err != nil {
			e.Log.Warn("answers that repeat what is replaced are not known", "fact", old.ID, "err", err)
			continue
		}
		next := *old
		next.Provenance.Turns = slices.Clone(old.Provenance.Turns)
		for _, m := range found {
			if t := m.Turn; t != nil && t.Role == memory.RoleAssistant && len(next.Provenance.Turns) < repeated && !slices.Contains(next.Provenance.Turns, t.ID) {
				next.Provenance.Turns = append(next.Provenance.Turns, t.ID)
				if !e.Opts.Assistant {
					learned = append(learned, t.ID)
				}
			}
		}
		changes[i].After.Fact = &next
	}
	return learned
}
