package storetest

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// goRules are the rules that a script cannot express: about callbacks, large numbers and shared slices.
var goRules = []rule{
	{"SinceEndsWithYield", sinceStopsOnYieldError},
	{"VectorModels", vectorModelsAreListed},
	{"LimitsHaveABound", limitsAreCapped},
	{"ManyAreAskedAtOnce", manyIDsInOneCall},
	{"ValuesAreTheCallers", valuesAreNotRetained},
	{"CloseTwice", secondCloseIsNoOp},
}

func sinceStopsOnYieldError(r *rig) {
	r.addFacts(ana, "one", "two", "three")
	enough := errors.New("enough")
	seen := 0
	_, err := r.Since(r.Context(), ana, embedderFingerprint, 0, func(i memory.IndexItem) error {
		if got, err := r.Get(r.Context(), ana, i.ID); err != nil || len(got) != 1 {
			r.Errorf("get from within yield: got %v, %v", got, err)
		}
		if seen++; seen == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 2 {
		r.Errorf("yield that returns an error at the second item: got %v after %d, want %v after 2", err, seen, enough)
	}
}

func vectorModelsAreListed(r *rig) {
	facts := r.addFacts(ana, "one", "two")
	r.addFacts(ben, "three")
	embed := func(f memory.Fact, embedder string, values ...float32) {
		run := r.nextRun()
		run.Vectors = []memory.Vector{{Memory: f.ID, Model: embedder, Values: values}}
		r.applyRun(ana, run)
	}
	checkModels := func(owner memory.Owner, want ...string) {
		got, err := r.VectorModels(r.Context(), owner)
		r.must("models of vectors", err)
		r.checkEqual("models of vectors", got, want)
	}
	checkModels(ana)
	embed(facts[0], "b", 1, 0)
	embed(facts[1], "a", 1, 0)
	checkModels(ana, "a", "b")
	checkModels(ben)
	embed(facts[0], "b") // a vector without values deletes the stored vector
	checkModels(ana, "a")
}

func limitsAreCapped(r *rig) {
	const many = 501
	var changes []memory.Change
	for i := range many {
		changes = append(changes, memtest.Add(memtest.Fact(ana, fmt.Sprint("fact ", i))))
	}
	r.applyChanges(ana, changes...)
	for limit, want := range map[int]int{0: 50, -1: 50, 1: 1, 500: 500, 501: 500, 1 << 30: 500} {
		page, err := r.List(r.Context(), ana, memory.Query{Limit: limit})
		if err != nil || len(page.Memories) != want || page.Next == "" {
			r.Errorf("list with limit %d: got %d, next %q, %v; want %d and more", limit, len(page.Memories), page.Next, err, want)
		}
		journal, err := r.Changes(r.Context(), ana, memory.ChangeQuery{Limit: limit})
		if err != nil || len(journal.Changes) != want || journal.Next == "" {
			r.Errorf("changes with limit %d: got %d, next %q, %v; want %d and more", limit, len(journal.Changes), journal.Next, err, want)
		}
	}
	counts, err := r.Counts(r.Context(), ana)
	r.must("counts", err)
	r.checkEqual("counted", counts.Facts, many)
}

func manyIDsInOneCall(r *rig) {
	facts := r.addFacts(ana, "one", "two", "three")
	r.addFacts(ben, "one")
	ids, owners := make([]string, 3000), make([]memory.Owner, 2000)
	for i := range ids {
		ids[i] = facts[i%3].ID
	}
	for i := range owners {
		owners[i] = []memory.Owner{ana, ben}[i%2]
	}
	r.get(ana, ids...)
	if got, err := r.Versions(r.Context(), owners); err != nil || len(got) != len(owners) || got[1999] != 1 {
		r.Errorf("versions of %d owners: got %d, %v", len(owners), len(got), err)
	}
}

// The caller may modify the arguments and results of a store's methods.
func valuesAreNotRetained(r *rig) {
	fact := memtest.Fact(ana, "Ana is allergic to peanuts")
	fact.Tags, fact.Metadata = []string{"food", "allergy"}, []byte(`{"z":1}`)
	fact.Provenance = memory.Provenance{Conversation: "c", Turns: []string{"t2", "t1"}, Quote: &memory.Span{Turn: "t1", Start: 3, End: 9}}
	b := memtest.Batch(ana, "c", 0, "hello")
	b.Conversation.Contexts, b.Jobs = []string{"x"}, []memory.Job{memtest.Job(ana, memory.JobLearn, "j")}
	b.Jobs[0].Turns = []string{"t"}
	vector := memtest.Vector(fact.ID, fact.Content)
	run := r.nextRun()
	run.Vectors = []memory.Vector{vector}
	r.appendBatch(ana, b)
	r.applyRun(ana, run, memtest.Add(fact))
	before := r.deepCopy(r.readSnapshot(ana))

	modify := func(f *memory.Fact) {
		f.Content, f.Tags[0], f.Provenance.Turns[0], f.Provenance.Quote.Start, f.Metadata[2] = "spoilt", "spoilt", "spoilt", 99, '!'
	}
	modify(&fact)
	vector.Values[0], b.Turns[0].Content, b.Conversation.Contexts[0], b.Jobs[0].Turns[0] = 9, "spoilt", "spoilt", "spoilt"
	r.checkEqual("after the arguments of writes were modified", r.readSnapshot(ana), before)

	read := r.readSnapshot(ana)
	for _, m := range read.Export.Memories {
		if m.Fact != nil {
			modify(m.Fact)
		}
	}
	modify(read.Journal[0].After.Fact)
	read.Conversations[0].Contexts[0], read.Jobs[0].Turns[0] = "spoilt", "spoilt"
	for i := range read.Items {
		if f := read.Items[i].Memory.Fact; f != nil {
			modify(f)
			read.Items[i].Vector[0] = 9
		}
	}
	r.checkEqual("after the results of reads were modified", r.readSnapshot(ana), before)
}

// deepCopy returns a copy of s that shares no memory with s.
func (r *rig) deepCopy(s snapshot) snapshot {
	r.Helper()
	var b bytes.Buffer
	var out snapshot
	r.must("encode", gob.NewEncoder(&b).Encode(s))
	r.must("decode", gob.NewDecoder(&b).Decode(&out))
	return out
}

func secondCloseIsNoOp(r *rig) {
	r.addFacts(ana, "one")
	r.must("close", r.Close())
	r.must("close again", r.Close())
}
