package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/prompt"
)

// completionKinds maps a flag or command to the kind of values that shells complete for it.
var completionKinds = map[string]string{
	"--profile": "profiles", "--set": "set", "--kind": "kinds", "--status": "statuses", "--core": "core", "--action": "actions", "--run": "runs",
	"loci settings": "settings", "loci prompts show": "prompts", "loci models verify": "models", "loci models remove": "models", "loci pause": "pauses",
	"loci keys rotate": "keys", "loci keys remove": "keys", "loci profile": "entries", "loci profile set": "entries", "loci profile remove": "entries",
}

// completionValues returns the values to complete for a kind, each with an optional description after a tab.
// The client c is nil if no server answers, because a completion opens no data folder.
func completionValues(ctx context.Context, kind string, cfg config.Config, c *client.Client) (out []string) {
	switch kind {
	case "profiles":
		return config.ProfileNames()
	case "kinds", "statuses", "core":
		return strings.Fields(map[string]string{
			"kinds": "fact turn summary all", "statuses": "active pending superseded retired rejected replaced all", "core": "auto always never",
		}[kind])
	case "pauses":
		return slices.Sorted(maps.Keys(pauseTexts))
	case "prompts":
		return prompt.Names()
	case "actions":
		for _, action := range slices.Sorted(maps.Keys(actionVerbs)) {
			out = append(out, string(action))
		}
	case "set", "settings":
		for _, s := range cfg.ListSettings() {
			out = append(out, s.Key+map[string]string{"set": "="}[kind]+"\t"+s.Doc)
		}
	case "models":
		dir, _ := cfg.ModelsFolder()
		all, _ := hub.List(dir) // without a folder there are no models
		for _, m := range all {
			out = append(out, m.Name)
		}
	}
	if c == nil {
		return out
	}
	switch kind { // an error of the server means no completions
	case "keys":
		all, _ := c.Keys(ctx)
		for _, k := range all.Keys {
			out = append(out, k.ID+"\t"+shorten(k.Name, 60))
		}
	case "entries":
		all, _ := c.Profile(ctx)
		for _, e := range all.Entries {
			out = append(out, e.Key)
		}
	case "runs":
		page, _ := c.Changes(ctx, client.ChangesQuery{Limit: 100})
		for _, change := range page.Changes {
			out = append(out, change.Run+"\t"+formatTime(change.CreatedAt)+" "+authorText(change.Author))
		}
	}
	return slices.Compact(out)
}

// registerCompletions registers the completions of a command and of its subcommands.
func (g *sharedState) registerCompletions(cmd *cobra.Command) {
	completionFunc := func(kind string) cobra.CompletionFunc {
		return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if kind == "set" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			cfg, err := g.loadConfig(cmd)
			if err != nil {
				return nil, directive
			}
			var c *client.Client
			if slices.Contains([]string{"keys", "entries", "runs"}, kind) { // kinds of values that only a server has
				c, _ = g.runningServer(cmd, cfg)
			}
			return slices.DeleteFunc(completionValues(cmd.Context(), kind, cfg, c), func(v string) bool { return !strings.HasPrefix(v, prefix) }), directive
		}
	}
	for name, kind := range completionKinds {
		if flag, isFlag := strings.CutPrefix(name, "--"); isFlag && cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, completionFunc(kind)) // the error means that the flag is already registered
		}
	}
	if kind := completionKinds[cmd.CommandPath()]; kind != "" {
		cmd.ValidArgsFunction = completionFunc(kind)
	}
	for _, sub := range cmd.Commands() {
		g.registerCompletions(sub)
	}
}
