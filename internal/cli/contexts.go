package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func newContextsCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contexts",
		Short: "Documents that are attached to chats",
		Long: "Contexts are documents that you attach to chats. The prompts of a chat contain the attached documents.\n" +
			"Loci never learns facts from contexts.",
		Example: "  loci contexts list\n  loci contexts add house-rules.md\n  loci contexts attach 0199c5d1-… 0199c5d7-…\n  loci contexts remove 0199c5d7-…",
	}
	list := &cobra.Command{
		Use: "list", Short: "List all contexts with their titles, newest first", Example: "  loci contexts list --json", Args: cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return printAnswer(g, cmd, printer.printContexts)(c.Contexts(ctx))
		}),
	}
	cmd.AddCommand(g.withReadFlags(list), newContextsAddCommand(g), newContextsShowCommand(g), newContextsEditCommand(g), newContextsRemoveCommand(g), newContextsAttachCommand(g))
	return cmd
}

func newContextsAddCommand(g *sharedState) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:     "add FILE",
		Short:   "Add a text file as a context; - reads standard input",
		Example: "  loci contexts add house-rules.md\n  loci contexts add - --title Menu",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			if title == "" && args[0] != "-" {
				name := filepath.Base(args[0])
				title = strings.TrimSuffix(name, filepath.Ext(name))
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				return printAnswer(g, cmd, printer.printContext)(c.AddContext(ctx, client.WriteContext{Title: &title, Content: &text}))
			})
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "title (default: the file name without its extension)")
	return withMemoryFlags(g, cmd)
}

func newContextsShowCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Print the text of a context",
		Example: "  loci contexts show 0199c5d7-…\n  loci contexts show 0199c5d7-… --as-of yesterday",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			all, err := completeContextIDs(ctx, c, args)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(all.Contexts, func(d client.ContextDocument) bool { return d.ID == args[0] })
			if at < 0 {
				return memory.Errorf(memory.NotFound, "there is no context %q; loci contexts lists them", args[0])
			}
			return g.print(cmd.OutOrStdout(), all.Contexts[at], func(out printer) { fmt.Fprintln(out, sanitize(all.Contexts[at].Content)) })
		}),
	}
	return g.withReadFlags(cmd)
}

func newContextsEditCommand(g *sharedState) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:     "edit ID [FILE]",
		Short:   "Replace the text or the title of a context; loci undo reverts it",
		Example: "  loci contexts edit 0199c5d7-… house-rules.md\n  loci contexts edit 0199c5d7-… --title \"Rules of the house\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var edit client.WriteContext
			if len(args) == 2 {
				text, err := readDocument(cmd, args[1])
				if err != nil {
					return err
				}
				edit.Content = &text
			}
			if cmd.Flags().Changed("title") {
				edit.Title = &title
			}
			if edit == (client.WriteContext{}) {
				return memory.Errorf(memory.Invalid, "nothing to change; give a FILE or --title")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if _, err := completeContextIDs(ctx, c, args[:1]); err != nil {
					return err
				}
				return printAnswer(g, cmd, printer.printContext)(c.EditContext(ctx, args[0], edit))
			})
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "title")
	return withMemoryFlags(g, cmd)
}

func newContextsRemoveCommand(g *sharedState) *cobra.Command {
	var erase bool
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a context from all chats; loci undo restores it",
		Example: "  loci contexts remove 0199c5d7-…\n  loci contexts remove 0199c5d7-… --erase",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if _, err := completeContextIDs(ctx, c, args[:1]); err != nil {
				return err
			}
			return printAnswer(g, cmd, func(out printer, r client.Receipt) {
				if erase {
					out.line("erased %s", sanitize(args[0]))
					return
				}
				out.line("removed %s; %s", sanitize(args[0]), g.undoHint(r.Run))
			})(c.DropContext(ctx, args[0], erase))
		}),
	}
	cmd.Flags().BoolVar(&erase, "erase", false, "erase the text permanently; this cannot be undone")
	return withMemoryFlags(g, cmd)
}

func newContextsAttachCommand(g *sharedState) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:     "attach CHAT ID…",
		Short:   "Attach contexts to a chat",
		Long:    "Attach contexts to a chat, after those already attached; --off detaches them. CHAT is the id of a conversation: loci list --kind turn --json shows it.",
		Example: "  loci contexts attach 0199c5d1-… 0199c5d7-…\n  loci contexts attach 0199c5d1-… 0199c5d7-… --off",
		Args:    cobra.MinimumNArgs(2),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			chat, ids := args[0], args[1:]
			if _, err := completeContextIDs(ctx, c, ids); err != nil {
				return err
			}
			if err := completeChatID(ctx, c, &chat); err != nil {
				return err
			}
			chatBefore, err := c.Chat(ctx, chat)
			if err != nil {
				return err
			}
			next := slices.DeleteFunc(slices.Clone(chatBefore.Contexts), func(id string) bool { return off && slices.Contains(ids, id) })
			for _, id := range ids {
				if !off && !slices.Contains(next, id) {
					next = append(next, id)
				}
			}
			return printAnswer(g, cmd, func(out printer, chatAfter client.Chat) {
				out.line("attached to %s: %s", sanitize(chatAfter.ID), sanitize(cmp.Or(strings.Join(chatAfter.Contexts, ", "), "none")))
			})(c.EditChat(ctx, chat, client.WriteChat{Contexts: &next}))
		}),
	}
	cmd.Flags().BoolVar(&off, "off", false, "detach the contexts from the chat")
	return withMemoryFlags(g, cmd)
}

// readDocument reads a file, or standard input if path is "-". It has no limit, because the server limits the length.
func readDocument(cmd *cobra.Command, path string) (string, error) {
	if path == "-" {
		text, err := io.ReadAll(cmd.InOrStdin())
		return string(text), err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// printContexts prints documents, one per line.
func (s printer) printContexts(list client.Contexts) {
	if len(list.Contexts) == 0 {
		s.line("no contexts yet; loci contexts add FILE adds one")
	}
	for _, d := range list.Contexts {
		s.printContext(d)
	}
}

func (s printer) printContext(document client.ContextDocument) {
	title := cmp.Or(shorten(document.Title, 120), "untitled")
	s.line("%s  %s  %s", document.ID, s.styled(bold, title), s.styled(dim, formatTime(document.UpdatedAt)+", "+formatSize(int64(len(document.Content)))))
}
