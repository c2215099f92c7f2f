// Package doctor finds problems of an open memory in its folders, vault, database, index and models. It also
// collects mistakes in the configuration that requests reveal.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// Doctor examines a memory. The fields must not change during an examination.
type Doctor struct {
	Config         config.Config
	Engine         *engine.Engine
	Index          *index.Index
	Chroma         *chroma.Index    // nil without Chroma
	Vault          *vaultsync.Vault // nil without a vault
	Database       *sqlstore.Store  // nil if the store is not an SQL database
	Backups        *backup.Maker
	Schedule       *backup.Schedule // nil without a schedule
	Learner        *models.Learner
	EmbedderChoice models.EmbedderChoice
	Log            *slog.Logger

	warnings warnings
}

// Examine checks the folders, the vault, the database, the index and the models. If confirmDeletions is set,
// it also forgets the memories of vault files that disappeared together.
func (d *Doctor) Examine(ctx context.Context, confirmDeletions bool) (client.Checkup, error) {
	c := report{Checkup: client.Checkup{Checked: []string{}, Findings: []client.Finding{}}}
	if err := d.checkVault(ctx, &c, confirmDeletions); err != nil {
		return client.Checkup{}, err
	}
	d.checkFolders(&c)
	d.checkDatabase(ctx, &c)
	d.checkIndex(ctx, &c)
	d.checkChroma(ctx, &c)
	d.checkModels(&c)
	d.checkServers(ctx, &c)
	if looked, _ := d.Schedule.Report(); looked != "" {
		c.addChecked("%s", looked)
	}
	c.Findings = append(c.Findings, d.knownFindings()...)
	c.Findings = append(c.Findings, d.skippedModelFindings(c.addChecked)...)
	return c.Checkup, ctx.Err()
}

type report struct{ client.Checkup }

func (c *report) addChecked(format string, args ...any) {
	c.Checked = append(c.Checked, fmt.Sprintf(format, args...))
}

func (c *report) addFinding(part, path, problem, solution string) {
	c.Findings = append(c.Findings, client.Finding{Part: part, Path: path, Problem: problem, Fix: solution})
}

func (d *Doctor) checkVault(ctx context.Context, c *report, confirmDeletions bool) error {
	if d.Vault == nil {
		if confirmDeletions {
			return memory.Errorf(memory.Invalid, "cannot confirm deletions without a vault")
		}
		return nil
	}
	r, refused, err := d.Vault.ScanWithReasons(ctx, confirmDeletions)
	if err != nil {
		return err
	}
	c.addChecked("vault %s: %s", d.Vault.Store.Dir(), countText(r.FileCount, "file"))
	if at := d.Vault.Store.RebuiltAt(); !at.IsZero() {
		c.addChecked("the vault's history begins on %s, when memory was rebuilt from the files", at.Format(time.DateOnly))
	}
	for _, p := range r.Problems {
		c.addFinding("vault", p.Path, p.Reason, cmp.Or(p.Advice, "correct the file or remove it from the vault; Loci does not change it"))
	}
	for _, path := range r.ConflictFiles {
		what := "text by a person that Loci did not import"
		if why := refused[path]; why != "" {
			what += ": " + why
		}
		c.addFinding("vault", path, what, "copy the parts that you need into the memory's own file, then delete this file")
	}
	for _, e := range r.Edits { // edits that ScanWithReasons neither applied nor refused
		_, err := d.Vault.ApplyEdit(ctx, e)
		do := "correct the file; Loci reads it again after a change and at each start"
		switch {
		case err == nil: // ApplyEdit applied the edit, so there is no problem to report
			continue
		case errors.Is(err, memory.Gone):
			do = "to reopen the erased user with this file: loci users open " + e.Owner.Name() + "; otherwise delete the file"
		}
		c.addFinding("vault", e.Path, "the edit of this file is not applied: "+err.Error(), do)
	}
	if c.HeldDeletions = len(r.UnconfirmedDeletions); c.HeldDeletions > 0 {
		are := " are"
		if c.HeldDeletions == 1 {
			are = " is"
		}
		c.addFinding("vault", "", countText(c.HeldDeletions, "file")+are+" deleted at the same time, such as "+r.UnconfirmedDeletions[0].Path,
			"restore the files; or, if you deleted them on purpose, forget their memories: loci doctor --confirm")
	}
	if err := d.Vault.Store.Ping(ctx); err != nil {
		c.addFinding("vault", "", err.Error(), "")
	}
	if err := d.Vault.Store.Flush(ctx); err != nil {
		c.addFinding("vault", "", "files cannot be written: "+err.Error(), "make sure that Loci may write to the folder, and that the disk has free space")
	}
	return nil
}

func (d *Doctor) checkDatabase(ctx context.Context, c *report) {
	if d.Database != nil {
		faults, err := d.Database.Check(ctx)
		for _, fault := range faults {
			c.addFinding("database", config.DatabaseFile, fault, "stop Loci and restore a backup: loci restore FILE --replace")
		}
		if err != nil {
			c.addFinding("database", config.DatabaseFile, err.Error(), "")
		}
	}
	totals, err := d.Engine.Store.Totals(ctx)
	if err != nil {
		c.addFinding("database", config.DatabaseFile, err.Error(), "")
		return
	}
	unfinished, parked, err := d.countJobs(ctx)
	if err != nil {
		c.addFinding("database", config.DatabaseFile, err.Error(), "")
		return
	}
	c.addChecked("database: %s, %s, %s waiting or running", countText(totals.Facts, "fact"), countText(totals.Turns, "turn"), countText(unfinished, "job"))
	for _, owner := range slices.Sorted(maps.Keys(parked)) {
		c.addFinding("database", "", countText(parked[owner], "job")+" of "+owner.DisplayName()+" failed too often", "to list the jobs: loci jobs --user "+owner.Name())
	}
}

// countJobs counts the queued and running jobs of all users, and the parked jobs by user.
func (d *Doctor) countJobs(ctx context.Context) (unfinished int, parked map[memory.Owner]int, err error) {
	owners, err := d.Engine.Store.Owners(ctx)
	if err != nil {
		return 0, nil, err
	}
	parked = map[memory.Owner]int{}
	for _, owner := range owners {
		jobs, err := d.Engine.Lessons.Jobs(ctx, owner)
		if err != nil {
			return 0, nil, err
		}
		for _, j := range jobs {
			if j.State == memory.JobParked {
				parked[owner]++
			} else {
				unfinished++
			}
		}
	}
	return unfinished, parked, nil
}

// Checking a database of more than smallDatabaseBytes takes seconds. The check starts only after checkDelay,
// in order not to delay the first requests.
const (
	smallDatabaseBytes = 32 << 20
	checkDelay         = 2 * time.Second
)

// CheckInBackground checks the database once, because queries do not detect missing index rows. After a
// fault the store refuses writes, and the server logs the fault and reports that it is not ready.
func (d *Doctor) CheckInBackground(ctx context.Context) error {
	if d.Database == nil || d.Config.Store.IsServer() {
		return nil
	}
	if d.Database.Size() > smallDatabaseBytes {
		select {
		case <-time.After(checkDelay):
		case <-ctx.Done():
			return nil
		}
	}
	began := time.Now()
	faults, err := d.Database.Check(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.Log.Error("cannot check the database", "err", err)
	default:
		d.Log.Info("checked the database", "faults", len(faults), "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// countText returns a number with its noun, such as "2 facts"; noun is the singular.
func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// minFreeSpace is the minimum free space of a disk, in bytes. The database's checkpoints and log and the
// traces need some tens of MiB, so an operator has some days to react.
const minFreeSpace = 256 << 20

// checkFolders checks that the data folder is writable, and that its disk and the vault's disk have free space.
func (d *Doctor) checkFolders(c *report) {
	dir, err := d.Config.DataDir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.Config.Store != "sqlite": // this store does not need the folder
	case err != nil:
		c.addFinding("data folder", dir, err.Error(), "")
	default:
		if err := disk.ProbeWrite(dir); err != nil {
			c.addFinding("data folder", dir, "the folder is not writable: "+err.Error(), "make sure that Loci may write to the folder, and that the disk has free space")
		}
		c.checkFreeSpace("data folder", dir, disk.FreeBytes)
	}
	if _, err := d.Backups.List.Read(); err != nil {
		c.addFinding("data folder", backup.BackupListFile, err.Error(), "move the file to another folder; receipts of erasures then omit the backups in the file")
	}
	if d.Vault != nil {
		c.checkFreeSpace("vault", d.Vault.Store.Dir(), disk.FreeBytes)
	}
}

// checkFreeSpace checks the free space of dir's disk; freeSpace returns the free bytes of a folder's disk.
func (c *report) checkFreeSpace(part, dir string, freeSpace func(string) (int64, error)) {
	free, err := freeSpace(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		c.addFinding(part, dir, err.Error(), "")
	case free < minFreeSpace:
		c.addFinding(part, dir, fmt.Sprintf("its disk has %d MiB of free space", free>>20), "free some space: on a full disk Loci cannot store memories")
	default:
		c.addChecked("%s %s: its disk has %d MiB of free space", part, dir, free>>20)
	}
}

// checkIndex tries a search, and checks the folder of the index.
func (d *Doctor) checkIndex(ctx context.Context, c *report) {
	_, err := d.Engine.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{{Owner: memory.User(memory.DefaultNamespace, httpx.DefaultUser)}}, Text: "memory", WordsOnly: true, Kinds: []memory.Kind{memory.KindFact}, Now: d.Engine.Now(), Limit: 1,
	})
	if err != nil {
		c.addFinding("index", "", "a search fails: "+err.Error(), "stop Loci and delete the folder index in the data folder; Loci rebuilds it")
		return
	}
	c.addChecked("index: %d bytes in memory", d.Index.Size())
	if d.Config.Store == "memory" {
		return
	}
	dir, err := d.Config.DataDir()
	if err != nil {
		return
	}
	info, err := os.Stat(filepath.Join(dir, config.IndexFolder))
	switch {
	case errors.Is(err, fs.ErrNotExist): // Loci creates the folder when needed
	case err != nil:
		c.addFinding("index", config.IndexFolder, err.Error(), "")
	case !info.IsDir():
		c.addFinding("index", config.IndexFolder, "the path is not a folder", "stop Loci and delete the file; Loci rebuilds the index")
	}
}

// checkChroma compares the vectors in Chroma with the vectors in the store.
func (d *Doctor) checkChroma(ctx context.Context, c *report) {
	if d.Chroma == nil {
		return
	}
	at, name := config.RedactURL(d.Config.Chroma.URL), d.Chroma.Name()
	is, err := d.Chroma.Compare(ctx)
	switch {
	case errors.Is(err, memory.Conflict):
		c.addFinding("chroma", at, err.Error(), "delete the collection, or set chroma.collection to another name; until then, search is by words only")
	case err != nil:
		c.addFinding("chroma", at, err.Error(), "check that the Chroma server runs at this address; until it answers, search is by words only; then Loci fills it from the store automatically")
	case is.Missing+is.Extra > 0:
		c.addFinding("chroma", at, fmt.Sprintf("the collection %s lacks %d of %s and has %d vectors that the store does not have", name, is.Missing, countText(is.Memories, "vector"), is.Extra), "no action is needed: Loci copies the vectors again; check again in a minute")
	default:
		c.addChecked("chroma %s: the collection %s has %s, the same as the store", at, name, countText(is.Memories, "vector"))
	}
}

func (d *Doctor) checkModels(c *report) {
	is, _ := d.EmbedderChoice.Current()
	c.addChecked("%s", strings.TrimSuffix(fmt.Sprintf("embedder: %s (%s); suggestion: %s", is.Embedder, is.Why, is.Suggestion), "; suggestion: "))
	names := d.Config.LocalModelNames()
	if len(names) == 0 {
		return
	}
	dir, err := d.Config.ModelsFolder()
	if err != nil {
		c.addFinding("models", "", err.Error(), "")
		return
	}
	c.addChecked("models in %s: %s", dir, strings.Join(names, ", "))
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			c.addFinding("models", name, "the model is not installed", "install the model: loci models pull "+name)
		}
	}
}

// answerTimeout is the maximum wait for a response of a model server.
const answerTimeout = 3 * time.Second

// checkServers requests the list of models from each model server. It reports a server error or a refused
// key; any other response, such as 404, shows that the server works.
func (d *Doctor) checkServers(ctx context.Context, c *report) {
	c.checkServer(ctx, "upstream", llm.Options{BaseURL: d.Config.Upstream.URL, Key: d.Config.Upstream.Key})
	learns := d.Learner.Status()
	c.addChecked("learning: %s (%s)", learns.Description, learns.Why)
	if d.Config.Learn.Model != "" && d.Config.Learn.URL != "" {
		c.checkServer(ctx, "learn.url", models.LearnerOptions(d.Config))
	}
	d.checkRemoteModels(ctx, c)
}

// checkRemoteModels sends a small request to the remote embedder and reranker. It does not request lists of
// models, because some servers have no list.
func (d *Doctor) checkRemoteModels(ctx context.Context, c *report) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	is, _ := d.EmbedderChoice.Current()
	settings := d.Config
	settings.Embedder = is.Embedder
	wrong := models.CheckRemote(ctx, settings)
	for _, m := range [][2]string{{"embedder", is.Embedder}, {"reranker", d.Config.Reranker}} {
		if err := wrong[m[0]]; err != nil {
			c.addFinding(m[0], m[1], err.Error(), "check the model's server and the settings "+m[0]+", embed.url and embed.key")
		} else if strings.HasPrefix(m[1], config.RemoteModel) {
			c.addChecked("%s %s: it responds", m[0], m[1])
		}
	}
}

// missedLimit sets the limit of a warning: a model did not answer more than one in missedLimit questions.
const missedLimit = 20

// skippedModelFindings reports models that are currently skipped, or that did not answer for many questions. For
// other models it calls addChecked with the share of questions that were answered without the model.
func (d *Doctor) skippedModelFindings(addChecked func(format string, args ...any)) (findings []client.Finding) {
	is, _ := d.EmbedderChoice.Current()
	for _, m := range []struct {
		key, name, consequence string
		model                  any
	}{
		{"embedder", is.Embedder, "search is by words only", d.Engine.Embedder},
		{"reranker", d.Config.Reranker, "results are not reranked", d.Engine.Reranker},
	} {
		missed, asked := d.Engine.Metrics.MissedQuestions(m.key, d.Engine.Now())
		what := fmt.Sprintf("%d of %s in the last hour (%d %%) were answered without the %s", missed, countText(asked, "question"), 100*missed/max(1, asked), m.key)
		do := "reduce the load of this machine, use a smaller model (loci models), or raise recall.deadline_max"
		if core.IsRemote(m.model) {
			do = "Loci retries the model automatically; if the model is always too slow, raise recall.deadline or use a faster model"
		}
		if why := core.SkipReason(m.model); why != nil {
			what = "the " + m.key + " is skipped, and " + m.consequence + ": " + llm.DescribeFailure(why) + "; " + what
		} else if missed*missedLimit <= asked {
			if asked > 0 {
				addChecked("%s %s: %s", m.key, m.name, what)
			}
			continue
		}
		findings = append(findings, client.Finding{Part: m.key, Path: m.name, Problem: what, Fix: do})
	}
	return findings
}

func (c *report) checkServer(ctx context.Context, part string, o llm.Options) {
	if o.BaseURL == "" {
		return
	}
	shown := config.RedactURL(o.BaseURL)
	status, err := modelListStatus(ctx, o)
	switch {
	case err != nil:
		c.addFinding(part, shown, err.Error(), "make sure that the server runs and can be reached, or set "+part)
	case status >= http.StatusInternalServerError:
		c.addFinding(part, shown, fmt.Sprintf("the server responded with status %d", status), "make sure that the server runs")
	case o.Key != "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		c.addFinding(part, shown, fmt.Sprintf("the server refused the key with status %d", status), "set the key of this server")
	default:
		c.addChecked("%s %s: it responds", part, shown)
	}
}

// modelListStatus requests a server's list of models and returns the HTTP status.
func modelListStatus(ctx context.Context, o llm.Options) (status int, err error) {
	server, err := llm.NewForwarder(o)
	if err != nil {
		return 0, err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := server.Do(ctx, http.MethodGet, "models", http.Header{}, nil)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
