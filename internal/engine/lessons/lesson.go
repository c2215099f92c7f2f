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

// Lesson contains the facts extracted from some turns, before the comparison with stored facts.
type Lesson struct {
	scope      memory.Scope // scope of new facts
	utterances []extract.Utterance
	cands      []extract.Candidate
	dropped    []learn.Dropped
	forget     []extract.Command     // the user's forget requests, detected by rules
	named      []learn.ForgetRequest // the user's forget requests, detected by a model
	author     memory.Author         // author of the facts
}

// DroppedOutcomes returns the dropped candidates as outcomes, with reasons.
func (l Lesson) DroppedOutcomes() []learn.Outcome {
	out := make([]learn.Outcome, 0, len(l.dropped))
	for _, d := range l.dropped {
		out = append(out, learn.Outcome{Fact: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return out
}

// ExtractLesson extracts facts from turns of one project.
func (e *Learner) Lesson(ctx context.Context, job memory.Job, turns []memory.Turn) (Lesson, error) {
	r := reader{e}
	l := Lesson{scope: memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent, Conversation: r.Retrieve.LearnsFor(turns[0].Conversation)}}
	l.utterances = guard(r.Core, turns, learn.GuardOptions{
		Assistant: r.Opts.Assistant, Injected: r.InjectedText(ctx, l.scope, turns), Whole: r.Prompts.Form() == prompt.InLine,
	})
	before, err := r.talkBefore(ctx, job.Owner, l.utterances)
	if err != nil {
		return Lesson{}, err
	}
	if err := r.answering(ctx, job.Owner, l.utterances, before); err != nil {
		return Lesson{}, err
	}
	markRolePlay(l.utterances, before)
	d, err := r.extract(ctx, job, l, before)
	if err != nil {
		return Lesson{}, err
	}
	if d.author.Kind == memory.ByModel {
		r.ground(job.Owner, l.utterances, d.facts, before)
	}
	d.cands, l.named = learn.ForgetOps(d.cands, l.utterances)
	remember, forget := extract.Commands(l.utterances)
	l.cands, l.dropped = learn.Filter(append(d.cands, remember...), l.utterances)
	l.forget, l.author = forget, d.author
	r.markProjectFacts(&l)
	if err := r.leaveOut(ctx, &l); err != nil {
		return Lesson{}, err
	}
	if err := r.dropKnownContexts(ctx, &l); err != nil {
		return Lesson{}, err
	}
	return l, nil
}

// dropForgetRequests drops candidates extracted from a forget request. A request that matches no memory
// counts as a statement if a model extracts a fact from it: "forget the gym i cancelled it".
func (e reader) leaveOut(ctx context.Context, l *Lesson) error {
	within := func(c extract.Candidate, w extract.Command) bool {
		return w.Span.Turn == c.Turn && (c.Span == nil || c.Span.Start < w.Span.End && w.Span.Start < c.Span.End)
	}
	var orders []extract.Command
	for _, wish := range l.forget {
		if slices.ContainsFunc(l.cands, func(c extract.Candidate) bool { return c.Op != "" && within(c, wish) }) {
			meant, err := e.memoriesToForget(ctx, *l, wish)
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

// turnByID returns the lesson's turn with an id.
func (l Lesson) turn(id string) memory.Turn {
	for _, s := range l.utterances {
		if s.Turn.ID == id {
			return s.Turn
		}
	}
	return memory.Turn{ID: id}
}

// rolePlayTurns is the number of earlier turns in which the start of a role play is searched.
const rolePlayTurns = 24

// earlierTurns returns the turns before utterances, or nil if the utterances include the first turn.
func (e reader) talkBefore(ctx context.Context, owner memory.Owner, utterances []extract.Utterance) ([]memory.Turn, error) {
	first := slices.IndexFunc(utterances, func(s extract.Utterance) bool { return s.Turn.Role == memory.RoleUser })
	if first < 0 || utterances[first].Turn.Index == 0 {
		return nil, nil
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: utterances[first].Turn.Conversation, Last: rolePlayTurns})
	if err != nil {
		return nil, fmt.Errorf("read earlier turns: %w", err)
	}
	return turns, nil
}

// maxGroundTexts is the number of earlier messages from which a new fact may take names and numbers.
const groundedOn = 8

// addGroundTexts adds to each utterance the texts that a new fact may refer to: earlier messages, and the
// facts in the model's prompt.
func (e reader) ground(owner memory.Owner, utterances []extract.Utterance, facts []memory.Fact, before []memory.Turn) {
	earlier := e.guardedBefore(owner, before)
	for i := range utterances {
		s := &utterances[i]
		for _, t := range earlier {
			if t.Turn.Index < s.Turn.Index {
				s.Earlier = append(s.Earlier, t.Text)
			}
		}
		if s.Earlier == nil { // the conversation is read from its beginning
			for _, o := range utterances[:i] {
				s.Earlier = append(s.Earlier, o.Before, o.Text)
			}
		}
		s.Earlier = s.Earlier[max(0, len(s.Earlier)-groundedOn):]
		for _, f := range slices.Concat(facts, s.Facts) {
			if f.Status == memory.Active { // pending facts are not evidence
				s.Background = append(s.Background, f.Content)
			}
		}
	}
}

// addAnsweredContext adds to the user's utterances the assistant's preceding message, and the facts
// learned from the user's message before it.
func (e reader) answering(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, before []memory.Turn) error {
	parents, err := e.parents(ctx, owner, utterances, before)
	if err != nil {
		return err
	}
	var taught []int // indexes of utterances
	var l memory.Look
	for i := range utterances {
		s := &utterances[i]
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
		return fmt.Errorf("read the facts learned from the previous message: %w", err)
	}
	for k, i := range taught {
		for _, m := range seen.Pages[k].Memories {
			if m.Link == nil {
				utterances[i].Facts = append(utterances[i].Facts, *m.Fact)
			}
		}
	}
	return nil
}

// parentTurns returns, by id, the turns that precede the user's utterances.
func (e reader) parents(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, before []memory.Turn) (map[string]memory.Turn, error) {
	byID := map[string]memory.Turn{}
	var missing []string
	for _, s := range utterances {
		if s.Turn.Role != memory.RoleUser || s.Turn.Parent == "" {
			continue
		}
		if at := slices.IndexFunc(before, func(t memory.Turn) bool { return t.ID == s.Turn.Parent }); at >= 0 {
			byID[s.Turn.Parent] = before[at]
			continue
		}
		missing = append(missing, s.Turn.Parent)
	}
	if len(missing) == 0 {
		return byID, nil
	}
	found, err := e.Store.Get(ctx, owner, missing...)
	if err != nil {
		return nil, fmt.Errorf("read the preceding turns: %w", err)
	}
	for _, m := range found {
		if m.Turn != nil && m.Turn.Status == memory.Active {
			byID[m.Turn.ID] = *m.Turn
		}
	}
	return byID, nil
}

// markRolePlay marks the user's first utterance if it continues a role play.
func markRolePlay(utterances []extract.Utterance, before []memory.Turn) {
	first := slices.IndexFunc(utterances, func(s extract.Utterance) bool { return s.Turn.Role == memory.RoleUser })
	if first < 0 {
		return
	}
	if at := slices.IndexFunc(before, func(t memory.Turn) bool { return t.Index >= utterances[first].Turn.Index }); at >= 0 {
		before = before[:at]
	}
	utterances[first].Playing = extract.Playing(before)
}

// memoriesPerSuspect is the number of memories with which each possibly injected sentence is compared.
const suspectsFound = 4

// InjectedTextDetector returns a detector of text that came from memory. It compares turns with the cached
// blocks of their requests and with similar memories older than the turns. If the search fails, it uses only
// the blocks.
func (e *Learner) InjectedText(ctx context.Context, scope memory.Scope, turns []memory.Turn) func(i int) *learn.Injected {
	blocks := reader{e}.blocksOf(scope.Owner, turns)
	return func(i int) *learn.Injected {
		var found []memory.Memory
		for _, sentence := range learn.MaybeInjected(turns[i]) {
			like, err := core.FindMemories(ctx, e.Core, memory.Search{Scopes: []memory.Scope{scope}, Text: sentence, ByWords: true, Limit: suspectsFound})
			if err != nil {
				e.Log.Warn("text that came from memory may be learned again", "turn", turns[i].ID, "err", err)
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

// turnBlocks are the cached blocks of turns.
type blocks struct {
	of       []string
	last     int // number of blocks added to injected
	injected *learn.Injected
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

// detectorUpTo returns a detector of the blocks of turns up to index i, or nil. i must not decrease.
func (b *blocks) upTo(i int) *learn.Injected {
	for ; b.last <= i; b.last++ {
		if block := b.of[b.last]; block != "" {
			if b.injected == nil {
				b.injected = learn.NewInjected()
			}
			b.injected.Add(block)
		}
	}
	return b.injected
}

// byRule is the author of facts that the rules extracted.
var byRule = memory.Author{Kind: memory.ByRule, Name: "rules"}

// extraction contains the candidates of a model or the rules, and the facts in the model's prompt.
type draft struct {
	cands  []extract.Candidate
	facts  []memory.Fact
	author memory.Author
}

// extract extracts candidates with the model or, without a model, with the rules.
func (e reader) extract(ctx context.Context, job memory.Job, l Lesson, before []memory.Turn) (draft, error) {
	if len(l.utterances) == 0 {
		return draft{author: byRule}, nil
	}
	if e.LLM == nil {
		return draft{cands: extract.Rules(l.utterances), author: byRule}, nil
	}
	d, err := e.extractByModel(ctx, l, before)
	var off *jobs.PutOff
	if err == nil || errors.As(err, &off) {
		return d, err
	}
	if e.Opts.Rules && (job.Attempts >= modelAttempts || errors.Is(err, errUnreadable) || errors.Is(err, llm.ErrNoModel) || errors.Is(err, context.DeadlineExceeded) && job.Attempts >= halvings) {
		e.Log.Warn("the model keeps failing; the rules learn instead", "job", job.ID, "err", err)
		return draft{cands: extract.Rules(l.utterances), author: byRule}, nil
	}
	return draft{}, err
}

// extractByModel calls the model, several times for long turns, unless no turn can contain a fact. Facts
// of an untrusted model become pending, and the rules also learn.
func (e reader) extractByModel(ctx context.Context, l Lesson, before []memory.Turn) (draft, error) {
	all := draft{author: byRule}
	if e.Prompts.Form() == prompt.InOps && !e.Opts.Assistant && !slices.ContainsFunc(l.utterances, learn.MayTeach) {
		return all, nil
	}
	why, err := e.reviewReason(ctx, l.scope.Owner)
	if err != nil {
		return draft{}, err
	}
	for piece := range learn.Pieces(l.utterances, learnBytes) {
		d, err := e.askForFacts(ctx, l.scope, piece, before)
		if err != nil {
			return draft{}, err
		}
		all = draft{append(all.cands, learn.WithTurnIDs(d.cands, piece)...), append(all.facts, d.facts...), d.author}
	}
	if why == "" {
		return all, nil
	}
	for i := range all.cands {
		all.cands[i].ReviewReason = why
	}
	if all.author = byRule; e.Opts.Rules {
		all.cands = append(extract.Rules(l.utterances), all.cands...)
	}
	return all, nil
}

// contextMessages returns the last messages before the utterances, as context for a model, without
// secrets and injected text.
func (e reader) contextMessages(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, before []memory.Turn) ([]extract.Utterance, error) {
	room := e.Opts.Learn.Context
	if e.Prompts.Form() != prompt.InOps {
		room -= len(utterances)
	}
	first := utterances[0].Turn
	if room <= 0 || first.Index == 0 {
		return nil, nil
	}
	turns := before
	if len(turns) == 0 || turns[0].Index > max(0, first.Index-room) {
		var err error
		if turns, err = e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: first.Conversation, Last: room + len(utterances) + 2*learnTurns}); err != nil {
			return nil, fmt.Errorf("read earlier turns: %w", err)
		}
	}
	turns = slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return t.Index >= first.Index })
	return e.guardedBefore(owner, turns[max(0, len(turns)-room):]), nil
}

// guardedContext returns messages that are only context, without secrets and injected text.
func (e reader) guardedBefore(owner memory.Owner, turns []memory.Turn) []extract.Utterance {
	return guard(e.Core, turns, learn.GuardOptions{Assistant: true, Others: true, Injected: e.blocksOf(owner, turns).upTo})
}

// guardTurns returns the texts of turns without fenced blocks, as the settings require.
func guard(e *core.Core, turns []memory.Turn, o learn.GuardOptions) []extract.Utterance {
	o.Personal, o.Begin, o.End = e.Opts.Learn.Personal, recall.FenceOpen, recall.FenceClose
	return learn.Guard(turns, o)
}

// Bounds of the facts in a model's prompt: the facts similar to each clause, and the newest facts.
const (
	knownSearches = 16
	knownBytes    = 2 << 10 // bytes of one search
	wholeBytes    = 80      // maximum bytes of a turn that is searched as a whole
	knownNear     = 8       // number of similar facts, if there are fewer searches
	knownFacts    = 32
)

// factsForPrompt returns the stored facts for a model's prompt: all facts of an owner with few facts.
func (e reader) factsForPrompt(ctx context.Context, scope memory.Scope, utterances []extract.Utterance) ([]memory.Fact, error) {
	near, err := e.nearClauses(ctx, scope, utterances)
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

// factsByClause returns the facts most similar to each clause of the utterances: first the best fact of
// each clause, then the second best. It joins adjacent clauses if there are too many.
func (e reader) nearClauses(ctx context.Context, scope memory.Scope, utterances []extract.Utterance) ([]memory.Fact, error) {
	var clauses []string
	for _, s := range utterances {
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
		return nil, fmt.Errorf("read stored facts: %w", err)
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
	windowTokens = 32_000 // fits nearly all models
	promptTokens = 2000   // reserved for the instructions and the reply
)

// contextRoom returns the number of tokens of the model's window that the utterances and facts leave.
func (e reader) contextRoom(utterances []extract.Utterance, facts []memory.Fact) int {
	room := windowTokens - promptTokens
	for _, s := range utterances {
		room -= text.Tokens(s.Shown())
	}
	for _, f := range facts {
		room -= text.Tokens(f.Content)
	}
	return max(room, 0)
}

func (e reader) askForFacts(ctx context.Context, scope memory.Scope, utterances []extract.Utterance, earlier []memory.Turn) (draft, error) {
	before, err := e.contextMessages(ctx, scope.Owner, utterances, earlier)
	if err != nil {
		return draft{}, err
	}
	facts, err := e.factsForPrompt(ctx, scope, utterances)
	if err != nil {
		return draft{}, err
	}
	attached, err := e.attached(ctx, scope.Owner, utterances[0].Turn.Conversation, e.contextRoom(utterances, facts))
	if err != nil {
		return draft{}, err
	}
	own, err := e.LearningOf(ctx, scope, utterances[0].Turn.Conversation)
	if err != nil {
		return draft{}, err
	}
	prompts := e.learnPrompts(scope.Owner)
	ask, err := learn.AskFacts(learn.FactsInput{
		Utterances: utterances, Preceding: before, Facts: facts, AttachedDocuments: attached, LearningGoals: own.Instructions, Zone: own.Zone, Now: e.Time(),
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
			cands, err = learn.Settle(cands, utterances, facts)
			if reads > 1 && len(cands) > 0 {
				err = nil // there is no third call, so the valid candidates are used
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
	return draft{cands, facts, memory.Author{Kind: memory.ByModel, Name: reply.Model, Prompt: ask.Hash}}, nil
}
