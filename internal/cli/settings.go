package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func settings(g *global) *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use:   "settings [WORD]",
		Short: "What may be set, what is, and where that is from",
		Long: "All settings with their values, as the running server has them; where none answers, or with --local, --set, --config or --profile, as a start\n" +
			"of this command line, the environment, the file and the profile would. With a word those whose names hold it, and what they mean. Of secrets\n" +
			"it is said that they are set.",
		Example: "  loci settings\n  loci settings upstream\n  LOCI_RECALL_TOP_K=5 loci settings top_k --local",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, wrong := g.load(cmd)
			if wrong != nil { // what is wrong with them is why somebody looks
				var err error
				if c, err = config.Load(config.Sources{}); err != nil {
					return err
				}
			}
			all, server := c.Shown(), ""
			local = local || wrong != nil || len(g.set) > 0 || g.config != "" || cmd.Flags().Changed("profile")
			if at, url := g.running(cmd, c); at != nil && !local {
				of, err := at.Settings(cmd.Context())
				if err != nil {
					return fmt.Errorf("ask %s for its settings: %w; --local shows those of this command line", url, err)
				}
				all, server = of.Settings, url
			}
			if len(args) > 0 {
				all = slices.DeleteFunc(all, func(s client.Setting) bool {
					word := strings.ToLower(args[0])
					return !strings.Contains(s.Key, word) && !strings.Contains(strings.ToLower(s.Env), word)
				})
			}
			if len(all) == 0 {
				return memory.Errorf(memory.NotFound, "no setting has %s in its name; loci settings lists them all", brief(args[0], 60))
			}
			err := g.print(cmd.OutOrStdout(), struct {
				Server string `json:"server,omitempty"`
				client.Settings
			}{server, client.Settings{Settings: all}}, func(out printer) {
				if server != "" {
					out.line("%s", out.in(dim, "of the server at "+server))
				}
				if len(args) > 0 {
					out.explained(all)
				} else {
					out.settings(all)
				}
			})
			if wrong != nil {
				return fmt.Errorf("these are the defaults, for one that is set cannot be: %w", wrong)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "those of this command line, also where a server runs")
	cmd.AddCommand(settingsImport(g))
	return g.withJSON(cmd)
}

func settingsImport(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Print the settings of another memory system as a settings file of Loci",
		Long: "Reads the settings of one of the designs that profiles follow (docs/profiles.md lists their names): a .env file, YAML, JSON or TOML. Prints\n" +
			"them as a file for --config. It sets nothing.",
		Example: "  loci settings import .env > loci.yaml\n  loci settings import models.yaml\n  loci settings import config.toml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return memory.Errorf(memory.Invalid, "read the settings: %w", err)
			}
			imported, err := config.Import(args[0], data)
			if err != nil {
				return err
			}
			file, err := imported.YAML()
			if err != nil {
				return fmt.Errorf("write the settings: %w", err)
			}
			for _, name := range imported.Passed {
				fmt.Fprintf(cmd.ErrOrStderr(), "not imported: %s\n", name)
			}
			return g.print(cmd.OutOrStdout(), imported, func(out printer) { _, _ = out.Write(file) })
		},
	}
	return g.withJSON(cmd)
}

// settings writes a line for each.
func (s printer) settings(all []client.Setting) {
	t := tabwriter.NewWriter(s.Writer, 0, 0, 2, ' ', 0)
	for _, one := range all {
		line := one.Key + "\t" + value(one)
		if one.Own() {
			line += "\t" + one.From
		}
		fmt.Fprintln(t, line)
	}
	_ = t.Flush() // an error of the writer shows when the next line is written
	s.line("what one means: loci settings WORD; it is set by --set KEY=VALUE, by its variable, or in the file of --config")
}

// explained writes what each means, too.
func (s printer) explained(all []client.Setting) {
	for i, one := range all {
		if i > 0 {
			s.line("")
		}
		s.line("%s  %s  (%s)", s.in(bold, one.Key), value(one), one.From)
		s.line("  %s", one.Doc)
		s.line("  %s", s.in(dim, "--set "+one.Key+"=…, or "+one.Env))
	}
}

// value is a setting's value, and – for none.
func value(s client.Setting) string { return cmp.Or(brief(s.Value, 200), "–") }

func doctor(g *global) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What is wrong with the folders, the vault, the database, the index and the models",
		Long: "It looks at everything that Loci keeps and says what is wrong and what to do about it; its exit status is 1 then.\n" +
			"Files that are gone from the vault at once, as if a disk were not there, are not forgotten until --confirm says so, which tells how to take it back.",
		Example: "  loci doctor\n  loci doctor --confirm",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			found, undo, err := examine(ctx, c, confirm)
			if err != nil {
				return err
			}
			err = g.print(cmd.OutOrStdout(), found, func(out printer) {
				out.checkup(found)
				if undo.ToTime != nil {
					out.line("to take this back: %s", undoCommand(undo, g.user))
				}
			})
			if n := len(found.Findings); err == nil && n > 0 {
				err = fmt.Errorf("%s found", many(n, "faults"))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the files that are gone at once")
	return g.withJSON(cmd)
}

// examine asks what is wrong and, where that confirms deletions, how they are undone.
func examine(ctx context.Context, c *client.Client, confirm bool) (found client.Checkup, undo client.UndoRequest, err error) {
	if !confirm {
		found, err = c.Doctor(ctx)
		return found, undo, err
	}
	before, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err != nil {
		return found, undo, fmt.Errorf("read the last change: %w", err)
	}
	if found, err = c.ConfirmDeletions(ctx); err != nil || len(before.Changes) == 0 {
		return found, undo, err
	}
	last := before.Changes[0]
	after, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err == nil && after.Changes[0].ID != last.ID {
		undo.ToTime = &last.CreatedAt
	}
	return found, undo, err
}

// checkup writes what was looked at and what is wrong.
func (s printer) checkup(c client.Checkup) {
	for _, what := range c.Checked {
		s.line("looked at %s", what)
	}
	for _, f := range c.Findings {
		s.line("%s", s.in(red, strings.TrimSpace(f.Part+" "+f.Path)+": "+f.What))
		if f.Do != "" {
			s.line("  %s", f.Do)
		}
	}
	if len(c.Findings) == 0 {
		s.line("nothing is wrong")
	}
}
