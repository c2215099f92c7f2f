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
type editFlags struct {
	content, category string
	core              string
	tags              []string
	confidence        float64
	pin, unpin        bool
	expires           time.Time
	noExpiry          bool
}

func newEditCommand(g *sharedState) *cobra.Command {
	var e editFlags
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change a fact; loci undo reverts it",
		Long: "Change the text or the properties of a fact. Properties without a flag are not changed. Only facts can be edited, not messages.\n" +
			"Without flags the command opens the text in $VISUAL or $EDITOR; the saved text replaces the old text.",
		Example: "  loci edit 0199c5d3-…\n  loci edit 0199c5d3-… --content \"User lives in Lisbon, near the river\"\n" +
			"  loci edit 0199c5d3-… --tag home --tag city --category places --pin\n  loci edit 0199c5d3-… --expires 2026-12-31",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := e.request(cmd)
			if err != nil {
				return err
			}
			if change == (client.EditMemory{}) {
				return g.editText(cmd, args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeMemoryIDs(ctx, c, args); err != nil {
					return err
				}
				return printAnswer(g, cmd, printer.printEdited)(c.Edit(ctx, args[0], change))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.content, "content", "", "new text of the fact")
	f.StringVar(&e.category, "category", "", "category; an empty value removes it")
	f.StringArrayVar(&e.tags, "tag", nil, "tag; may be repeated; replaces all tags of the fact; an empty value removes them")
	f.Float64Var(&e.confidence, "confidence", 0, "confidence of the fact, 0 (doubtful) to 1 (certain)")
	f.BoolVar(&e.pin, "pin", false, "put the fact into every prompt")
	f.BoolVar(&e.unpin, "unpin", false, "no longer put the fact into every prompt")
	f.StringVar(&e.core, "core", "", "put the fact into every prompt: auto (Loci decides), always (same as --pin) or never (only search finds the fact)")
	f.Var(timeFlag{target: &e.expires, atEnd: true}, "expires", "time after which the fact is no longer recalled: 2026-12-31, …")
	f.BoolVar(&e.noExpiry, "no-expiry", false, "the fact never expires")
	cmd.MarkFlagsMutuallyExclusive("pin", "unpin", "core")
	cmd.MarkFlagsMutuallyExclusive("expires", "no-expiry")
	return withMemoryFlags(g, cmd)
}

// request returns the changes that the flags describe.
func (e *editFlags) request(cmd *cobra.Command) (c client.EditMemory, err error) {
	changed := cmd.Flags().Changed
	if changed("content") {
		c.Content = &e.content
	}
	if changed("category") {
		c.Category = &e.category
	}
	if changed("tag") {
		tags := []string{}
		for _, t := range e.tags {
			if t != "" {
				tags = append(tags, t)
			}
		}
		c.Tags = &tags
	}
	if changed("confidence") {
		c.Confidence = &e.confidence
	}
	for name, pinned := range map[string]bool{"pin": true, "unpin": false} {
		if changed(name) {
			if on, _ := cmd.Flags().GetBool(name); !on {
				return c, memory.Errorf(memory.Invalid, "--%s=false is not supported; use --pin or --unpin", name)
			}
			c.Pinned = &pinned
		}
	}
	if changed("core") {
		c.Core = new(memory.Core)
		if err := c.Core.UnmarshalText([]byte(e.core)); err != nil {
			return c, err
		}
	}
	if changed("expires") || e.noExpiry {
		c.ExpiresAt = &e.expires
	}
	return c, nil
}

// editText opens the text of a fact in the user's editor, and stores the new text. While the editor runs,
// the memory is closed. If the new text cannot be stored, the editor's file is kept.
func (g *sharedState) editText(cmd *cobra.Command, id string) error {
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return memory.Errorf(memory.Invalid, "nothing to change; give a flag (see loci edit --help), or set $EDITOR to edit the text")
	}
	var original client.Memory
	err := g.withClient(cmd, func(ctx context.Context, c *client.Client) (err error) {
		if id, err = completeMemoryID(ctx, c, id); err != nil {
			return err
		}
		original, err = c.Get(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case original.Kind != memory.KindFact:
		return memory.Errorf(memory.Invalid, "%s is a %s; only facts can be edited", id, original.Kind)
	case !original.Status.Live():
		return memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, original.Status)
	}
	file, err := runEditor(cmd, editor, original.Content)
	if err != nil {
		return err
	}
	keepFile := false
	defer func() {
		if !keepFile {
			_ = os.Remove(file)
		}
	}()
	data, err := os.ReadFile(file)
	text := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return err
	case text == "":
		return memory.Errorf(memory.Invalid, "the new text is empty; to forget the fact, run loci forget --id %s", id)
	case text == strings.TrimSpace(original.Content):
		return memory.Errorf(memory.Invalid, "the text was not changed")
	}
	err = g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
		current, err := c.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case current.Content != original.Content:
			return memory.Errorf(memory.Conflict, "another client changed the text of the fact during the edit, to %q", current.Content)
		}
		return printAnswer(g, cmd, printer.printEdited)(c.Edit(ctx, id, client.EditMemory{Content: &text}))
	})
	if keepFile = err != nil; keepFile {
		return fmt.Errorf("%w; your text is saved in %s", err, file)
	}
	return nil
}

// runEditor opens a text in the user's editor and returns the path of the edited file, which only its owner can read.
func runEditor(cmd *cobra.Command, editor []string, text string) (file string, err error) {
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

func (s printer) printEdited(m client.Written) {
	s.line("%s  %s", m.ID, shorten(m.Content, 400))
	s.line("  %s", s.styled(dim, strings.Join(propertiesOf(m.Memory), ", ")))
	s.printReplaced(m)
}

// printReplaced prints the facts that a new fact replaced.
func (s printer) printReplaced(m client.Written) {
	for _, old := range m.Replaced {
		s.line("replaces %s  %s  (loci undo restores the old fact)", old.ID, shorten(old.Content, 400))
	}
}

func newAddCommand(g *sharedState) *cobra.Command {
	var fact client.AddMemory
	var said, dryRun bool
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
				case said && dryRun:
					return printAnswer(g, cmd, printer.printPreview)(c.Preview(ctx, client.PreviewRequest{Text: text, Project: fact.Project}))
				case dryRun:
					return memory.Errorf(memory.Invalid, "--dry-run needs --said: without --said Loci stores the text unchanged and learns nothing")
				case said:
					return addMessage(ctx, g, c, cmd.OutOrStdout(), client.AddMessages{Text: text, Project: fact.Project, Wait: true})
				}
				fact.Content = text
				m, created, err := c.Add(ctx, fact)
				return printAnswer(g, cmd, func(out printer, m client.Written) {
					if !created {
						fmt.Fprintf(out, "already known: %s  %s\n", m.ID, sanitize(m.Content))
						return
					}
					fmt.Fprintf(out, "%s  %s\n", m.ID, sanitize(m.Content))
					out.printReplaced(m)
				})(m, err)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&said, "said", false, "TEXT is a message of the user: store it and learn facts from it")
	f.BoolVar(&dryRun, "dry-run", false, "with --said: only show the facts that would be learned")
	f.StringVar(&fact.Category, "category", "", "category")
	f.StringArrayVar(&fact.Tags, "tag", nil, "tag; may be repeated")
	f.StringVar(&fact.Project, "project", "", "project")
	f.BoolVar(&fact.Pinned, "pin", false, "put the fact into every prompt")
	return withMemoryFlags(g, cmd)
}

func addMessage(ctx context.Context, g *sharedState, c *client.Client, w io.Writer, message client.AddMessages) error {
	stored, err := c.AddMessages(ctx, message)
	if err != nil {
		return err
	}
	paused := false
	if len(stored.Memories) == 0 && !g.asJSON {
		p, err := c.PauseState(ctx)
		paused = err == nil && p.Pause == "learning" // ignore an error, because the message is already stored
	}
	return g.print(w, stored, func(out printer) { out.printLearned(stored.Memories, paused) })
}

// printPreview prints the decision on each statement of the text, and the changes that learning would make.
func (s printer) printPreview(p client.Preview) {
	if len(p.Decisions)+len(p.Forgotten) == 0 {
		s.line("nothing to learn from this text")
	}
	for _, d := range p.Decisions {
		reason := ""
		if d.Reason != "" {
			reason = "  (" + shorten(d.Reason, 120) + ")"
		}
		s.line("%-9s  %s%s", d.Action, shorten(d.Statement, 200), reason)
	}
	for _, c := range p.Changes {
		switch description := s.changeText(c, nil); c.After.Status() {
		case memory.Active:
			s.line("  %s", s.styled(green, "+ "+description))
		case memory.Pending:
			s.line("  ? %s", description)
		default:
			s.line("  %s", s.styled(red, "- "+description))
		}
	}
	for _, m := range p.Forgotten {
		s.line("%s", s.styled(red, "- "+shorten(m.Content, 200)))
	}
}

// printLearned prints the learned facts; paused reports whether learning is paused.
func (s printer) printLearned(memories []client.Memory, paused bool) {
	switch {
	case paused:
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
		s.line("%s  %s%s", m.ID, shorten(m.Content, 400), mark)
	}
	if waiting {
		s.line("to approve or reject pending facts: loci review")
	}
}
