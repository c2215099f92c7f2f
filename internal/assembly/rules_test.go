package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// load reads settings, and what a profile would decide: "preset.NAME".
func load(set map[string]string) (config.Config, error) {
	settings := maps.Clone(set)
	maps.DeleteFunc(settings, func(key, _ string) bool { return strings.HasPrefix(key, "preset.") })
	c, err := config.Load(config.Sources{Flags: settings})
	for key, value := range set {
		if name, ok := strings.CutPrefix(key, "preset."); ok {
			err = errors.Join(err, yaml.UnmarshalWithOptions([]byte(name+": "+value), &c.Preset, yaml.Strict()))
		}
	}
	return c, err
}

// openWith opens a memory in memory with these settings.
func openWith(t *testing.T, flags map[string]string) *Loci {
	t.Helper()
	set := map[string]string{"store": "memory", "data": t.TempDir()}
	maps.Copy(set, flags)
	config, err := load(set)
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
	const tea = "User drinks oolong tea"
	const locker = "The personal locker of a user is in room 12, by their preferences"
	for name, c := range map[string]struct {
		flags    map[string]string
		question string
		want     []string // come first; nil: nothing does
		chat     bool     // a chat asks
	}{
		"the defaults":            {nil, "Who painted the ceiling?", nil, true},
		"a small set":             {map[string]string{"preset.small_set": "5", "recall.deadline": "20s"}, "Who painted the ceiling?", []string{tea}, true},
		"recent ones for nothing": {map[string]string{"preset.fallback": "empty", "recall.deadline": "20s"}, "Who painted the ceiling?", []string{tea}, true},
		"a file for everybody":    {map[string]string{"bootstrap": file}, "Where is the locker?", []string{locker}, false},
		"for few, and she has it": {map[string]string{"bootstrap": file, "preset.bootstrap": "1"}, "Where is the locker?", nil, false},
		"a short question":        {map[string]string{"bootstrap": file}, "What is mine?", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := openWith(t, c.flags)
			ctx := context.Background()
			if _, err := l.Remember(ctx, "ana", tea); err != nil {
				t.Fatal(err)
			}
			hits, err := l.Recall(ctx, "ana", c.question)
			if c.chat {
				var found retrieve.Found
				found, err = l.engine.Exchange.RecallBlock(ctx, retrieve.Question{Scope: memory.Scope{Owner: userOf("ana")}, Text: c.question, Chat: true})
				hits = found.Hits
			}
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

func TestLargeIndexesAreKeptInTheDataFolder(t *testing.T) {
	ctx := context.Background()
	var said []Message
	for i := range 5_000 {
		said = append(said, Message{Role: memory.RoleUser, Content: fmt.Sprintf("Lighthouse %d is white", i)})
	}
	flags := map[string]string{"store": "sqlite", "data": t.TempDir()}
	var found []string
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
		found = append(found, hits[0].Memory.Content())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if files, err := filepath.Glob(filepath.Join(flags["data"], "index", "*")); err != nil || len(files) != 1 {
			t.Errorf("there are %q, %v; want one checkpoint", files, err)
		}
	}
	if found[0] != "Lighthouse 4711 is white" || found[1] != found[0] {
		t.Errorf("found %q before and after a start", found)
	}
}

func TestAMemoryInMemoryHasNoCheckpoints(t *testing.T) {
	if o, err := indexOptions(config.Config{Data: "data", Store: "memory"}, embed.Lexical{}, nil); err != nil || o.Dir != "" {
		t.Errorf("the folder is %q, %v; want none", o.Dir, err)
	}
}
