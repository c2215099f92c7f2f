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

// editFlags holds the flags of loci edit.
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
		Short: "Change a fact; loci undo reverts it",
		Long: "Change the text or the properties of a fact. Properties without a flag are not changed. Only facts can be edited, not messages.\n" +
			"Without flags the command opens the text in $VISUAL or $EDITOR; the saved text replaces the old text.",
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
	f.StringVar(&e.content, "content", "", "new text of the fact")
	f.StringVar(&e.category, "category", "", "category; empty removes it")
	f.StringArrayVar(&e.tags, "tag", nil, "tag; may be repeated; replaces all tags of the fact; empty removes them")
	f.Float64Var(&e.confidence, "confidence", 0, "how certain the fact is, 0 to 1")
	f.BoolVar(&e.pin, "pin", false, "put the fact into every prompt")
	f.BoolVar(&e.unpin, "unpin", false, "no longer put the fact into every prompt")
	f.StringVar(&e.core, "core", "", "put the fact into every prompt: auto (Loci decides), always (same as --pin) or never (only search finds the fact)")
	f.Var(timeFlag{at: &e.expires, end: true}, "expires", "time after which the fact is no longer recalled: 2026-12-31, …")
	f.BoolVar(&e.keep, "no-expiry", false, "the fact never expires")
	cmd.MarkFlagsMutuallyExclusive("pin", "unpin", "core")
	cmd.MarkFlagsMutuallyExclusive("expires", "no-expiry")
	return onMemory(g, cmd)
}

// request returns the changes that the flags describe.
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
				return c, memory.Errorf(memory.Invalid, "--%s=false is not supported; use --pin or --unpin", name)
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

// editText opens the text of a fact in the user's editor. While the editor runs, the memory is closed.
// If the new text cannot be stored, its file is not deleted.
func (g *global) reword(cmd *cobra.Command, id string) error {
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return memory.Errorf(memory.Invalid, "nothing to change; give a flag (see loci edit --help), or set $EDITOR to edit the text")
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
		return memory.Errorf(memory.Invalid, "%s is a %s; only facts can be edited", id, was.Kind)
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
		return memory.Errorf(memory.Invalid, "the new text is empty; to forget the fact, run loci forget --id %s", id)
	case words == strings.TrimSpace(was.Content):
		return memory.Errorf(memory.Invalid, "the text was not changed")
	}
	err = g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
		now, err := c.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case now.Content != was.Content:
			return memory.Errorf(memory.Conflict, "the fact was changed meanwhile to %q", now.Content)
		}
		return show(g, cmd, printer.edited)(c.Edit(ctx, id, client.EditMemory{Content: &words}))
	})
	if kept = err != nil; kept {
		return fmt.Errorf("%w; your text is saved in %s", err, file)
	}
	return nil
}

// runEditor opens a text in the user's editor and returns the file with the result, which only its owner can read.
func inEditor(cmd *cobra.Command, editor []string, text string) (file string, err error) {
	f, err := os.CreateTemp("", "loci-*.txt") // the file mode is 0600
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
		run.Stdout = out // an editor needs a terminal; a redirected standard output gets only the result
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

// printReplaced prints the facts that a new fact replaced.
func (s printer) replaced(m client.Written) {
	for _, old := range m.Replaced {
		s.line("it replaces %s  %s  (loci undo restores the old fact)", old.ID, brief(old.Content, 400))
	}
}

func add(g *global) *cobra.Command {
	var note client.AddMemory
	var talk, dry bool
	cmd := &cobra.Command{
		Use:     "add TEXT",
		Short:   "Add a fact, or learn facts from a message",
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
					return memory.Errorf(memory.Invalid, "--dry-run needs --said: without --said Loci stores the text unchanged and learns nothing")
				case talk:
					return learnFrom(ctx, g, c, cmd.OutOrStdout(), client.AddMessages{Text: text, Project: note.Project, Wait: true})
				}
				note.Content = text
				m, created, err := c.Add(ctx, note)
				return show(g, cmd, func(out printer, m client.Written) {
					if !created {
						fmt.Fprintf(out, "already known: %s  %s\n", m.ID, harmless(m.Content))
						return
					}
					fmt.Fprintf(out, "%s  %s\n", m.ID, harmless(m.Content))
					out.replaced(m)
				})(m, err)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&talk, "said", false, "TEXT is a message of the user: store it and learn facts from it")
	f.BoolVar(&dry, "dry-run", false, "with --said: only show the facts that would be learned")
	f.StringVar(&note.Category, "category", "", "category")
	f.StringArrayVar(&note.Tags, "tag", nil, "tag; may be repeated")
	f.StringVar(&note.Project, "project", "", "project")
	f.BoolVar(&note.Pinned, "pin", false, "put the fact into every prompt")
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
		held = err == nil && p.Pause == "learning" // an error is ignored: the message is stored
	}
	return g.print(w, kept, func(out printer) { out.learned(kept.Memories, held) })
}

// printPreview prints the decision on each statement, and the changes that would follow.
func (s printer) preview(p client.Preview) {
	if len(p.Decisions)+len(p.Forgotten) == 0 {
		s.line("nothing to learn from this text")
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

// printLearned prints the learned facts; paused reports whether learning is paused.
func (s printer) learned(memories []client.Memory, held bool) {
	switch {
	case held:
		s.line("stored; learning is paused, loci pause none resumes it")
	case len(memories) == 0:
		s.line("stored; nothing to learn from this text")
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
		s.line("to approve or reject pending facts: loci review")
	}
}
