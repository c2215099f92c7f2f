package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// completed maps a flag or a command to the kind of values that shells complete for it.
var completed = map[string]string{
	"--profile": "profiles", "--set": "set", "--kind": "kinds", "--status": "statuses", "--core": "core", "--action": "actions", "--run": "runs",
	"loci settings": "settings", "loci prompts show": "prompts", "loci models verify": "models", "loci models remove": "models", "loci pause": "pauses",
	"loci keys rotate": "keys", "loci keys remove": "keys", "loci profile": "entries", "loci profile set": "entries", "loci profile remove": "entries",
}

// values returns the completions of a kind. A completion may have a description after a tab. c is nil
// if no server answers: a completion opens no data folder.
func values(ctx context.Context, what string, set config.Config, c *client.Client) (out []string) {
	switch what {
	case "profiles":
		return config.Profiles()
	case "kinds":
		return []string{"fact", "turn", "summary", "all"}
	case "statuses":
		return []string{"active", "pending", "superseded", "retired", "rejected", "replaced", "all"}
	case "core":
		return []string{"auto", "always", "never"}
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
	switch what { // if the server returns an error, nothing is completed
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

// offer registers the completions of a command and of its subcommands.
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
			c, _ := g.running(cmd, set)
			return slices.DeleteFunc(slices.Clone(values(cmd.Context(), what, set, c)), func(v string) bool { return !strings.HasPrefix(v, start) }), directive
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

const (
	leastOfID = 4  // minimum length of an abbreviated id; a shorter text is not completed
	wholeID   = 36 // length of an id that Loci makes
	mostAlike = 10 // maximum number of ids that are listed if an abbreviation is ambiguous
)

var errNoID = memory.Errorf(memory.Invalid, "the id is empty; loci list and the other list commands show ids")

// named is an id with a text by which people recognize it.
type named struct{ id, words string }

func namesOf[T any](all []T, of func(T) named) (out []named) {
	for _, one := range all {
		out = append(out, of(one))
	}
	return out
}

// complete replaces start by the full id if exactly one id begins with start. If no id does, start
// stays unchanged, and the request that uses it reports the error.
func complete(start *string, all []named) error {
	if *start == "" {
		return errNoID
	}
	var alike []named
	for _, one := range all {
		switch {
		case one.id == *start:
			return nil
		case len(*start) >= leastOfID && strings.HasPrefix(one.id, *start):
			alike = append(alike, one)
		}
	}
	switch len(alike) {
	case 0:
		return nil
	case 1:
		*start = alike[0].id
		return nil
	}
	var list strings.Builder
	for _, one := range alike[:min(len(alike), mostAlike)] {
		list.WriteString(strings.TrimRight("\n  "+harmless(one.id)+"  "+brief(one.words, 80), " "))
	}
	if len(alike) > mostAlike {
		list.WriteString("\n  and more")
	}
	return memory.Errorf(memory.Invalid, "%s… is ambiguous; write more characters of one of these:%s", *start, list.String())
}

// isIDPrefix reports whether a text can be the beginning of an id that Loci made.
func isIDPrefix(text string) bool {
	return len(text) >= leastOfID && len(text) < wholeID && strings.Trim(text, "0123456789abcdef-") == ""
}

// completeMemoryID completes the id of a memory.
func completeMemoryID(ctx context.Context, c *client.Client, start string) (string, error) {
	if start == "" {
		return "", errNoID
	}
	if !isIDPrefix(start) {
		return start, nil
	}
	page, err := c.List(ctx, client.ListQuery{ID: start, Kind: "all", Status: "all", Limit: mostAlike + 1})
	if err != nil {
		return "", fmt.Errorf("find the memory %s: %w", start, err)
	}
	all := namesOf(page.Memories, func(m client.Memory) named { return named{m.ID, m.Content} })
	whole := start
	err = complete(&whole, all)
	if err != nil && page.Next != "" { // the text itself may be an id on a later page
		m, found := found(c.Get(ctx, start))
		if m != nil || found != nil {
			return start, found
		}
	}
	return whole, err
}

// completeMemoryIDs completes ids of memories in place.
func completeMemoryIDs(ctx context.Context, c *client.Client, ids []string) (err error) {
	for i, start := range ids {
		if ids[i], err = completeMemoryID(ctx, c, start); err != nil {
			return err
		}
	}
	return nil
}

// completeChatID completes the id of a conversation in place.
func completeChatID(ctx context.Context, c *client.Client, start *string) error {
	if !isIDPrefix(*start) {
		return nil
	}
	var all []named
	for one, err := range memory.Pages(func(cursor string) ([]client.Chat, string, error) {
		page, err := c.Chats(ctx, client.ChatsQuery{Limit: 500, Cursor: cursor})
		return page.Chats, page.Next, err
	}) {
		if err != nil {
			return fmt.Errorf("find the conversation %s: %w", *start, err)
		}
		all = append(all, named{one.ID, one.Title})
	}
	return complete(start, all)
}

// completeRunID completes the id of a run or of a change (RUN/1) in place.
func completeRunID(ctx context.Context, c *client.Client, start *string) error {
	run, rest := *start, ""
	if at := strings.LastIndexByte(run, '/'); at >= 0 {
		run, rest = run[:at], run[at:]
	}
	if len(run) < leastOfID {
		return nil
	}
	is, err := c.Changes(ctx, client.ChangesQuery{Run: run, Limit: 1})
	if err != nil || len(is.Changes) > 0 {
		return err
	}
	page, err := c.Changes(ctx, client.ChangesQuery{Runs: run, Limit: mostAlike + 1})
	if err != nil {
		return fmt.Errorf("find the run %s: %w", run, err)
	}
	err = complete(&run, namesOf(page.Changes, func(one client.Change) named { return named{one.Run, when(one.CreatedAt) + " " + by(one.Author)} }))
	*start = run + rest
	return err
}

// completeContextIDs completes ids of contexts in place, and returns all contexts.
func completeContextIDs(ctx context.Context, c *client.Client, ids []string) (client.Contexts, error) {
	all, err := c.Contexts(ctx)
	there := namesOf(all.Contexts, func(d client.ContextDocument) named { return named{d.ID, d.Title} })
	for i := range ids {
		err = errors.Join(err, complete(&ids[i], there))
	}
	return all, err
}
