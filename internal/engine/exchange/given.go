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
	Restart bool          `json:"anew,omitempty"` // earlier blocks of the conversation are left out
	Part    int           `json:"part,omitempty"` // as in [chatapi.Block]
	Lines   []recall.Line `json:"lines,omitempty"`
}

// Bounds of stored blocks: bytes of one, and bytes of all blocks of a request per token of a
// block's budget, about twice as many tokens. Beyond them a request starts over and repeats what
// matters.
const (
	maxGiven     = 64 << 10
	keptBytes    = 8
	kindRules    = memory.Kind("rules")
	kindDocument = memory.Kind("context")
)

// write returns the stored form; "" if it is too long.
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

// ReadGiven reads [memory.Turn].Given; false if it is empty or unreadable.
func ReadGiven(s string) (g GivenBlock, ok bool) {
	return g, s != "" && json.Unmarshal([]byte(s), &g) == nil
}

// earlier is a block of an earlier turn.
type earlier struct {
	GivenBlock
	message int // index in the request, -1 for a message that the upstream keeps
}

// earlierBlocks returns the blocks of the user turns that the model still sees, in the request or
// at the upstream. The answer's record of the block takes precedence over the user turn's: the
// first request may have been refused.
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
		refused := g.Restart && len(g.Lines) == 0 // the upstream refused memory here; another place may work
		if !ok || byID[id].Status == memory.Retired || refused && here && i == chat.LastUser() && !chat.ToolLoop() {
			continue
		}
		if g.Restart {
			out = nil
		}
		out = append(out, earlier{g, i})
	}
	return out
}

// putBack are the earlier blocks of the request, rewritten.
type putBack struct {
	blocks  []chatapi.Block
	later   bool            // one of them has memories
	shown   map[string]bool // content of the blocks, by keyOf
	own     *chatapi.Block  // that of the last user message, if it had one; also among blocks
	hits    []memory.Hit    // of own
	restart bool            // there were too many: they are omitted
	room    int             // tokens left for documents

	core       map[string]bool // the facts in their cores
	coreTokens int             // their size
}

func (e *Exchanges) nothingBack() putBack {
	return putBack{shown: map[string]bool{}, core: map[string]bool{}, room: cmp.Or(e.Opts.Recall.Contexts, recall.DefaultContextBudget)}
}

// tells reports whether an earlier block has a line, by its memory or its text.
func (b *putBack) tells(l recall.Line, words string) bool {
	return b.shown[keyOf(l)] || slices.ContainsFunc(b.blocks, func(block chatapi.Block) bool { return strings.Contains(block.Text, words+"\n") })
}

// keyOf identifies a line's content: its memory, and the fact that disputes it.
func keyOf(l recall.Line) string {
	key := string(l.Kind) + ":" + l.ID
	if l.Disputed != nil {
		key += " " + l.Disputed.ID
	}
	return key
}

// readBack rewrites the request's earlier blocks from current memory.
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
		back.restart = true
	}
	return nil
}

// rewrite rewrites one block without the content of those before it, and records its content.
func (x *Exchange) rewrite(p *Placement, lines []recall.Line, from recall.Sources) string {
	back := &p.back
	lines = slices.DeleteFunc(slices.Clone(lines), func(l recall.Line) bool { return back.shown[keyOf(from.Settled(l))] })
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
		back.shown[keyOf(l)] = true
		if l.Core {
			back.core[l.ID] = true
		}
	}
	block = recall.WithDocuments(block, documents)
	back.later = back.later || block != ""
	return WithRules(block, rules)
}

// sources reads the memories of blocks.
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

// hitsOf returns the memories of lines, including those of earlier blocks.
func hitsOf(lines []recall.Line, from recall.Sources) (hits []memory.Hit) {
	for _, l := range lines {
		if m, ok := from.Find(l); ok {
			hits = append(hits, memory.Hit{Memory: m})
		}
	}
	return hits
}

// attachTo adds the conversation's documents and rules to a block, unless earlier blocks have them,
// and returns their lines. room is the budget of documents in tokens.
func (p *Placement) attachTo(block string, shown map[string]bool, room int) (string, []recall.Line) {
	var lines []recall.Line
	var documents strings.Builder
	for _, c := range p.contexts {
		l := recall.Line{Kind: kindDocument, ID: c.ID}
		if shown[keyOf(l)] {
			continue
		}
		words := recall.ContextText(c, &room)
		documents.WriteString(words)
		l.Sum = recall.Sum(words)
		lines = append(lines, l)
	}
	rules := p.rules
	if shown[keyOf(recall.Line{Kind: kindRules})] {
		rules = ""
	}
	if rules != "" {
		lines = append(lines, recall.Line{Kind: kindRules, Sum: recall.Sum(rules)})
	}
	return WithRules(recall.WithDocuments(block, documents.String()), rules), lines
}

// WithRules puts a conversation's rules before its block, outside the fence: the fence marks data,
// and rules are instructions. Equal rules give equal bytes, whatever memory follows.
func WithRules(block, rules string) string {
	if rules == "" {
		return block
	}
	return strings.TrimSpace("The user's rules for this chat, which you follow:\n\n" + rules + "\n\n" + block)
}
