package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func newUndoCommand(g *sharedState) *cobra.Command {
	var req client.UndoRequest
	var to time.Time
	var yes bool
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Undo changes; an undo can itself be undone",
		Long: "Undo the last run, the run of --run, the change of --change, or everything since a time (--to). loci history lists runs and changes.\n" +
			"A run is all changes of one command, request or learning job. Without --yes the command only shows the changes that it would make.",
		Example: "  loci undo\n  loci undo --yes\n  loci undo --run 0199c5d2-… --yes\n  loci undo --to \"2026-05-03 14:00\"",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !to.IsZero() {
				req.ToTime = &to
			}
			for name, empty := range map[string]bool{"change": req.Change == "", "run": req.Run == ""} {
				if cmd.Flags().Changed(name) && empty {
					return memory.Errorf(memory.Invalid, "--%s is empty; loci history shows the ids", name)
				}
			}
			req.DryRun = !yes
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := errors.Join(completeRunID(ctx, c, &req.Run), completeRunID(ctx, c, &req.Change)); err != nil {
					return err
				}
				target, err := describeUndoTarget(ctx, c, &req)
				if err != nil {
					return err
				}
				if target == "" {
					return g.print(cmd.OutOrStdout(), client.Undone{DryRun: req.DryRun, Steps: []client.Change{}}, func(out printer) { fmt.Fprintln(out, "nothing to undo") })
				}
				undone, err := c.Undo(ctx, req)
				if errors.Is(err, memory.Conflict) {
					return printConflict(ctx, c, req, newPrinter(cmd.ErrOrStderr()), err)
				}
				if err != nil {
					return err
				}
				texts, err := textsOf(ctx, c, slices.Concat(undone.Later, undone.Steps))
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), undone, func(out printer) {
					next := undoCommandLine(req, g.user)
					if !req.DryRun {
						next = g.undoHint(undone.Run)
					}
					out.printUndo(undone, target, next, texts)
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Run, "run", "", "id of the run to undo")
	f.StringVar(&req.Change, "change", "", "id of the change to undo, as RUN/1")
	f.Var(timeFlag{target: &to, atEnd: true}, "to", "undo everything since this time: yesterday (its end), \"2026-05-03 14:00\", 90m (ago), …")
	f.BoolVar(&req.Cascade, "cascade", false, "also undo later changes of the same memories")
	f.BoolVar(&yes, "yes", false, "confirm: make the changes")
	cmd.MarkFlagsMutuallyExclusive("run", "change", "to")
	return withMemoryFlags(g, cmd)
}

// describeUndoTarget describes the changes that req undoes, or returns "" if nothing can be undone. If req
// names no run, change or time, it sets req.Run to the last run.
func describeUndoTarget(ctx context.Context, c *client.Client, req *client.UndoRequest) (string, error) {
	switch {
	case req.ToTime != nil:
		return "everything since " + req.ToTime.Local().Format("2006-01-02 15:04:05"), nil
	case req.Change != "":
		return "change " + req.Change, nil
	}
	if req.Run == "" {
		last, err := lastUndoableChange(ctx, c)
		if err != nil || last.Run == "" {
			return "", err
		}
		req.Run = last.Run
		return runText(last), nil
	}
	page, err := c.Changes(ctx, client.ChangesQuery{Run: req.Run, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("find the run: %w", err)
	}
	if len(page.Changes) == 0 {
		return "run " + req.Run, nil
	}
	return runText(page.Changes[0]), nil
}

func runText(c client.Change) string {
	return "run " + c.Run + " of " + formatTime(c.CreatedAt) + " " + authorText(c.Author)
}

// lastUndoableChange returns a change of the last run that can be undone, or the zero Change. It skips runs
// that erased memories, and runs that changed memories erased later. It also skips pauses, because
// people do not regard a pause as a change of memory.
func lastUndoableChange(ctx context.Context, c *client.Client) (client.Change, error) {
	var last client.Change
	erased := map[string]bool{} // erased targets and runs; changes are sorted newest first, so an erasure comes before earlier changes of its target
	for change, err := range c.AllChanges(ctx, client.ChangesQuery{}) {
		if err != nil {
			return client.Change{}, fmt.Errorf("find the last run: %w", err)
		}
		if change.Action == memory.ActionErase {
			erased[change.Target] = true
		}
		switch {
		case last.Run != "" && change.Run != last.Run:
			return last, nil
		case erased[change.Target]:
			erased["run "+change.Run], last = true, client.Change{}
		case !erased["run "+change.Run] && !strings.HasPrefix(change.Target, "profile:loci."):
			last = change
		}
	}
	return last, nil
}

// undoCommandLine returns the command line for an undo.
func undoCommandLine(req client.UndoRequest, user string) string {
	words := []string{"loci undo"}
	for _, flag := range []struct{ name, value string }{{"--run", req.Run}, {"--change", req.Change}, {"--user", user}} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	if req.ToTime != nil {
		words = append(words, "--to", req.ToTime.Format(time.RFC3339Nano))
	}
	if req.Cascade {
		words = append(words, "--cascade")
	}
	return strings.Join(append(words, "--yes"), " ")
}

// printConflict prints the later changes that prevent an undo; undoErr is the error of the undo.
func printConflict(ctx context.Context, c *client.Client, req client.UndoRequest, s printer, undoErr error) error {
	req.DryRun = true
	preview, err := c.Undo(ctx, req)
	if err != nil || len(preview.Later) == 0 {
		return undoErr
	}
	texts, err := textsOf(ctx, c, preview.Later)
	if err != nil {
		return undoErr
	}
	s.printLaterChanges(preview.Later, texts)
	return memory.Errorf(memory.Conflict, "later changes prevent the undo; undo them first, or add --cascade to undo all of them")
}

// printUndo prints what an undo changed or would change, and nextCommand, the command line that carries
// out or reverts the undo.
func (s printer) printUndo(u client.Undone, target, nextCommand string, textsByID map[string]string) {
	switch {
	case len(u.Steps) == 0:
		s.line("nothing to undo")
		return
	case u.DryRun:
		s.line("would undo %s", target)
	default:
		s.line("undid %s", target)
	}
	for _, c := range u.Steps {
		s.printStep(c, textsByID)
	}
	switch {
	case !u.DryRun:
		s.line("%s", nextCommand)
	case len(u.Later) > 0 && !strings.Contains(nextCommand, " --cascade"):
		s.printLaterChanges(u.Later, textsByID)
		s.line("to undo all changes: %s", strings.Replace(nextCommand, " --yes", " --cascade --yes", 1))
	default:
		s.line("to do it: %s", nextCommand)
	}
}

// printStep prints the effect of a change: + for a memory that becomes active, - for one that does not stay active.
func (s printer) printStep(c client.Change, textsByID map[string]string) {
	switch sign := changeSign(c); sign {
	case '+':
		s.line("  %s", s.styled(green, "+ "+s.withoutColour().changeText(c, textsByID)))
	case '-':
		s.line("  %s", s.styled(red, "- "+s.withoutColour().changeText(c, textsByID)))
	default:
		status := ""
		if c.Before != nil && c.Before.Status() != c.After.Status() {
			status = fmt.Sprintf("  (%s → %s)", c.Before.Status(), c.After.Status())
		}
		s.line("  ~ %s%s", s.changeText(c, textsByID), status)
	}
}

// withoutColour returns a printer that writes without colour.
func (s printer) withoutColour() printer { return printer{Writer: s.Writer} }

func (s printer) printLaterChanges(changes []client.Change, textsByID map[string]string) {
	s.line("later changes of the same memories:")
	for _, c := range changes {
		s.line("  %s  %-10s %s  %s  %s", formatTime(c.CreatedAt), changeVerb(c), s.changeText(c, textsByID), authorText(c.Author), s.styled(dim, c.ID))
	}
}

func newForgetCommand(g *sharedState) *cobra.Command {
	var ids []string
	var yes, erase bool
	var kinds []string
	var filter client.ForgetFilter
	cmd := &cobra.Command{
		Use:     "forget [QUESTION]",
		Short:   "Forget memories; can be undone",
		Long:    "Forget the memories with an --id, the memories that a question finds, or all memories with a --tag, --category, --project, --conversation or --text. --id forgets immediately; otherwise the command only shows the memories, and --yes forgets them.\n\n--erase removes the text permanently, from the memories and from everything that repeats it: messages, forgotten facts, summaries, the history. Ids and times stay; the text cannot be restored. Without --yes the command only shows what it would erase. It does not reach backups, logs and git commits elsewhere.",
		Example: "  loci forget --id 0199c5d2-…\n  loci forget \"what I said about my job\" --yes\n  loci forget --tag work --project atlas --yes\n  loci forget --erase \"my allergy\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			req := client.ForgetRequest{Query: strings.TrimSpace(strings.Join(args, " ")), IDs: ids, Erase: erase, DryRun: (len(ids) == 0 || erase) && !yes}
			selectors := 0
			for _, isSet := range []bool{req.Query != "", len(ids) > 0, hasCriteria(filter)} {
				if isSet {
					selectors++
				}
			}
			if selectors != 1 {
				return memory.Errorf(memory.Invalid, "give exactly one of: a question, --id, or filters (--tag, --category, --project, --conversation, --text)")
			}
			switch {
			case hasCriteria(filter):
				for _, k := range kinds {
					filter.Kinds = append(filter.Kinds, memory.Kind(k))
				}
				req.Filter = &filter
			case len(kinds) > 0:
				return memory.Errorf(memory.Invalid, "--kind works only with --tag, --category, --project, --conversation or --text")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := errors.Join(completeMemoryIDs(ctx, c, req.IDs), completeChatID(ctx, c, &filter.Conversation)); err != nil {
					return err
				}
				return printAnswer(g, cmd, func(out printer, forgotten client.Forgotten) {
					out.printForgotten(forgotten, g.undoHint(forgotten.Run))
				})(c.Forget(ctx, req))
			})
		},
	}
	cmd.Flags().StringSliceVar(&ids, "id", nil, "id of a memory; may be repeated")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm: forget the memories")
	cmd.Flags().BoolVar(&erase, "erase", false, "erase the text permanently; this cannot be undone")
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "with filters, comma-separated: fact, turn, summary (default: fact)")
	cmd.Flags().StringVar(&filter.Tag, "tag", "", "forget all memories with this tag")
	cmd.Flags().StringVar(&filter.Category, "category", "", "forget all memories in this category")
	cmd.Flags().StringVar(&filter.Project, "project", "", "forget all memories in this project")
	cmd.Flags().StringVar(&filter.Conversation, "conversation", "", "forget all messages of this conversation, and facts learned from it")
	cmd.Flags().StringVar(&filter.Text, "text", "", "forget all memories with these words in the text")
	return withMemoryFlags(g, cmd)
}

// hasCriteria reports whether a filter has a criterion other than the kind.
func hasCriteria(f client.ForgetFilter) bool {
	return f.Tag != "" || f.Category != "" || f.Project != "" || f.Conversation != "" || f.Text != ""
}

func (s printer) printForgotten(forgotten client.Forgotten, undoHint string) {
	if len(forgotten.Memories) == 0 {
		s.line("no memories match")
		return
	}
	verb := "forgot"
	switch {
	case forgotten.Erased && forgotten.DryRun:
		verb = "would erase"
	case forgotten.Erased:
		verb = "erased"
	case forgotten.DryRun:
		verb = "would forget"
	}
	for _, m := range forgotten.Memories {
		s.line("%s", strings.TrimRight(fmt.Sprintf("%s %s %s  %s", verb, m.Kind, m.ID, shorten(m.Content, 100)), " "))
	}
	switch {
	case forgotten.DryRun && forgotten.Erased:
		s.line("add --yes to do it; this cannot be undone")
	case forgotten.DryRun:
		s.line("add --yes to do it")
	case forgotten.Erased:
		s.line("the text is erased permanently")
		for _, h := range forgotten.TextRemainsIn {
			s.line("the text may remain in: %s", shorten(h, 300))
		}
	case forgotten.Run == "":
		s.line("already forgotten: nothing has changed")
	default:
		s.line("%s", undoHint)
	}
}
