package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/extract"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// every is the query for all that an owner has, whatever became of it.
var every = memory.Query{
	Kinds:    []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary},
	Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected},
}

// unsound says what does not hold of an owner's memory that must, whatever was done
// to it.
func (r *rig) unsound(t *testing.T, owner memory.Owner) (wrong []string) {
	t.Helper()
	ctx := context.Background()
	all := map[string]memory.Memory{}
	noError(t)(r.EachMemory(ctx, owner, every, func(m memory.Memory) { all[m.ID()] = m }))
	changes := try(r.AllChanges(ctx, owner, memory.ChangeQuery{})).orFail(t)
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	last := map[string]memory.Change{} // by thing
	for _, c := range changes {
		if c.Author.Kind == "" || c.Reason == "" {
			say("change %s %s %s has author %+v and reason %q", c.ID, c.Action, c.After.Target(), c.Author, c.Reason)
		}
		if _, met := last[c.After.Target()]; !met {
			last[c.After.Target()] = c
		}
	}
	live := map[string]string{}
	homes := map[string]string{}
	for id, m := range all {
		f := m.Fact
		if f == nil {
			continue
		}
		if newest := last["fact:"+id].After.Fact; newest == nil || newest.Content != f.Content || newest.Status != f.Status {
			say("fact %q is %s, and its newest change says otherwise", f.Content, f.Status)
		}
		if f.Status == memory.Superseded && f.SupersededBy != "" && all[f.SupersededBy].Fact == nil {
			say("fact %q is superseded by nothing that is there", f.Content)
		}
		if f.Status != memory.Superseded && f.SupersededBy != "" {
			say("fact %q is %s and superseded by %q", f.Content, f.Status, all[f.SupersededBy].Content())
		}
		if !f.Status.Live() {
			continue
		}
		key := fmt.Sprint(f.Scope, text.Hash(f.Content))
		if live[key] != "" {
			say("two live facts say %q", f.Content)
		}
		live[key] = id
		if f.Status == memory.Active && f.Source == memory.Extracted && f.Trust == memory.TrustUser && last["fact:"+id].Author.Kind != memory.ByPerson {
			if subject, attribute := extract.SubjectAndAttribute(f.Content); attribute == "home" && !text.HasNegation(f.Content) {
				if homes[subject] != "" {
					say("%q and %q are both active", homes[subject], f.Content)
				}
				homes[subject] = f.Content
			}
		}
	}
	return wrong
}
