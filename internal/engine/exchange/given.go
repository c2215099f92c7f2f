package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/thread"
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

// earlierBlocks returns the blocks of the user turns that the model still sees: those of the
// request and those that the upstream keeps. What an answer's turn says of the block counts more
// than the user turn: the first request may have been refused.
func earlierBlocks(chat *chatapi.Chat, at thread.Alignment, turns []memory.Turn) []earlier {
	byID, userOf, stored := map[string]memory.Turn{}, map[string]string{}, map[string]string{}
	for _, t := range turns { // parents come first
		byID[t.ID] = t
		if userOf[t.ID] = userOf[t.Parent]; t.Role == memory.RoleUser {
			userOf[t.ID] = t.ID
		}
		if user := userOf[t.ID]; user != "" && t.Given != "" && t.Status != memory.Retired {
			stored[user] = t.Given
		}
	}
	if len(stored) == 0 {
		return nil
	}
	message := map[string]int{} // of the request, by turn
	var ids []string
	for i, id := range at.Turns {
		if id != "" && chat.Messages[i].Role == memory.RoleUser {
			message[id], ids = i, append(ids, id)
		}
	}
	if chat.GoesOn() {
		var kept []string // by the upstream
		for t, ok := byID[at.Parent]; ok; t, ok = byID[t.Parent] {
			if _, here := message[t.ID]; !here && t.Role == memory.RoleUser {
				kept = append(kept, t.ID)
			}
		}
		slices.Reverse(kept)
		ids = append(kept, ids...)
	}
	var out []earlier
	for _, id := range ids {
		i, here := message[id]
		if !here {
			i = -1
		}
		g, ok := ReadGiven(stored[id])
		refused := g.Anew && len(g.Lines) == 0 // where the upstream took no memory, another try may take it in another place
		if !ok || byID[id].Status == memory.Retired || refused && here && i == chat.LastUser() && !chat.ToolLoop() {
			continue
		}
		if g.Anew {
			out = nil
		}
		out = append(out, earlier{g, i})
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

// readBack writes earlier blocks of the request again, from memory as it is now.
func (x *Exchange) readBack(ctx context.Context, p *Placement, blocks []earlier) error {
	if len(blocks) == 0 {
		return nil
	}
	from, err := x.e.sources(ctx, x.In.Owner, blocks)
	if err != nil {
		return fmt.Errorf("earlier blocks: %w", err)
	}
	last, size, back := x.In.Chat.LastUser(), 0, &p.back
	repeats := x.In.Chat.Repeats(recall.FenceOpen)
	for _, b := range blocks {
		words := x.rewrite(p, b.Lines, from)
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
		*back = x.e.nothingBack()
		back.anew = true
	}
	return nil
}

// rewrite writes one block again, without what those before it tell, and notes what it tells.
func (x *Exchange) rewrite(p *Placement, lines []recall.Line, from recall.Sources) string {
	back := &p.back
	lines = slices.DeleteFunc(slices.Clone(lines), func(l recall.Line) bool { return back.told[keyOf(from.Settled(l))] })
	block, kept, tokens := recall.RenderLines(lines, from, x.e.Retrieve.Rendering(back.later))
	back.coreTokens += tokens
	documents, rules := "", ""
	for _, l := range lines {
		switch {
		case l.Kind == kindRules && l.Sum != 0 && l.Sum == recall.Sum(p.rules) && p.rules != "":
			rules, kept = p.rules, append(kept, l)
		case l.Kind == kindDocument && l.Sum != 0:
			for _, c := range p.contexts {
				room := back.room
				if words := recall.ContextText(c, &room); c.ID == l.ID && recall.Sum(words) == l.Sum {
					documents, back.room, kept = documents+words, room, append(kept, l)
				}
			}
		}
	}
	for _, l := range kept {
		back.told[keyOf(l)] = true
		if l.Core {
			back.core[l.ID] = true
		}
	}
	block = recall.WithDocuments(block, documents)
	back.later = back.later || block != ""
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
		var err error
		from.Profile, err = e.Entries(ctx, of, memory.At{})
		return from, err
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
func (p *Placement) attachTo(block string, told map[string]bool, room int) (string, []recall.Line) {
	var lines []recall.Line
	var documents strings.Builder
	for _, c := range p.contexts {
		l := recall.Line{Kind: kindDocument, ID: c.ID}
		if told[keyOf(l)] {
			continue
		}
		words := recall.ContextText(c, &room)
		documents.WriteString(words)
		l.Sum = recall.Sum(words)
		lines = append(lines, l)
	}
	rules := p.rules
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
