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
	scope               memory.Scope        // scope of new facts
	utterances          []extract.Utterance // the turns' texts without injected blocks: see guardedUtterances
	candidates          []extract.Candidate
	dropped             []learn.DroppedCandidate
	ruleForgetCommands  []extract.ForgetCommand // the user's forget requests, detected by rules
	modelForgetRequests []learn.ForgetRequest   // the user's forget requests, detected by a model
	author              memory.Author           // author of the facts
}

// DroppedOutcomes returns the dropped candidates as outcomes, with reasons.
func (l Lesson) DroppedOutcomes() []learn.CandidateOutcome {
	out := make([]learn.CandidateOutcome, 0, len(l.dropped))
	for _, d := range l.dropped {
		out = append(out, learn.CandidateOutcome{FactText: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return out
}

// ExtractLesson extracts facts from turns of one project.
func (e *Learner) ExtractLesson(ctx context.Context, job memory.Job, turns []memory.Turn) (Lesson, error) {
	r := extractor{e}
	l := Lesson{scope: memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent, Conversation: r.Retrieve.LearningConversation(turns[0].Conversation)}}
	l.utterances = guardedUtterances(r.Core, turns, learn.GuardOptions{
		IncludeAssistant: r.Opts.LearnFromAssistant, InjectedUpTo: r.InjectedTextDetector(ctx, l.scope, turns), SetFullText: r.Prompts.Form() == prompt.LineForm,
	})
	earlier, err := r.earlierTurns(ctx, job.Owner, l.utterances)
	if err != nil {
		return Lesson{}, err
	}
	if err := r.addAnsweredContext(ctx, job.Owner, l.utterances, earlier); err != nil {
		return Lesson{}, err
	}
	markRolePlay(l.utterances, earlier)
	d, err := r.extract(ctx, job, l, earlier)
	if err != nil {
		return Lesson{}, err
	}
	if d.author.Kind == memory.ByModel {
		r.addGroundTexts(job.Owner, l.utterances, d.promptFacts, earlier)
	}
	d.candidates, l.modelForgetRequests = learn.SplitForgetOps(d.candidates, l.utterances)
	remember, forget := extract.MemoryCommands(l.utterances)
	l.candidates, l.dropped = learn.Filter(append(d.candidates, remember...), l.utterances)
	l.ruleForgetCommands, l.author = forget, d.author
	r.markProjectFacts(&l)
	if err := r.dropForgetRequests(ctx, &l); err != nil {
		return Lesson{}, err
	}
	if err := r.dropContextCopies(ctx, &l); err != nil {
		return Lesson{}, err
	}
	return l, nil
}

// dropForgetRequests drops candidates extracted from a forget request. A request that matches no memory
// counts as a statement if a model extracts a fact from it: "forget the gym i cancelled it".
func (e extractor) dropForgetRequests(ctx context.Context, l *Lesson) error {
	overlaps := func(c extract.Candidate, w extract.ForgetCommand) bool {
		return w.Span.Turn == c.TurnID && (c.Span == nil || c.Span.Start < w.Span.End && w.Span.Start < c.Span.End)
	}
	var commands []extract.ForgetCommand
	for _, wish := range l.ruleForgetCommands {
		if slices.ContainsFunc(l.candidates, func(c extract.Candidate) bool { return c.Op != "" && overlaps(c, wish) }) {
			targets, err := e.memoriesToForget(ctx, *l, wish)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(targets, func(m memory.Memory) bool { return m.ID() != wish.Span.Turn }) {
				continue
			}
		}
		commands = append(commands, wish)
	}
	l.ruleForgetCommands = commands
	l.candidates = slices.DeleteFunc(l.candidates, func(c extract.Candidate) bool {
		wish := slices.ContainsFunc(l.ruleForgetCommands, func(w extract.ForgetCommand) bool { return overlaps(c, w) })
		if wish {
			l.dropped = append(l.dropped, learn.DroppedCandidate{Candidate: c, Reason: "it is asked to be forgotten"})
		}
		return wish
	})
	return nil
}

// turnByID returns the lesson's turn with an id.
func (l Lesson) turnByID(id string) memory.Turn {
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
func (e extractor) earlierTurns(ctx context.Context, owner memory.Owner, utterances []extract.Utterance) ([]memory.Turn, error) {
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
const maxGroundTexts = 8

// addGroundTexts adds to each utterance the texts that a new fact may refer to: earlier messages, and the
// facts in the model's prompt.
func (e extractor) addGroundTexts(owner memory.Owner, utterances []extract.Utterance, facts []memory.Fact, earlierTurns []memory.Turn) {
	earlier := e.guardedContext(owner, earlierTurns)
	for i := range utterances {
		s := &utterances[i]
		for _, t := range earlier {
			if t.Turn.Index < s.Turn.Index {
				s.EarlierMessages = append(s.EarlierMessages, t.Text)
			}
		}
		if s.EarlierMessages == nil { // no earlier turns: the utterances begin the conversation
			for _, o := range utterances[:i] {
				s.EarlierMessages = append(s.EarlierMessages, o.AnsweredMessage, o.Text)
			}
		}
		s.EarlierMessages = s.EarlierMessages[max(0, len(s.EarlierMessages)-maxGroundTexts):]
		for _, f := range slices.Concat(facts, s.PreviousFacts) {
			if f.Status == memory.Active { // pending facts are not evidence
				s.StoredMemories = append(s.StoredMemories, f.Content)
			}
		}
	}
}

// addAnsweredContext adds to the user's utterances the assistant's preceding message, and the facts
// learned from the user's message before it.
func (e extractor) addAnsweredContext(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, earlierTurns []memory.Turn) error {
	parents, err := e.parentTurns(ctx, owner, utterances, earlierTurns)
	if err != nil {
		return err
	}
	var indexes []int // indexes of utterances
	var l memory.ReadSet
	for i := range utterances {
		s := &utterances[i]
		parent, ok := parents[s.Turn.Parent]
		if s.Turn.Role != memory.RoleUser || !ok {
			continue
		}
		id := parent.ID
		if parent.Role == memory.RoleAssistant {
			s.AnsweredMessage, id = parent.Content, parent.Parent
		}
		if id != "" {
			indexes, l.Queries = append(indexes, i), append(l.Queries, memory.Query{Turn: id, Limit: 500})
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	batch, err := memory.ReadBatch(ctx, e.Store, owner, l)
	if err != nil {
		return fmt.Errorf("read the facts learned from the previous message: %w", err)
	}
	for k, i := range indexes {
		for _, m := range batch.Pages[k].Memories {
			if m.Link == nil {
				utterances[i].PreviousFacts = append(utterances[i].PreviousFacts, *m.Fact)
			}
		}
	}
	return nil
}

// parentTurns returns, by id, the turns that precede the user's utterances.
func (e extractor) parentTurns(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, earlierTurns []memory.Turn) (map[string]memory.Turn, error) {
	byID := map[string]memory.Turn{}
	var missing []string
	for _, s := range utterances {
		if s.Turn.Role != memory.RoleUser || s.Turn.Parent == "" {
			continue
		}
		if index := slices.IndexFunc(earlierTurns, func(t memory.Turn) bool { return t.ID == s.Turn.Parent }); index >= 0 {
			byID[s.Turn.Parent] = earlierTurns[index]
			continue
		}
		missing = append(missing, s.Turn.Parent)
	}
	if len(missing) == 0 {
		return byID, nil
	}
	memories, err := e.Store.Get(ctx, owner, missing...)
	if err != nil {
		return nil, fmt.Errorf("read the preceding turns: %w", err)
	}
	for _, m := range memories {
		if m.Turn != nil && m.Turn.Status == memory.Active {
			byID[m.Turn.ID] = *m.Turn
		}
	}
	return byID, nil
}

// markRolePlay marks the user's first utterance if it continues a role play.
func markRolePlay(utterances []extract.Utterance, earlierTurns []memory.Turn) {
	first := slices.IndexFunc(utterances, func(s extract.Utterance) bool { return s.Turn.Role == memory.RoleUser })
	if first < 0 {
		return
	}
	if at := slices.IndexFunc(earlierTurns, func(t memory.Turn) bool { return t.Index >= utterances[first].Turn.Index }); at >= 0 {
		earlierTurns = earlierTurns[:at]
	}
	utterances[first].InRolePlay = extract.InRolePlay(earlierTurns)
}

// memoriesPerSuspect is the number of memories with which each possibly injected sentence is compared.
const memoriesPerSuspect = 4

// InjectedTextDetector returns a detector of text that came from memory. It compares turns with the cached
// blocks of their requests and with similar memories older than the turns. If the search fails, it uses only
// the blocks.
func (e *Learner) InjectedTextDetector(ctx context.Context, scope memory.Scope, turns []memory.Turn) func(i int) *learn.InjectedMemories {
	blocks := extractor{e}.loadBlocks(scope.Owner, turns)
	return func(i int) *learn.InjectedMemories {
		var memories []memory.Memory
		for _, sentence := range learn.PossiblyInjected(turns[i]) {
			similar, err := core.FindMemories(ctx, e.Core, memory.Search{Scopes: []memory.Scope{scope}, Text: sentence, WordsOnly: true, Limit: memoriesPerSuspect})
			if err != nil {
				e.Log.Warn("could not read which memories the prompts had; their text may be learned again", "turn", turns[i].ID, "err", err)
				continue
			}
			for _, m := range similar {
				if m.Version() < turns[0].Version {
					memories = append(memories, m)
				}
			}
		}
		if len(memories) == 0 {
			return blocks.detectorUpTo(i)
		}
		return learn.NewRecalledMemories(memories, blocks.detectorUpTo(i))
	}
}

// turnBlocks are the cached blocks of a chunk's turns.
type turnBlocks struct {
	texts      []string
	addedCount int                     // number of blocks added to detector
	detector   *learn.InjectedMemories // detector of the added blocks; nil: no block was added
}

func (e extractor) loadBlocks(owner memory.Owner, turns []memory.Turn) *turnBlocks {
	b := &turnBlocks{texts: make([]string, len(turns))}
	for i, t := range turns {
		if block, ok := e.Blocks.Get(owner, t.Chain); ok {
			b.texts[i] = block.Text
		}
	}
	return b
}

// detectorUpTo returns a detector of the blocks of turns up to index i, or nil. i must not decrease.
func (b *turnBlocks) detectorUpTo(i int) *learn.InjectedMemories {
	for ; b.addedCount <= i; b.addedCount++ {
		if block := b.texts[b.addedCount]; block != "" {
			if b.detector == nil {
				b.detector = learn.NewInjectedMemories()
			}
			b.detector.Add(block)
		}
	}
	return b.detector
}

// byRule is the author of facts that the rules extracted.
var byRule = memory.Author{Kind: memory.ByRule, Name: "rules"}

// extraction contains the candidates of a model or the rules, and the facts in the model's prompt.
type extraction struct {
	candidates  []extract.Candidate
	promptFacts []memory.Fact
	author      memory.Author
}

// extract extracts candidates with the model or, without a model, with the rules.
func (e extractor) extract(ctx context.Context, job memory.Job, l Lesson, earlierTurns []memory.Turn) (extraction, error) {
	if len(l.utterances) == 0 {
		return extraction{author: byRule}, nil
	}
	if e.LLM == nil {
		return extraction{candidates: extract.FactsByRules(l.utterances), author: byRule}, nil
	}
	d, err := e.extractByModel(ctx, l, earlierTurns)
	var putOff *jobs.PutOff
	if err == nil || errors.As(err, &putOff) {
		return d, err
	}
	if e.Opts.LearnByRules && (job.Attempts >= maxModelAttempts || errors.Is(err, errUnreadable) || errors.Is(err, llm.ErrNoModel) || errors.Is(err, context.DeadlineExceeded) && job.Attempts >= maxHalvings) {
		e.Log.Warn("the model keeps failing; the rules learn instead", "job", job.ID, "err", err)
		return extraction{candidates: extract.FactsByRules(l.utterances), author: byRule}, nil
	}
	return extraction{}, err
}

// extractByModel calls the model, several times for long turns, unless no turn can contain a fact. Facts
// of an untrusted model become pending, and the rules also learn.
func (e extractor) extractByModel(ctx context.Context, l Lesson, earlierTurns []memory.Turn) (extraction, error) {
	combined := extraction{author: byRule}
	if e.Prompts.Form() == prompt.OpsForm && !e.Opts.LearnFromAssistant && !slices.ContainsFunc(l.utterances, learn.MayContainFact) {
		return combined, nil
	}
	reviewReason, err := e.reviewReason(ctx, l.scope.Owner)
	if err != nil {
		return extraction{}, err
	}
	for part := range learn.Batches(l.utterances, maxChunkBytes) {
		d, err := e.askForFacts(ctx, l.scope, part, earlierTurns)
		if err != nil {
			return extraction{}, err
		}
		combined = extraction{append(combined.candidates, learn.WithTurnIDs(d.candidates, part)...), append(combined.promptFacts, d.promptFacts...), d.author}
	}
	if reviewReason == "" {
		return combined, nil
	}
	for i := range combined.candidates {
		combined.candidates[i].ReviewReason = reviewReason
	}
	if combined.author = byRule; e.Opts.LearnByRules {
		combined.candidates = append(extract.FactsByRules(l.utterances), combined.candidates...)
	}
	return combined, nil
}

// contextMessages returns the last messages before the utterances, as context for a model, without
// secrets and injected text.
func (e extractor) contextMessages(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, earlierTurns []memory.Turn) ([]extract.Utterance, error) {
	limit := e.Opts.Learn.ContextMessages
	if e.Prompts.Form() != prompt.OpsForm {
		limit -= len(utterances)
	}
	first := utterances[0].Turn
	if limit <= 0 || first.Index == 0 {
		return nil, nil
	}
	turns := earlierTurns
	if len(turns) == 0 || turns[0].Index > max(0, first.Index-limit) {
		var err error
		if turns, err = e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: first.Conversation, Last: limit + len(utterances) + 2*maxChunkTurns}); err != nil {
			return nil, fmt.Errorf("read earlier turns: %w", err)
		}
	}
	turns = slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return t.Index >= first.Index })
	return e.guardedContext(owner, turns[max(0, len(turns)-limit):]), nil
}

// guardedContext returns messages that are only context, without secrets and injected text.
func (e extractor) guardedContext(owner memory.Owner, turns []memory.Turn) []extract.Utterance {
	return guardedUtterances(e.Core, turns, learn.GuardOptions{IncludeAssistant: true, IncludeOtherSpeakers: true, InjectedUpTo: e.loadBlocks(owner, turns).detectorUpTo})
}

// guardedUtterances returns the turns' texts without injected blocks and, if opts say so, personal data.
func guardedUtterances(e *core.Core, turns []memory.Turn, opts learn.GuardOptions) []extract.Utterance {
	opts.BlankPersonal, opts.FenceBegin, opts.FenceEnd = e.Opts.Learn.RedactPersonal, recall.FenceOpen, recall.FenceClose
	return learn.Guard(turns, opts)
}

// Bounds of the facts in a model's prompt: the facts similar to each clause, and the newest facts.
const (
	maxFactSearches   = 16
	maxSearchBytes    = 2 << 10 // maximum bytes of the text of a search
	maxWholeTurnBytes = 80      // maximum bytes of a turn that is searched as a whole
	maxSimilarFacts   = 8       // maximum number of similar facts, or the number of searches if larger
	maxPromptFacts    = 32
)

// factsForPrompt returns the stored facts for a prompt: similar facts and, for OpsForm, the newest facts.
func (e extractor) factsForPrompt(ctx context.Context, scope memory.Scope, utterances []extract.Utterance) ([]memory.Fact, error) {
	candidates, err := e.factsByClause(ctx, scope, utterances)
	if err != nil {
		return nil, err
	}
	if e.Prompts.Form() == prompt.OpsForm {
		page, err := e.Store.List(ctx, scope.Owner, memory.Query{Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 2 * maxPromptFacts})
		if err != nil {
			return nil, fmt.Errorf("read the newest facts: %w", err)
		}
		for _, m := range page.Memories {
			if m.Link == nil && scope.Sees(m.Scope()) && e.Retrieve.IsComparable(scope, m) {
				candidates = append(candidates, *m.Fact)
			}
		}
	}
	var out []memory.Fact
	for _, f := range candidates {
		hasSecret := learn.Redact(f.Content, e.Opts.Learn.RedactPersonal) != f.Content
		if !hasSecret && len(out) < maxPromptFacts && !slices.ContainsFunc(out, func(k memory.Fact) bool { return k.ID == f.ID }) {
			out = append(out, f)
		}
	}
	return out, nil
}

// factsByClause returns the facts most similar to each clause of the utterances: first the best fact of
// each clause, then the second best. It joins adjacent clauses if there are too many.
func (e extractor) factsByClause(ctx context.Context, scope memory.Scope, utterances []extract.Utterance) ([]memory.Fact, error) {
	var clauses []string
	for _, s := range utterances {
		if len(s.Text) <= maxWholeTurnBytes {
			clauses = append(clauses, strings.TrimSpace(s.Text))
			continue
		}
		for _, sentence := range english.ParseSentences(s.Text) {
			for _, c := range sentence.Clauses {
				clauses = append(clauses, c.Slice(s.Text))
			}
		}
	}
	var results [][]memory.Candidate
	var ids []string
	for part := range slices.Chunk(clauses, max(1, (len(clauses)+maxFactSearches-1)/maxFactSearches)) {
		similar, err := e.similarFacts(ctx, scope, core.Clip(strings.Join(part, "\n"), maxSearchBytes), maxSimilarFacts)
		if err != nil {
			return nil, err
		}
		results, ids = append(results, similar), append(ids, core.CandidateIDs(similar)...)
	}
	memories, err := e.Store.Get(ctx, scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read stored facts: %w", err)
	}
	var out []memory.Fact
	for rank := range maxSimilarFacts {
		for _, similar := range results {
			if rank >= len(similar) || len(out) == max(maxSimilarFacts, len(results)) {
				continue
			}
			for _, n := range e.comparableNeighbors(scope, similar[rank:rank+1], memories) {
				if !slices.ContainsFunc(out, func(f memory.Fact) bool { return f.ID == n.Fact.ID }) {
					out = append(out, n.Fact)
				}
			}
		}
	}
	return out, nil
}

const (
	windowTokens = 32_000 // smallest context window of nearly all models
	promptTokens = 2000   // reserved for the instructions and the reply
)

// remainingTokens returns the tokens of the model's window that remain after the utterances and facts.
func (e extractor) remainingTokens(utterances []extract.Utterance, facts []memory.Fact) int {
	tokens := windowTokens - promptTokens
	for _, s := range utterances {
		tokens -= text.EstimateTokens(s.TextForModel())
	}
	for _, f := range facts {
		tokens -= text.EstimateTokens(f.Content)
	}
	return max(tokens, 0)
}

func (e extractor) askForFacts(ctx context.Context, scope memory.Scope, utterances []extract.Utterance, earlierTurns []memory.Turn) (extraction, error) {
	preceding, err := e.contextMessages(ctx, scope.Owner, utterances, earlierTurns)
	if err != nil {
		return extraction{}, err
	}
	facts, err := e.factsForPrompt(ctx, scope, utterances)
	if err != nil {
		return extraction{}, err
	}
	attached, err := e.attachedText(ctx, scope.Owner, utterances[0].Turn.Conversation, e.remainingTokens(utterances, facts))
	if err != nil {
		return extraction{}, err
	}
	settings, err := e.LearningSettingsFor(ctx, scope, utterances[0].Turn.Conversation)
	if err != nil {
		return extraction{}, err
	}
	prompts := e.learningPrompts(scope.Owner)
	request, err := learn.AskFacts(learn.FactsInput{
		Utterances: utterances, Preceding: preceding, Facts: facts, AttachedDocuments: attached, LearningGoals: settings.Instructions, Zone: settings.TimeZone, Now: e.Time(),
	}, prompts)
	if err != nil {
		return extraction{}, fmt.Errorf("fill the extraction prompt: %w", err)
	}
	parse := learn.ParseFacts
	switch form := prompts.Form(); {
	case form == prompt.LineForm:
		parse = learn.ParseLine
	case form == prompt.OpsForm:
		parseCount := 0
		parse = func(reply string) ([]extract.Candidate, error) {
			parseCount++
			candidates, err := learn.ParseFacts(reply)
			if err != nil {
				return nil, err
			}
			candidates, err = learn.ValidateOperations(candidates, utterances, facts)
			if parseCount > 1 && len(candidates) > 0 {
				err = nil // there is no third call, so the valid candidates are used
			}
			return candidates, err
		}
	}
	candidates, reply, err := askAndParse(ctx, &e.Asker, scope.Owner, request, parse)
	if err != nil {
		return extraction{}, fmt.Errorf("ask for facts: %w", err)
	}
	for i := range candidates {
		candidates[i].Model = reply.Model + "+" + request.Hash
	}
	return extraction{candidates, facts, memory.Author{Kind: memory.ByModel, Name: reply.Model, Prompt: request.Hash}}, nil
}
