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
// contains. [memory.Turn].Injected stores a [BlockRecord], from which the block can be rendered again: ids,
// dates and checksums, but no text. Erased text cannot return this way, and forgotten, hidden or edited
// memories disappear from old blocks.

// BlockRecord describes the block of a user turn, without its text.
type BlockRecord struct {
	Restart bool          `json:"anew,omitempty"` // earlier blocks of the conversation are omitted
	Part    int           `json:"part,omitempty"` // as in [chatapi.Block]
	Lines   []recall.Line `json:"lines,omitempty"`
}

// Bounds of stored blocks: the bytes of one record; and the bytes of all blocks of a request, for each token
// of one block's budget. Above the second bound, a request omits the earlier blocks and starts over.
const (
	maxRecordBytes     = 64 << 10
	blockBytesPerToken = 8
	kindRules          = memory.Kind("rules")
	kindDocument       = memory.Kind("context")
)

// encode returns the stored form, or "" if it is too long.
func (g BlockRecord) encode(owner memory.Owner) string {
	for i := range g.Lines {
		if l := &g.Lines[i]; l.Owner == owner {
			l.Owner = ""
		}
	}
	b, err := json.Marshal(g)
	if err != nil || len(b) > maxRecordBytes {
		return ""
	}
	return string(b)
}

// ParseBlockRecord parses [memory.Turn].Injected. It returns false for an empty or invalid record.
func ParseBlockRecord(encoded string) (record BlockRecord, ok bool) {
	return record, encoded != "" && json.Unmarshal([]byte(encoded), &record) == nil
}

// earlierBlock is a block of an earlier turn.
type earlierBlock struct {
	BlockRecord
	messageIndex int // index of the message in the request; -1: the upstream stores the message
}

// earlierBlocks returns the blocks of the user turns that the model still reads, in the request or at the
// upstream. A block recorded in the answer's turn takes precedence over one in the user's turn, since the
// upstream may have refused the first request.
func earlierBlocks(chat *chatapi.Chat, alignment thread.Alignment, turns []memory.Turn) []earlierBlock {
	byID, userTurn, records := map[string]memory.Turn{}, map[string]string{}, map[string]string{}
	for _, t := range turns { // parents precede their children
		byID[t.ID] = t
		if userTurn[t.ID] = userTurn[t.Parent]; t.Role == memory.RoleUser {
			userTurn[t.ID] = t.ID
		}
		if user := userTurn[t.ID]; user != "" && t.Injected != "" && t.Status != memory.Retired {
			records[user] = t.Injected
		}
	}
	if len(records) == 0 {
		return nil
	}
	messageIndex := map[string]int{} // index of the message in the request, by turn
	var ids []string
	for i, id := range alignment.TurnIDs {
		if id != "" && chat.Messages[i].Role == memory.RoleUser {
			messageIndex[id], ids = i, append(ids, id)
		}
	}
	if chat.HasServerHistory() {
		var upstreamTurns []string // turns with blocks that the upstream stores
		for t, ok := byID[alignment.ParentID]; ok; t, ok = byID[t.Parent] {
			if _, inRequest := messageIndex[t.ID]; !inRequest && t.Role == memory.RoleUser {
				upstreamTurns = append(upstreamTurns, t.ID)
			}
		}
		slices.Reverse(upstreamTurns)
		ids = append(upstreamTurns, ids...)
	}
	var out []earlierBlock
	for _, id := range ids {
		i, inRequest := messageIndex[id]
		if !inRequest {
			i = -1
		}
		g, ok := ParseBlockRecord(records[id])
		refused := g.Restart && len(g.Lines) == 0 // the upstream refused memory for this message
		if !ok || byID[id].Status == memory.Retired || refused && inRequest && i == chat.LastUser() && !chat.InToolLoop() {
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
	blocks         []chatapi.Block // blocks of messages in the request
	hasMemories    bool            // one of the blocks has memories
	shownLines     map[string]bool // keys of the lines in the blocks: see lineKey
	lastBlock      *chatapi.Block  // the earlier block of the last user message, also in blocks; nil: none
	lastHits       []memory.Hit    // memories in lastBlock
	startsOver     bool            // the earlier blocks were too large and are omitted, so the next block repeats all memories
	documentTokens int             // tokens that remain for documents

	shownCore       map[string]bool // ids of core facts in the blocks
	shownCoreTokens int             // size of shownCore in tokens
}

func (e *Exchanges) noEarlierBlocks() restoredBlocks {
	return restoredBlocks{shownLines: map[string]bool{}, shownCore: map[string]bool{}, documentTokens: cmp.Or(e.Opts.Recall.ContextTokens, recall.DefaultContextBudget)}
}

// hasLine reports whether an earlier block has a line with the same memory or text.
func (b *restoredBlocks) hasLine(l recall.Line, content string) bool {
	return b.shownLines[lineKey(l)] || slices.ContainsFunc(b.blocks, func(block chatapi.Block) bool { return strings.Contains(block.Text, content+"\n") })
}

// lineKey identifies a line's content by its memory and the fact that disputes the memory.
func lineKey(l recall.Line) string {
	key := string(l.Kind) + ":" + l.ID
	if l.DisputedBy != nil {
		key += " " + l.DisputedBy.ID
	}
	return key
}

// restoreBlocks renders the request's earlier blocks from the current memory.
func (x *Exchange) restoreBlocks(ctx context.Context, p *Placement, blocks []earlierBlock) error {
	if len(blocks) == 0 {
		return nil
	}
	sources, err := x.exchanges.lineSources(ctx, x.Incoming.Owner, blocks)
	if err != nil {
		return fmt.Errorf("read earlier blocks: %w", err)
	}
	lastUser, size, restored := x.Incoming.Chat.LastUser(), 0, &p.restored
	repeats := x.Incoming.Chat.ContainsText(recall.FenceOpen)
	for _, b := range blocks {
		content := x.rewriteBlock(p, b.Lines, sources)
		block := chatapi.Block{Text: content, MessageIndex: b.messageIndex, Part: b.Part}
		size += len(content)
		if b.messageIndex == lastUser && lastUser >= 0 {
			restored.lastBlock = &block
			restored.lastHits = lineHits(b.Lines, sources)
		}
		if content != "" && b.messageIndex >= 0 && !(repeats && x.Incoming.Chat.ContainsText(content)) {
			restored.blocks = append(restored.blocks, block)
		}
	}
	if limit := blockBytesPerToken * cmp.Or(x.exchanges.Opts.BlockTokens, recall.DefaultBudget); size > limit && restored.lastBlock == nil {
		*restored = x.exchanges.noEarlierBlocks()
		restored.startsOver = true
	}
	return nil
}

// rewriteBlock renders one block without the content of earlier blocks, and adds its content to p.restored.
func (x *Exchange) rewriteBlock(p *Placement, lines []recall.Line, sources recall.Sources) string {
	restored := &p.restored
	lines = slices.DeleteFunc(slices.Clone(lines), func(l recall.Line) bool { return restored.shownLines[lineKey(sources.WithoutStaleDispute(l))] })
	block, shown, tokens := recall.RenderLines(lines, sources, x.exchanges.Retrieve.RenderOptions(restored.hasMemories))
	restored.shownCoreTokens += tokens
	documents, rules := "", ""
	for _, l := range lines {
		switch {
		case l.Kind == kindRules && l.Checksum != 0 && l.Checksum == recall.Checksum(p.rules) && p.rules != "":
			rules, shown = p.rules, append(shown, l)
		case l.Kind == kindDocument && l.Checksum != 0:
			for _, c := range p.contexts {
				remaining := restored.documentTokens
				if content := recall.ContextText(c, &remaining); c.ID == l.ID && recall.Checksum(content) == l.Checksum {
					documents, restored.documentTokens, shown = documents+content, remaining, append(shown, l)
				}
			}
		}
	}
	for _, l := range shown {
		restored.shownLines[lineKey(l)] = true
		if l.IsCore {
			restored.shownCore[l.ID] = true
		}
	}
	block = recall.WithDocuments(block, documents)
	restored.hasMemories = restored.hasMemories || block != ""
	return WithRules(block, rules)
}

// lineSources reads the memories of all lines of the blocks.
func (e *Exchanges) lineSources(ctx context.Context, defaultOwner memory.Owner, blocks []earlierBlock) (recall.Sources, error) {
	loaded, ids, needsProfile := recall.Sources{Memories: map[string]memory.Memory{}}, map[memory.Owner][]string{}, false
	for _, b := range blocks {
		for _, l := range b.Lines {
			needsProfile = needsProfile || l.Kind == recall.KindProfile
			if l.Kind != kindRules && l.Kind != kindDocument {
				l.EachID(func(owner memory.Owner, id string) {
					owner = cmp.Or(owner, defaultOwner)
					ids[owner] = append(ids[owner], id)
				})
			}
		}
	}
	for owner, ownerIDs := range ids {
		slices.Sort(ownerIDs)
		memories, err := e.Store.Get(ctx, owner, slices.Compact(ownerIDs)...)
		if err != nil {
			return loaded, err
		}
		for _, m := range memories {
			loaded.Memories[m.ID()] = m
		}
	}
	if needsProfile {
		var err error
		loaded.Profile, err = e.ProfileEntries(ctx, defaultOwner, memory.At{})
		return loaded, err
	}
	return loaded, nil
}

// lineHits returns the memories of a block's lines as hits.
func lineHits(lines []recall.Line, sources recall.Sources) (hits []memory.Hit) {
	for _, l := range lines {
		if m, ok := sources.Find(l); ok {
			hits = append(hits, memory.Hit{Memory: m})
		}
	}
	return hits
}

// withAttachments adds the conversation's documents and rules to a block, unless earlier blocks contain
// them. It also returns the lines for them. tokens is the budget of documents in tokens.
func (p *Placement) withAttachments(block string, shown map[string]bool, tokens int) (string, []recall.Line) {
	var lines []recall.Line
	var documents strings.Builder
	for _, c := range p.contexts {
		l := recall.Line{Kind: kindDocument, ID: c.ID}
		if shown[lineKey(l)] {
			continue
		}
		content := recall.ContextText(c, &tokens)
		documents.WriteString(content)
		l.Checksum = recall.Checksum(content)
		lines = append(lines, l)
	}
	rules := p.rules
	if shown[lineKey(recall.Line{Kind: kindRules})] {
		rules = ""
	}
	if rules != "" {
		lines = append(lines, recall.Line{Kind: kindRules, Checksum: recall.Checksum(rules)})
	}
	return WithRules(recall.WithDocuments(block, documents.String()), rules), lines
}

// WithRules puts a conversation's rules before its block, outside the fence, which marks data and not
// instructions. Prompts with equal rules then begin with equal bytes, which providers cache.
func WithRules(block, rules string) string {
	if rules == "" {
		return block
	}
	return strings.TrimSpace("The user's rules for this chat, which you follow:\n\n" + rules + "\n\n" + block)
}
