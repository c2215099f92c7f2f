package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// editing is what loci edit is told to change.
type editing struct {
	content, category string
	core              string
	tags              []string
	confidence        float64
	pin, unpin        bool
	expires           time.Time
	keep              bool
}

func edit(g *global) *cobra.Command {
	var e editing
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change a fact; loci undo takes it back",
		Long: "Change what a fact says or how it is kept. What no flag names stays. Without flags its words are opened in $VISUAL or\n" +
			"$EDITOR, and what is saved there is written. What was said is not edited, only facts.",
		Example: "  loci edit 0199c5d3-…\n  loci edit 0199c5d3-… --content \"User lives in Lisbon, near the river\"\n" +
			"  loci edit 0199c5d3-… --tag home --tag city --category places --pin\n  loci edit 0199c5d3-… --expires 2026-12-31",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := e.change(cmd)
			if err != nil {
				return err
			}
			if change == (client.EditMemory{}) {
				return g.reword(cmd, args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeMemoryIDs(ctx, c, args); err != nil {
					return err
				}
				return show(g, cmd, printer.edited)(c.Edit(ctx, args[0], change))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.content, "content", "", "what it says")
	f.StringVar(&e.category, "category", "", "category; empty for none")
	f.StringArrayVar(&e.tags, "tag", nil, "tag; may be repeated: these take the place of those that it has; empty for none")
	f.Float64Var(&e.confidence, "confidence", 0, "how sure it is, 0 to 1")
	f.BoolVar(&e.pin, "pin", false, "always in the prompt")
	f.BoolVar(&e.unpin, "unpin", false, "no longer always in the prompt")
	f.StringVar(&e.core, "core", "", "in prompts without a search: auto, always (as --pin) or never")
	f.Var(timeFlag{at: &e.expires, end: true}, "expires", "when it leaves recall: 2026-12-31, …")
	f.BoolVar(&e.keep, "no-expiry", false, "it does not leave recall by itself")
	cmd.MarkFlagsMutuallyExclusive("pin", "unpin", "core")
	cmd.MarkFlagsMutuallyExclusive("expires", "no-expiry")
	return onMemory(g, cmd)
}

// change returns what the flags that were given say.
func (e *editing) change(cmd *cobra.Command) (c client.EditMemory, err error) {
	given := cmd.Flags().Changed
	if given("content") {
		c.Content = &e.content
	}
	if given("category") {
		c.Category = &e.category
	}
	if given("tag") {
		tags := []string{}
		for _, t := range e.tags {
			if t != "" {
				tags = append(tags, t)
			}
		}
		c.Tags = &tags
	}
	if given("confidence") {
		c.Confidence = &e.confidence
	}
	for name, pinned := range map[string]bool{"pin": true, "unpin": false} {
		if given(name) {
			if on, _ := cmd.Flags().GetBool(name); !on {
				return c, memory.Errorf(memory.Invalid, "--%s=false: write --pin or --unpin", name)
			}
			c.Pinned = &pinned
		}
	}
	if given("core") {
		c.Core = new(memory.Core)
		if err := c.Core.UnmarshalText([]byte(e.core)); err != nil {
			return c, err
		}
	}
	if given("expires") || e.keep {
		c.ExpiresAt = &e.expires
	}
	return c, nil
}

// reword lets a person edit the words of a fact in their own editor. Memory is not held
// open meanwhile, and what was written is kept where it cannot be taken.
func (g *global) reword(cmd *cobra.Command, id string) error {
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return memory.Errorf(memory.Invalid, "say what to change (loci edit --help), or set $EDITOR to edit its words there")
	}
	var was client.Memory
	err := g.withClient(cmd, func(ctx context.Context, c *client.Client) (err error) {
		if id, err = completeMemoryID(ctx, c, id); err != nil {
			return err
		}
		was, err = c.Get(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case was.Kind != memory.KindFact:
		return memory.Errorf(memory.Invalid, "%s is a %s; only facts are edited", id, was.Kind)
	case !was.Status.Live():
		return memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, was.Status)
	}
	file, err := inEditor(cmd, editor, was.Content)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			_ = os.Remove(file)
		}
	}()
	data, err := os.ReadFile(file)
	words := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return err
	case words == "":
		return memory.Errorf(memory.Invalid, "nothing is left of it; loci forget --id %s forgets it", id)
	case words == strings.TrimSpace(was.Content):
		return memory.Errorf(memory.Invalid, "its words are as they were; nothing is changed")
	}
	err = g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
		now, err := c.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case now.Content != was.Content:
			return memory.Errorf(memory.Conflict, "it says %q since", now.Content)
		}
		return show(g, cmd, printer.edited)(c.Edit(ctx, id, client.EditMemory{Content: &words}))
	})
	if kept = err != nil; kept {
		return fmt.Errorf("%w; what you wrote is in %s", err, file)
	}
	return nil
}

// inEditor lets a person edit a text and returns the file that it is in then, which is
// theirs alone.
func inEditor(cmd *cobra.Command, editor []string, text string) (file string, err error) {
	f, err := os.CreateTemp("", "loci-*.txt") // nobody else may read it
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	run := exec.CommandContext(cmd.Context(), editor[0], append(editor[1:], f.Name())...)
	run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.ErrOrStderr(), cmd.ErrOrStderr()
	if out, ok := cmd.OutOrStdout().(*os.File); ok && isTerminal(out) {
		run.Stdout = out // an editor draws there; what is printed for programs is kept clean
	}
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("edit with %s: %w", editor[0], err)
	}
	return f.Name(), nil
}

func (s printer) edited(m client.Written) {
	s.line("%s  %s", m.ID, brief(m.Content, 400))
	s.line("  %s", s.in(dim, strings.Join(traits(m.Memory), ", ")))
	s.replaced(m)
}

// replaced names what a fact that was just written took the place of.
func (s printer) replaced(m client.Written) {
	for _, old := range m.Replaced {
		s.line("it replaces %s  %s  (loci undo brings it back)", old.ID, brief(old.Content, 400))
	}
}

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
