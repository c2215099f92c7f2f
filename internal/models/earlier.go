package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/memory"
)

// notingTakes is how long another server may be at writing that file, which takes it a few
// milliseconds, before something is wrong.
const notingTakes = 10 * time.Second

// earlier is what is known of embedders: see [vectors.Earlier].
type earlier struct {
	config config.Config // with the embedder in use
	asked  string        // the setting, which going back stands before
	model  func() string // fingerprint of the one in use
	path   string        // "": nothing is kept

	mu    sync.Mutex // guards what follows
	noted notedEmbedders
}

// notedEmbedders is what the file has.
type notedEmbedders struct {
	Back *wentBack      `json:"back,omitempty"`
	Used []usedEmbedder `json:"used"` // each once, the last used last
}

// wentBack says that an earlier embedder is used instead of that of the setting, as
// long as the setting stays.
type wentBack struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type usedEmbedder struct {
	Setting string `json:"setting"`
	Model   string `json:"model"`
}

// ReadEarlier reads what is known of embedders, and sets the embedder to the earlier one
// if it was gone back to, which is the choice then. A file that cannot be read is as good as none.
func ReadEarlier(c *config.Config, chosen *Choice) (*earlier, error) {
	e := &earlier{asked: c.Embedder}
	if c.Store != "memory" {
		dir, err := c.DataDir()
		if err != nil {
			return nil, err
		}
		e.path = filepath.Join(dir, config.EmbeddersFile)
		if err := e.read(); err != nil {
			return nil, err
		}
	}
	if b := e.noted.Back; b != nil {
		c.Embedder = b.To
		c.NoteSource("embedder", FromBack)
		*chosen = Choice{Embedder: b.To, Why: "it was gone back to"}
	}
	e.config = *c
	return e, nil
}

// read reads what is noted now, by whichever server; e.mu is held, or e nobody else's.
func (e *earlier) read() error {
	if e.path == "" {
		return nil
	}
	file, err := os.ReadFile(e.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return config.Unusable(filepath.Dir(e.path), fmt.Errorf("read which embedders there were: %w", err))
	}
	e.noted = notedEmbedders{}
	if err == nil && json.Unmarshal(file, &e.noted) != nil {
		e.noted = notedEmbedders{}
	}
	if b := e.noted.Back; b != nil && b.From != e.asked {
		e.noted.Back = nil // the setting is another since, and counts
	}
	return nil
}

// FromBack is where the embedder is from that was gone back to.
const FromBack = "gone back to"

// Tell says at the start that the embedder is not that of the setting.
func (e *earlier) Tell(log *slog.Logger) {
	if e.config.Embedder != e.asked {
		log.Warn("an earlier embedder is used, for it was gone back to: loci reembed --back takes that back", "embedder", e.config.Embedder, "setting", e.asked)
	}
}

// Opened notes the embedder that is in use.
func (e *earlier) Opened(in memory.Embedder) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model = in.Fingerprint
	is := usedEmbedder{e.config.Embedder, e.model()}
	if n := len(e.noted.Used); n > 0 && e.noted.Used[n-1] == is {
		return nil
	}
	return e.note(func() {
		e.noted.Used = append(slices.DeleteFunc(e.noted.Used, func(u usedEmbedder) bool { return u == is }), is)
	})
}

// note changes what is noted and writes it. Servers on one database may share a data folder:
// one at a time reads what the others noted, changes that and writes it. e.mu is held.
func (e *earlier) note(change func()) (err error) {
	if e.path == "" {
		change()
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("note which embedders there were: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil { // a server keeps memory elsewhere
		return err
	}
	unlock, err := filelock.Wait(e.path+".lock", notingTakes, "writes it")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := e.read(); err != nil {
		return err
	}
	change()
	file, err := json.MarshalIndent(e.noted, "", "  ")
	if err != nil {
		return err
	}
	return disk.ReplaceAmongOthers(e.path, append(file, '\n'))
}

// Models implements [vectors.Earlier]: those that were used, the lexical one, and those
// that are in the models folder.
func (e *earlier) Models(ctx context.Context) ([]string, error) {
	all := []string{embed.Lexical{}.Fingerprint()}
	e.mu.Lock()
	err := e.read()
	for _, u := range e.noted.Used {
		all = append(all, u.Model)
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, err := e.config.ModelsFolder()
	if err != nil {
		return nil, err
	}
	local, err := hub.List(dir)
	if err != nil {
		return nil, err
	}
	for _, m := range local {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opened, err := transformer.Open(m.Dir); err == nil && !opened.Reranks() { // of a broken one nothing is known
			all = append(all, opened.Fingerprint())
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(m string) bool { return m == e.model() }), nil
}

// Back implements [vectors.Earlier]. Where the next start goes back already, it does so no
// more.
func (e *earlier) Back(context.Context) (vectors.Return, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.read(); err != nil {
		return vectors.Return{}, err
	}
	if next := e.next(); next != e.config.Embedder {
		return vectors.Return{From: next, To: e.config.Embedder, Model: e.model()}, e.note(func() { e.begins(e.config.Embedder) })
	}
	back := vectors.Return{From: e.config.Embedder}
	var to usedEmbedder
	for _, u := range e.noted.Used {
		if u.Model != e.model() {
			to = u
		}
	}
	if to.Setting == "" {
		return back, memory.Errorf(memory.NotFound, "no embedder but %s was used here", e.config.Embedder)
	}
	there := e.config
	there.Embedder, there.Reranker = to.Setting, "none"
	models, err := Open(there, Choice{})
	if err != nil {
		return back, fmt.Errorf("go back to %s: %w", to.Setting, err)
	}
	now := models.Embedder.Fingerprint()
	if err := models.Close(); err != nil {
		return back, err
	}
	if now != to.Model {
		return back, memory.Errorf(memory.Invalid, "go back to %s: its files are others than those that memory was embedded by; set the embedder to it to embed anew", to.Setting)
	}
	back.To, back.Model = to.Setting, to.Model
	return back, e.note(func() { e.begins(to.Setting) })
}

// next returns the embedder of the next start; e.mu is held.
func (e *earlier) next() string {
	if b := e.noted.Back; b != nil {
		return b.To
	}
	return e.asked
}

// begins lets the next start use an embedder; e.mu is held.
func (e *earlier) begins(embedder string) {
	e.noted.Back = nil
	if embedder != e.asked {
		e.noted.Back = &wentBack{From: e.asked, To: embedder}
	}
}
