package storetest

import (
	"fmt"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// What was taken out of memory stays out, wherever it stands: also long before the place
// where a batch's path begins, and in another conversation.
func pathsBringNothingBack(r *rig) {
	known := memtest.Batch(ana, "c", 0, "hello", "hi", "how are you?", "well")
	elsewhere := memtest.Batch(ana, "d", 7, "said elsewhere")
	r.append(ana, known)
	r.append(ana, elsewhere)
	first, second, away := known.Turns[0].ID, known.Turns[1].ID, elsewhere.Turns[0].ID
	r.apply(ana, memtest.TurnMark(memory.ActionRetire, first, memory.Retired), memtest.TurnMark(memory.ActionRetire, away, memory.Retired))
	next := memtest.Turn(ana, "c", 4, memory.RoleUser, "why?")
	for _, test := range []struct {
		what  string
		turns []memory.Turn
		mark  memory.Change
		holds bool
	}{
		{"it comes back", []memory.Turn{next}, memtest.TurnMark(memory.ActionRestore, first, memory.Active), false},
		{"it comes back by marks alone", nil, memtest.TurnMark(memory.ActionRestore, first, memory.Active), false},
		{"it leaves the path", []memory.Turn{next}, memtest.TurnMark(memory.ActionUpdate, first, memory.Replaced), false},
		{"one of another conversation comes back", []memory.Turn{next}, memtest.TurnMark(memory.ActionRestore, away, memory.Active), false},
		{"one that was not taken out leaves", nil, memtest.TurnMark(memory.ActionUpdate, second, memory.Replaced), true},
		{"it stays out", []memory.Turn{next}, memtest.TurnMark(memory.ActionRetire, first, memory.Retired), true},
	} {
		b := memory.Batch{Conversation: memtest.Conversation(ana, "c"), Turns: test.turns, Run: test.what, Marks: []memory.Change{test.mark}}
		b.Path = &memory.Path{After: known.Turns[3].ID, From: 4}
		for _, t := range test.turns {
			b.Path.Turns = append(b.Path.Turns, t.ID)
		}
		was := r.snapshot(ana)
		_, err := r.Append(r.Context(), ana, b)
		if test.holds {
			r.must(test.what, err)
			continue
		}
		r.wantCode(test.what, err, memory.Conflict)
		r.same("after "+test.what, r.snapshot(ana), was)
	}
}

// A conversation is deleted between the reading and the writing of what is said in it,
// before the first turn as well as later.
func pathsEndWithTheirConversation(r *rig) {
	for _, said := range []int{0, 2} {
		id := fmt.Sprint("c", said)
		c := memtest.Conversation(ana, id)
		before := memory.Batch{Conversation: c}
		if said > 0 {
			before = memtest.Batch(ana, id, 0, "hello", "hi")
		}
		r.append(ana, before)
		mark := r.conversation(id).Mark()
		gone, back := mark, mark
		gone.Status, back.Status = memory.Retired, memory.Active
		r.apply(ana, memtest.Change(memory.ActionRetire, gone))

		speaks := func(what string, status memory.Status) memory.Batch {
			t := memtest.Turn(ana, id, said, memory.RoleUser, what)
			t.ID, t.Chain, t.Status = memtest.ID(id+what), "chain "+what, status
			return memory.Batch{Conversation: c, Turns: []memory.Turn{t}, Run: id + what, Path: &memory.Path{From: said, Turns: []string{t.ID}}}
		}
		refused := func(what string, b memory.Batch) {
			if said > 0 {
				b.Path.After = before.Turns[said-1].ID
			}
			was := r.snapshot(ana)
			_, err := r.Append(r.Context(), ana, b)
			r.wantCode(what, err, memory.Conflict)
			r.same("after "+what, r.snapshot(ana), was)
		}
		refused("a turn after it was deleted", speaks("too late", memory.Active))
		again := speaks("deleted once more", memory.Active)
		again.Marks = []memory.Change{memtest.Change(memory.ActionRetire, gone)}
		refused("a turn with which it is deleted", again)

		keeps := func(what string, b memory.Batch, status memory.Status) {
			b.Path.From = 0
			for _, t := range r.turns(ana, memory.TurnQuery{Conversation: id}) {
				b.Path.Turns = append(b.Path.Turns, t.ID)
			}
			r.append(ana, b)
			r.same(what, r.conversation(id).Status, status)
		}
		keeps("after what is forgotten", speaks("in confidence", memory.Retired), memory.Retired)
		imported := speaks("imported", memory.Replaced)
		imported.Conversation.Status = memory.Retired
		keeps("after what is off the path", imported, memory.Retired)
		imported = speaks("imported as deleted", memory.Active)
		imported.Conversation.Status = memory.Retired
		keeps("after what belongs to it as deleted", imported, memory.Retired)

		goesOn := speaks("it goes on", memory.Active)
		goesOn.Turns[0].Index += 2
		goesOn.Marks = []memory.Change{memtest.Change(memory.ActionRestore, back)}
		keeps("after what brings it back", goesOn, memory.Active)
		later := speaks("and on", memory.Active)
		later.Turns[0].Index += 3
		keeps("after what is said then", later, memory.Active)
	}
}
