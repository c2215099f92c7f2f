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

func newHistoryCommand(g *sharedState) *cobra.Command {
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
					return printAnswer(g, cmd, printer.printHistory)(readHistory(ctx, c, args[0]))
				}
				if err := completeRunID(ctx, c, &q.Run); err != nil {
					return err
				}
				page, err := c.Changes(ctx, q)
				if err != nil {
					return err
				}
				texts, err := textsOf(ctx, c, page.Changes)
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), page, func(out printer) { out.printJournal(page, texts) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Run, "run", "", "only changes of this run")
	f.StringVar(&action, "action", "", "only changes of this kind: add, update, reinforce, replace, retire, restore, approve, reject, link, unlink, undo, erase")
	f.Var(timeFlag{target: &q.Since}, "since", "only changes after this time: 2026-05-03, yesterday, 90m (ago), …")
	f.IntVar(&q.Limit, "limit", 0, "maximum number of changes (default 50)")
	f.StringVar(&q.Cursor, "cursor", "", "show the next page: the cursor that the last page printed")
	return withMemoryFlags(g, cmd)
}

// printJournal prints changes, grouped by run; textsByID maps ids of changed memories to their texts.
func (s printer) printJournal(page client.Changes, textsByID map[string]string) {
	if len(page.Changes) == 0 {
		s.line("no changes")
	}
	run := ""
	for _, c := range page.Changes {
		if c.Run != run {
			run = c.Run
			s.line("%s  %s  %s", s.styled(bold, formatTime(c.CreatedAt)), authorText(c.Author), s.styled(dim, c.Run))
		}
		_, id, _ := strings.Cut(c.Target, ":")
		s.line("  %-3s %-10s %s  %s%s", strings.TrimPrefix(c.ID, c.Run), changeVerb(c), s.styled(dim, id), s.changeText(c, textsByID), s.reasonText(c))
	}
	if page.Next != "" {
		s.line("more: --cursor %s", page.Next)
	}
}

// textsOf returns the texts of the changed facts and turns by id; changes are sorted newest first. It
// reads the texts of turns from the server, because a change of a turn contains no text.
func textsOf(ctx context.Context, c *client.Client, changes []client.Change) (map[string]string, error) {
	texts := factTexts(changes)
	for _, change := range changes {
		turnChange := change.After.Turn
		if turnChange == nil || texts[turnChange.ID] != "" {
			continue
		}
		turn, err := nilIfNotFound(c.Get(ctx, turnChange.ID))
		if err != nil {
			return nil, fmt.Errorf("read a turn: %w", err)
		}
		if turn != nil {
			texts[turnChange.ID] = turn.Content
		}
	}
	return texts, nil
}

// factTexts returns the newest text of each changed fact by id; changes are sorted newest first.
func factTexts(changes []client.Change) map[string]string {
	texts := map[string]string{}
	for _, c := range slices.Backward(changes) {
		if c.After.Fact != nil {
			texts[c.After.Fact.ID] = c.After.Fact.Content
		}
	}
	return texts
}

// actionVerbs are the actions in the past tense, for people.
var actionVerbs = map[memory.Action]string{
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

// changeVerb describes a change for people by one or two words, mostly a verb in the past tense.
func changeVerb(c client.Change) string {
	switch to := c.After.Status(); {
	case c.Action == memory.ActionAdd && to == memory.Pending:
		return "proposed"
	case c.Action == memory.ActionAdd && to == memory.Superseded:
		return "noted"
	case c.Action == memory.ActionUndo && changeSign(c) == '+':
		return "back"
	case c.Action == memory.ActionUndo && changeSign(c) == '-':
		return "taken back"
	}
	if v := actionVerbs[c.Action]; v != "" {
		return v
	}
	return string(c.Action)
}

// changeSign returns '+' if a change makes a memory active, '-' if it makes a memory inactive, else '~'.
func changeSign(c client.Change) byte {
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
func (s printer) changeText(c client.Change, textsByID map[string]string) string {
	switch i := c.After; {
	case i.Fact != nil && i.Fact.Content == "" && c.Action != memory.ActionErase:
		return "(text erased later)"
	case i.Fact != nil:
		oldText := i.Fact.Content
		if c.Before != nil && c.Before.Fact != nil {
			oldText = c.Before.Fact.Content
		}
		if newText := textsByID[c.NewID]; c.Action == memory.ActionReplace && newText != "" {
			return s.diffText(i.Fact.Content, newText)
		}
		out := shorten(i.Fact.Content, 120)
		if oldText != i.Fact.Content {
			out = s.diffText(oldText, i.Fact.Content)
		}
		if marks := changedProperties(c); marks != "" {
			out += " [" + marks + "]"
		}
		return out
	case i.Link != nil:
		return shorten(i.Link.Fact.Content, 120)
	case i.Profile != nil:
		return shorten(i.Profile.Key+" = "+i.Profile.Value, 120)
	case i.Relation != nil:
		return string(i.Relation.Kind)
	case i.Summary != nil:
		return "summary: " + shorten(i.Summary.Text, 120)
	case i.Turn != nil:
		return "turn: " + cmp.Or(shorten(textsByID[i.Turn.ID], 120), string(i.Turn.Status))
	case i.Context != nil:
		return "context: " + shorten(cmp.Or(i.Context.Title, i.Context.Content), 120)
	case i.Conversation != nil:
		return "chat: " + shorten(cmp.Or(i.Conversation.Title, i.Conversation.ID), 120)
	}
	return ""
}

// coreLabels tell people whether a fact is in every prompt; memory.CoreAuto has no label.
var coreLabels = map[memory.Core]string{memory.CoreAlways: "pinned", memory.CoreNever: "search only"}

// changedProperties lists the properties of a fact, other than its text, that a change altered.
func changedProperties(c client.Change) string {
	if c.Before == nil || c.Before.Fact == nil {
		return ""
	}
	oldFact, newFact := c.Before.Fact, c.After.Fact
	var out []string
	addIf := func(differs bool, format string, args ...any) {
		if differs {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	addIf(newFact.Core != oldFact.Core, "%s", cmp.Or(coreLabels[newFact.Core], "no longer "+coreLabels[oldFact.Core]))
	addIf(newFact.Category != oldFact.Category, "category %s", cmp.Or(shorten(newFact.Category, 60), "none"))
	addIf(!slices.Equal(newFact.Tags, oldFact.Tags), "tags %s", cmp.Or(shorten(strings.Join(newFact.Tags, ", "), 60), "none"))
	addIf(newFact.Confidence != oldFact.Confidence, "confidence %.2f → %.2f", oldFact.Confidence, newFact.Confidence)
	addIf(!newFact.ExpiresAt.Equal(oldFact.ExpiresAt) && !newFact.ExpiresAt.IsZero(), "expires %s", formatTime(newFact.ExpiresAt))
	addIf(!newFact.ExpiresAt.Equal(oldFact.ExpiresAt) && newFact.ExpiresAt.IsZero(), "never expires")
	return strings.Join(out, ", ")
}

// reasonText returns the reason of a change in parentheses, or "" without a reason.
func (s printer) reasonText(c client.Change) string {
	if c.Reason == "" {
		return ""
	}
	return "  " + s.styled(dim, "("+shorten(c.Reason, 120)+")")
}

// memoryHistory is the history of one memory.
type memoryHistory struct {
	Memory     client.Memory   `json:"memory"`
	Quote      *client.Quote   `json:"quote,omitempty"`
	Replaced   []client.Memory `json:"replaced,omitempty"`    // memories that Memory replaced
	ReplacedBy *client.Memory  `json:"replaced_by,omitempty"` // memory that replaced Memory
	Changes    []client.Change `json:"changes"`               // newest first
}

func readHistory(ctx context.Context, c *client.Client, id string) (history memoryHistory, err error) {
	if history.Memory, err = c.Get(ctx, id); err != nil {
		return memoryHistory{}, err
	}
	changes, err := memory.Collect(c.AllChanges(ctx, client.ChangesQuery{Fact: id}))
	history.Changes = append([]client.Change{}, changes...)
	get := func(id string) *client.Memory {
		m, e := nilIfNotFound(c.Get(ctx, id))
		err = errors.Join(err, e)
		return m
	}
	if p := history.Memory.Provenance; p != nil && len(p.Turns) > 0 {
		id := p.Turns[0]
		if p.Quote != nil {
			id = p.Quote.Turn
		}
		if turn := get(id); turn != nil && turn.Content != "" { // an erased turn has no text
			history.Quote = client.ViewQuote(*turn, p.Quote)
		}
	}
	for _, old := range replacedIDs(id, history.Changes) {
		if m := get(old); m != nil {
			history.Replaced = append(history.Replaced, *m)
		}
	}
	if history.Memory.SupersededBy != "" {
		history.ReplacedBy = get(history.Memory.SupersededBy)
	}
	return history, err
}

// nilIfNotFound returns m, or nil without an error if err is [memory.NotFound].
func nilIfNotFound(m client.Memory, err error) (*client.Memory, error) {
	switch {
	case errors.Is(err, memory.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &m, nil
}

// replacedIDs returns the ids of the memories that a fact replaced, newest first.
func replacedIDs(id string, changes []client.Change) []string {
	var out []string
	for _, c := range changes {
		if c.NewID == id && c.OldID != "" && c.OldID != id && !slices.Contains(out, c.OldID) {
			out = append(out, c.OldID)
		}
	}
	return out
}

// printHistory prints the history of a memory, oldest change first.
func (s printer) printHistory(history memoryHistory) {
	m := history.Memory
	text := s.styled(bold, shorten(m.Content, 400))
	if m.Content == "" && len(history.Changes) > 0 && history.Changes[0].Action == memory.ActionErase {
		text = "(erased " + formatTime(history.Changes[0].CreatedAt) + ")"
	}
	s.line("%s  %s", m.ID, text)
	s.line("%s", strings.Join(propertiesOf(m), ", "))
	if history.Quote != nil {
		s.line("said      %s", s.quoteText(*history.Quote))
		s.line("          %s", s.styled(dim, quoteSource(*history.Quote)))
	}
	for _, old := range history.Replaced {
		s.line("replaced  %s  %s", s.styled(dim, old.ID), s.diffText(old.Content, m.Content))
	}
	if next := history.ReplacedBy; next != nil {
		s.line("became    %s  %s", s.styled(dim, next.ID), s.diffText(m.Content, next.Content))
	}
	texts := factTexts(history.Changes)
	for _, c := range slices.Backward(history.Changes) {
		if kind, id, _ := strings.Cut(c.Target, ":"); id != m.ID || kind != "fact" && kind != "link" {
			continue // the change affects the other fact of a replacement, not m
		}
		s.line("%s  %-10s %s%s  %s", formatTime(c.CreatedAt), changeVerb(c), authorText(c.Author), s.reasonText(c), s.styled(dim, c.ID))
		if c.Before != nil && c.Action != memory.ActionReplace && c.After.Fact != nil && (c.Before.Fact.Content != c.After.Fact.Content || changedProperties(c) != "") {
			s.line("                  %s", s.changeText(c, texts))
		}
	}
}

// propertiesOf returns the properties of a memory other than its text, for people.
func propertiesOf(m client.Memory) []string {
	out := []string{string(m.Kind), string(m.Status)}
	if m.Core != memory.CoreAuto {
		out = append(out, coreLabels[m.Core])
	}
	if m.Category != "" {
		out = append(out, shorten(m.Category, 60))
	}
	for _, t := range m.Tags {
		out = append(out, "#"+shorten(t, 60))
	}
	if m.Project != "" {
		out = append(out, "project "+shorten(m.Project, 60))
	}
	if m.Kind == memory.KindFact {
		out = append(out, fmt.Sprintf("confidence %.2f", m.Confidence), "said "+formatTime(m.ObservedAt))
	}
	if !m.ExpiresAt.IsZero() {
		out = append(out, "until "+formatTime(m.ExpiresAt))
	}
	if m.Home != "" {
		out = append(out, "shared by "+shorten(m.Home, 60))
	}
	return out
}

// diffPiece is a sequence of words or lines that two texts share, or that only one text has.
type diffPiece struct {
	sign byte // '=': in both texts; '-': only in the old text; '+': only in the new text
	text string
}

// maxDiffCells limits the table of [commonLengths]. Texts that need more cells count as completely different.
const maxDiffCells = 1 << 20

// diffWords compares two texts word by word. At each difference, removed words come before added words.
func diffWords(oldText, newText string) []diffPiece {
	return diffLists(strings.Fields(oldText), strings.Fields(newText), " ")
}

// diffLists compares two lists of words or lines; separator joins the elements in the result.
func diffLists(a, b []string, separator string) (pieces []diffPiece) {
	add := func(sign byte, parts ...string) {
		text, last := strings.Join(parts, separator), len(pieces)-1
		switch {
		case len(parts) == 0:
		case last >= 0 && pieces[last].sign == sign:
			pieces[last].text += separator + text
		default:
			pieces = append(pieces, diffPiece{sign, text})
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
	if len(a)*len(b) > maxDiffCells {
		add('-', a...)
		add('+', b...)
		a, b = nil, nil
	}
	common := commonLengths(a, b)
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
func commonLengths(a, b []string) [][]int {
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
func (s printer) diffText(oldText, newText string) string {
	var out []string
	for _, p := range diffWords(shorten(oldText, 240), shorten(newText, 240)) {
		switch style := map[byte]string{'-': red, '+': green}[p.sign]; {
		case p.sign == '=':
			out = append(out, p.text)
		case s.colour:
			out = append(out, s.styled(style, p.text))
		case p.sign == '-':
			out = append(out, "[-"+p.text+"-]")
		default:
			out = append(out, "{+"+p.text+"+}")
		}
	}
	return strings.Join(out, " ")
}
