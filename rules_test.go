package loci

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// openWith opens a memory in memory with these settings.
func openWith(t *testing.T, flags map[string]string) *Loci {
	t.Helper()
	set := map[string]string{"store": "memory", "data": t.TempDir()}
	for k, v := range flags {
		set[k] = v
	}
	config, err := LoadConfig(Sources{Flags: set})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestSettingsOfRecallReachTheEngine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "everybody.md")
	if err := os.WriteFile(file, []byte("- The personal locker of a user is in room 12, by their preferences\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const tea, locker = "User drinks oolong tea", "The personal locker of a user is in room 12, by their preferences"
	for name, c := range map[string]struct {
		flags    map[string]string
		question string
		want     []string // come first; nil: nothing does
	}{
		"the defaults":            {nil, "Who painted the ceiling?", nil},
		"a small set":             {map[string]string{"recall.small_set": "5"}, "Who painted the ceiling?", []string{tea}},
		"recent ones for nothing": {map[string]string{"recall.fallback": "empty"}, "Who painted the ceiling?", []string{tea}},
		"a file for everybody":    {map[string]string{"bootstrap": file}, "Where is the locker?", []string{locker}},
		"for few, and she has it": {map[string]string{"bootstrap": file, "recall.bootstrap": "1"}, "Where is the locker?", nil},
		"a short question":        {map[string]string{"bootstrap": file}, "What is mine?", nil},
		"expanded":                {map[string]string{"bootstrap": file, "recall.expand": "true"}, "What is mine?", []string{locker}},
	} {
		t.Run(name, func(t *testing.T) {
			l := openWith(t, c.flags)
			ctx := context.Background()
			if _, err := l.Remember(ctx, "ana", tea); err != nil {
				t.Fatal(err)
			}
			hits, err := l.Recall(ctx, "ana", c.question)
			var got []string
			for _, h := range hits {
				got = append(got, h.Memory.Content())
			}
			if err != nil || len(c.want) == 0 && len(got) > 0 || !slices.Equal(got[:min(len(got), len(c.want))], c.want) {
				t.Errorf("%q: %q, %v; want %q", c.question, got, err, c.want)
			}
		})
	}
}

func TestASettingChoosesTheInstructions(t *testing.T) {
	before := vector.Tier()
	defer func() {
		if err := vector.Use(before); err != nil {
			t.Error(err)
		}
	}()
	for _, tier := range vector.Tiers() {
		openWith(t, map[string]string{"simd": tier})
		if got := vector.Tier(); got != tier {
			t.Errorf("simd %s: vectors are compared by %s", tier, got)
		}
	}
}

func TestLargeIndexesAreKeptInTheDataFolder(t *testing.T) {
	ctx := context.Background()
	var said []Message
	for i := range 5_200 {
		said = append(said, Message{Role: memory.RoleUser, Content: fmt.Sprintf("The keeper of lighthouse %d wrote a letter", i)})
	}
	for checkpoints, want := range map[string]int{"on": 1, "off": 0} {
		data := t.TempDir()
		flags := map[string]string{"store": "sqlite", "data": data, "index.checkpoints": checkpoints}
		var first []memory.Hit
		for i := range 2 {
			l := openWith(t, flags)
			if i == 0 {
				if _, err := l.Record(ctx, "ana", "", said...); err != nil {
					t.Fatal(err)
				}
			}
			hits, err := l.Recall(ctx, "ana", "What about lighthouse 4711?")
			if err != nil || len(hits) == 0 {
				t.Fatalf("%d hits, %v", len(hits), err)
			}
			if i == 0 {
				first = hits
			} else if len(first) != len(hits) || first[0].Memory.ID() != hits[0].Memory.ID() {
				t.Errorf("checkpoints %s: after a start it found other things", checkpoints)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(data, "index", "*"))
			if err != nil || len(files) != want {
				t.Errorf("checkpoints %s: there are %q, want %d", checkpoints, files, want)
			}
		}
	}
}
