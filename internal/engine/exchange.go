package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/dialog"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

const (
	// recordTime is how long a chat waits for its turns to be stored (SPEC 3.1), and
	// storeTime how long storing them may go on after the chat went on without.
	recordTime = 2 * time.Second
	storeTime  = 15 * time.Second

	// learnGrace is when the user's turn is learned from if the exchange never
	// comes to its end: the upstream or this process died.
	learnGrace = 2 * time.Minute

	// courtesy is how long what is told and stored of the question leaves the processors
	// to the first byte: an answer that takes longer is still being thought about.
	courtesy = 2 * time.Millisecond

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
}

// Exchange is one request and its answer on their way into memory. Its methods
// never fail the chat: what goes wrong is counted, logged and named in the trace.
type Exchange struct {
	e  *Engine
	in Incoming

	placing      chan struct{}   // closed once the rest of these is known
	here         string          // the conversation as Open found it, "" if it did not, and
	carried      map[string]bool // what the request holds of it; both are not written again
	conversation memory.Conversation
	deleted      *memory.ConversationMark // of a conversation that was deleted and goes on
	contexts     []memory.Context         // attached to it
	rules        string                   // that its user set for it
	mode         dialog.Mode
	at           dialog.Alignment
	chain        string // of the last user message's turn, "" without one
	placed       bool   // whether it is known where the request belongs
	waited       bool   // whether the client still did then, so that it may have seen what stood there
	unplaced     error  // why Open did not find out, though it tried
	reads        bool
	unsure       bool // whether the store could not say what is on hold; see heed
	writes       bool
	learns       bool

	begun    uint64 // what [blockCache.put] wants to hear
	prepared Prepared
	untold   bool          // whether its trace has no words
	asked    string        // id of the new user turn, "" if there is none to learn from
	again    string        // id of the user turn that was asked again, instead
	unsaid   []memory.Turn // those to be stored without their words, with them
	private  bool          // whether what the user said last is said in confidence
	moved    []string      // turns that left the path, or came back to it
	parent   string        // id of the turn that the answer follows
	question chan error    // the outcome of RecordQuestion; nil before
	answered chan struct{}
	once     sync.Once // closes answered
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
		return x
	}
	e.background.Go(func() {
		defer cancel()
		defer close(x.placing)
		x.unplaced = x.guarded(func() error { return x.place(ctx) })
		x.waited = client.Err() == nil
		x.here, x.carried = x.conversation.ID, carried(x.at)
	})
	return x
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
	x.at = dialog.Align(turns, x.in.Chat.Messages, x.mode)
	x.chain = chainOf(x.at, turns, x.in.Chat.LastUser())
	x.placed = true
	return nil
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
	mark := *x.deleted
	mark.Status = memory.Active
	return []memory.Change{{Action: memory.ActionRestore, After: memory.Image{Conversation: &mark}, Reason: "the chat goes on", Author: byDialog}}
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
	Trace string // "" where not even that is kept
	Read  bool   // whether memory was asked
}

// Prepare recalls what matters for the request. Every step of a tool loop gets
// what its user message was given. It has no error: within its deadline it
// returns what there is.
func (x *Exchange) Prepare(ctx context.Context) Prepared {
	topK := x.in.Extras.TopK
	if !x.reads || (topK != nil && *topK == 0) {
		return Prepared{}
	}
	if x.in.Chat.ToolLoop() {
		<-x.placing
		if b, ok := x.e.blocks.get(x.in.Owner, x.chain); ok {
			x.prepared = Prepared{Block: b.text, Hits: b.hits, Trace: b.trace, Read: true}
			return x.prepared
		}
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
		Placed: func() (string, map[string]bool) { // also for a recall that is too late, while RecordQuestion places anew
			<-x.placing
			return x.here, x.carried
		},
		Carries: len(x.in.Chat.Messages),
		Untold:  x.hides(),
	})
	<-x.placing
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
		x.e.blocks.put(pinnedBlock{owner: x.in.Owner, chain: x.chain, text: given, hits: x.prepared.Hits, trace: x.prepared.Trace}, x.begun)
	}
}

// Withdraw says that the upstream refused the request with memory in it and got
// it without. The steps of its tool loop, should there be one, go without as well.
func (x *Exchange) Withdraw(ctx context.Context, why string) Prepared {
	x.prepared.Block, x.prepared.Hits = "", nil
	x.e.degrade(ctx, x.in.Owner, x.prepared.Trace, "prompt: "+why)
	x.pin("")
	return x.prepared
}

// carried is what a request holds already and recall must not repeat.
func carried(at dialog.Alignment) map[string]bool {
	out := map[string]bool{}
	for _, id := range at.Turns {
		if id != "" {
			out[id] = true
		}
	}
	return out
}

// RecordQuestion stores the request's new messages beside the upstream call, with
// the job that will learn from them should the exchange never come to its end; of a
// stream once it is [Exchange.Answered], or soon. Where Open did not find out in
// time where they belong, there is time now.
func (x *Exchange) RecordQuestion(ctx context.Context) {
	x.question = make(chan error, 1)
	if !x.stores() {
		x.question <- nil
		return
	}
	client := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	x.e.background.Go(func() {
		defer cancel()
		if x.in.Chat.Stream {
			x.yield()
		}
		<-x.placing
		x.question <- x.guarded(func() error {
			if err := x.heed(ctx); err != nil {
				return err
			}
			if !x.placed {
				if err := x.place(ctx); err != nil {
					return err
				}
				x.waited = client.Err() == nil
			}
			return x.storeQuestion(ctx)
		})
	})
}

// Answered says that the first of the answer is on its way to the client. It may be
// called again, or not at all.
func (x *Exchange) Answered() { x.once.Do(func() { close(x.answered) }) }

// yield waits until the exchange is answered, or courtesy ends.
func (x *Exchange) yield() {
	wait := time.NewTimer(courtesy)
	defer wait.Stop()
	select {
	case <-x.answered:
	case <-wait.C:
	}
}

func (x *Exchange) storeQuestion(ctx context.Context) error {
	now := x.e.now()
	batch := memory.Batch{Conversation: x.conversation, Run: newID(), Marks: marks(x.at.Leave, x.at.Rejoin)}
	x.parent = x.at.Parent
	for _, p := range x.at.New {
		m := x.in.Chat.Messages[p.Message]
		t := x.turn(m.Role, m.Name, m.Text, p.Index, p.Chain, now)
		t.NoLearn = p.History || !x.learns
		batch.Turns = append(batch.Turns, t)
		if m.Role == memory.RoleUser && !p.History {
			x.asked = t.ID
		}
	}
	if x.hides() {
		batch.Marks = nil
	}
	if len(x.unsaid) > 0 {
		batch.Conversation.Title = ""
	}
	if len(batch.Turns) == 0 && len(batch.Marks) == 0 {
		return nil
	}
	batch.Marks = append(batch.Marks, x.comesBack()...)
	x.moved = slices.Concat(x.at.Leave, x.at.Rejoin)
	if err := x.hideForgotten(ctx, batch.Turns); err != nil {
		return err
	}
	var err error
	if batch.Jobs, err = x.asksToLearn(ctx, now); err != nil {
		return err
	}
	if err := x.append(ctx, batch); err != nil {
		return err
	}
	if x.e.opts.LearnAfter == AfterUser {
		x.e.Wake()
	}
	return nil
}

// turn makes the next turn of the path; secrets do not reach the disk. Its id is
// that of its place and words, so that two requests at once that say the same
// store it once.
func (x *Exchange) turn(role memory.Role, name, words string, index int, chain string, now time.Time) memory.Turn {
	t := memory.Turn{
		ID: derivedID(x.in.Owner, x.conversation.ID, x.parent, chain), Owner: x.in.Owner, Conversation: x.conversation.ID, Project: x.conversation.Project,
		Index: index, Parent: x.parent, Chain: chain, Role: role, Name: name,
		Content: learn.Redact(words, x.e.opts.Learn.Personal), Status: memory.Active, CreatedAt: now,
	}
	x.parent = t.ID
	if x.hides() || x.inConfidence(role, words) {
		x.unsaid = append(x.unsaid, t)
		return hidden(t)
	}
	return t
}

func marks(leave, rejoin []string) []memory.Change {
	var out []memory.Change
	author := memory.Author{Kind: memory.ByRule, Name: "dialog"}
	for _, id := range leave {
		out = append(out, memory.Change{Action: memory.ActionUpdate, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Replaced}}, Reason: "edited or regenerated", Author: author})
	}
	for _, id := range rejoin {
		out = append(out, memory.Change{Action: memory.ActionRestore, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Active}}, Reason: "continued from here", Author: author})
	}
	return out
}

func (x *Exchange) append(ctx context.Context, batch memory.Batch) error {
	err := x.bury(ctx)
	if err != nil {
		return err
	}
	if batch.Vectors, err = x.e.turnVectors(ctx, batch.Turns); err != nil {
		return err
	}
	_, err = x.e.Store.Append(ctx, x.in.Owner, batch)
	return err
}

// RecordAnswer stores the answer with the job that learns from the exchange, and
// returns when both are safe. An empty answer, from an upstream that gave none,
// stores nothing and lets the question be learned from. It waits at most two
// seconds; then the exchange counts as not recorded and the chat goes on.
//
// The context is the client's. Where it has ended the answer, or what was said of it so
// far, is stored all the same, since a client that hangs up leaves that. But who waits no
// more may have asked again, of another server too: an answer that was not there when the
// client asked here keeps its place, and this one is kept beside it, off the path, as if
// the two had been stored in the order in which they were asked for.
func (x *Exchange) RecordAnswer(ctx context.Context, a wire.Answer) {
	if !x.stores() || x.question == nil {
		return
	}
	x.Answered() // if it never was
	client := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	stored := make(chan error, 1)
	x.e.background.Go(func() {
		defer cancel()
		if err := <-x.question; err != nil {
			stored <- fmt.Errorf("record the question: %w", err)
			return
		}
		err := x.guarded(func() error { return x.storeAnswer(ctx, a, client) })
		stored <- err
		if err == nil {
			x.e.warm(x.in.Owner) // after the chat may go on
		}
	})
	wait := time.NewTimer(recordTime)
	defer wait.Stop()
	select {
	case err := <-stored:
		if err != nil {
			x.failed(ctx, err)
		}
	case <-wait.C:
		x.failed(ctx, fmt.Errorf("storing the exchange took longer than %v", recordTime))
	}
}

// aligned lays the request on its conversation as it is now, with the question and
// with what another request has stored meanwhile.
func (x *Exchange) aligned(ctx context.Context) (dialog.Alignment, error) {
	turns, err := x.branches(ctx, x.conversation.ID)
	if err != nil {
		return dialog.Alignment{}, err
	}
	return dialog.Align(turns, x.in.Chat.Messages, x.mode), nil
}

// storeAnswer stores the answer; client is the context of who may wait for it.
func (x *Exchange) storeAnswer(ctx context.Context, a wire.Answer, client context.Context) error {
	leave, err := x.e.writes.enter(ctx, x.in.Owner, x.conversation.ID)
	if err != nil {
		return err
	}
	defer leave()
	if err := x.heed(ctx); err != nil {
		return err
	}
	now := x.e.now()
	batch := memory.Batch{Conversation: x.conversation, Run: newID()}
	exchanges, onPath := 0, true
	if !a.Empty() {
		used := recall.Used(x.in.Chat.Question(1), a.Text, x.prepared.Hits)
		x.e.Metrics.Retrieved(len(x.prepared.Hits), len(used))
		x.e.used.add(x.in.Owner, used)
		at, err := x.aligned(ctx)
		if err != nil {
			return err
		}
		reply := at.Answer(a.Digest)
		x.parent, x.private = at.Parent, x.asksInConfidence()
		var seen dialog.Alignment
		if x.waited {
			seen = x.at
		}
		if onPath = client.Err() == nil || !at.Overtaken(seen); onPath {
			batch.Marks = marks(reply.Leave, reply.Rejoin)
			x.moved = slices.Concat(x.moved, reply.Leave, reply.Rejoin)
		}
		exchanges = (reply.Index + 1) / 2
		if reply.Known == "" && (onPath || len(at.New) == 0) { // beside what, if its question is not found?
			name := ""
			if a.Model == memory.RecallModel {
				name = memory.RecallModel
			}
			t := x.turn(memory.RoleAssistant, name, a.Text, reply.Index, reply.Chain, now)
			if !onPath && t.Status == memory.Active {
				t.Status = memory.Replaced
			}
			batch.Turns = []memory.Turn{t}
		}
	}
	if x.asked == "" && len(batch.Turns) > 0 && onPath {
		// Asked again: the first try may have died before its answer was recorded, or
		// this is another answer.
		x.again, x.moved = x.at.Turns[x.in.Chat.LastUser()], append(x.moved, batch.Turns[0].ID)
	}
	if batch.Jobs, err = x.endToLearn(ctx, exchanges, now); err != nil {
		return err
	}
	if x.hides() {
		batch.Marks = nil
	}
	if len(x.unsaid) > 0 {
		batch.Conversation.Title = ""
	}
	if x.learns && x.writes && len(batch.Turns) > 0 && onPath && x.e.opts.Learn.Summary.due(exchanges-1, exchanges) {
		batch.Jobs = append(batch.Jobs, summaryJob(x.in.Owner, x.conversation.ID, batch.Turns[0].ID))
	}
	if len(batch.Turns)+len(batch.Marks)+len(batch.Jobs) == 0 {
		return nil
	}
	if err := x.append(ctx, batch); err != nil {
		return err
	}
	if len(batch.Jobs) > 0 {
		x.e.lull.begin()() // the client's next question may come at once
		x.e.wakeInLull()
	}
	return nil
}

// guarded turns a panic of do into an error: the chat goes on.
func (x *Exchange) guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			x.e.Log.Error("panic in an exchange", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return do()
}

// failed counts, logs and traces what memory could not do for this chat.
func (x *Exchange) failed(ctx context.Context, err error) {
	x.e.Metrics.RecordFailed()
	x.e.Log.Error("memory failed, the chat goes on", "conversation", x.here, "err", err)
	x.e.degrade(ctx, x.in.Owner, x.prepared.Trace, fmt.Sprintf("record: %v", err))
}
