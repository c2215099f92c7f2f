package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// temporaryChats begin the ids that Open WebUI gives to chats that are not to be kept, those of
// older versions last: memory is read for them, and nothing of them is written, unless their mode
// says so.
var temporaryChats = []string{"temporary:", "local:"}

// channelChats begins the ids of Open WebUI's channels, whose answers are read by everybody there.
const channelChats = "channel:"

// Incoming is a chat request as an API received it.
type Incoming struct {
	Owner  memory.Owner
	Chat   *chatapi.Chat
	Extras chatapi.Extras
	ChatID string         // the conversation as a front end names it, which always resends all of it
	After  string         // id of the turn of the conversation that the request follows, where the client says so
	From   int            // the first message that follows it
	Answer string         // the client's id for the answer, by which a later request may name it; "": it has none
	Once   string         // the client's key for the request: the same again is a retry; "": it has none
	Again  bool           // the client says that it sent the request before
	Own    bool           // whether the chat is kept by Loci itself, whatever its id looks like
	Named  bool           // whether a later request may name the answer by its id: see PlaceOf
	Called string         // what the client calls the owner, for people to read; "": it does not say
	Zone   *time.Location // the client's; nil: it does not say
	Key    string         // the client's own, for the upstream; "": none, or not to be kept
	Note   string         // for the trace, where memory is in the prompt; "": none
	Keep   bool           // whether blocks that earlier requests of the conversation had are put back
	Part   int            // where in the last user message a new block goes, as in [chatapi.Block]
}

// Exchange is one request and its answer on their way into memory. Its methods never fail
// the chat: errors are counted, logged and named in the trace.
type Exchange struct {
	e  *Exchanges
	In Incoming

	wishes     learn.Wishes   // of the last user message
	marks      map[int]string // of the messages that are stored cut, by index: see [core.Core.CutMessages]
	answerMark string         // of an answer that is stored cut

	placing      func() retrieve.Place // waits for what Open finds, which is not written again; what follows is known then, or is not to be
	conversation memory.Conversation
	Deleted      *memory.ConversationMark // of a conversation that was deleted and goes on
	Contexts     []memory.Context         // attached to it
	Rules        string                   // that its user set for it
	request      thread.Request
	alone        string // id of the turn of a message that comes without its history, "" for others
	At           thread.Alignment
	chain        string           // of the last user message's turn, "" without one
	earlier      []earlier        // blocks that the conversation had before
	back         putBack          // the same, as they are put back
	before       memory.Turn      // that one, if the request has results alone
	Placed       bool             // whether it is known where the request belongs
	seen         thread.Alignment // what the client, if it still waited then, may have seen there
	Unplaced     error            // why Open did not find out, though it tried
	unkept       error            // why earlier blocks are not put back
	reads        bool
	unsure       bool // whether the store could not say what is on hold; see heed
	Writes       bool
	learns       bool

	begun    uint64 // epoch for [core.BlockCache.Put]
	Prepared retrieve.Prepared
	given    string        // what the last user turn keeps of its block; "": nothing
	amended  string        // what it got in the end, where that is something else
	Asked    string        // id of the new user turn, "" if there is none to learn from
	again    string        // id of the user turn that was asked again, instead
	stored   []string      // ids of the turns that say its messages, once they are written
	unsaid   []memory.Turn // those to be stored without their words, with them
	private  bool          // whether what the user said last is said in confidence
	moved    []string      // turns that left the path, or came back to it
	parent   string        // id of the turn that the answer follows
	last     string        // id of the turn that whatever goes on from the answer follows
	ended    string        // chain of the answer, "" without one
	Question chan error    // the outcome of RecordQuestion; nil before
	answered chan struct{}
	once     sync.Once // closes answered
	kept     Place     // see Kept
}

// placer finds where the request belongs.
type placer struct{ *Exchange }

// blocks writes the blocks of earlier requests again, and what is attached to the chat.
type blocks struct{ *Exchange }

// recorder stores what was said.
type recorder struct{ *Exchange }

// client returns what a request says of the client: the zero value for what it does not say.
func (in Incoming) client() core.ClientSeen {
	c := core.ClientSeen{Zone: in.Zone, Key: in.Key}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		c.Model = in.Chat.Model
	}
	return c
}

// Open begins to find, in the background, the conversation that a request continues, and
// which of its messages are new; meanwhile [Exchange.Prepare] can search. A request that
// reads no memory is placed by RecordQuestion instead.
func (e *Exchanges) Open(ctx context.Context, in Incoming) *Exchange {
	e.Clients.See(in.Owner, in.client())
	mode := in.Extras.Mode
	if mode == "" && in.temporary() {
		mode = chatapi.ModeRead
	}
	if in.channel() {
		mode = e.Opts.Channels.Mode(mode)
	}
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	pause := e.Paused(ctx, in.Owner)
	if pause == core.PauseMemory {
		mode = chatapi.ModeOff
	}
	x := &Exchange{
		e: e, In: in, back: e.nothingBack(), marks: e.CutMessages(in.Chat), answered: make(chan struct{}), begun: e.Blocks.Now(),
		unsure: pause == core.PauseUnknown,
		reads:  mode != chatapi.ModeWrite && mode != chatapi.ModeOff && pause != core.PauseUnknown,
		Writes: mode != chatapi.ModeRead && mode != chatapi.ModeOff,
		learns: pause == core.PauseNone,
	}
	if err := (foreign{e.Core, in.Owner, x.named()}).mark(ctx, in.Chat); err != nil {
		e.Log.Warn("words that were passed on, or recur, are not known", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.wishes = learn.WishesIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if x.unsure {
		e.Log.Warn("memory is not read: the store could not say in time whether it is paused", "user", in.Owner.Name())
	}
	if !x.reads { // nothing waits for it before the answer does
		cancel()
		x.placing = func() retrieve.Place { return retrieve.Place{} }
		return x
	}
	var place retrieve.Place
	placed := make(chan struct{})
	x.placing = func() retrieve.Place { <-placed; return place }
	e.Background.Go(func() {
		defer close(placed)
		defer cancel()
		x.Unplaced = x.guarded(func() error { return placer{x}.place(ctx, client) })
		if x.Placed && x.In.Keep {
			x.unkept = x.guarded(func() error { return blocks{x}.readBack(ctx) })
		}
		place = retrieve.Place{In: x.conversation.ID, Exclude: x.carries(), Replaced: x.replaces(), Later: x.back.later, Told: x.back.tells, Core: x.back.core, CoreTokens: x.back.coreTokens}
	})
	return x
}

// Settle waits until it is known where the request belongs, or that this is not to be.
func (x *Exchange) Settle() { x.placing() }

// maxTitle is how many letters a title has, and titleBytes how much of the first
// message is looked at for it.
const (
	maxTitle   = 80
	titleBytes = 1 << 10
)

func title(c *chatapi.Chat, personal bool) string {
	for _, m := range c.Messages {
		if m.Role == memory.RoleUser {
			words := []rune(strings.Join(strings.Fields(learn.Redact(core.Clip(m.Text, titleBytes), personal)), " "))
			return string(words[:min(len(words), maxTitle)])
		}
	}
	return ""
}

// Prepare recalls memories for the request. Every step of a tool loop gets the block of its
// user message. It has no error: at the deadline it returns what it has.
func (x *Exchange) Prepare(ctx context.Context) retrieve.Prepared {
	topK := x.In.Extras.TopK
	if !x.reads || (topK != nil && *topK == 0) {
		return retrieve.Prepared{}
	}
	if x.In.Chat.ToolLoop() || x.resultsAlone() {
		x.Settle()
		b, ok := x.e.Blocks.Get(x.In.Owner, x.chain)
		if own := x.back.own; own != nil {
			if b.Text != own.Text { // of another server, before a restart, or of what changed since
				b = core.PinnedBlock{Hits: x.back.hits, Trace: b.Trace}
			}
			b.Text, ok = "", true
		}
		if ok {
			x.Prepared = retrieve.Prepared{Block: b.Text, Kept: x.back.blocks, Hits: b.Hits, Core: b.Core, Trace: b.Trace, Read: true}
			return x.Prepared
		}
	}
	if x.resultsAlone() { // nothing is asked
		return x.Prepared
	}
	p, r, took := x.e.Retrieve.Prepare(ctx, retrieve.Question{
		Scope:          x.scope(),
		Text:           x.e.Retrieve.Question(x.In.Chat),
		Chat:           true,
		Said:           x.Said(),
		TopK:           topK,
		ScoreThreshold: x.In.Extras.ScoreThreshold,
		RecencyWeight:  x.In.Extras.RecencyWeight,
		Budget:         x.e.Opts.Budget,
		Door:           "chat",
		Place:          x.placing, // also for a recall that is too late, while RecordQuestion places anew
		Carries:        len(x.In.Chat.Messages),
		Untold:         x.Hides(),
		Core:           x.read(),
	})
	x.Settle()
	p.Kept = x.back.blocks
	block := ""
	if own := x.back.own; own != nil { // a retry: no more and no less than the first time
		p.Block, p.Hits, p.Core, block = "", x.back.hits, recall.Core{}, own.Text
		r.Hits, r.Opening = p.Hits, p.Core
	} else {
		lines := r.Lines
		if x.Placed {
			var attached []recall.Line
			p.Block, attached = blocks{x}.attachTo(p.Block, x.back.told, x.back.room)
			lines = append(lines, attached...)
		}
		if block = p.Block; x.In.Keep && x.In.Part != chatapi.Unplaced && x.Placed && !x.back.failed && (len(r.Degraded) == 0 || len(lines) > 0) {
			x.given = GivenBlock{Anew: x.back.anew, Part: x.In.Part, Lines: lines}.write(x.In.Owner)
		}
	}
	if x.unkept != nil {
		r.Degraded = append(r.Degraded, x.unkept.Error())
	}
	if x.Unplaced != nil {
		r.Degraded = append(r.Degraded, fmt.Sprintf("conversation: %v", x.Unplaced))
	}
	if x.At.Dropped > 0 {
		r.Degraded = append(r.Degraded, fmt.Sprintf("record: of the new messages the first %d are not kept (limits.messages)", x.At.Dropped))
	}
	if x.In.Note != "" && block != "" {
		r.Degraded = append(r.Degraded, x.In.Note)
	}
	if !x.stores() {
		p.Trace = ""
	}
	x.Prepared = p
	if p.Trace != "" {
		x.e.Background.Go(x.e.Traces.Ring.Later(p.Trace, func() {
			x.yield() // nobody looks yet
			r.TraceSafely(p.Trace, block, took)
		}))
	}
	x.Pin(block)
	return x.Prepared
}

// Pin caches the block by its user message, for the steps of a tool loop, and so that text
// copied from it is recognized and not learned.
func (x *Exchange) Pin(given string) {
	if x.chain != "" {
		x.e.Blocks.Put(core.PinnedBlock{Owner: x.In.Owner, Chain: x.chain, Text: given, Hits: x.Prepared.Hits, Core: x.Prepared.Core, Trace: x.Prepared.Trace}, x.begun)
	}
}

// Shrink halves the block, keeping the best hits, for a prompt that was too long. It is false
// where that gains nothing. Later steps of the tool loop get the smaller block, too.
func (x *Exchange) Shrink(ctx context.Context, why string) (retrieve.Prepared, bool) {
	p, rules, was := x.Prepared, x.e.Retrieve.Rendering(false), len(x.Prepared.Block)
	for _, b := range p.Kept {
		was += len(b.Text)
	}
	p.Core, _ = p.Core.Choose(p.Core.Tokens()/2, nil, x.e.Now())
	p.Hits, p.Kept = p.Hits[:len(p.Hits)/2], nil
	block := recall.Render(p.Core, p.Hits, rules)
	p.Block = block.Text
	lines := block.Lines
	if x.Placed {
		var attached []recall.Line
		p.Block, attached = blocks{x}.attachTo(p.Block, nil, cmp.Or(x.e.Opts.Recall.Contexts, recall.DefaultContextBudget)/2)
		lines = append(lines, attached...)
	}
	if p.Block == "" || len(p.Block) >= was {
		return p, false
	}
	text, part := p.Block, x.In.Part
	if own := x.back.own; own != nil {
		part = own.Part
		p.Block, p.Kept = "", []chatapi.Block{{Text: text, Message: own.Message, Part: part}}
	}
	x.Prepared = p
	x.amend(GivenBlock{Anew: true, Part: part, Lines: lines})
	x.e.Traces.Amend(ctx, x.In.Owner, p.Trace, func(t *memory.Trace) {
		t.Degraded = append(slices.Clone(t.Degraded), "prompt: "+why)
		if !p.Untold {
			t.Block = text
		}
	})
	x.Pin(text)
	return p, true
}

// amend notes the block that the last user turn got in the end, for later requests.
func (x *Exchange) amend(g GivenBlock) {
	if x.In.Keep && g.Part != chatapi.Unplaced {
		x.amended = g.write(x.In.Owner)
	}
}

// Withdraw notes that the upstream refused the request with memory and got it without.
// Later steps of its tool loop get no memory either.
func (x *Exchange) Withdraw(ctx context.Context, why string) retrieve.Prepared {
	x.Prepared.Block, x.Prepared.Kept, x.Prepared.Hits, x.Prepared.Core = "", nil, nil, recall.Core{}
	x.amend(GivenBlock{Anew: true})
	x.e.Traces.Degrade(ctx, x.In.Owner, x.Prepared.Trace, "prompt: "+why)
	x.Pin("")
	return x.Prepared
}
