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
func (x *Exchange) Prepare(ctx context.Context) retrieve.Prepared {
	topK := x.In.Extras.TopK
	if !x.mode.reads || (topK != nil && *topK == 0) {
		return retrieve.Prepared{}
	}
	if x.In.Chat.ToolLoop() || x.resultsAlone() {
		if p, ok := x.pinned(); ok || x.resultsAlone() { // without a question there is no search
			x.Prepared = p
			return p
		}
	}
	scope := memory.Scope{Owner: x.In.Owner, Project: x.In.Extras.Project}
	if x.e.Retrieve.Apart() {
		scope.Conversation = x.named()
	}
	p, r, took := x.e.Retrieve.Prepare(ctx, retrieve.Question{
		Scope:          scope,
		Text:           x.e.Retrieve.Question(x.In.Chat),
		Chat:           true,
		Messages:       x.Texts(),
		TopK:           topK,
		ScoreThreshold: x.In.Extras.ScoreThreshold,
		RecencyWeight:  x.In.Extras.RecencyWeight,
		Budget:         x.e.Opts.Budget,
		Door:           "chat",
		Place:          x.retrievePlace,
		Carries:        len(x.In.Chat.Messages),
		TextlessTrace:  x.Redacts(),
		Core:           x.read(),
	})
	at := x.Placed()
	p.Kept = at.back.blocks
	block := ""
	if own := at.back.own; own != nil { // a retry gets the memories of the first attempt
		p.Block, p.Hits, p.Core, block = "", at.back.hits, recall.Core{}, own.Text
		r.Hits, r.Opening = p.Hits, p.Core
	} else {
		var attached []recall.Line
		p.Block, attached = at.attachTo(p.Block, at.back.shown, at.back.room)
		block = p.Block
		lines := append(r.Lines, attached...)
		if at.Found() && at.unkept == nil && (len(r.Degraded) == 0 || len(lines) > 0) {
			x.recordBlock(GivenBlock{Restart: at.back.restart, Part: x.In.Part, Lines: lines})
		}
	}
	if at.unkept != nil {
		r.Degraded = append(r.Degraded, at.unkept.Error())
	}
	if at.Err != nil {
		r.Degraded = append(r.Degraded, fmt.Sprintf("conversation: %v", at.Err))
	}
	if at.At.Dropped > 0 {
		r.Degraded = append(r.Degraded, fmt.Sprintf("record: the first %d of the new messages are not stored (limits.messages)", at.At.Dropped))
	}
	if x.In.Note != "" && block != "" {
		r.Degraded = append(r.Degraded, x.In.Note)
	}
	if !x.stores() {
		p.Trace = ""
	}
	x.Prepared = p
	if p.Trace != "" {
		r.Part("trace", func() { r.Trace(p.Trace, block, took) })
	}
	x.Pin(block)
	return p
}

// cachedBlock returns the block of a tool loop's user message, if the cache has it.
func (x *Exchange) pinned() (p retrieve.Prepared, ok bool) {
	at := x.Placed()
	b, ok := x.e.Blocks.Get(x.In.Owner, at.asked.Chain)
	if own := at.back.own; own != nil {
		if b.Text != own.Text { // from another server or before a restart, or outdated
			b = core.PinnedBlock{Hits: at.back.hits, Trace: b.Trace}
		}
		b.Text, ok = "", true
	}
	if !ok {
		return p, false
	}
	return retrieve.Prepared{Block: b.Text, Kept: at.back.blocks, Hits: b.Hits, Core: b.Core, Trace: b.Trace, Read: true}, true
}

// chatState waits for the chat's placement, and returns it with the content of earlier blocks.
func (x *Exchange) retrievePlace() retrieve.Place {
	p := x.Placed()
	exclude, replaced := map[string]bool{}, map[string]bool{}
	for i, id := range p.At.Turns {
		if id != "" && (x.read() || i >= x.In.Chat.LastUser()) { // for loci/recall, only the question is excluded
			exclude[id] = true
		}
	}
	for _, id := range p.At.Leave {
		exclude[id], replaced[id] = true, true
	}
	return retrieve.Place{
		In: p.conversation.ID, Exclude: exclude, Replaced: replaced,
		Later: p.back.later, Shown: p.back.hasLine, Core: p.back.core, CoreTokens: p.back.coreTokens,
	}
}

// modelReadsChat reports whether a model reads the chat's text. Model loci/recall does not: it answers
// from memory.
func (x *Exchange) read() bool {
	return x.e.Opts.Recall.Read && x.In.Chat.Model != memory.RecallModel
}

// RequestTexts returns the request's messages, which recall must not repeat, if a model reads them.
func (x *Exchange) Texts() []string {
	if !x.read() {
		return nil
	}
	var texts []string
	for _, m := range x.In.Chat.Messages {
		texts = append(texts, m.Text)
	}
	return texts
}

// Attachments returns the fenced documents attached to the conversation, and its rules. Both are "" if
// they could not be read. Call it before recording.
func (x *Exchange) Attachments() (contexts, rules string) {
	p := x.Placed()
	contexts = recall.WithContexts("", p.contexts, x.e.Opts.Recall.Contexts)
	x.Pin(WithRules(contexts, p.rules)) // learning then ignores answers that repeat the block
	return contexts, p.rules
}

// CacheBlock caches the block of the user message for later requests of a tool loop. Learning also uses
// it to recognize text copied from the block.
func (x *Exchange) Pin(block string) {
	if chain := x.Placed().asked.Chain; chain != "" {
		x.e.Blocks.Put(core.PinnedBlock{Owner: x.In.Owner, Chain: chain, Text: block, Hits: x.Prepared.Hits, Core: x.Prepared.Core, Trace: x.Prepared.Trace}, x.blockEpoch)
	}
}

// recordBlock records the block sent with the request, for later requests.
func (x *Exchange) recordBlock(g GivenBlock) {
	if x.In.Keep && g.Part != chatapi.Unplaced {
		x.sentBlock = g.write(x.In.Owner)
	}
}

// ShrinkPrompt halves the block, with the best hits, for a prompt that was too long. It returns false if
// the block cannot get smaller. Later requests of the tool loop also get the smaller block.
func (x *Exchange) Shrink(ctx context.Context, why string) (retrieve.Prepared, bool) {
	p, at, was := x.Prepared, x.Placed(), len(x.Prepared.Block)
	for _, b := range p.Kept {
		was += len(b.Text)
	}
	p.Core, _ = p.Core.Choose(p.Core.Tokens()/2, nil, x.e.Now())
	p.Hits, p.Kept = p.Hits[:len(p.Hits)/2], nil
	block := recall.Render(p.Core, p.Hits, x.e.Retrieve.Rendering(false))
	text, attached := at.attachTo(block.Text, nil, cmp.Or(x.e.Opts.Recall.Contexts, recall.DefaultContextBudget)/2)
	if text == "" || len(text) >= was {
		return p, false
	}
	part := x.In.Part
	if own := at.back.own; own == nil {
		p.Block = text
	} else {
		part = own.Part
		p.Block, p.Kept = "", []chatapi.Block{{Text: text, Message: own.Message, Part: part}}
	}
	x.Prepared = p
	x.recordBlock(GivenBlock{Restart: true, Part: part, Lines: append(block.Lines, attached...)})
	x.e.Traces.Amend(ctx, x.In.Owner, p.Trace, func(t *memory.Trace) {
		t.Degraded = append(slices.Clone(t.Degraded), "prompt: "+why)
		if !p.TextlessTrace {
			t.Block = text
		}
	})
	x.Pin(text)
	return p, true
}

// WithdrawMemory records that the upstream refused the request with memory and accepted it without memory.
// Later requests of the tool loop also get no memory.
func (x *Exchange) Withdraw(ctx context.Context, why string) retrieve.Prepared {
	x.Prepared.Block, x.Prepared.Kept, x.Prepared.Hits, x.Prepared.Core = "", nil, nil, recall.Core{}
	x.recordBlock(GivenBlock{Restart: true})
	x.e.Traces.Degrade(ctx, x.In.Owner, x.Prepared.Trace, "prompt: "+why)
	x.Pin("")
	return x.Prepared
}
