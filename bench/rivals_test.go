package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/bench/eval/talk"
)

// allRivals returns an empty one of each.
func allRivals(t *testing.T) []rival {
	t.Helper()
	fts, err := openFTS5(context.Background(), filepath.Join(t.TempDir(), "fts5.db"), 4)
	if err != nil {
		t.Fatal(err)
	}
	all := []rival{&naive{}, newChromem(), fts}
	t.Cleanup(func() {
		for _, r := range all {
			if err := r.Close(); err != nil {
				t.Errorf("close %s: %v", r.Name(), err)
			}
		}
	})
	return all
}

func docsOf(t *testing.T, prefix string, texts ...string) []document {
	t.Helper()
	docs, err := documents(context.Background(), prefix, texts)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestRivalsFindWhatWasAdded(t *testing.T) {
	ctx := context.Background()
	said := docsOf(t, "d", "The violin stands in the hall.", "We sailed to Crete in a small boat.", "My sister grows tomatoes.", `She said "never again" about kayaks.`)
	all := allRivals(t)
	for _, r := range all {
		for _, half := range [][]document{said[:2], said[2:]} {
			if err := r.Add(ctx, half...); err != nil {
				t.Fatalf("%s: %v", r.Name(), err)
			}
		}
	}
	for _, r := range append(all, everyWord{all[2].(*fts5)}) {
		for question, want := range map[string]string{"Where stands the violin?": "d0", `What "tomatoes" does my sister grow?`: "d2", "kayaks": "d3"} {
			got, err := r.Search(ctx, docsOf(t, "q", question)[0], topK)
			if err != nil || len(got) == 0 || len(got) > len(said) || got[0] != want {
				t.Errorf("%s: %q finds %v, %v; want %s first", r.Name(), question, got, err, want)
			}
		}
	}
	if got, err := (everyWord{all[2].(*fts5)}).Search(ctx, docsOf(t, "q", "the?")[0], topK); err != nil || len(got) != 1 || got[0] != "d0" {
		t.Errorf("a small word finds %v, %v; want d0", got, err)
	}
}

func TestRivalsReturnTheTenBest(t *testing.T) {
	ctx := context.Background()
	said := talk.New(1).Sentences(100)
	asked := docsOf(t, "q", talk.New(2).Questions(20, said)...)
	all := allRivals(t)
	for _, r := range all {
		if err := r.Add(ctx, docsOf(t, "d", said...)...); err != nil {
			t.Fatalf("%s: %v", r.Name(), err)
		}
	}
	for _, q := range asked {
		var scans [][]string
		for _, r := range all {
			got, err := r.Search(ctx, q, topK)
			if err != nil || len(got) == 0 || len(got) > topK {
				t.Fatalf("%s: %q finds %v, %v", r.Name(), q.Text, got, err)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
				t.Errorf("%s: %q finds one twice: %v", r.Name(), q.Text, got)
			}
			scans = append(scans, got)
		}
		// Both scans are of the same vectors, and both are exact.
		if len(scans[0]) != topK || scans[0][0] != scans[1][0] {
			t.Errorf("%q: naive %v, chromem-go %v", q.Text, scans[0], scans[1])
		}
	}
}

func TestRivalsServeSeveralAtOnce(t *testing.T) {
	said := docsOf(t, "d", talk.New(1).Sentences(40)...)
	for _, r := range allRivals(t) {
		if err := r.Add(context.Background(), said[:10]...); err != nil {
			t.Fatalf("%s: %v", r.Name(), err)
		}
		group, ctx := errgroup.WithContext(context.Background())
		for i := 10; i < 40; i++ {
			group.Go(func() error {
				if err := r.Add(ctx, said[i]); err != nil {
					return err
				}
				found, err := r.Search(ctx, said[i], 3)
				if err == nil && !slices.Contains(found, said[i].ID) {
					err = fmt.Errorf("%s is not among %v", said[i].ID, found)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
}
