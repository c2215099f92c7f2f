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
		Short: "Show all settings, their values and where the values come from",
		Long: "Show all settings with the values of the running server. If no server answers, or with --local, --set, --config or --profile, show the values\n" +
			"that a server would have if it were started with this command line. With WORD show only settings whose names contain it, with their\n" +
			"descriptions. Values of secrets are not shown.",
		Example: "  loci settings\n  loci settings upstream\n  LOCI_RECALL_TOP_K=5 loci settings top_k --local",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, wrong := g.load(cmd)
			if wrong != nil { // show the defaults together with the error
				var err error
				if c, err = config.Load(config.Sources{}); err != nil {
					return err
				}
			}
			all, server := c.Shown(), ""
			local = local || wrong != nil || len(g.set) > 0 || g.config != "" || cmd.Flags().Changed("profile")
			if !local {
				at, url := g.running(cmd, c)
				if at != nil {
					of, err := at.Settings(cmd.Context())
					if err != nil {
						return fmt.Errorf("read the settings of the server at %s: %w; --local shows the settings of this command line", url, err)
					}
					all, server = of.Settings, url
				}
			}
			if len(args) > 0 {
				all = slices.DeleteFunc(all, func(s client.Setting) bool {
					word := strings.ToLower(args[0])
					return !strings.Contains(s.Key, word) && !strings.Contains(strings.ToLower(s.Env), word)
				})
			}
			if len(all) == 0 {
				return memory.Errorf(memory.NotFound, "no setting has %s in its name; loci settings lists all settings", brief(args[0], 60))
			}
			err := g.print(cmd.OutOrStdout(), struct {
				Server string `json:"server,omitempty"`
				client.Settings
			}{server, client.Settings{Settings: all}}, func(out printer) {
				if server != "" {
					out.line("%s", out.in(dim, "settings of the server at "+server))
				}
				if len(args) > 0 {
					out.explained(all)
				} else {
					out.settings(all)
				}
			})
			if wrong != nil {
				return fmt.Errorf("a setting is invalid, so the defaults are shown: %w", wrong)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "show the settings of this command line, even if a server is running")
	cmd.AddCommand(settingsImport(g))
	return g.withJSON(cmd)
}

func settingsImport(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Print the settings of another memory system as a settings file of Loci",
		Long: "Read the settings file (.env, YAML, JSON or TOML) of another memory system and print it as a settings file for --config.\n" +
			"docs/profiles.md lists the supported names. The command changes no settings.",
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

// settings prints one line per setting.
func (s printer) settings(all []client.Setting) {
	t := tabwriter.NewWriter(s.Writer, 0, 0, 2, ' ', 0)
	for _, one := range all {
		line := one.Key + "\t" + value(one)
		if one.Own() {
			line += "\t" + one.From
		}
		fmt.Fprintln(t, line)
	}
	_ = t.Flush() // writing the next line reports an error of the writer
	s.line("for descriptions: loci settings WORD; to change a setting: --set KEY=VALUE, its environment variable, or the file of --config")
}

// explained prints settings with their descriptions.
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

// value returns a setting's value, or – if it is empty.
func value(s client.Setting) string { return cmp.Or(brief(s.Value, 200), "–") }

func doctor(g *global) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the folders, the vault, the database, the index and the models",
		Long: "Check everything that Loci stores, and print each problem with its solution. The exit status is 1 if there is a problem. If many files\n" +
			"disappear from the vault at once, as after a disk failure, their memories are kept until --confirm forgets them, which can be undone.",
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
				err = fmt.Errorf("%s found", many(n, "problems"))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the memories of files that disappeared from the vault at once")
	return g.withJSON(cmd)
}

// examine runs the check. If it confirms deletions, it also returns the request that undoes them.
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

// checkup prints what was checked, and the problems.
func (s printer) checkup(c client.Checkup) {
	for _, what := range c.Checked {
		s.line("checked %s", what)
	}
	for _, f := range c.Findings {
		s.line("%s", s.in(red, strings.TrimSpace(f.Part+" "+f.Path)+": "+f.What))
		if f.Do != "" {
			s.line("  %s", f.Do)
		}
	}
	if len(c.Findings) == 0 {
		s.line("no problems")
	}
}
