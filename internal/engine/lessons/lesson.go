package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Lesson is what was extracted from some turns, before it is compared with known facts.
type Lesson struct {
	scope   memory.Scope // where new facts belong
	said    []extract.Utterance
	cands   []extract.Candidate
	dropped []learn.Dropped
	forget  []extract.Command // what the user asks to forget
	named   []learn.Named     // the same, as a model read it
	author  memory.Author     // who read it
}

// PassedOver returns the dropped candidates as outcomes, with the reasons.
func (l Lesson) PassedOver() []learn.Outcome {
	out := make([]learn.Outcome, 0, len(l.dropped))
	for _, d := range l.dropped {
		out = append(out, learn.Outcome{Fact: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return out
}

// Lesson reads turns of one project.
func (e *Learner) Lesson(ctx context.Context, job memory.Job, turns []memory.Turn) (Lesson, error) {
	r := reader{e}
	l := Lesson{scope: memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent, Conversation: r.Retrieve.LearnsFor(turns[0].Conversation)}}
	l.said = guard(r.Core, turns, learn.GuardOptions{
		Assistant: r.Opts.Assistant, Injected: r.Given(ctx, l.scope, turns), Whole: r.Prompts.Form() == prompt.InLine,
	})
	before, err := r.talkBefore(ctx, job.Owner, l.said)
	if err != nil {
		return Lesson{}, err
	}
	if err := r.answering(ctx, job.Owner, l.said, before); err != nil {
		return Lesson{}, err
	}
	playing(l.said, before)
	d, err := r.extract(ctx, job, l, before)
	if err != nil {
		return Lesson{}, err
	}
	if d.author.Kind == memory.ByModel {
		r.ground(job.Owner, l.said, d.known, before)
	}
	d.cands, l.named = learn.ForgetOps(d.cands, l.said)
	remember, forget := extract.Commands(l.said)
	l.cands, l.dropped = learn.Filter(append(d.cands, remember...), l.said)
	l.forget, l.author = forget, d.author
	r.givePlace(&l)
	if err := r.leaveOut(ctx, &l); err != nil {
		return Lesson{}, err
	}
	if err := r.dropKnownContexts(ctx, &l); err != nil {
		return Lesson{}, err
	}
	return l, nil
}

// leaveOut drops candidates whose source is a wish to forget. A wish that names nothing known is
// talk where a model reads something in it: "forget the gym i cancelled it".
func (e reader) leaveOut(ctx context.Context, l *Lesson) error {
	within := func(c extract.Candidate, w extract.Command) bool {
		return w.Span.Turn == c.Turn && (c.Span == nil || c.Span.Start < w.Span.End && w.Span.Start < c.Span.End)
	}
	var orders []extract.Command
	for _, wish := range l.forget {
		if slices.ContainsFunc(l.cands, func(c extract.Candidate) bool { return c.Op != "" && within(c, wish) }) {
			meant, err := e.wished(ctx, *l, wish)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(meant, func(m memory.Memory) bool { return m.ID() != wish.Span.Turn }) {
				continue
			}
		}
		orders = append(orders, wish)
	}
	l.forget = orders
	l.cands = slices.DeleteFunc(l.cands, func(c extract.Candidate) bool {
		wish := slices.ContainsFunc(l.forget, func(w extract.Command) bool { return within(c, w) })
		if wish {
			l.dropped = append(l.dropped, learn.Dropped{Candidate: c, Reason: "it is asked to be forgotten"})
		}
		return wish
	})
	return nil
}

// turn returns one of the turns that are read.
func (l Lesson) turn(id string) memory.Turn {
	for _, s := range l.said {
		if s.Turn.ID == id {
			return s.Turn
		}
	}
	return memory.Turn{ID: id}
}

// playable is how many turns back the beginning of a role play is looked for.
const playable = 24

// talkBefore returns the last turns of a conversation, none if its first is among said.
func (e reader) talkBefore(ctx context.Context, owner memory.Owner, said []extract.Utterance) ([]memory.Turn, error) {
	first := slices.IndexFunc(said, func(s extract.Utterance) bool { return s.Turn.Role == memory.RoleUser })
	if first < 0 || said[first].Turn.Index == 0 {
		return nil, nil
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: said[first].Turn.Conversation, Last: playable})
	if err != nil {
		return nil, fmt.Errorf("read what was said before: %w", err)
	}
	return turns, nil
}

// groundedOn is from how many earlier messages a new fact may take names and numbers.
const groundedOn = 8

// ground adds to each utterance what a fact learned from it may refer to: the messages before
// it and the facts that the model was told are known.
func (e reader) ground(owner memory.Owner, said []extract.Utterance, known []memory.Fact, before []memory.Turn) {
	earlier := e.guardedBefore(owner, before)
	for i := range said {
		s := &said[i]
		for _, t := range earlier {
			if t.Turn.Index < s.Turn.Index {
				s.Earlier = append(s.Earlier, t.Text)
			}
		}
		if s.Earlier == nil { // all of the conversation is read at once
			for _, o := range said[:i] {
				s.Earlier = append(s.Earlier, o.Before, o.Text)
			}
		}
		s.Earlier = s.Earlier[max(0, len(s.Earlier)-groundedOn):]
		for _, f := range slices.Concat(known, s.Facts) {
			if f.Status == memory.Active { // what waits may be made up itself
				s.Background = append(s.Background, f.Content)
			}
		}
	}
}

// answering adds to the user's utterances the assistant's message before, and the facts
// learned from the user's message before that.
func (e reader) answering(ctx context.Context, owner memory.Owner, said []extract.Utterance, before []memory.Turn) error {
	parents, err := e.parents(ctx, owner, said, before)
	if err != nil {
		return err
	}
	var taught []int // of which of said
	var l memory.Look
	for i := range said {
		s := &said[i]
		parent, ok := parents[s.Turn.Parent]
		if s.Turn.Role != memory.RoleUser || !ok {
			continue
		}
		id := parent.ID
		if parent.Role == memory.RoleAssistant {
			s.Before, id = parent.Content, parent.Parent
		}
		if id != "" {
			taught, l.Queries = append(taught, i), append(l.Queries, memory.Query{Turn: id, Limit: 500})
		}
	}
	if len(taught) == 0 {
		return nil
	}
	seen, err := memory.LookAt(ctx, e.Store, owner, l)
	if err != nil {
		return fmt.Errorf("read what was learned just before: %w", err)
	}
	for k, i := range taught {
		for _, m := range seen.Pages[k].Memories {
			if m.Link == nil {
				said[i].Facts = append(said[i].Facts, *m.Fact)
			}
		}
	}
	return nil
}

// parents returns, by id, the turns that the user's utterances follow.
func (e reader) parents(ctx context.Context, owner memory.Owner, said []extract.Utterance, before []memory.Turn) (map[string]memory.Turn, error) {
	known := map[string]memory.Turn{}
	var missing []string
	for _, s := range said {
		if s.Turn.Role != memory.RoleUser || s.Turn.Parent == "" {
			continue
		}
		if at := slices.IndexFunc(before, func(t memory.Turn) bool { return t.ID == s.Turn.Parent }); at >= 0 {
			known[s.Turn.Parent] = before[at]
			continue
		}
		missing = append(missing, s.Turn.Parent)
	}
	if len(missing) == 0 {
		return known, nil
	}
	found, err := e.Store.Get(ctx, owner, missing...)
	if err != nil {
		return nil, fmt.Errorf("read what was answered: %w", err)
	}
	for _, m := range found {
		if m.Turn != nil && m.Turn.Status == memory.Active {
			known[m.Turn.ID] = *m.Turn
		}
	}
	return known, nil
}

// playing marks the user's first utterance if it continues a role play.
func playing(said []extract.Utterance, before []memory.Turn) {
	first := slices.IndexFunc(said, func(s extract.Utterance) bool { return s.Turn.Role == memory.RoleUser })
	if first < 0 {
		return
	}
	if at := slices.IndexFunc(before, func(t memory.Turn) bool { return t.Index >= said[first].Turn.Index }); at >= 0 {
		before = before[:at]
	}
	said[first].Playing = extract.Playing(before)
}

// suspectsFound is how many memories one suspect sentence is compared with.
const suspectsFound = 4

// Given returns what recognizes text that came out of memory: the blocks of requests up to a
// turn and, where those are not cached any more, similar memories from before the turns. If
// the searcher fails, only the blocks are used.
func (e *Learner) Given(ctx context.Context, scope memory.Scope, turns []memory.Turn) func(i int) *learn.Injected {
	blocks := reader{e}.blocksOf(scope.Owner, turns)
	return func(i int) *learn.Injected {
		var found []memory.Memory
		for _, sentence := range learn.MaybeInjected(turns[i]) {
			like, err := core.Found(ctx, e.Core, memory.Search{Scopes: []memory.Scope{scope}, Text: sentence, ByWords: true, Limit: suspectsFound})
			if err != nil {
				e.Log.Warn("what came out of memory may be learned again", "turn", turns[i].ID, "err", err)
				continue
			}
			for _, m := range like {
				if m.Version() < turns[0].Version {
					found = append(found, m)
				}
			}
		}
		if len(found) == 0 {
			return blocks.upTo(i)
		}
		return learn.Recalled(found, blocks.upTo(i))
	}
}

// blocks are the cached blocks of turns; "" for none.
type blocks struct {
	of    []string
	last  int // how many were read into given
	given *learn.Injected
}

func (e reader) blocksOf(owner memory.Owner, turns []memory.Turn) *blocks {
	b := &blocks{of: make([]string, len(turns))}
	for i, t := range turns {
		if block, ok := e.Blocks.Get(owner, t.Chain); ok {
			b.of[i] = block.Text
		}
	}
	return b
}

// upTo returns what recognizes the blocks of turns up to i; nil if there are none. Call it
// with rising i.
func (b *blocks) upTo(i int) *learn.Injected {
	for ; b.last <= i; b.last++ {
		if block := b.of[b.last]; block != "" {
			if b.given == nil {
				b.given = learn.NewInjected()
			}
			b.given.Add(block)
		}
	}
	return b.given
}

// byRule is who a fact is by that no model wrote.
var byRule = memory.Author{Kind: memory.ByRule, Name: "rules"}

// draft is what a model or the rules propose, and the facts that the model was told are known.
type draft struct {
	cands  []extract.Candidate
	known  []memory.Fact
	author memory.Author
}

// extract returns what the model or, without one, the rules read.
func (e reader) extract(ctx context.Context, job memory.Job, l Lesson, before []memory.Turn) (draft, error) {
	if len(l.said) == 0 {
		return draft{author: byRule}, nil
	}
	if e.LLM == nil {
		return draft{cands: extract.Rules(l.said), author: byRule}, nil
	}
	d, err := e.extractByModel(ctx, l, before)
	var off *jobs.PutOff
	if err == nil || errors.As(err, &off) {
		return d, err
	}
	if e.Opts.Rules && (job.Attempts >= patience || errors.Is(err, errUnreadable) || errors.Is(err, llm.ErrNoModel) || errors.Is(err, context.DeadlineExceeded) && job.Attempts >= halvings) {
		e.Log.Warn("the model keeps failing; the rules learn instead", "job", job.ID, "err", err)
		return draft{cands: extract.Rules(l.said), author: byRule}, nil
	}
	return draft{}, err
}

// extractByModel asks the model, several times if the turns are long, unless none of them can
// teach anything. What a model writes that is not trusted waits, and the rules learn beside it.
func (e reader) extractByModel(ctx context.Context, l Lesson, before []memory.Turn) (draft, error) {
	all := draft{author: byRule}
	if e.Prompts.Form() == prompt.InOps && !e.Opts.Assistant && !slices.ContainsFunc(l.said, learn.MayTeach) {
		return all, nil
	}
	why, err := e.distrust(ctx, l.scope.Owner)
	if err != nil {
		return draft{}, err
	}
	for piece := range learn.Pieces(l.said, learnBytes) {
		d, err := e.askForFacts(ctx, l.scope, piece, before)
		if err != nil {
			return draft{}, err
		}
		all = draft{append(all.cands, learn.WithTurnIDs(d.cands, piece)...), append(all.known, d.known...), d.author}
	}
	if why == "" {
		return all, nil
	}
	for i := range all.cands {
		all.cands[i].Waits = why
	}
	if all.author = byRule; e.Opts.Rules {
		all.cands = append(extract.Rules(l.said), all.cands...)
	}
	return all, nil
}

// saidBefore returns the last messages before the new ones, for a model that reads them
// together. Secrets and what memory gave are blanked there as everywhere.
func (e reader) saidBefore(ctx context.Context, owner memory.Owner, said []extract.Utterance, before []memory.Turn) ([]extract.Utterance, error) {
	room := e.Opts.Learn.Context
	if e.Prompts.Form() != prompt.InOps {
		room -= len(said)
	}
	first := said[0].Turn
	if room <= 0 || first.Index == 0 {
		return nil, nil
	}
	turns := before
	if len(turns) == 0 || turns[0].Index > max(0, first.Index-room) {
		var err error
		if turns, err = e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: first.Conversation, Last: room + len(said) + 2*learnTurns}); err != nil {
			return nil, fmt.Errorf("read what was said before: %w", err)
		}
	}
	turns = slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return t.Index >= first.Index })
	return e.guardedBefore(owner, turns[max(0, len(turns)-room):]), nil
}

// guardedBefore returns messages that are only read to understand others, without secrets and
// what memory gave.
func (e reader) guardedBefore(owner memory.Owner, turns []memory.Turn) []extract.Utterance {
	return guard(e.Core, turns, learn.GuardOptions{Assistant: true, Others: true, Injected: e.blocksOf(owner, turns).upTo})
}

// guard returns what turns say, by the settings and without fenced blocks.
func guard(e *core.Core, turns []memory.Turn, o learn.GuardOptions) []extract.Utterance {
	o.Personal, o.Begin, o.End = e.Opts.Learn.Personal, recall.FenceOpen, recall.FenceClose
	return learn.Guard(turns, o)
}

// What a model is told is known: facts near to each clause of what is said, and the newest.
const (
	knownSearches = 16
	knownBytes    = 2 << 10 // of each
	wholeBytes    = 80      // of a turn that is searched for whole
	knownNear     = 8       // or one a search, if those are more
	knownFacts    = 32
)

// known returns the facts that a model is told are known: all of somebody who has few of them.
func (e reader) known(ctx context.Context, scope memory.Scope, said []extract.Utterance) ([]memory.Fact, error) {
	near, err := e.nearClauses(ctx, scope, said)
	if err != nil {
		return nil, err
	}
	if e.Prompts.Form() == prompt.InOps {
		page, err := e.Store.List(ctx, scope.Owner, memory.Query{Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 2 * knownFacts})
		if err != nil {
			return nil, fmt.Errorf("read the newest facts: %w", err)
		}
		for _, m := range page.Memories {
			if m.Link == nil && scope.Sees(m.Scope()) && e.Retrieve.Comparable(scope, m) {
				near = append(near, *m.Fact)
			}
		}
	}
	var out []memory.Fact
	for _, f := range near {
		secret := learn.Redact(f.Content, e.Opts.Learn.Personal) != f.Content
		if !secret && len(out) < knownFacts && !slices.ContainsFunc(out, func(k memory.Fact) bool { return k.ID == f.ID }) {
			out = append(out, f)
		}
	}
	return out, nil
}

// nearClauses returns the facts nearest to each clause of what is said, the best of each
// before the second best of any. Of more clauses than are searched for, neighbours go together.
func (e reader) nearClauses(ctx context.Context, scope memory.Scope, said []extract.Utterance) ([]memory.Fact, error) {
	var clauses []string
	for _, s := range said {
		if len(s.Text) <= wholeBytes {
			clauses = append(clauses, strings.TrimSpace(s.Text))
			continue
		}
		for _, sentence := range english.Read(s.Text) {
			for _, c := range sentence.Clauses {
				clauses = append(clauses, c.Of(s.Text))
			}
		}
	}
	var found [][]memory.Candidate
	var ids []string
	for part := range slices.Chunk(clauses, max(1, (len(clauses)+knownSearches-1)/knownSearches)) {
		alike, err := e.similarFacts(ctx, scope, core.Clip(strings.Join(part, "\n"), knownBytes), knownNear)
		if err != nil {
			return nil, err
		}
		found, ids = append(found, alike), append(ids, core.IDsOf(alike)...)
	}
	memories, err := e.Store.Get(ctx, scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read what is known: %w", err)
	}
	var out []memory.Fact
	for rank := range knownNear {
		for _, alike := range found {
			if rank >= len(alike) || len(out) == max(knownNear, len(found)) {
				continue
			}
			for _, n := range e.neighboursAmong(scope, alike[rank:rank+1], memories) {
				if !slices.ContainsFunc(out, func(f memory.Fact) bool { return f.ID == n.Fact.ID }) {
					out = append(out, n.Fact)
				}
			}
		}
	}
	return out, nil
}

const (
	windowTokens = 32_000 // that nearly every model reads at once
	promptTokens = 2000   // of these are left for the instructions and the reply
)

// roomBeside returns how many tokens of the model's window what is said and known leaves.
func (e reader) roomBeside(said []extract.Utterance, known []memory.Fact) int {
	room := windowTokens - promptTokens
	for _, s := range said {
		room -= text.Tokens(s.Shown())
	}
	for _, f := range known {
		room -= text.Tokens(f.Content)
	}
	return max(room, 0)
}

func (e reader) askForFacts(ctx context.Context, scope memory.Scope, said []extract.Utterance, earlier []memory.Turn) (draft, error) {
	before, err := e.saidBefore(ctx, scope.Owner, said, earlier)
	if err != nil {
		return draft{}, err
	}
	known, err := e.known(ctx, scope, said)
	if err != nil {
		return draft{}, err
	}
	attached, err := e.attached(ctx, scope.Owner, said[0].Turn.Conversation, e.roomBeside(said, known))
	if err != nil {
		return draft{}, err
	}
	own, err := e.LearningOf(ctx, scope, said[0].Turn.Conversation)
	if err != nil {
		return draft{}, err
	}
	prompts := e.learnPrompts(scope.Owner)
	ask, err := learn.AskFacts(learn.Asked{
		Utterances: said, Before: before, Facts: known, Attached: attached, Wishes: own.Wishes, Zone: own.Zone, Now: e.Time(),
	}, prompts)
	if err != nil {
		return draft{}, fmt.Errorf("fill the extraction prompt: %w", err)
	}
	read := learn.ParseFacts
	switch form := prompts.Form(); {
	case form == prompt.InLine:
		read = learn.ParseLine
	case form == prompt.InOps:
		reads := 0
		read = func(reply string) ([]extract.Candidate, error) {
			reads++
			cands, err := learn.ParseFacts(reply)
			if err != nil {
				return nil, err
			}
			cands, err = learn.Settle(cands, said, known)
			if reads > 1 && len(cands) > 0 {
				err = nil // there is no third reply: what holds alone is kept
			}
			return cands, err
		}
	}
	cands, reply, err := askFor(ctx, &e.Asker, scope.Owner, ask, read)
	if err != nil {
		return draft{}, fmt.Errorf("ask for facts: %w", err)
	}
	for i := range cands {
		cands[i].Model = reply.Model + "+" + ask.Hash
	}
	return draft{cands, known, memory.Author{Kind: memory.ByModel, Name: reply.Model, Prompt: ask.Hash}}, nil
}
