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
		Short: "What was changed, when, by whom and why; or one fact's life",
		Long: "The journal, newest first: each run with what it changed. A run is undone by its id, one change of it as RUN/1.\n" +
			"With the ID of a fact: the words it came from, what it replaced, what replaced it, and every change.",
		Example: "  loci history\n  loci history --since yesterday --action retire\n  loci history 0199c5d2-…",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Action = memory.Action(action)
			if len(args) > 0 && q != (client.ChangesQuery{}) {
				return memory.Errorf(memory.Invalid, "give either the ID of a fact or flags that narrow the journal")
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
	f.StringVar(&q.Run, "run", "", "only of this run")
	f.StringVar(&action, "action", "", "only these: add, update, reinforce, replace, retire, restore, approve, reject, link, unlink, undo, erase")
	f.Var(timeFlag{at: &q.Since}, "since", "only later than this: 2026-05-03, yesterday, 90m (ago), …")
	f.IntVar(&q.Limit, "limit", 0, "most changes (50 unless given)")
	f.StringVar(&q.Cursor, "cursor", "", "continue a list")
	return onMemory(g, cmd)
}

// journal writes changes under the runs that made them. words are those of what
// they are about, by id.
func (s printer) journal(page client.Changes, words map[string]string) {
	if len(page.Changes) == 0 {
		s.line("nothing was changed")
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

// wordsOf returns the words of the facts and turns that changes, newest first, are
// about, by id. A change of a turn does not hold them.
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

// factWords returns the newest words that changes, newest first, gave to facts, by
// id.
func factWords(changes []client.Change) map[string]string {
	words := map[string]string{}
	for _, c := range slices.Backward(changes) {
		if c.After.Fact != nil {
			words[c.After.Fact.ID] = c.After.Fact.Content
		}
	}
	return words
}

// verbs say what an action did.
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

// verb says what a change did.
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

// sign says what a change does to what is known: '+' it comes, '-' it goes, '~' it
// changes.
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

// what says what a change is about, and how that differs from before.
func (s printer) what(c client.Change, words map[string]string) string {
	switch i := c.After; {
	case i.Fact != nil && i.Fact.Content == "" && c.Action != memory.ActionErase:
		return "(erased since)"
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

// coreWords say what a person decided about a fact in prompts.
var coreWords = map[memory.Core]string{memory.CoreAlways: "pinned", memory.CoreNever: "search only"}

// marked says which of a fact's marks a change of the same thing altered.
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

// because returns the reason of a change.
func (s printer) because(c client.Change) string {
	if c.Reason == "" {
		return ""
	}
	return "  " + s.in(dim, "("+brief(c.Reason, 120)+")")
}

// life is all that is known of one memory.
type life struct {
	Memory     client.Memory   `json:"memory"`
	Quote      *client.Quote   `json:"quote,omitempty"`
	Replaced   []client.Memory `json:"replaced,omitempty"`    // what it took the place of
	ReplacedBy *client.Memory  `json:"replaced_by,omitempty"` // what took its place
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
		if turn := get(id); turn != nil && turn.Content != "" { // it may be erased
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

// found returns nil for what is not there, or is another owner's.
func found(m client.Memory, err error) (*client.Memory, error) {
	switch {
	case errors.Is(err, memory.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &m, nil
}

// replacedBy returns the ids of what a fact took the place of, newest first.
func replacedBy(id string, changes []client.Change) []string {
	var out []string
	for _, c := range changes {
		if c.NewID == id && c.OldID != "" && c.OldID != id && !slices.Contains(out, c.OldID) {
			out = append(out, c.OldID)
		}
	}
	return out
}

// life writes a memory's life, oldest change first.
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
			continue // the other side of a replacement
		}
		s.line("%s  %-10s %s%s  %s", when(c.CreatedAt), verb(c), by(c.Author), s.because(c), s.in(dim, c.ID))
		if c.Before != nil && c.Action != memory.ActionReplace && c.After.Fact != nil && (c.Before.Fact.Content != c.After.Fact.Content || marked(c) != "") {
			s.line("                  %s", s.what(c, known))
		}
	}
}

// traits say what is worth knowing of a memory beside its words.
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
		out = append(out, "seen by link to "+brief(m.Home, 60))
	}
	return out
}

// piece is a run of words or lines that two texts share, or that one of them lacks.
type piece struct {
	sign byte // '=', '-' only in the old text, '+' only in the new one
	text string
}

// mostCells bounds the table that a diff fills. Beyond it all words differ.
const mostCells = 1 << 20

// diffWords returns the words of old and new in pieces, those that go before those
// that come.
func diffWords(old, new string) []piece {
	return diffOf(strings.Fields(old), strings.Fields(new), " ")
}

// diffOf is diffWords of any parts of a text, and between is what is between them.
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

// commonParts returns the length of the longest common subsequence from each part of both on.
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

// diff returns what new says instead of old: as [-gone-] and {+come+}, or in red and
// green.
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
