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

func contexts(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contexts",
		Short: "Documents that are attached to chats",
		Long: "Contexts are documents that you attach to chats. The prompts of a chat contain the attached documents.\n" +
			"Loci never learns facts from contexts.",
		Example: "  loci contexts list\n  loci contexts add house-rules.md\n  loci contexts attach 0199c5d1-… 0199c5d7-…\n  loci contexts remove 0199c5d7-…",
	}
	list := &cobra.Command{
		Use: "list", Short: "List all contexts with their titles, newest first", Example: "  loci contexts list --json", Args: cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return show(g, cmd, printer.contexts)(c.Contexts(ctx))
		}),
	}
	cmd.AddCommand(g.reading(list), contextsAdd(g), contextsShow(g), contextsEdit(g), contextsRemove(g), contextsAttach(g))
	return cmd
}

func contextsAdd(g *global) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:     "add FILE",
		Short:   "Add a text file as a context; - reads standard input",
		Example: "  loci contexts add house-rules.md\n  loci contexts add - --title Menu",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := document(cmd, args[0])
			if err != nil {
				return err
			}
			if title == "" && args[0] != "-" {
				name := filepath.Base(args[0])
				title = strings.TrimSuffix(name, filepath.Ext(name))
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				return show(g, cmd, printer.context)(c.AddContext(ctx, client.WriteContext{Title: &title, Content: &words}))
			})
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "title (default: the file name without its extension)")
	return onMemory(g, cmd)
}

func contextsShow(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Print the text of a context",
		Example: "  loci contexts show 0199c5d7-…\n  loci contexts show 0199c5d7-… --as-of yesterday",
		Args:    cobra.ExactArgs(1),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			all, err := completeContextIDs(ctx, c, args)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(all.Contexts, func(d client.ContextDocument) bool { return d.ID == args[0] })
			if at < 0 {
				return memory.Errorf(memory.NotFound, "there is no context %q; loci contexts lists them", args[0])
			}
			return g.print(cmd.OutOrStdout(), all.Contexts[at], func(out printer) { fmt.Fprintln(out, harmless(all.Contexts[at].Content)) })
		}),
	}
	return g.reading(cmd)
}

func contextsEdit(g *global) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:     "edit ID [FILE]",
		Short:   "Replace the text or the title of a context; loci undo reverts it",
		Example: "  loci contexts edit 0199c5d7-… house-rules.md\n  loci contexts edit 0199c5d7-… --title \"Rules of the house\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var edit client.WriteContext
			if len(args) == 2 {
				words, err := document(cmd, args[1])
				if err != nil {
					return err
				}
				edit.Content = &words
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
				return show(g, cmd, printer.context)(c.EditContext(ctx, args[0], edit))
			})
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "title")
	return onMemory(g, cmd)
}

func contextsRemove(g *global) *cobra.Command {
	var erase bool
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a context from all chats; loci undo restores it",
		Example: "  loci contexts remove 0199c5d7-…\n  loci contexts remove 0199c5d7-… --erase",
		Args:    cobra.ExactArgs(1),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if _, err := completeContextIDs(ctx, c, args[:1]); err != nil {
				return err
			}
			return show(g, cmd, func(out printer, r client.Receipt) {
				if erase {
					out.line("erased %s", harmless(args[0]))
					return
				}
				out.line("removed %s; %s", harmless(args[0]), g.undoHint(r.Run))
			})(c.DropContext(ctx, args[0], erase))
		}),
	}
	cmd.Flags().BoolVar(&erase, "erase", false, "erase the text permanently; this cannot be undone")
	return onMemory(g, cmd)
}

func contextsAttach(g *global) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:     "attach CHAT ID…",
		Short:   "Attach contexts to a chat",
		Long:    "Attach contexts to a chat, after those already attached; --off detaches them. CHAT is the id of a conversation: loci list --kind turn --json shows it.",
		Example: "  loci contexts attach 0199c5d1-… 0199c5d7-…\n  loci contexts attach 0199c5d1-… 0199c5d7-… --off",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			chat, ids := args[0], args[1:]
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if _, err := completeContextIDs(ctx, c, ids); err != nil {
					return err
				}
				if err := completeChatID(ctx, c, &chat); err != nil {
					return err
				}
				was, err := c.Chat(ctx, chat)
				if err != nil {
					return err
				}
				next := slices.DeleteFunc(slices.Clone(was.Contexts), func(id string) bool { return off && slices.Contains(ids, id) })
				for _, id := range ids {
					if !off && !slices.Contains(next, id) {
						next = append(next, id)
					}
				}
				return show(g, cmd, func(out printer, now client.Chat) {
					out.line("attached to %s: %s", harmless(now.ID), harmless(cmp.Or(strings.Join(now.Contexts, ", "), "none")))
				})(c.EditChat(ctx, chat, client.WriteChat{Contexts: &next}))
			})
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "detach the contexts from the chat")
	return onMemory(g, cmd)
}

// readDocument reads a file, or standard input if path is "-". The server limits the length.
func document(cmd *cobra.Command, path string) (string, error) {
	if path == "-" {
		words, err := io.ReadAll(cmd.InOrStdin())
		return string(words), err
	}
	words, err := os.ReadFile(path)
	return string(words), err
}

// printContexts prints documents, one per line.
func (s printer) contexts(all client.Contexts) {
	if len(all.Contexts) == 0 {
		s.line("no contexts yet; loci contexts add FILE adds one")
	}
	for _, d := range all.Contexts {
		s.context(d)
	}
}

func (s printer) context(d client.ContextDocument) {
	title := cmp.Or(brief(d.Title, 120), "untitled")
	s.line("%s  %s  %s", d.ID, s.in(bold, title), s.in(dim, when(d.UpdatedAt)+", "+size(int64(len(d.Content)))))
}
