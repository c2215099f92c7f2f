package loci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// Doctor looks at the folders, the vault, the database, the index and the models, and says
// what is wrong. With confirm, files that are gone from the vault at once are forgotten.
func (l *Loci) Doctor(ctx context.Context, confirm bool) (client.Checkup, error) {
	c := checkup{Checkup: client.Checkup{Checked: []string{}, Findings: []client.Finding{}}}
	if err := l.doctorVault(ctx, &c, confirm); err != nil {
		return client.Checkup{}, err
	}
	l.doctorFolders(&c)
	l.doctorDatabase(ctx, &c)
	l.doctorIndex(ctx, &c)
	l.doctorModels(&c)
	return c.Checkup, ctx.Err()
}

// checkup is filled part by part.
type checkup struct{ client.Checkup }

func (c *checkup) looked(format string, args ...any) {
	c.Checked = append(c.Checked, fmt.Sprintf(format, args...))
}

func (c *checkup) found(part, path, what, do string) {
	c.Findings = append(c.Findings, client.Finding{Part: part, Path: path, What: what, Do: do})
}

func (l *Loci) doctorVault(ctx context.Context, c *checkup, confirm bool) error {
	if l.vault == nil {
		if confirm {
			return memory.Errorf(memory.Invalid, "there is no vault in which to confirm anything")
		}
		return nil
	}
	r, refused, err := l.vault.examine(ctx, confirm)
	if err != nil {
		return err
	}
	c.looked("vault %s: %s", l.vault.store.Dir(), many(r.Files, "file"))
	if why := l.vault.store.Unheard(); why != "" {
		c.looked("the vault's folders every few seconds, for not all can be watched: %s", why)
	}
	for _, p := range r.Problems {
		c.found("vault", p.Path, p.Why, cmp.Or(p.Do, "mend it or take it out of the vault; it is left as it is"))
	}
	for _, path := range r.Conflicts {
		what := "a person's words, which Loci did not take over"
		if why := refused[path]; why != "" {
			what += ": " + why
		}
		c.found("vault", path, what, "copy what you need of it into the memory's own file, then delete it")
	}
	for _, e := range r.Edits { // what could be taken over or refused was: the rest waits
		_, _, err := l.vault.change(ctx, e)
		do := "it is tried again at each change of it and at each start"
		switch {
		case err == nil: // by now; the next look accepts it
			continue
		case errors.Is(err, memory.Gone):
			do = "to let the user begin anew, with this file: loci users open " + e.Owner.Name() + "; otherwise delete it"
		}
		c.found("vault", e.Path, "it waits: "+err.Error(), do)
	}
	if c.Held = len(r.Held); c.Held > 0 {
		are := " are"
		if c.Held == 1 {
			are = " is"
		}
		c.found("vault", "", many(c.Held, "file")+are+" gone at once, such as "+r.Held[0].Path,
			"bring them back; or, if you mean it, forget them: loci doctor --confirm")
	}
	if err := l.vault.store.Ping(ctx); err != nil {
		c.found("vault", ".loci/journal.jsonl", err.Error(), "")
	}
	if err := l.vault.store.Settle(ctx); err != nil {
		c.found("vault", "", "files cannot be written: "+err.Error(), "see to it that Loci may write there, and that there is room")
	}
	return nil
}

func (l *Loci) doctorDatabase(ctx context.Context, c *checkup) {
	totals, err := l.engine.Store.Totals(ctx)
	if err != nil {
		c.found("database", databaseFile, err.Error(), "")
		return
	}
	c.looked("database: %s, %s, %s waiting", many(totals.Facts, "fact"), many(totals.Turns, "turn"), many(totals.JobsQueued, "job"))
	if totals.JobsParked > 0 {
		c.found("database", "", many(totals.JobsParked, "job")+" failed too often", "see them with loci jobs")
	}
}

// many counts things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// leastRoom is below what there should be on a disk: checkpoints, the database's log and a
// flood of traces take some tens of MiB for a while, and a server that writes has some days
// in which somebody may see to it.
const leastRoom = 256 << 20

// doctorFolders looks whether the data folder can be written, and how much room there is in
// it and in the vault.
func (l *Loci) doctorFolders(c *checkup) {
	dir, err := l.config.DataDir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.config.Store != "sqlite": // nothing is kept in it
	case err != nil:
		c.found("data folder", dir, err.Error(), "")
	default:
		if err := disk.Probe(dir); err != nil {
			c.found("data folder", dir, "nothing can be written into it: "+err.Error(), "see to it that Loci may write there, and that there is room")
		}
		c.room("data folder", dir, disk.Room)
	}
	if l.vault != nil {
		c.room("vault", l.vault.store.Dir(), disk.Room)
	}
}

// room looks how much of a disk is left.
func (c *checkup) room(part, dir string, of func(string) (int64, error)) {
	left, err := of(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		c.found(part, dir, err.Error(), "")
	case left < leastRoom:
		c.found(part, dir, fmt.Sprintf("%d MiB are left on its disk", left>>20), "make room: what cannot be written is not remembered")
	default:
		c.looked("%s %s: %d MiB are left on its disk", part, dir, left>>20)
	}
}

// doctorIndex asks the index something, and looks whether its folder can be written.
func (l *Loci) doctorIndex(ctx context.Context, c *checkup) {
	_, err := l.engine.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{{Owner: userOf(defaultUser)}}, Text: "memory", ByWords: true, Kinds: []memory.Kind{memory.KindFact}, Now: l.engine.Now(), Limit: 1,
	})
	if err != nil {
		c.found("index", "", "a search fails: "+err.Error(), "stop Loci and delete the folder index in the data folder; it is made anew")
		return
	}
	c.looked("index: %d bytes in memory", l.index.Size())
	if l.config.Store == "memory" || l.config.Index.Checkpoints == "off" {
		return
	}
	dir, err := l.config.DataDir()
	if err != nil {
		return
	}
	info, err := os.Stat(filepath.Join(dir, indexFolder))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is made when there is something to keep
	case err != nil:
		c.found("index", indexFolder, err.Error(), "")
	case !info.IsDir():
		c.found("index", indexFolder, "it is no folder", "stop Loci and delete it; it is made anew")
	}
}

func (l *Loci) doctorModels(c *checkup) {
	names := l.config.ModelsInUse()
	if len(names) == 0 {
		return
	}
	dir, err := l.config.ModelsFolder()
	if err != nil {
		c.found("models", "", err.Error(), "")
		return
	}
	c.looked("models in %s: %s", dir, strings.Join(names, ", "))
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			c.found("models", name, "it is not there", "get it: loci models pull "+name)
		}
	}
}
