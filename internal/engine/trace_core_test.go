package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// TestTheTraceNamesTheCore: what stands in a prompt is in its trace, as what it is, and
// what had no room there is named among what was cut.
func TestTheTraceNamesTheCore(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx := context.Background()
	pinned, _, err := r.Curate.Remember(ctx, ana, curate.Note{Content: "User is allergic to penicillin", Core: memory.CoreAlways}, her)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if _, err := r.SetProfile(ctx, ana, fmt.Sprintf("key%02d", i), "one two three four five six seven eight nine ten eleven twelve", her); err != nil {
			t.Fatal(err)
		}
	}
	core := func(hits []memory.TraceHit) (ids []string) {
		for _, h := range hits {
			if h.Why.Get("core") == 1 {
				ids = append(ids, string(h.Kind)+" "+h.ID)
			}
		}
		return ids
	}
	for question, searched := range map[string]bool{"How high is Mount Everest?": false, "What am I allergic to?": true} {
		p := r.prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: question})
		trace, err := r.Traces.Trace(ctx, ana, p.Trace)
		if err != nil {
			t.Fatal(err)
		}
		in, out := core(trace.Hits), core(trace.Cut)
		if len(in)+len(out) < 12 || !slices.Contains(in, "profile key00") || !slices.Contains(out, "profile key11") {
			t.Errorf("%q: in the prompt %v, left out %v", question, in, out)
		}
		if i := slices.IndexFunc(trace.Cut, func(h memory.TraceHit) bool { return h.Why.Get("core") == 1 }); i < 0 || trace.Cut[i].Cut != "core" || trace.Cut[i].Content != "" {
			t.Errorf("%q: cut are %+v", question, trace.Cut)
		}
		if got := slices.Contains(in, "fact "+pinned.ID); got == searched || len(p.Hits) > 0 != searched {
			t.Errorf("%q: the pinned fact is told by the core: %v, %d hits; want it once", question, got, len(p.Hits))
		}
		if i := slices.IndexFunc(trace.Cut, func(h memory.TraceHit) bool { return h.ID == pinned.ID }); i >= 0 {
			t.Errorf("%q: the pinned fact is in the prompt, and among what was cut: %+v", question, trace.Cut[i])
		}
		if len(p.Core.Facts) > 0 == searched || len(p.Core.Profile) == 0 {
			t.Errorf("%q: the core is %+v", question, p.Core)
		}
	}
}
