package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func history(g *global) *cobra.Command {
	var q client.ChangesQuery
	var action string
	cmd := &cobra.Command{
		Use:   "history [ID]",
		Short: "Show what changed, when, by whom and why; or the history of one fact",
		Long: "Show the journal of changes, newest first, grouped by run. A run is all changes of one command, request or learning job.\n" +
			"loci undo accepts the id of a run, or of one change (RUN/1).\n" +
			"With the ID of a fact, show its source text, the facts it replaced, the fact that replaced it, and every change.",
		Example: "  loci history\n  loci history --since yesterday --action retire\n  loci history 0199c5d2-…",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Action = memory.Action(action)
			if len(args) > 0 && q != (client.ChangesQuery{}) {
				return memory.Errorf(memory.Invalid, "give either the ID of a fact or flags that filter the journal, not both")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if len(args) > 0 {
					if err := completeMemoryIDs(ctx, c, args); err != nil {
						return err
					}
					return show(g, cmd, printer.life)(lifeOf(ctx, c, args[0]))
				}
				if err := completeRunID(ctx, c, &q.Run); err != nil {
					return err
				}
				page, err := c.Changes(ctx, q)
				if err != nil {
					return err
				}
				words, err := wordsOf(ctx, c, page.Changes)
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), page, func(out printer) { out.journal(page, words) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Run, "run", "", "only changes of this run")
	f.StringVar(&action, "action", "", "only changes of this kind: add, update, reinforce, replace, retire, restore, approve, reject, link, unlink, undo, erase")
	f.Var(timeFlag{at: &q.Since}, "since", "only changes after this time: 2026-05-03, yesterday, 90m (ago), …")
	f.IntVar(&q.Limit, "limit", 0, "maximum number of changes (default 50)")
	f.StringVar(&q.Cursor, "cursor", "", "show the next page: the cursor that the last page printed")
	return onMemory(g, cmd)
}

// printJournal prints changes, grouped by run; texts maps ids of changed memories to their texts.
func (s printer) journal(page client.Changes, words map[string]string) {
	if len(page.Changes) == 0 {
		s.line("no changes")
	}
	run := ""
	for _, c := range page.Changes {
		if c.Run != run {
			run = c.Run
			s.line("%s  %s  %s", s.in(bold, when(c.CreatedAt)), by(c.Author), s.in(dim, c.Run))
		}
		_, id, _ := strings.Cut(c.Target, ":")
		s.line("  %-3s %-10s %s  %s%s", strings.TrimPrefix(c.ID, c.Run), verb(c), s.in(dim, id), s.what(c, words), s.because(c))
	}
	if page.Next != "" {
		s.line("more: --cursor %s", page.Next)
	}
}

// textsOf returns the texts of the changed facts and turns by id; changes are sorted newest first. It
// reads the texts of turns from the server, because a change of a turn contains no text.
func wordsOf(ctx context.Context, c *client.Client, changes []client.Change) (map[string]string, error) {
	words := factWords(changes)
	for _, change := range changes {
		mark := change.After.Turn
		if mark == nil || words[mark.ID] != "" {
			continue
		}
		turn, err := found(c.Get(ctx, mark.ID))
		if err != nil {
			return nil, fmt.Errorf("read a turn: %w", err)
		}
		if turn != nil {
			words[mark.ID] = turn.Content
		}
	}
	return words, nil
}

// factTexts returns the newest text of each changed fact by id; changes are sorted newest first.
func factWords(changes []client.Change) map[string]string {
	words := map[string]string{}
	for _, c := range slices.Backward(changes) {
		if c.After.Fact != nil {
			words[c.After.Fact.ID] = c.After.Fact.Content
		}
	}
	return words
}

// actionVerbs are the actions in the past tense, for people.
var verbs = map[memory.Action]string{
	memory.ActionAdd:       "added",
	memory.ActionUpdate:    "edited",
	memory.ActionReinforce: "confirmed",
	memory.ActionReplace:   "replaced",
	memory.ActionRetire:    "forgotten",
	memory.ActionRestore:   "restored",
	memory.ActionApprove:   "approved",
	memory.ActionReject:    "rejected",
	memory.ActionLink:      "shared",
	memory.ActionUnlink:    "hidden",
	memory.ActionUndo:      "undone",
	memory.ActionErase:     "erased",
}

// changeVerb describes a change with a verb in the past tense.
func verb(c client.Change) string {
	switch to := c.After.Status(); {
	case c.Action == memory.ActionAdd && to == memory.Pending:
		return "proposed"
	case c.Action == memory.ActionAdd && to == memory.Superseded:
		return "noted"
	case c.Action == memory.ActionUndo && sign(c) == '+':
		return "back"
	case c.Action == memory.ActionUndo && sign(c) == '-':
		return "taken back"
	}
	if v := verbs[c.Action]; v != "" {
		return v
	}
	return string(c.Action)
}

// changeSign returns '+' if a change makes a memory active, '-' if it makes a memory inactive, else '~'.
func sign(c client.Change) byte {
	before := c.Before != nil && c.Before.Status() == memory.Active
	switch after := c.After.Status() == memory.Active; {
	case after && !before:
		return '+'
	case before && !after:
		return '-'
	}
	return '~'
}

// changeText describes the changed memory and the difference from its state before the change.
func (s printer) what(c client.Change, words map[string]string) string {
	switch i := c.After; {
	case i.Fact != nil && i.Fact.Content == "" && c.Action != memory.ActionErase:
		return "(text erased later)"
	case i.Fact != nil:
		was := i.Fact.Content
		if c.Before != nil && c.Before.Fact != nil {
			was = c.Before.Fact.Content
		}
		if next := words[c.NewID]; c.Action == memory.ActionReplace && next != "" {
			return s.diff(i.Fact.Content, next)
		}
		out := brief(i.Fact.Content, 120)
		if was != i.Fact.Content {
			out = s.diff(was, i.Fact.Content)
		}
		if marks := marked(c); marks != "" {
			out += " [" + marks + "]"
		}
		return out
	case i.Link != nil:
		return brief(i.Link.Fact.Content, 120)
	case i.Profile != nil:
		return brief(i.Profile.Key+" = "+i.Profile.Value, 120)
	case i.Relation != nil:
		return string(i.Relation.Kind)
	case i.Summary != nil:
		return "summary: " + brief(i.Summary.Text, 120)
	case i.Turn != nil:
		return "turn: " + cmp.Or(brief(words[i.Turn.ID], 120), string(i.Turn.Status))
	case i.Context != nil:
		return "context: " + brief(cmp.Or(i.Context.Title, i.Context.Content), 120)
	case i.Conversation != nil:
		return "chat: " + brief(cmp.Or(i.Conversation.Title, i.Conversation.ID), 120)
	}
	return ""
}

// coreLabels tell people whether a fact is in every prompt; memory.CoreAuto has no label.
var coreWords = map[memory.Core]string{memory.CoreAlways: "pinned", memory.CoreNever: "search only"}

// changedProperties lists the properties of a fact, other than its text, that a change altered.
func marked(c client.Change) string {
	if c.Before == nil || c.Before.Fact == nil {
		return ""
	}
	was, is := c.Before.Fact, c.After.Fact
	var out []string
	note := func(differs bool, format string, args ...any) {
		if differs {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	note(is.Core != was.Core, "%s", cmp.Or(coreWords[is.Core], "no longer "+coreWords[was.Core]))
	note(is.Category != was.Category, "category %s", cmp.Or(brief(is.Category, 60), "none"))
	note(!slices.Equal(is.Tags, was.Tags), "tags %s", cmp.Or(brief(strings.Join(is.Tags, ", "), 60), "none"))
	note(is.Confidence != was.Confidence, "confidence %.2f → %.2f", was.Confidence, is.Confidence)
	note(!is.ExpiresAt.Equal(was.ExpiresAt) && !is.ExpiresAt.IsZero(), "expires %s", when(is.ExpiresAt))
	note(!is.ExpiresAt.Equal(was.ExpiresAt) && is.ExpiresAt.IsZero(), "never expires")
	return strings.Join(out, ", ")
}

// reasonText returns the reason of a change in parentheses, or "" without a reason.
func (s printer) because(c client.Change) string {
	if c.Reason == "" {
		return ""
	}
	return "  " + s.in(dim, "("+brief(c.Reason, 120)+")")
}

// memoryHistory is the history of one memory.
type life struct {
	Memory     client.Memory   `json:"memory"`
	Quote      *client.Quote   `json:"quote,omitempty"`
	Replaced   []client.Memory `json:"replaced,omitempty"`    // memories that Memory replaced
	ReplacedBy *client.Memory  `json:"replaced_by,omitempty"` // memory that replaced Memory
	Changes    []client.Change `json:"changes"`               // newest first
}

func lifeOf(ctx context.Context, c *client.Client, id string) (l life, err error) {
	if l.Memory, err = c.Get(ctx, id); err != nil {
		return life{}, err
	}
	changes, err := memory.Collect(c.AllChanges(ctx, client.ChangesQuery{Fact: id}))
	l.Changes = append([]client.Change{}, changes...)
	get := func(id string) *client.Memory {
		m, e := found(c.Get(ctx, id))
		err = errors.Join(err, e)
		return m
	}
	if p := l.Memory.Provenance; p != nil && len(p.Turns) > 0 {
		id := p.Turns[0]
		if p.Quote != nil {
			id = p.Quote.Turn
		}
		if turn := get(id); turn != nil && turn.Content != "" { // an erased turn has no text
			l.Quote = client.ViewQuote(*turn, p.Quote)
		}
	}
	for _, old := range replacedBy(id, l.Changes) {
		if m := get(old); m != nil {
			l.Replaced = append(l.Replaced, *m)
		}
	}
	if l.Memory.SupersededBy != "" {
		l.ReplacedBy = get(l.Memory.SupersededBy)
	}
	return l, err
}

// ifFound returns nil if the memory does not exist or belongs to another owner.
func found(m client.Memory, err error) (*client.Memory, error) {
	switch {
	case errors.Is(err, memory.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &m, nil
}

// replacedIDs returns the ids of the memories that a fact replaced, newest first.
func replacedBy(id string, changes []client.Change) []string {
	var out []string
	for _, c := range changes {
		if c.NewID == id && c.OldID != "" && c.OldID != id && !slices.Contains(out, c.OldID) {
			out = append(out, c.OldID)
		}
	}
	return out
}

// printHistory prints the history of a memory, oldest change first.
func (s printer) life(l life) {
	m := l.Memory
	words := s.in(bold, brief(m.Content, 400))
	if m.Content == "" && len(l.Changes) > 0 && l.Changes[0].Action == memory.ActionErase {
		words = "(erased " + when(l.Changes[0].CreatedAt) + ")"
	}
	s.line("%s  %s", m.ID, words)
	s.line("%s", strings.Join(traits(m), ", "))
	if l.Quote != nil {
		s.line("said      %s", s.quote(*l.Quote))
		s.line("          %s", s.in(dim, place(*l.Quote)))
	}
	for _, old := range l.Replaced {
		s.line("replaced  %s  %s", s.in(dim, old.ID), s.diff(old.Content, m.Content))
	}
	if next := l.ReplacedBy; next != nil {
		s.line("became    %s  %s", s.in(dim, next.ID), s.diff(m.Content, next.Content))
	}
	known := factWords(l.Changes)
	for _, c := range slices.Backward(l.Changes) {
		if kind, id, _ := strings.Cut(c.Target, ":"); id != m.ID || kind != "fact" && kind != "link" {
			continue // a change of the fact on the other side of a replacement
		}
		s.line("%s  %-10s %s%s  %s", when(c.CreatedAt), verb(c), by(c.Author), s.because(c), s.in(dim, c.ID))
		if c.Before != nil && c.Action != memory.ActionReplace && c.After.Fact != nil && (c.Before.Fact.Content != c.After.Fact.Content || marked(c) != "") {
			s.line("                  %s", s.what(c, known))
		}
	}
}

// propertiesOf returns the properties of a memory other than its text, for people.
func traits(m client.Memory) []string {
	out := []string{string(m.Kind), string(m.Status)}
	if m.Core != memory.CoreAuto {
		out = append(out, coreWords[m.Core])
	}
	if m.Category != "" {
		out = append(out, brief(m.Category, 60))
	}
	for _, t := range m.Tags {
		out = append(out, "#"+brief(t, 60))
	}
	if m.Project != "" {
		out = append(out, "project "+brief(m.Project, 60))
	}
	if m.Kind == memory.KindFact {
		out = append(out, fmt.Sprintf("confidence %.2f", m.Confidence), "said "+when(m.ObservedAt))
	}
	if !m.ExpiresAt.IsZero() {
		out = append(out, "until "+when(m.ExpiresAt))
	}
	if m.Home != "" {
		out = append(out, "shared by "+brief(m.Home, 60))
	}
	return out
}

// diffPiece is a sequence of words or lines that two texts share, or that only one text has.
type piece struct {
	sign byte // '=': in both texts; '-': only in the old text; '+': only in the new text
	text string
}

// maxDiffCells limits the cells of a diff's table. Texts that need a larger table count as completely different.
const mostCells = 1 << 20

// diffWords compares two texts word by word. Removed words come before added words.
func diffWords(old, new string) []piece {
	return diffOf(strings.Fields(old), strings.Fields(new), " ")
}

// diffLists compares two lists of words or lines; separator joins the elements in the result.
func diffOf(a, b []string, between string) (pieces []piece) {
	add := func(sign byte, parts ...string) {
		text, last := strings.Join(parts, between), len(pieces)-1
		switch {
		case len(parts) == 0:
		case last >= 0 && pieces[last].sign == sign:
			pieces[last].text += between + text
		default:
			pieces = append(pieces, piece{sign, text})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	add('=', a[:head]...)
	a, b = a[head:], b[head:]
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	same := a[len(a)-tail:]
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a)*len(b) > mostCells {
		add('-', a...)
		add('+', b...)
		a, b = nil, nil
	}
	common := commonParts(a, b)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			add('=', a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			add('-', a[i])
			i++
		default:
			add('+', b[j])
			j++
		}
	}
	add('=', same...)
	return pieces
}

// commonLengths returns, for each i and j, the length of the longest common subsequence of a[i:] and b[j:].
func commonParts(a, b []string) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); x == y {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}

// diffText marks removed words as [-removed-] and added words as {+added+}, or in red and green on a terminal.
func (s printer) diff(old, new string) string {
	var out []string
	for _, p := range diffWords(brief(old, 240), brief(new, 240)) {
		switch style := map[byte]string{'-': red, '+': green}[p.sign]; {
		case p.sign == '=':
			out = append(out, p.text)
		case s.colour:
			out = append(out, s.in(style, p.text))
		case p.sign == '-':
			out = append(out, "[-"+p.text+"-]")
		default:
			out = append(out, "{+"+p.text+"+}")
		}
	}
	return strings.Join(out, " ")
}
