package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func forget(g *global) *cobra.Command {
	var ids []string
	var yes, erase bool
	var kinds []string
	var filter client.ForgetFilter
	cmd := &cobra.Command{
		Use:     "forget [QUESTION]",
		Short:   "Forget memories; undoable",
		Long:    "Forget memories by --id, those that a question finds, or all that have a --tag, --category, --project, --conversation or --text. Only --id forgets at once: else what would go is shown, until --yes is given.\n\n--erase removes the words for good, with all that says the same: what was said of it, also where it was forgotten before, summaries, the history. Ids and times stay; nothing brings the words back. It only shows what would go until --yes is given. Backups, logs and commits elsewhere are not reached.",
		Example: "  loci forget --id 0199c5d2-…\n  loci forget \"what I said about my job\" --yes\n  loci forget --tag work --project atlas --yes\n  loci forget --erase \"my allergy\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := client.ForgetRequest{Query: strings.TrimSpace(strings.Join(args, " ")), IDs: ids, Erase: erase, DryRun: (len(ids) == 0 || erase) && !yes}
			given := 0
			for _, is := range []bool{in.Query != "", len(ids) > 0, narrows(filter)} {
				if is {
					given++
				}
			}
			if given != 1 {
				return memory.Errorf(memory.Invalid, "give a question, --id, or what they have in common (--tag, --category, --project, --conversation, --text); one of these three")
			}
			switch {
			case narrows(filter):
				for _, k := range kinds {
					filter.Kinds = append(filter.Kinds, memory.Kind(k))
				}
				in.Filter = &filter
			case len(kinds) > 0:
				return memory.Errorf(memory.Invalid, "--kind goes with --tag, --category, --project, --conversation or --text")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := errors.Join(completeMemoryIDs(ctx, c, in.IDs), completeChatID(ctx, c, &filter.Conversation)); err != nil {
					return err
				}
				return show(g, cmd, func(out printer, gone client.Forgotten) { out.forgotten(gone, g.undoHint(gone.Run)) })(c.Forget(ctx, in))
			})
		},
	}
	cmd.Flags().StringSliceVar(&ids, "id", nil, "id of a memory; may be repeated")
	cmd.Flags().BoolVar(&yes, "yes", false, "forget what is found")
	cmd.Flags().BoolVar(&erase, "erase", false, "remove the words for good; it cannot be undone")
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "of what is found so: fact (unless given), turn, summary; several with commas")
	cmd.Flags().StringVar(&filter.Tag, "tag", "", "all with this tag")
	cmd.Flags().StringVar(&filter.Category, "category", "", "all of this category")
	cmd.Flags().StringVar(&filter.Project, "project", "", "all of this project")
	cmd.Flags().StringVar(&filter.Conversation, "conversation", "", "all said or learned in this conversation")
	cmd.Flags().StringVar(&filter.Text, "text", "", "all with these words")
	return onMemory(g, cmd)
}

// narrows reports whether a filter names something to forget by.
func narrows(f client.ForgetFilter) bool {
	return f.Tag != "" || f.Category != "" || f.Project != "" || f.Conversation != "" || f.Text != ""
}

func (s printer) forgotten(gone client.Forgotten, undoHint string) {
	if len(gone.Memories) == 0 {
		s.line("nothing matches")
		return
	}
	verb := "forgot"
	switch {
	case gone.Erased && gone.DryRun:
		verb = "would erase"
	case gone.Erased:
		verb = "erased"
	case gone.DryRun:
		verb = "would forget"
	}
	for _, m := range gone.Memories {
		s.line("%s", strings.TrimRight(fmt.Sprintf("%s %s %s  %s", verb, m.Kind, m.ID, brief(m.Content, 100)), " "))
	}
	switch {
	case gone.DryRun && gone.Erased:
		s.line("add --yes to do it; it cannot be undone")
	case gone.DryRun:
		s.line("add --yes to do it")
	case gone.Erased:
		s.line("the words are gone for good")
		for _, h := range gone.Held {
			s.line("not reached: %s", brief(h, 300))
		}
	case gone.Run == "":
		s.line("it was forgotten before: nothing has changed")
	default:
		s.line("%s", undoHint)
	}
}
