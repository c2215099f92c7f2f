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
var completed = map[string]string{
	"--profile": "profiles", "--set": "set", "--kind": "kinds", "--status": "statuses", "--core": "core", "--action": "actions", "--run": "runs",
	"loci settings": "settings", "loci prompts show": "prompts", "loci models verify": "models", "loci models remove": "models", "loci pause": "pauses",
	"loci keys rotate": "keys", "loci keys remove": "keys", "loci profile": "entries", "loci profile set": "entries", "loci profile remove": "entries",
}

// completions returns the completions of a kind, each with an optional description after a tab.
// The client c is nil if no server answers: a completion opens no data folder.
func values(ctx context.Context, what string, set config.Config, c *client.Client) (out []string) {
	switch what {
	case "profiles":
		return config.Profiles()
	case "kinds", "statuses", "core":
		return strings.Fields(map[string]string{
			"kinds": "fact turn summary all", "statuses": "active pending superseded retired rejected replaced all", "core": "auto always never",
		}[what])
	case "pauses":
		return slices.Sorted(maps.Keys(pauses))
	case "prompts":
		return prompt.Names()
	case "actions":
		for _, action := range slices.Sorted(maps.Keys(verbs)) {
			out = append(out, string(action))
		}
	case "set", "settings":
		for _, s := range set.Shown() {
			out = append(out, s.Key+map[string]string{"set": "="}[what]+"\t"+s.Doc)
		}
	case "models":
		dir, _ := set.ModelsFolder()
		all, _ := hub.List(dir) // without a folder there are no models
		for _, m := range all {
			out = append(out, m.Name)
		}
	}
	if c == nil {
		return out
	}
	switch what { // an error of the server means no completions
	case "keys":
		all, _ := c.Keys(ctx)
		for _, k := range all.Keys {
			out = append(out, k.ID+"\t"+brief(k.Name, 60))
		}
	case "entries":
		all, _ := c.Profile(ctx)
		for _, e := range all.Entries {
			out = append(out, e.Key)
		}
	case "runs":
		page, _ := c.Changes(ctx, client.ChangesQuery{Limit: 100})
		for _, change := range page.Changes {
			out = append(out, change.Run+"\t"+when(change.CreatedAt)+" "+by(change.Author))
		}
	}
	return slices.Compact(out)
}

// registerCompletions registers the completions of a command and of its subcommands.
func (g *global) offer(cmd *cobra.Command) {
	completing := func(what string) cobra.CompletionFunc {
		return func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if what == "set" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			set, err := g.load(cmd)
			if err != nil {
				return nil, directive
			}
			var c *client.Client
			if slices.Contains([]string{"keys", "entries", "runs"}, what) { // kinds of values that only a server has
				c, _ = g.running(cmd, set)
			}
			return slices.DeleteFunc(values(cmd.Context(), what, set, c), func(v string) bool { return !strings.HasPrefix(v, start) }), directive
		}
	}
	for place, what := range completed {
		if flag, is := strings.CutPrefix(place, "--"); is && cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, completing(what)) // the error means that the flag is already registered
		}
	}
	if what := completed[cmd.CommandPath()]; what != "" {
		cmd.ValidArgsFunction = completing(what)
	}
	for _, sub := range cmd.Commands() {
		g.offer(sub)
	}
}
