package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Providers cache the beginning of a prompt. So each later request of a chat gets the same
// blocks at the same user messages, and a new block has only memories that no earlier block
// has. [memory.Turn].Given stores what is needed to write a block again: ids, dates and
// checksums, but no text. So erased text is not kept there, and a memory that was forgotten,
// hidden or edited disappears from old blocks.

// GivenBlock is the block of a user turn, without its text.
type GivenBlock struct {
	Anew  bool          `json:"anew,omitempty"` // earlier blocks of the conversation are left out
	Part  int           `json:"part,omitempty"` // as in [chatapi.Block]
	Lines []recall.Line `json:"lines,omitempty"`
}

// Bounds of kept blocks: the bytes of one as it is stored, and those of all in a request for each
// token that one may have, which is about twice as many tokens. With more a request begins anew,
// and tells again what matters.
const (
	maxGiven     = 64 << 10
	keptBytes    = 8
	kindRules    = memory.Kind("rules")
	kindDocument = memory.Kind("context")
)

// write returns what the store keeps; "" of what is too long for it.
func (g GivenBlock) write(owner memory.Owner) string {
	for i := range g.Lines {
		if l := &g.Lines[i]; l.Owner == owner {
			l.Owner = ""
		}
	}
	b, err := json.Marshal(g)
	if err != nil || len(b) > maxGiven {
		return ""
	}
	return string(b)
}

// ReadGiven reads [memory.Turn].Given; false where there is nothing readable.
func ReadGiven(s string) (g GivenBlock, ok bool) {
	return g, s != "" && json.Unmarshal([]byte(s), &g) == nil
}

// earlier is a block that a turn got before.
type earlier struct {
	GivenBlock
	message int // of the request, -1 for one that the upstream keeps
}

// blocksBefore returns the blocks of the user turns that the model still sees: those of the
// request and those that the upstream keeps. What an answer's turn says of the block counts more
// than the user turn: the first request may have been refused.
func (x blocks) blocksBefore(turns []memory.Turn) []earlier {
	if !slices.ContainsFunc(turns, func(t memory.Turn) bool { return t.Given != "" }) {
		return nil
	}
	byID, userOf := make(map[string]int, len(turns)), map[string]string{}
	stored := map[string]string{}
	for i, t := range turns { // parents come first
		byID[t.ID] = i
		if userOf[t.ID] = userOf[t.Parent]; t.Role == memory.RoleUser {
			userOf[t.ID] = t.ID
		}
		if user := userOf[t.ID]; user != "" && t.Given != "" && t.Status != memory.Retired {
			stored[user] = t.Given
		}
	}
	message := map[string]int{}
	for i, id := range x.At.Turns {
		if id != "" && x.In.Chat.Messages[i].Role == memory.RoleUser {
			message[id] = i
		}
	}
	var ids []string
	if x.In.Chat.GoesOn() {
		for id := x.At.Parent; id != ""; {
			i, ok := byID[id]
			if !ok {
				break
			}
			if _, here := message[id]; !here && turns[i].Role == memory.RoleUser {
				ids = append(ids, id)
			}
			id = turns[i].Parent
		}
		slices.Reverse(ids)
	}
	for i, id := range x.At.Turns {
		if at, here := message[id]; here && at == i {
			ids = append(ids, id)
		}
	}
	var out []earlier
	for _, id := range ids {
		i, known := byID[id]
		g, ok := ReadGiven(stored[id])
		if !known || !ok || turns[i].Status == memory.Retired {
			continue
		}
		at, here := message[id]
		refused := g.Anew && len(g.Lines) == 0 // where the upstream took no memory, another try may take it in another place
		if here && at == x.In.Chat.LastUser() && !x.In.Chat.ToolLoop() && refused {
			continue
		}
		if g.Anew {
			out = nil
		}
		if !here {
			at = -1
		}
		out = append(out, earlier{g, at})
	}
	return out
}

// putBack is the earlier blocks of the request, written again.
type putBack struct {
	blocks []chatapi.Block
	later  bool            // there is one with memories
	told   map[string]bool // what they say, as keyOf names it
	own    *chatapi.Block  // that of the last user message, if it had one: it is among blocks
	hits   []memory.Hit    // of own
	anew   bool            // there were too many: they are left out
	room   int             // tokens that documents may still take
	failed bool            // they could not be read

	core       map[string]bool // the facts in their cores
	coreTokens int             // which these have
}

func (e *Exchanges) nothingBack() putBack {
	return putBack{told: map[string]bool{}, core: map[string]bool{}, room: cmp.Or(e.Opts.Recall.Contexts, recall.DefaultContextBudget)}
}

// tells reports whether an earlier block has a line, by its memory or its text.
func (b *putBack) tells(l recall.Line, words string) bool {
	return b.told[keyOf(l)] || slices.ContainsFunc(b.blocks, func(block chatapi.Block) bool { return strings.Contains(block.Text, words+"\n") })
}

// keyOf identifies a line's content: its memory, and what disputes that.
func keyOf(l recall.Line) string {
	key := string(l.Kind) + ":" + l.ID
	if l.Disputed != nil {
		key += " " + l.Disputed.ID
	}
	return key
}

// readBack writes the earlier blocks of the request again, from memory as it is now.
func (x blocks) readBack(ctx context.Context) error {
	if len(x.earlier) == 0 {
		return nil
	}
	from, err := x.e.sources(ctx, x.In.Owner, x.earlier)
	if err != nil {
		x.back.failed = true
		return fmt.Errorf("earlier blocks: %w", err)
	}
	last, size, back := x.In.Chat.LastUser(), 0, &x.back
	repeats := x.In.Chat.Repeats(recall.FenceOpen)
	for _, b := range x.earlier {
		words := x.rewrite(b.Lines, from)
		block := chatapi.Block{Text: words, Message: b.message, Part: b.Part}
		size += len(words)
		if b.message == last && last >= 0 {
			back.own = &block
			back.hits = hitsOf(b.Lines, from)
		}
		if words != "" && b.message >= 0 && !(repeats && x.In.Chat.Repeats(words)) {
			back.blocks = append(back.blocks, block)
		}
	}
	if most := keptBytes * cmp.Or(x.e.Opts.Budget, recall.DefaultBudget); size > most && back.own == nil {
		x.back = x.e.nothingBack()
		x.back.anew = true
	}
	return nil
}

// rewrite writes one block again, without what those before it tell, and notes what it tells.
func (x blocks) rewrite(lines []recall.Line, from recall.Sources) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l recall.Line) bool { return x.back.told[keyOf(from.Settled(l))] })
	block, kept, tokens := recall.RenderLines(lines, from, x.e.Retrieve.Rendering(x.back.later))
	x.back.coreTokens += tokens
	documents, rules := "", ""
	for _, l := range lines {
		switch {
		case l.Kind == kindRules && l.Sum != 0 && l.Sum == recall.Sum(x.Rules) && x.Rules != "":
			rules, kept = x.Rules, append(kept, l)
		case l.Kind == kindDocument && l.Sum != 0:
			for _, c := range x.Contexts {
				room := x.back.room
				if words := recall.ContextText(c, &room); c.ID == l.ID && recall.Sum(words) == l.Sum {
					documents, x.back.room, kept = documents+words, room, append(kept, l)
				}
			}
		}
	}
	for _, l := range kept {
		x.back.told[keyOf(l)] = true
		if l.Core {
			x.back.core[l.ID] = true
		}
	}
	block = recall.WithDocuments(block, documents)
	x.back.later = x.back.later || block != ""
	return WithRules(block, rules)
}

// sources reads what blocks were written from.
func (e *Exchanges) sources(ctx context.Context, of memory.Owner, blocks []earlier) (recall.Sources, error) {
	from, ids, profile := recall.Sources{Memories: map[string]memory.Memory{}}, map[memory.Owner][]string{}, false
	for _, b := range blocks {
		for _, l := range b.Lines {
			profile = profile || l.Kind == recall.KindProfile
			if l.Kind != kindRules && l.Kind != kindDocument {
				l.IDs(func(owner memory.Owner, id string) {
					owner = cmp.Or(owner, of)
					ids[owner] = append(ids[owner], id)
				})
			}
		}
	}
	for owner, wanted := range ids {
		slices.Sort(wanted)
		found, err := e.Store.Get(ctx, owner, slices.Compact(wanted)...)
		if err != nil {
			return from, err
		}
		for _, m := range found {
			from.Memories[m.ID()] = m
		}
	}
	if profile {
		entries, err := e.Store.Profile(ctx, of, memory.At{})
		if err != nil {
			return from, err
		}
		from.Profile = core.Told(entries)
	}
	return from, nil
}

// hitsOf returns the memories of lines, also of those that an earlier block tells.
func hitsOf(lines []recall.Line, from recall.Sources) (hits []memory.Hit) {
	for _, l := range lines {
		if m, ok := from.Find(l); ok {
			hits = append(hits, memory.Hit{Memory: m})
		}
	}
	return hits
}

// attachTo puts the documents of the conversation and its rules to a block, as far as earlier
// blocks do not tell them, and returns their lines. room is how many tokens documents may take.
func (x blocks) attachTo(block string, told map[string]bool, room int) (string, []recall.Line) {
	var lines []recall.Line
	var documents strings.Builder
	for _, c := range x.Contexts {
		l := recall.Line{Kind: kindDocument, ID: c.ID}
		if told[keyOf(l)] {
			continue
		}
		words := recall.ContextText(c, &room)
		documents.WriteString(words)
		l.Sum = recall.Sum(words)
		lines = append(lines, l)
	}
	rules := x.Rules
	if told[keyOf(recall.Line{Kind: kindRules})] {
		rules = ""
	}
	if rules != "" {
		lines = append(lines, recall.Line{Kind: kindRules, Sum: recall.Sum(rules)})
	}
	return WithRules(recall.WithDocuments(block, documents.String()), rules), lines
}

// WithRules puts the rules of a conversation before its block. They stand outside the
// fence: what is in it is data, and rules are what the user wants followed. Equal rules
// give equal bytes, whatever memory adds behind them.
func WithRules(block, rules string) string {
	if rules == "" {
		return block
	}
	return strings.TrimSpace("The user's rules for this chat, which you follow:\n\n" + rules + "\n\n" + block)
}

// read reports whether a model reads the chat. loci/recall answers from memory alone.
func (x *Exchange) read() bool {
	return x.e.Opts.Recall.Read && x.In.Chat.Model != memory.RecallModel
}

// carries returns which turns recall does not give to the request, by id: those that it holds,
// of a chat that no model reads the question alone, and those that it takes the place of.
func (x *Exchange) carries() map[string]bool {
	out := map[string]bool{}
	for i, id := range x.At.Turns {
		if id != "" && (x.read() || i >= x.In.Chat.LastUser()) {
			out[id] = true
		}
	}
	for id := range x.replaces() {
		out[id] = true
	}
	return out
}

// replaces returns the turns that the request takes the place of, by id.
func (x *Exchange) replaces() map[string]bool {
	out := map[string]bool{}
	for _, id := range x.At.Leave {
		out[id] = true
	}
	return out
}

// Said returns what the request says, if a model reads it: the others must be told.
func (x *Exchange) Said() []string {
	if !x.read() {
		return nil
	}
	var said []string
	for _, m := range x.In.Chat.Messages {
		said = append(said, m.Text)
	}
	return said
}
