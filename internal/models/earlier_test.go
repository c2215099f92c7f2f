package models

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/modeltest"
	"github.com/loci-memory/loci/memory"
)

// called is an embedder of which only its name is asked.
type called struct {
	memory.Embedder
	name string
}

func (c called) Fingerprint() string { return c.name }

// TestServersThatStartAtOnceNoteAllTheirEmbedders: on one data folder, none overwrites what
// another noted.
func TestServersThatStartAtOnceNoteAllTheirEmbedders(t *testing.T) {
	const servers = 24
	dir := t.TempDir()
	var all []*earlier
	for i := range servers {
		e, err := ReadEarlier(&config.Config{Data: dir, Store: "sqlite", Embedder: fmt.Sprint("local:", i)}, &Choice{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	var starting sync.WaitGroup
	for i, e := range all {
		starting.Go(func() {
			if err := e.Opened(called{embed.Lexical{}, fmt.Sprint("model ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	file, err := os.ReadFile(filepath.Join(dir, config.EmbeddersFile))
	if err != nil {
		t.Fatal(err)
	}
	var noted notedEmbedders
	if err := json.Unmarshal(file, &noted); err != nil || len(noted.Used) != servers {
		t.Errorf("noted are %s, %v; want all %d", file, err, servers)
	}
	if models, err := all[0].Models(t.Context()); err != nil || len(models) != servers { // the others', and the lexical one
		t.Errorf("the first knows of %q, %v; want those that others noted since it began, too", models, err)
	}
}

// TestWhatOneServerGoesBackToStaysWhereAnotherStarts, which notes its own beside it.
func TestWhatOneServerGoesBackToStaysWhereAnotherStarts(t *testing.T) {
	dir := t.TempDir()
	begin := func() *earlier {
		e, err := ReadEarlier(&config.Config{Data: dir, Store: "sqlite", Embedder: "local:a"}, &Choice{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first, second := begin(), begin() // before anything is noted
	if err := first.Opened(called{name: "of a"}); err != nil {
		t.Fatal(err)
	}
	if err := first.note(func() { first.begins("lexical") }); err != nil {
		t.Fatal(err)
	}
	if err := second.Opened(called{name: "of an a that is another"}); err != nil {
		t.Fatal(err)
	}
	if again := begin(); again.config.Embedder != "lexical" || len(again.noted.Used) != 2 {
		t.Errorf("the next start uses %s and knows of %+v; want lexical, and both", again.config.Embedder, again.noted.Used)
	}
}

// TestRealWeightsOpen, whatever model lies in the folder.
func TestRealWeightsOpen(t *testing.T) {
	dir := modeltest.Dir(t, modeltest.MiniLM)
	folders, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !strings.HasPrefix(f.Name(), ".") {
			if _, err := openLocal(config.Config{ModelsDir: dir}, "embedder", f.Name()); err != nil {
				t.Error(err)
			}
		}
	}
}
