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

// Providers cache the beginning of a prompt. Each later request of a chat therefore repeats the earlier
// blocks at the same user messages, and a new block contains only memories that no earlier block
// contains. [memory.Turn].Given stores a [BlockRecord], from which the block can be rendered again: ids,
// dates and checksums, but no text. Erased text cannot return this way, and forgotten, hidden or edited
// memories disappear from old blocks.

// BlockRecord describes the block of a user turn, without its text.
type GivenBlock struct {
	Restart bool          `json:"anew,omitempty"` // earlier blocks of the conversation are omitted
	Part    int           `json:"part,omitempty"` // as in [chatapi.Block]
	Lines   []recall.Line `json:"lines,omitempty"`
}

// Bounds of stored blocks: the bytes of one record, and the bytes of all blocks of a request per token
// of a block's budget. Above the second bound, a request omits the earlier blocks and starts over.
const (
	maxGiven           = 64 << 10
	blockBytesPerToken = 8
	kindRules          = memory.Kind("rules")
	kindDocument       = memory.Kind("context")
)

// encode returns the stored form, or "" if it is too long.
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

// ParseBlockRecord parses [memory.Turn].Given. It returns false for an empty or invalid record.
func ReadGiven(s string) (g GivenBlock, ok bool) {
	return g, s != "" && json.Unmarshal([]byte(s), &g) == nil
}

// earlierBlock is a block of an earlier turn.
type earlierBlock struct {
	GivenBlock
	message int // index of the message in the request; -1: the upstream stores the message
}

// earlierBlocks returns the blocks of the user turns that the model still reads, in the request or at the
// upstream. A record in the answer's turn takes precedence over the record in the user's turn, since the
// upstream may have refused the first request.
func earlierBlocks(chat *chatapi.Chat, at thread.Alignment, turns []memory.Turn) []earlierBlock {
	byID, userOf, stored := map[string]memory.Turn{}, map[string]string{}, map[string]string{}
	for _, t := range turns { // parents precede their children
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
	message := map[string]int{} // index of the message in the request, by turn
	var ids []string
	for i, id := range at.Turns {
		if id != "" && chat.Messages[i].Role == memory.RoleUser {
			message[id], ids = i, append(ids, id)
		}
	}
	if chat.GoesOn() {
		var kept []string // turns with blocks that the upstream stores
		for t, ok := byID[at.Parent]; ok; t, ok = byID[t.Parent] {
			if _, here := message[t.ID]; !here && t.Role == memory.RoleUser {
				kept = append(kept, t.ID)
			}
		}
		slices.Reverse(kept)
		ids = append(kept, ids...)
	}
	var out []earlierBlock
	for _, id := range ids {
		i, here := message[id]
		if !here {
			i = -1
		}
		g, ok := ReadGiven(stored[id])
		refused := g.Restart && len(g.Lines) == 0 // the upstream refused memory for this message
		if !ok || byID[id].Status == memory.Retired || refused && here && i == chat.LastUser() && !chat.ToolLoop() {
			continue
		}
		if g.Restart {
			out = nil
		}
		out = append(out, earlierBlock{g, i})
	}
	return out
}

// restoredBlocks are the earlier blocks of the request, rendered again.
type restoredBlocks struct {
	blocks  []chatapi.Block
	later   bool            // one of the blocks has memories
	shown   map[string]bool // content of the blocks, by lineKey
	own     *chatapi.Block  // the earlier block of the last user message, also in blocks; nil: none
	hits    []memory.Hit    // memories in lastBlock
	restart bool            // the blocks were too large and are omitted
	room    int             // tokens that remain for documents

	core       map[string]bool // ids of core facts in the blocks
	coreTokens int             // size of these facts in tokens
}

func (e *Exchanges) noEarlierBlocks() restoredBlocks {
	return restoredBlocks{shown: map[string]bool{}, core: map[string]bool{}, room: cmp.Or(e.Opts.Recall.Contexts, recall.DefaultContextBudget)}
}

// hasLine reports whether an earlier block has a line with the same memory or text.
func (b *restoredBlocks) hasLine(l recall.Line, words string) bool {
	return b.shown[keyOf(l)] || slices.ContainsFunc(b.blocks, func(block chatapi.Block) bool { return strings.Contains(block.Text, words+"\n") })
}

// lineKey identifies a line's content by its memory and the disputing fact.
func keyOf(l recall.Line) string {
	key := string(l.Kind) + ":" + l.ID
	if l.Disputed != nil {
		key += " " + l.Disputed.ID
	}
	return key
}

// restoreBlocks renders the request's earlier blocks from the current memory.
func (x *Exchange) restoreBlocks(ctx context.Context, p *Placement, blocks []earlierBlock) error {
	if len(blocks) == 0 {
		return nil
	}
	from, err := x.e.sources(ctx, x.In.Owner, blocks)
	if err != nil {
		return fmt.Errorf("read earlier blocks: %w", err)
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
	if most := blockBytesPerToken * cmp.Or(x.e.Opts.Budget, recall.DefaultBudget); size > most && back.own == nil {
		*back = x.e.noEarlierBlocks()
		back.restart = true
	}
	return nil
}

// rewriteBlock renders one block, without the content of earlier blocks, and records its content.
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

// lineSources reads the memories of all lines of the blocks.
func (e *Exchanges) sources(ctx context.Context, of memory.Owner, blocks []earlierBlock) (recall.Sources, error) {
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

// lineHits returns the memories of a block's lines as hits.
func hitsOf(lines []recall.Line, from recall.Sources) (hits []memory.Hit) {
	for _, l := range lines {
		if m, ok := from.Find(l); ok {
			hits = append(hits, memory.Hit{Memory: m})
		}
	}
	return hits
}

// withAttachments adds the conversation's documents and rules to a block, unless earlier blocks contain
// them. It also returns the lines for them. tokens is the budget of documents in tokens.
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

// WithRules puts a conversation's rules before its block, outside the fence, which marks data and not
// instructions. Equal rules give equal bytes before any memory.
func WithRules(block, rules string) string {
	if rules == "" {
		return block
	}
	return strings.TrimSpace("The user's rules for this chat, which you follow:\n\n" + rules + "\n\n" + block)
}
