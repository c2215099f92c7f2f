package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// TestForgettingByAnEverydayName: a query finds what it calls by another word, and a
// dry run only says so.
func TestForgettingByAnEverydayName(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx, ana := context.Background(), memory.User(memory.DefaultNamespace, "ana")
	author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	for _, fact := range []string{"User works as a nurse", "User's sister works at Initech", "User has a dog named Rex"} {
		noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: fact}, author))
	}
	for query, want := range map[string]string{"my job": "User works as a nurse", "Rex": "User has a dog named Rex", "my diagnosis": ""} {
		found, receipt, err := r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{Query: query, DryRun: true}, author)
		if err != nil || receipt.Run != "" {
			t.Fatalf("%q: receipt %+v, %v", query, receipt, err)
		}
		got := ""
		for _, m := range found {
			got += m.Content()
		}
		if got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	page, err := r.List(ctx, ana, memory.Query{})
	if err != nil || len(page.Memories) != 3 {
		t.Errorf("a dry run leaves %d facts, %v", len(page.Memories), err)
	}
}
