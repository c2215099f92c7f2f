package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Prepare recalls memories for the request. Every request of a tool loop gets the block of the loop's user
// message. It returns no error: at the deadline it returns the results so far.
func (x *Exchange) Prepare(ctx context.Context) retrieve.PromptMemory {
	topK := x.Incoming.Extras.TopK
	if !x.mode.readsMemory || (topK != nil && *topK == 0) {
		return retrieve.PromptMemory{}
	}
	if x.Incoming.Chat.InToolLoop() || x.hasOnlyToolResults() {
		if prepared, ok := x.cachedBlock(); ok || x.hasOnlyToolResults() { // without a question there is no search
			x.PromptMemory = prepared
			return prepared
		}
	}
	scope := memory.Scope{Owner: x.Incoming.Owner, Project: x.Incoming.Extras.Project}
	if x.exchanges.Retrieve.IsolatesConversations() {
		scope.Conversation = x.namedConversation()
	}
	prepared, pipeline, elapsed := x.exchanges.Retrieve.Prepare(ctx, retrieve.Question{
		Scope:          scope,
		Text:           x.exchanges.Retrieve.QuestionText(x.Incoming.Chat),
		IsChat:         true,
		RequestTexts:   x.RequestTexts(),
		TopK:           topK,
		ScoreThreshold: x.Incoming.Extras.ScoreThreshold,
		RecencyWeight:  x.Incoming.Extras.RecencyWeight,
		Budget:         x.exchanges.Opts.BlockTokens,
		API:            "chat",
		ChatState:      x.chatState,
		CarriedCount:   len(x.Incoming.Chat.Messages),
		TextlessTrace:  x.RedactsTurns(),
		WithCore:       x.modelReadsChat(),
	})
	placement := x.Placement()
	prepared.KeptBlocks = placement.restored.blocks
	block := ""
	if lastBlock := placement.restored.lastBlock; lastBlock != nil { // a retry gets the memories of the first attempt
		prepared.Block, prepared.Hits, prepared.Core, block = "", placement.restored.lastHits, recall.Core{}, lastBlock.Text
		pipeline.Hits, pipeline.OpeningCore = prepared.Hits, prepared.Core
	} else {
		var attached []recall.Line
		prepared.Block, attached = placement.withAttachments(prepared.Block, placement.restored.shownLines, placement.restored.documentTokens)
		block = prepared.Block
		lines := append(pipeline.Lines, attached...)
		if placement.IsPlaced() && placement.restoreErr == nil && (len(pipeline.Degraded) == 0 || len(lines) > 0) {
			x.recordBlock(BlockRecord{Restart: placement.restored.startsOver, Part: x.Incoming.BlockPart, Lines: lines})
		}
	}
	if placement.restoreErr != nil {
		pipeline.Degraded = append(pipeline.Degraded, placement.restoreErr.Error())
	}
	if placement.Err != nil {
		pipeline.Degraded = append(pipeline.Degraded, fmt.Sprintf("conversation: %v", placement.Err))
	}
	if placement.Alignment.DroppedMessages > 0 {
		pipeline.Degraded = append(pipeline.Degraded, fmt.Sprintf("record: the first %d of the new messages are not stored (limits.messages)", placement.Alignment.DroppedMessages))
	}
	if x.Incoming.TraceNote != "" && block != "" {
		pipeline.Degraded = append(pipeline.Degraded, x.Incoming.TraceNote)
	}
	if !x.storesTurns() {
		prepared.TraceID = ""
	}
	x.PromptMemory = prepared
	if prepared.TraceID != "" {
		pipeline.RunPart("trace", func() { pipeline.StoreTrace(prepared.TraceID, block, elapsed) })
	}
	x.CacheBlock(block)
	return prepared
}

// cachedBlock returns the block of a tool loop's user message, if the cache has it.
func (x *Exchange) cachedBlock() (p retrieve.PromptMemory, ok bool) {
	placement := x.Placement()
	b, ok := x.exchanges.Blocks.Get(x.Incoming.Owner, placement.askedTurn.Chain)
	if lastBlock := placement.restored.lastBlock; lastBlock != nil {
		if b.Text != lastBlock.Text { // the cache lacks the block, from another server or before a restart, or has an outdated block
			b = core.CachedBlock{Hits: placement.restored.lastHits, TraceID: b.TraceID}
		}
		b.Text, ok = "", true
	}
	if !ok {
		return p, false
	}
	return retrieve.PromptMemory{Block: b.Text, KeptBlocks: placement.restored.blocks, Hits: b.Hits, Core: b.Core, TraceID: b.TraceID, WasRead: true}, true
}

// chatState waits for the chat's placement, and returns it with the content of earlier blocks.
func (x *Exchange) chatState() retrieve.ChatState {
	p := x.Placement()
	exclude, replaced := map[string]bool{}, map[string]bool{}
	for i, id := range p.Alignment.TurnIDs {
		if id != "" && (x.modelReadsChat() || i >= x.Incoming.Chat.LastUser()) { // for loci/recall, only the question is excluded
			exclude[id] = true
		}
	}
	for _, id := range p.Alignment.LeavingIDs {
		exclude[id], replaced[id] = true, true
	}
	return retrieve.ChatState{
		Conversation: p.conversation.ID, ExcludeIDs: exclude, ReplacedTurns: replaced,
		HasEarlierBlock: p.restored.hasMemories, IsShown: p.restored.hasLine, ShownCore: p.restored.shownCore, ShownCoreTokens: p.restored.shownCoreTokens,
	}
}

// modelReadsChat reports whether a model reads the chat's text. Model loci/recall does not: it answers
// from memory.
func (x *Exchange) modelReadsChat() bool {
	return x.exchanges.Opts.Recall.ModelReadsChat && x.Incoming.Chat.Model != memory.RecallModel
}

// RequestTexts returns the request's messages, which recall must not repeat, if a model reads them.
func (x *Exchange) RequestTexts() []string {
	if !x.modelReadsChat() {
		return nil
	}
	var texts []string
	for _, m := range x.Incoming.Chat.Messages {
		texts = append(texts, m.Text)
	}
	return texts
}

// Attachments returns the fenced documents attached to the conversation, and its rules. Both are "" if they
// could not be read. Call it before RecordQuestion.
func (x *Exchange) Attachments() (contexts, rules string) {
	p := x.Placement()
	contexts = recall.WithContexts("", p.contexts, x.exchanges.Opts.Recall.ContextTokens)
	x.CacheBlock(WithRules(contexts, p.rules)) // learning then ignores answers that repeat the block
	return contexts, p.rules
}

// CacheBlock caches the block of the user message for later requests of a tool loop. Learning also uses
// it to recognize text copied from the block.
func (x *Exchange) CacheBlock(block string) {
	if chain := x.Placement().askedTurn.Chain; chain != "" {
		x.exchanges.Blocks.Put(core.CachedBlock{Owner: x.Incoming.Owner, ChainHash: chain, Text: block, Hits: x.PromptMemory.Hits, Core: x.PromptMemory.Core, TraceID: x.PromptMemory.TraceID}, x.blockEpoch)
	}
}

// recordBlock records the block sent with the request, for later requests.
func (x *Exchange) recordBlock(record BlockRecord) {
	if x.Incoming.RestoreBlocks && record.Part != chatapi.Unplaced {
		x.sentBlock = record.encode(x.Incoming.Owner)
	}
}

// ShrinkPrompt halves the block and keeps its best hits, for a prompt that was too long. It returns false if
// the block cannot get smaller. Later requests of the tool loop also get the smaller block.
func (x *Exchange) ShrinkPrompt(ctx context.Context, reason string) (retrieve.PromptMemory, bool) {
	p, placement, oldSize := x.PromptMemory, x.Placement(), len(x.PromptMemory.Block)
	for _, b := range p.KeptBlocks {
		oldSize += len(b.Text)
	}
	p.Core, _ = p.Core.SplitByBudget(p.Core.Tokens()/2, nil, x.exchanges.Now())
	p.Hits, p.KeptBlocks = p.Hits[:len(p.Hits)/2], nil
	block := recall.Render(p.Core, p.Hits, x.exchanges.Retrieve.RenderOptions(false))
	text, attached := placement.withAttachments(block.Text, nil, cmp.Or(x.exchanges.Opts.Recall.ContextTokens, recall.DefaultContextBudget)/2)
	if text == "" || len(text) >= oldSize {
		return p, false
	}
	part := x.Incoming.BlockPart
	if lastBlock := placement.restored.lastBlock; lastBlock == nil {
		p.Block = text
	} else {
		part = lastBlock.Part
		p.Block, p.KeptBlocks = "", []chatapi.Block{{Text: text, MessageIndex: lastBlock.MessageIndex, Part: part}}
	}
	x.PromptMemory = p
	x.recordBlock(BlockRecord{Restart: true, Part: part, Lines: append(block.Lines, attached...)})
	x.exchanges.Traces.Amend(ctx, x.Incoming.Owner, p.TraceID, func(t *memory.Trace) {
		t.Degraded = append(slices.Clone(t.Degraded), "prompt: "+reason)
		if !p.TextlessTrace {
			t.Block = text
		}
	})
	x.CacheBlock(text)
	return p, true
}

// WithdrawMemory records that the upstream refused the request with memory and accepted it without memory.
// Later requests of the tool loop also get no memory.
func (x *Exchange) WithdrawMemory(ctx context.Context, reason string) retrieve.PromptMemory {
	x.PromptMemory.Block, x.PromptMemory.KeptBlocks, x.PromptMemory.Hits, x.PromptMemory.Core = "", nil, nil, recall.Core{}
	x.recordBlock(BlockRecord{Restart: true})
	x.exchanges.Traces.AddFailure(ctx, x.Incoming.Owner, x.PromptMemory.TraceID, "prompt: "+reason)
	x.CacheBlock("")
	return x.PromptMemory
}
