package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// What the rules cost beside a search without them.
func BenchmarkRules(b *testing.B) {
	r := filled(b, 10_000)
	ctx := context.Background()
	for i := range 40 {
		if _, _, err := r.Remember(ctx, ana, Note{Content: fmt.Sprint("Fact number ", i)}, her); err != nil {
			b.Fatal(err)
		}
	}
	ix := r.Searcher
	defaults := Rules{Bootstrap: 5, Fallback: FallbackError, Messages: 1}
	near := defaults
	near.Reach = ReachConversation
	run := func(name string, rules Rules, said []string) {
		b.Run(name, func(b *testing.B) {
			r.Searcher, r.opts.Recall = ix, rules
			say := speaker(2)
			b.ReportAllocs()
			for b.Loop() {
				found, err := r.Recall(ctx, Question{Scope: memory.Scope{Owner: ana}, Text: "What did I say about " + say(3) + "?", In: "new", Said: said})
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
	run("none", Rules{}, nil)
	run("defaults", defaults, nil)
	run("100 kB carried", defaults, said)
	if _, err := r.Bootstrap(ctx, memory.DefaultNamespace, []byte("- Something for everybody")); err != nil {
		b.Fatal(err)
	}
	run("defaults and a pool", defaults, nil)
	run("a new conversation", near, nil)
}
