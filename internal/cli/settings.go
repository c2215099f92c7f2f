package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func settings(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settings [WORD]",
		Short: "What may be set, what is, and where that is from",
		Long: "All settings with their values, as this command line, the environment, the file and the profile have them; with a word those whose names\n" +
			"hold it, and what they mean. A server that runs may have been started with others: its page shows them. Of secrets it is said that they are set.",
		Example: "  loci settings\n  loci settings upstream\n  LOCI_RECALL_TOP_K=5 loci settings top_k",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, wrong := g.load(cmd)
			if wrong != nil { // what is wrong with them is why somebody looks
				var err error
				if c, err = config.Load(config.Sources{}); err != nil {
					return err
				}
			}
			all := c.Shown()
			if len(args) > 0 {
				all = slices.DeleteFunc(all, func(s config.Shown) bool {
					word := strings.ToLower(args[0])
					return !strings.Contains(s.Key, word) && !strings.Contains(strings.ToLower(s.Env), word)
				})
			}
			if len(all) == 0 {
				return memory.Errorf(memory.NotFound, "no setting has %s in its name; loci settings lists them all", brief(args[0], 60))
			}
			err := g.print(cmd.OutOrStdout(), map[string][]config.Shown{"settings": all}, func(out printer) {
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
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON for programs")
	cmd.AddCommand(settingsImport(g))
	return cmd
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
func (s printer) settings(all []config.Shown) {
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
func (s printer) explained(all []config.Shown) {
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
func value(s config.Shown) string { return cmp.Or(brief(s.Value, 200), "–") }
