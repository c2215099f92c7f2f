package cli

import (
	"cmp"
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

func newSettingsCommand(g *sharedState) *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use:   "settings [WORD]",
		Short: "Show all settings with their values and the sources of the values",
		Long: "Show all settings with the values of the running server. Values of secrets are not shown.\n" +
			"Without a server, or with --local, --set, --config or --profile, show the values of a server started with the same flags.\n" +
			"With WORD show only settings that have WORD in their names, with their descriptions.",
		Example: "  loci settings\n  loci settings upstream\n  LOCI_RECALL_TOP_K=5 loci settings top_k --local",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, loadErr := g.loadConfig(cmd)
			if loadErr != nil { // show the defaults together with the error
				var err error
				if c, err = config.Load(config.Sources{}); err != nil {
					return err
				}
			}
			all, server := c.ListSettings(), ""
			local = local || loadErr != nil || len(g.setPairs) > 0 || g.configFile != "" || cmd.Flags().Changed("profile")
			var runningServer *client.Client
			if !local {
				runningServer, server = g.runningServer(cmd, c)
			}
			if runningServer != nil {
				served, err := runningServer.Settings(cmd.Context())
				if err != nil {
					return fmt.Errorf("read the settings of the server at %s: %w; --local shows the settings of this command line", server, err)
				}
				all = served.Settings
			}
			if len(args) > 0 {
				all = slices.DeleteFunc(all, func(s client.Setting) bool {
					word := strings.ToLower(args[0])
					return !strings.Contains(s.Key, word) && !strings.Contains(strings.ToLower(s.Env), word)
				})
			}
			if len(all) == 0 {
				return memory.Errorf(memory.NotFound, "no setting has %s in its name; loci settings lists all settings", shorten(args[0], 60))
			}
			err := g.print(cmd.OutOrStdout(), struct {
				Server string `json:"server,omitempty"`
				client.Settings
			}{server, client.Settings{Settings: all}}, func(out printer) {
				if server != "" {
					out.line("%s", out.styled(dim, "settings of the server at "+server))
				}
				if len(args) > 0 {
					out.printDescriptions(all)
				} else {
					out.printSettings(all)
				}
			})
			if loadErr != nil {
				return fmt.Errorf("a setting is invalid, so the defaults are shown: %w", loadErr)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "show the settings of this command line, even if a server is running")
	cmd.AddCommand(newSettingsImportCommand(g))
	return g.withJSONFlag(cmd)
}

func newSettingsImportCommand(g *sharedState) *cobra.Command {
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
			for _, name := range imported.Skipped {
				fmt.Fprintf(cmd.ErrOrStderr(), "not imported: %s\n", name)
			}
			return g.print(cmd.OutOrStdout(), imported, func(out printer) { _, _ = out.Write(file) })
		},
	}
	return g.withJSONFlag(cmd)
}

// printSettings prints one line per setting.
func (s printer) printSettings(list []client.Setting) {
	t := tabwriter.NewWriter(s.Writer, 0, 0, 2, ' ', 0)
	for _, setting := range list {
		line := setting.Key + "\t" + displayValue(setting)
		if setting.Own() {
			line += "\t" + setting.From
		}
		fmt.Fprintln(t, line)
	}
	_ = t.Flush() // the next write reports an error of the writer
	s.line("for descriptions: loci settings WORD; to change a setting: --set KEY=VALUE, its environment variable, or the file of --config")
}

// printDescriptions prints settings with their descriptions.
func (s printer) printDescriptions(list []client.Setting) {
	for i, setting := range list {
		if i > 0 {
			s.line("")
		}
		s.line("%s  %s  (%s)", s.styled(bold, setting.Key), displayValue(setting), setting.From)
		s.line("  %s", setting.Doc)
		s.line("  %s", s.styled(dim, "--set "+setting.Key+"=…, or "+setting.Env))
	}
}

// displayValue returns the value of a setting, or – for an empty value.
func displayValue(s client.Setting) string { return cmp.Or(shorten(s.Value, 200), "–") }
