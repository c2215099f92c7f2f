package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func add(g *global) *cobra.Command {
	var note client.AddMemory
	var talk, dry bool
	cmd := &cobra.Command{
		Use:     "add TEXT",
		Short:   "Write a fact down, or learn from what was said",
		Example: "  loci add \"User is allergic to peanuts\" --tag health\n  loci add --said \"I moved to Lisbon in May\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if len(args) == 0 {
				return memory.Errorf(memory.Invalid, "nothing to add; for example: loci add \"User is allergic to peanuts\"")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				switch {
				case talk && dry:
					return show(g, cmd, printer.preview)(c.Preview(ctx, client.PreviewRequest{Text: text, Project: note.Project}))
				case dry:
					return memory.Errorf(memory.Invalid, "--dry-run needs --said: a fact is written down as it stands")
				case talk:
					return learnFrom(ctx, g, c, cmd.OutOrStdout(), client.AddMessages{Text: text, Project: note.Project, Wait: true})
				}
				note.Content = text
				m, created, err := c.Add(ctx, note)
				return show(g, cmd, func(out printer, m client.Written) {
					if !created {
						fmt.Fprintf(out, "known already: %s  %s\n", m.ID, harmless(m.Content))
						return
					}
					fmt.Fprintf(out, "%s  %s\n", m.ID, harmless(m.Content))
					out.replaced(m)
				})(m, err)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&talk, "said", false, "TEXT is something the user said: keep it and learn from it")
	f.BoolVar(&dry, "dry-run", false, "with --said: only show what would be learned")
	f.StringVar(&note.Category, "category", "", "category")
	f.StringArrayVar(&note.Tags, "tag", nil, "tag; may be repeated")
	f.StringVar(&note.Project, "project", "", "project")
	f.BoolVar(&note.Pinned, "pin", false, "always in the prompt")
	return onMemory(g, cmd)
}

func learnFrom(ctx context.Context, g *global, c *client.Client, w io.Writer, talk client.AddMessages) error {
	kept, err := c.AddMessages(ctx, talk)
	if err != nil {
		return err
	}
	held := false
	if len(kept.Memories) == 0 && !g.json {
		p, err := c.Paused(ctx)
		held = err == nil && p.Pause == "learning" // it was kept; why nothing came of it is beside that
	}
	return g.print(w, kept, func(out printer) { out.learned(kept.Memories, held) })
}

// preview writes what becomes of each statement, and what would change by it.
func (s printer) preview(p client.Preview) {
	if len(p.Decisions)+len(p.Forgotten) == 0 {
		s.line("nothing to learn from it")
	}
	for _, d := range p.Decisions {
		reason := ""
		if d.Reason != "" {
			reason = "  (" + brief(d.Reason, 120) + ")"
		}
		s.line("%-9s  %s%s", d.Action, brief(d.Fact, 200), reason)
	}
	for _, c := range p.Changes {
		switch what := s.what(c, nil); c.After.Status() {
		case memory.Active:
			s.line("  %s", s.in(green, "+ "+what))
		case memory.Pending:
			s.line("  ? %s", what)
		default:
			s.line("  %s", s.in(red, "- "+what))
		}
	}
	for _, m := range p.Forgotten {
		s.line("%s", s.in(red, "- "+brief(m.Content, 200)))
	}
}

// learned writes what was learned; held is whether learning is on hold.
func (s printer) learned(memories []client.Memory, held bool) {
	switch {
	case held:
		s.line("kept; learning is on hold, and loci pause none ends that")
	case len(memories) == 0:
		s.line("kept; nothing to learn from it")
	}
	waiting := false
	for _, m := range memories {
		mark := ""
		if m.Status == memory.Pending {
			waiting, mark = true, " (pending)"
		}
		s.line("%s  %s%s", m.ID, brief(m.Content, 400), mark)
	}
	if waiting {
		s.line("to decide on what is pending: loci review")
	}
}
