package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// What the rules cost beside a search without them.
func BenchmarkRules(b *testing.B) {
	r := filled(b, 10_000)
	ctx := context.Background()
	for i := range 40 {
		if _, _, err := r.Curate.Remember(ctx, ana, curate.Note{Content: fmt.Sprint("Fact number ", i)}, her); err != nil {
			b.Fatal(err)
		}
	}
	ix := r.Searcher
	defaults := core.Rules{Bootstrap: 5, Fallback: retrieve.FallbackError, Messages: 1}
	near := defaults
	near.Reach = retrieve.ReachConversation
	run := func(name string, rules core.Rules, said []string) {
		b.Run(name, func(b *testing.B) {
			r.Searcher, r.Opts.Recall = ix, rules
			say := speaker(2)
			b.ReportAllocs()
			for b.Loop() {
				found, err := r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What did I say about " + say(3) + "?", In: "new", Said: said})
				if err != nil || len(found.Degraded) > 0 {
					b.Fatal(err, found.Degraded)
				}
			}
		})
	}
	var said []string
	for range 50 {
		said = append(said, speaker(3)(300))
	}
	run("none", core.Rules{}, nil)
	run("defaults", defaults, nil)
	run("100 kB carried", defaults, said)
	if _, err := r.Transfer.Bootstrap(ctx, memory.DefaultNamespace, []byte("- Something for everybody")); err != nil {
		b.Fatal(err)
	}
	run("defaults and a pool", defaults, nil)
	run("a new conversation", near, nil)
}
