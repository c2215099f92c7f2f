package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/dialog"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

const (
	// windowTurns is how much of a named conversation, which may never end, a
	// request is laid on.
	windowTurns = 500

	// shortlist is how many conversations that begin like the request are read.
	shortlist = 8
)

// temporary begins the name that Open WebUI gives to a chat which is not to be
// kept: memory is read for it, and nothing of it is written, unless its mode says so.
const temporary = "local:"

// Incoming is a chat request as a door received it.
type Incoming struct {
	Owner  memory.Owner
	Chat   *wire.Chat
	Extras wire.Extras
	ChatID string // the conversation as a front end names it, which always resends all of it
	After  string // id of the turn of the conversation Extras.ID that the request follows, where the client says so
	Named  bool   // whether a later request may name the answer by its id: see PlaceOf
}

// Exchange is one request and its answer on their way into memory. Its methods
// never fail the chat: what goes wrong is counted, logged and named in the trace.
type Exchange struct {
	e  *Engine
	in Incoming

	start        func()          // begins to place the request; again it does nothing
	placing      chan struct{}   // closed once the rest of these is known
	here         string          // the conversation as Open found it, "" if it did not, and
	carried      map[string]bool // what the request holds of it; both are not written again
	conversation memory.Conversation
	deleted      *memory.ConversationMark // of a conversation that was deleted and goes on
	contexts     []memory.Context         // attached to it
	rules        string                   // that its user set for it
	mode         dialog.Mode
	at           dialog.Alignment
	chain        string           // of the last user message's turn, "" without one
	before       memory.Turn      // that one, if the request has results alone
	placed       bool             // whether it is known where the request belongs
	seen         dialog.Alignment // what the client, if it still waited then, may have seen there
	unplaced     error            // why Open did not find out, though it tried
	reads        bool
	unsure       bool // whether the store could not say what is on hold; see heed
	writes       bool
	learns       bool

	begun    uint64 // what [blockCache.put] wants to hear
	prepared Prepared
	untold   bool          // whether its trace has no words
	asked    string        // id of the new user turn, "" if there is none to learn from
	again    string        // id of the user turn that was asked again, instead
	stored   []string      // ids of the turns that say its messages, once they are written
	unsaid   []memory.Turn // those to be stored without their words, with them
	private  bool          // whether what the user said last is said in confidence
	moved    []string      // turns that left the path, or came back to it
	parent   string        // id of the turn that the answer follows
	last     string        // id of the turn that whatever goes on from the answer follows
	question chan error    // the outcome of RecordQuestion; nil before
	answered chan struct{}
	once     sync.Once // closes answered
	kept     Place     // see Kept
}

// Open begins to find the conversation that a request continues and which of its
// messages are new: a search for what matters to it goes on meanwhile. Without one
// that is left to RecordQuestion.
func (e *Engine) Open(ctx context.Context, in Incoming) *Exchange {
	mode := in.Extras.Mode
	if mode == "" && in.temporary() {
		mode = wire.ModeRead
	}
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, e.opts.Deadline)
	pause := e.Paused(ctx, in.Owner)
	if pause == PauseMemory {
		mode = wire.ModeOff
	}
	x := &Exchange{
		e: e, in: in, placing: make(chan struct{}), answered: make(chan struct{}), begun: e.blocks.now(),
		unsure: pause == PauseUnknown,
		reads:  mode != wire.ModeWrite && mode != wire.ModeOff && pause != PauseUnknown,
		writes: mode != wire.ModeRead && mode != wire.ModeOff,
		learns: pause == PauseNone,
	}
	if x.unsure {
		e.Log.Warn("memory is not read: the store could not say in time whether it is paused", "user", in.Owner.Name())
	}
	if !x.reads { // nothing waits for it before the answer does
		cancel()
		close(x.placing)
		x.start = func() {}
		return x
	}
	x.start = sync.OnceFunc(func() {
		e.background.Go(func() {
			defer cancel()
			defer close(x.placing)
			x.unplaced = x.guarded(func() error { return x.place(ctx) })
			x.see(client)
			x.here, x.carried = x.conversation.ID, x.carries()
		})
	})
	if !x.searchesFirst() {
		x.start()
	}
	return x
}

// settle waits until it is known where the request belongs, or that it is not.
func (x *Exchange) settle() {
	x.start()
	<-x.placing
}

// besideSearcher is a searcher that begins something else once it has what it needs: see
// [index.Index.Beside].
type besideSearcher interface {
	Beside(ctx context.Context, begin func()) context.Context
}

// searchesFirst reports whether a search for the request comes before anybody waits for
// its place, and soon: then the search begins to place it.
func (x *Exchange) searchesFirst() bool {
	topK, rules := x.in.Extras.TopK, x.e.opts.Recall
	_, ok := x.e.Searcher.(besideSearcher)
	return ok && ofWords(x.e.Embedder) && (topK == nil || *topK > 0) && !x.in.Chat.ToolLoop() &&
		rules.SmallSet == 0 && rules.Reach != ReachConversation && !x.e.apart()
}

// see notes what the conversation was when the request was laid on it, if the client was
// there still.
func (x *Exchange) see(client context.Context) {
	if client.Err() == nil {
		x.seen = x.at
	}
}

// place chooses the conversation and lays the request on it.
func (x *Exchange) place(ctx context.Context) error {
	id, resent := x.named()
	x.mode = dialog.Window
	if resent {
		x.mode = dialog.Resend
	}
	known, err := x.known(ctx, id)
	if err != nil {
		return err
	}
	if id = cmp.Or(id, known.Conversation.ID); id == "" {
		id = newID()
	}
	if err := x.attach(ctx, known.Conversation); err != nil {
		return err
	}
	turns, now := known.Turns, x.e.now()
	x.conversation = memory.Conversation{
		ID: id, Owner: x.in.Owner, Project: x.in.Extras.Project, CreatedAt: now, UpdatedAt: now,
	}
	if len(turns) == 0 {
		x.conversation.Title = title(x.in.Chat, x.e.opts.Learn.Personal)
	}
	x.at = x.align(turns)
	if x.chain = chainOf(x.at, turns, x.in.Chat.LastUser()); x.resultsAlone() {
		x.before = askedBefore(turns, x.at.Parent)
		x.chain = x.before.Chain
	}
	x.placed = true
	return nil
}

// align lays the request on the turns of its conversation.
func (x *Exchange) align(turns []memory.Turn) dialog.Alignment {
	if x.in.After != "" {
		return dialog.Follow(turns, x.in.Chat.Messages, x.in.After)
	}
	return dialog.Align(turns, x.in.Chat.Messages, x.mode)
}

// known returns what is stored of the conversation that the request names or, if id
// is "", of the one that it continues: nothing of a new one.
func (x *Exchange) known(ctx context.Context, id string) (dialog.Candidate, error) {
	if id == "" {
		return x.choose(ctx)
	}
	turns, err := x.branches(ctx, id)
	if err != nil {
		return dialog.Candidate{}, err
	}
	page, err := x.e.Store.Conversations(ctx, x.in.Owner, memory.ConversationQuery{IDs: []string{id}})
	if err != nil || len(page.Conversations) == 0 {
		return dialog.Candidate{Turns: turns}, err
	}
	return dialog.Candidate{Conversation: page.Conversations[0], Turns: turns}, nil
}

// attach reads what is attached to the stored conversation and its rules, and notes
// whether that was deleted.
func (x *Exchange) attach(ctx context.Context, known memory.Conversation) (err error) {
	if x.deleted = nil; known.Status == memory.Retired {
		mark := known.Mark()
		x.deleted = &mark
		return nil
	}
	x.rules = known.Rules
	x.contexts, err = x.e.contextsNamed(ctx, x.in.Owner, known.Contexts)
	return err
}

// comesBack returns the change by which a conversation that was deleted and goes on is
// there again, without what was said in it before.
func (x *Exchange) comesBack() []memory.Change {
	if x.deleted == nil {
		return nil
	}
	return goesOn(*x.deleted, 0)
}

// goesOn returns the change that brings a conversation back which was deleted. base is as
// in [memory.Change].
func goesOn(mark memory.ConversationMark, base int64) []memory.Change {
	mark.Status = memory.Active
	return []memory.Change{{
		Action: memory.ActionRestore, After: memory.Image{Conversation: &mark}, Base: base, Reason: "the chat goes on", Author: byDialog,
	}}
}

// chainOf returns the chain of a message's turn, stored or new.
func chainOf(at dialog.Alignment, turns []memory.Turn, message int) string {
	if message < 0 {
		return ""
	}
	for _, t := range turns {
		if t.ID == at.Turns[message] {
			return t.Chain
		}
	}
	for _, p := range at.New {
		if p.Message == message {
			return p.Chain
		}
	}
	return ""
}

// askedBefore returns the last turn of the user on the path to a turn, the zero Turn
// without one.
func askedBefore(turns []memory.Turn, id string) memory.Turn {
	for range turns {
		i := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == id })
		if i < 0 {
			break
		}
		if turns[i].Role == memory.RoleUser {
			return turns[i]
		}
		id = turns[i].Parent
	}
	return memory.Turn{}
}

// resultsAlone reports whether the request holds no words of the user: they went before,
// to a server that keeps them.
func (x *Exchange) resultsAlone() bool { return x.in.Chat.LastUser() < 0 }

// branches returns a conversation's turns, those of every branch; of a named one,
// which may never end, the last.
func (x *Exchange) branches(ctx context.Context, id string) ([]memory.Turn, error) {
	q := memory.TurnQuery{Conversation: id, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}}
	if x.mode == dialog.Window {
		q.Last = windowTurns
	}
	return x.e.Store.Turns(ctx, x.in.Owner, q)
}

// choose finds the conversation that a request without a name continues, nothing if it
// begins one.
func (x *Exchange) choose(ctx context.Context) (dialog.Candidate, error) {
	msgs := x.in.Chat.Messages
	if telling := dialog.Telling(msgs); len(telling) > 0 {
		if known, err := x.chosen(ctx, telling); err != nil || known.Conversation.ID != "" {
			return known, err
		}
	}
	return x.chosen(ctx, dialog.Chains(msgs))
}

// chosen finds the conversation among those that hold one of these chains, nothing if
// it is none of them.
func (x *Exchange) chosen(ctx context.Context, chains []string) (dialog.Candidate, error) {
	msgs := x.in.Chat.Messages
	known, err := x.e.Store.Turns(ctx, x.in.Owner, memory.TurnQuery{Chains: chains})
	if err != nil || len(known) == 0 {
		return dialog.Candidate{}, err
	}
	ids := dialog.Shortlist(known, shortlist)
	page, err := x.e.Store.Conversations(ctx, x.in.Owner, memory.ConversationQuery{IDs: ids})
	if err != nil {
		return dialog.Candidate{}, err
	}
	cands := make([]dialog.Candidate, 0, len(ids))
	for _, c := range page.Conversations {
		branches, err := x.branches(ctx, c.ID)
		if err != nil {
			return dialog.Candidate{}, err
		}
		cands = append(cands, dialog.Candidate{Conversation: c, Turns: branches})
	}
	if i := dialog.Choose(cands, msgs, x.e.now()); i >= 0 {
		return cands[i], nil
	}
	return dialog.Candidate{}, nil
}

// maxTitle is how many letters a title has, and titleBytes how much of the first
// message is looked at for it.
const (
	maxTitle   = 80
	titleBytes = 1 << 10
)

func title(c *wire.Chat, personal bool) string {
	for _, m := range c.Messages {
		if m.Role == memory.RoleUser {
			words := []rune(strings.Join(strings.Fields(learn.Redact(clip(m.Text, titleBytes), personal)), " "))
			return string(words[:min(len(words), maxTitle)])
		}
	}
	return ""
}

// Prepared is what memory has to say to a request.
type Prepared struct {
	Block string // to put into the prompt, with the conversation's rules before it; "" for nothing
	Hits  []memory.Hit
	Core  recall.Core // pinned facts and profile entries that the block begins with, less what is among Hits
	Trace string      // "" where not even that is kept
	Read  bool        // whether memory was asked
}

// Prepare recalls what matters for the request. Every step of a tool loop gets
// what its user message was given. It has no error: within its deadline it
// returns what there is.
func (x *Exchange) Prepare(ctx context.Context) Prepared {
	topK := x.in.Extras.TopK
	if !x.reads || (topK != nil && *topK == 0) {
		return Prepared{}
	}
	if x.in.Chat.ToolLoop() || x.resultsAlone() {
		x.settle()
		if b, ok := x.e.blocks.get(x.in.Owner, x.chain); ok {
			x.prepared = Prepared{Block: b.text, Hits: b.hits, Core: b.core, Trace: b.trace, Read: true}
			return x.prepared
		}
	}
	if x.resultsAlone() { // nothing is asked
		return x.prepared
	}
	p, r, took := x.e.prepare(ctx, Question{
		Scope:          x.scope(),
		Text:           x.e.question(x.in.Chat),
		Said:           x.said(),
		TopK:           topK,
		ScoreThreshold: x.in.Extras.ScoreThreshold,
		RecencyWeight:  x.in.Extras.RecencyWeight,
		Budget:         x.e.opts.Budget,
		Door:           "chat",
		Place:          x.start,
		Placed: func() (string, map[string]bool) { // also for a recall that is too late, while RecordQuestion places anew
			x.settle()
			return x.here, x.carried
		},
		Carries: len(x.in.Chat.Messages),
		Untold:  x.hides(),
	})
	x.settle()
	if x.placed {
		p.Block = withRules(recall.WithContexts(p.Block, x.contexts, x.e.opts.Recall.Contexts), x.rules)
	}
	if x.unplaced != nil {
		r.degraded = append(r.degraded, fmt.Sprintf("conversation: %v", x.unplaced))
	}
	if !x.stores() {
		p.Trace = ""
	}
	x.prepared, x.untold = p, r.untold()
	if p.Trace != "" {
		x.e.background.Go(x.e.traces.later(p.Trace, func() {
			x.yield() // nobody looks yet
			r.traceSafely(p.Trace, p.Block, took)
		}))
	}
	x.pin(p.Block)
	return x.prepared
}

// withRules puts the rules of a conversation before its block. They stand outside the
// fence: what is in it is data, and rules are what the user wants followed. Equal rules
// give equal bytes, whatever memory adds behind them.
func withRules(block, rules string) string {
	if rules == "" {
		return block
	}
	return strings.TrimSpace("The user's rules for this chat, which you follow:\n\n" + rules + "\n\n" + block)
}

// pin keeps what the request was given beside its user message: for the steps of a tool
// loop, and so that it is known again and not learned when it comes back.
func (x *Exchange) pin(given string) {
	if x.chain != "" {
		x.e.blocks.put(pinnedBlock{owner: x.in.Owner, chain: x.chain, text: given, hits: x.prepared.Hits, core: x.prepared.Core, trace: x.prepared.Trace}, x.begun)
	}
}

// Withdraw says that the upstream refused the request with memory in it and got
// it without. The steps of its tool loop, should there be one, go without as well.
func (x *Exchange) Withdraw(ctx context.Context, why string) Prepared {
	x.prepared.Block, x.prepared.Hits, x.prepared.Core = "", nil, recall.Core{}
	x.e.degrade(ctx, x.in.Owner, x.prepared.Trace, "prompt: "+why)
	x.pin("")
	return x.prepared
}
