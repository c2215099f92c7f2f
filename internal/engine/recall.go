package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Question is one question to memory.
type Question struct {
	Scope          memory.Scope
	Text           string
	TopK           *int     // nil: the setting
	ScoreThreshold *float64 // nil: the setting
	RecencyWeight  *float64 // nil: the setting
	Kinds          []memory.Kind
	Category       string
	Tag            string
	Conversation   string // search only what it said or taught
	Exclude        map[string]bool
	Said           []string // what the request says, to a model that reads it: not told again
	At             memory.At
	Budget         int                                                      // tokens; 0: any
	Whole          bool                                                     // also what says the same as a better hit
	Beside         func()                                                   // begins what Placed waits for, once the search goes on; nil: it was begun
	Replaced       map[string]bool                                          // turns that the request takes the place of: what they alone taught is not told
	Placed         func() (in string, exclude, replaced map[string]bool)    // waits for these of a chat; nil: they are set
	Earlier        func() (later bool, told func(recall.Line, string) bool) // waits for what earlier blocks tell, as in [recall.RenderOptions]; nil: there are none
	Carries        int                                                      // how many memories Placed may exclude
	In             string                                                   // the conversation that asks, for the trace
	Untold         bool                                                     // its trace has no words
	Door           string
}

// Found is what memory has to a question, best first.
type Found struct {
	Hits     []memory.Hit
	Trace    string
	Degraded []string // parts that were skipped, and why
	Misspelt []memory.Misspelt
	Block    string // of [Engine.RecallBlock], as Pause is
	Pause    Pause
}

const (
	// candidates is how many the searcher proposes.
	candidates = recall.Candidates

	// spare is how many more than asked are read from the store, since some are
	// folded into others or are gone by now.
	spare = 8

	// maxCarried is how many candidates more a chat asks for, since the request may
	// carry some of them.
	maxCarried = 100
)

// Recall answers a question from memory. A part that fails is skipped and named;
// only where nothing can be searched at all is it an error.
func (e *Engine) Recall(ctx context.Context, q Question) (Found, error) {
	started := e.Now()
	if e.apart() && q.Conversation != "" && q.At == (memory.At{}) { // and what the user's own conversation said
		q.Scope.Conversation, q.Conversation = q.Conversation, ""
	}
	defer e.lull.begin()()
	r := recalling{e: e, q: q, now: memory.Time(started)}
	err := r.run(ctx)
	e.Metrics.Recalled(e.Now().Sub(started), r.parts...)
	found := Found{Hits: r.hits, Trace: newID(), Degraded: r.degraded, Misspelt: recall.Spelt(r.misspelt, r.hits)}
	r.trace(found.Trace, "", e.Now().Sub(started))
	return found, err
}

// RecallBlock recalls as a chat does, for a client that puts the block into its prompt
// itself. What was said in the conversation that asks ([Question.In]), and what only that
// taught, is left out. While memory is paused there is nothing.
func (e *Engine) RecallBlock(ctx context.Context, q Question) (Found, error) {
	pause := e.Paused(ctx, q.Scope.Owner)
	if pause == PauseUnknown {
		return Found{}, errPauseUnknown
	}
	if pause == PauseMemory {
		return Found{Pause: pause}, nil
	}
	if q.In != "" {
		turns, err := e.branches(ctx, q.Scope.Owner, q.In)
		if err != nil {
			return Found{}, fmt.Errorf("read the conversation that asks: %w", err)
		}
		q.Exclude, q.Said = make(map[string]bool, len(turns)), []string{q.Text}
		for _, t := range turns {
			q.Exclude[t.ID] = true // also what was edited away, and what the client is about to replace
			if t.Status == memory.Active {
				q.Said = append(q.Said, t.Content)
			}
		}
	}
	q.Budget = e.opts.Budget
	p, r, took := e.prepare(ctx, q)
	r.traceSafely(p.Trace, p.Block, took)
	return Found{Hits: p.Hits, Trace: p.Trace, Degraded: r.degraded, Misspelt: recall.Spelt(r.misspelt, r.hits), Block: p.Block, Pause: pause}, nil
}

// prepare recalls for a chat: within the deadline, and with what is always in the
// prompt. Recall that comes too late is neither used nor counted. What comes of it is
// still to be traced.
func (e *Engine) prepare(ctx context.Context, q Question) (p Prepared, r *recalling, took time.Duration) {
	started := e.Now()
	defer e.lull.begin()()
	ctx, cancel := context.WithTimeout(ctx, e.opts.Deadline)
	defer cancel()
	type outcome struct {
		r     *recalling
		block string
	}
	done := make(chan outcome, 1)
	e.background.Go(func() {
		r := &recalling{e: e, q: q, chat: true, now: memory.Time(started)}
		done <- outcome{r, r.block(ctx)}
	})
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.r = &recalling{e: e, q: q, now: memory.Time(started)}
		o.r.skip("deadline", fmt.Errorf("recall took longer than %v", e.opts.Deadline))
	}
	o.r.placed()
	took = e.Now().Sub(started)
	e.Metrics.Recalled(took, o.r.parts...)
	return Prepared{Block: o.block, Hits: o.r.hits, Core: o.r.opening, Trace: newID(), Read: true, Pending: o.r.pending}, o.r, took
}

// block recalls and renders; what goes wrong is skipped, a panic included.
func (r *recalling) block(ctx context.Context) (text string) {
	defer func() {
		if v := recover(); v != nil {
			r.e.Log.Error("panic in recall", "panic", v)
			r.skip("recall", fmt.Errorf("panic: %v", v))
			r.hits = nil // they are in no block
		}
	}()
	var core recall.Core
	var disputed map[string]memory.Fact
	beside := recalling{e: r.e, q: r.q, now: r.now} // not r itself, which searches meanwhile
	read := once(func() {
		if err := beside.part(func() error { core = beside.core(ctx); core.Summary = beside.summary(ctx); return nil }); err != nil {
			beside.skip("core", err)
		}
		var err error
		if r.pending, disputed, err = r.e.disputes(ctx, r.q.Scope.Owner); err != nil {
			r.e.Log.Warn("what waits is not shown", "err", err)
		}
	})
	begin := func() { go read() }
	if first := r.q.Beside; first == nil {
		begin()
	} else { // a search is waited for longer, and what stands in every prompt last
		r.q.Beside = func() { first(); begin() }
	}
	defer read()
	err := r.run(ctx)
	read()
	if err != nil {
		r.skip("search", err)
	}
	r.degraded, r.parts = append(r.degraded, beside.degraded...), append(r.parts, beside.parts...)
	opts := r.e.rendering(false)
	opts.Disputed = disputed
	if r.q.Earlier != nil {
		opts.Later, opts.Told = r.q.Earlier()
	}
	block := recall.Render(core, r.hits, opts)
	r.lines = block.Lines
	r.opening, r.crowded = r.besides(block.Core), r.besides(block.Left)
	r.tellOnce()
	return block.Text
}

// recalling is one question on its way through the stages.
type recalling struct {
	e   *Engine
	q   Question
	now time.Time

	asked    string // what of the question is asked, without what stands beside it
	chat     bool   // the question is a message of a chat, which may ask nothing of memory
	found    int
	then     map[string]memory.Memory // what there was, of a question to the past
	cut      []recall.Cut
	echoes   *recall.Echoes     // of the question; nil where what repeats it is wanted, too
	echoing  map[string]bool    // what is left out as such, of one search
	answers  []memory.Hit       // of the assistant to what is left out: for want of what tells
	others   *recall.Others     // of the question; nil where it is not about the user alone
	theirs   map[string]bool    // by id: whether it is left out as somebody else's; false of what stands beside
	echoed   []recall.Dropped   // some of both, for the trace
	spare    []memory.Candidate // that were not read, since there was enough without
	dropped  []recall.Dropped
	hits     []memory.Hit
	opening  recall.Core   // what the block begins with, less what is among hits
	crowded  recall.Core   // what of that it had no room for
	lines    []recall.Line // of the block
	pending  int           // how many facts wait for a person
	degraded []string
	parts    []string // of degraded: which
	vector   bool     // the question's was remembered
	misspelt []memory.Misspelt
	reranked [2]int          // candidates that the reranker read, and was given
	carried  map[string]bool // by id, of what was looked at: whether the request holds it already

	overruled map[string]bool // by id of a shared fact that was looked at: whether an own fact contradicts it
}

func (r *recalling) skip(part string, err error) {
	r.degraded = append(r.degraded, part+": "+err.Error())
	r.parts = append(r.parts, part)
}

// placed waits until it is known where the question was asked and what the request
// holds already.
func (r *recalling) placed() {
	if r.q.Placed != nil {
		r.q.In, r.q.Exclude, r.q.Replaced = r.q.Placed()
		r.q.Placed = nil
	}
}

// run takes the question through query, search, rank, hydration and fit.
func (r *recalling) run(ctx context.Context) error {
	if !r.q.Scope.Owner.Valid() {
		return memory.Errorf(memory.Invalid, "a question needs an owner")
	}
	topK := r.e.opts.TopK
	if r.q.TopK != nil {
		topK = *r.q.TopK
	}
	if topK <= 0 {
		return nil
	}
	defer func() { r.dropped = append(r.dropped, r.echoed...) }()
	query := r.query()
	r.asked = query.Asked
	if query.Broad && r.lists() {
		err := r.part(func() error { return r.list(ctx, topK) })
		if err == nil {
			return nil
		}
		r.skip("list", err)
	}
	err := r.part(func() error { return r.find(ctx, query, topK) })
	if !r.standsIn(ctx, err) {
		return err
	}
	if second := r.part(func() error { return r.recent(ctx, topK) }); second != nil {
		r.skip("recent", second)
		return err
	}
	if err != nil {
		r.skip("search", err)
	}
	return nil
}

// find takes the query through search, rank, hydration and fit; few facts are all
// shown.
func (r *recalling) find(ctx context.Context, query recall.Query, topK int) error {
	ctx, cancel := within(ctx, searchShare)
	defer cancel()
	if s, ok := r.e.Searcher.(aheadSearcher); ok && r.q.At == (memory.At{}) && r.e.opts.Recall.SmallSet == 0 {
		ctx = s.Ahead(ctx, r.q.Scope.Owner) // beside what is asked and made before the search
	}
	if rules := r.e.opts.Recall; rules.SmallSet > 0 || rules.Reach == ReachConversation {
		r.placed()
	}
	hits, small := r.smallSet(ctx)
	r.found = len(hits)
	pool, joins := r.pool(ctx)
	var scopes []memory.Scope
	if !small {
		scopes = append(scopes, r.q.Scope)
	}
	others := r.pools()
	if joins {
		others = append(others, pool)
	}
	scopes = append(scopes, others...)
	if len(scopes) > 0 {
		s := r.wanted(ctx, query, embedShare)
		s.Scopes = scopes
		found, err := r.ranked(ctx, query, s, topK)
		if err != nil && len(others) > 0 {
			r.skip("bootstrap", err)
			s.Scopes = scopes[:len(scopes)-len(others)]
			found, err = r.ranked(ctx, query, s, topK)
		}
		if err != nil {
			return err
		}
		if len(hits) > 0 {
			found = slices.Concat(hits, found)
		}
		hits = found
	}
	if small {
		topK = r.atLeast(topK, len(hits))
	}
	r.fit(ctx, hits, topK)
	if len(r.hits) < topK && len(r.spare) > 0 {
		more, err := r.read(ctx, r.spare)
		if err != nil {
			return err
		}
		r.spare = nil
		r.fit(ctx, slices.Concat(hits, more), topK)
	}
	if r.then == nil {
		if err := r.part(func() error { r.overtaken(ctx); return nil }); err != nil {
			r.skip("successors", err)
		}
		if err := r.part(func() error { r.before(ctx); return nil }); err != nil {
			r.skip("predecessors", err)
		}
	}
	return nil
}

// aheadSearcher is a searcher that can begin to read of an owner before it is asked: see
// [index.Index.Ahead].
type aheadSearcher interface {
	Ahead(ctx context.Context, owner memory.Owner) context.Context
}

// ranked returns what is found, best first: at least topK memories that the
// request does not carry itself, if there are so many. What it left to be read, should
// some of them be folded into others, is spare.
func (r *recalling) ranked(ctx context.Context, query recall.Query, s memory.Search, topK int) ([]memory.Hit, error) {
	s.Limit = r.e.opts.Recall.limit(s.Limit, topK)
	for tries := 1; ; tries++ {
		r.echoing, r.answers = map[string]bool{}, nil
		hits, err := r.searched(ctx, query, s, topK)
		if len(hits) == 0 {
			hits = r.answers
		}
		if err != nil || tries == echoSearches || 2*len(r.echoing) < s.Limit {
			return hits, err
		}
		s.Exclude = maps.Clone(s.Exclude)
		if s.Exclude == nil {
			s.Exclude = map[string]bool{}
		}
		maps.Copy(s.Exclude, r.echoing)
	}
}

// searched is ranked by one search.
func (r *recalling) searched(ctx context.Context, query recall.Query, s memory.Search, topK int) ([]memory.Hit, error) {
	var cands []memory.Candidate
	err := r.part(func() (err error) { cands, err = r.search(ctx, s); return err })
	if err != nil {
		return nil, err
	}
	if r.q.Placed != nil {
		r.placed()
		cands = r.without(cands)
	}
	r.found += len(cands)
	r.misspelt = recall.Misspelt(cands)
	defer func() { index.Done(cands) }() // ranking copies what it keeps
	opts := recall.Options{Limit: topK + spare, Threshold: r.q.ScoreThreshold, Recency: r.q.RecencyWeight}
	if opts.Threshold == nil && r.e.opts.Threshold >= 0 {
		opts.Threshold = &r.e.opts.Threshold
	}
	if opts.Recency == nil {
		opts.Recency = &r.e.opts.RecencyWeight
	}
	opts.Background, opts.OfWords = background(r.e.Embedder), ofWords(r.e.Embedder)
	r.e.opts.Recall.ranking(&opts)
	r.measure(&opts, opts.Measure.For(cands))
	opts.Chat = r.chat && r.ruled() && opts.Threshold == nil // a threshold that somebody set decides alone
	if cands = r.unrepeated(cands); r.e.Reranker != nil {
		if cands, err = r.telling(ctx, query, cands, unreranked(opts, cands)); err != nil {
			return nil, err
		}
	}
	if len(r.echoing) > 0 {
		opts.Answered, opts.Chat = &askedAgain, false
	}
	if !r.q.Whole {
		r.others, r.theirs = recall.NewOthers(query), map[string]bool{}
	}
	if opts.Reranked = r.rerank(ctx, query, cands, unreranked(opts, cands)); len(opts.Reranked) == 0 && opts.Measure == recall.Reranker {
		r.measure(&opts, recall.Fitted)
	}
	for wide := false; ; opts.Limit *= 4 {
		var kept []memory.Candidate
		kept, r.cut = recall.Rank(query, cands, opts, r.now)
		first := r.enough(kept, topK)
		if wide {
			first = len(kept)
		}
		hits, err := r.read(ctx, kept[:first])
		if err != nil {
			return nil, err
		}
		if r.echoesIn(hits) {
			cands, opts.Answered, opts.Chat, wide = r.unechoed(cands), &askedAgain, false, true
			continue
		}
		if r.othersIn(hits) {
			cands, wide = r.ofTheUser(cands), true
			continue
		}
		if first < len(kept) {
			if _, held := r.uncarried(hits); len(hits) == first && len(held) == 0 {
				r.spare = kept[first:]
				return hits, nil
			}
			more, err := r.read(ctx, kept[first:])
			if err != nil {
				return nil, err
			}
			if r.echoesIn(slices.Concat(hits, more)) {
				cands, opts.Answered, opts.Chat, wide = r.unechoed(cands), &askedAgain, false, true
				continue
			}
			if r.othersIn(more) {
				cands, wide = r.ofTheUser(cands), true
				continue
			}
			hits = slices.Concat(hits, more)
		}
		if fresh, _ := r.uncarried(hits); len(fresh) >= topK || len(fresh) == len(hits) || len(kept) < opts.Limit {
			return hits, nil
		}
	}
}

// measure sets what candidates are ranked by. Where that is not the measure of the setting,
// neither is the threshold of the settings on it.
func (r *recalling) measure(opts *recall.Options, m recall.Measure) {
	if opts.Measure != m && r.q.ScoreThreshold == nil {
		opts.Threshold = nil
	}
	opts.Measure = m
}

// unreranked returns the options by which candidates are ranked before a reranker reads them.
func unreranked(opts recall.Options, cands []memory.Candidate) recall.Options {
	if opts.Measure == recall.Reranker {
		whole := 1.0
		opts.Measure, opts.Lambda = recall.Cosine.For(cands), &whole
	}
	return opts
}

// without returns candidates that the request does not carry, at most as many as
// are asked for without one.
func (r *recalling) without(cands []memory.Candidate) []memory.Candidate {
	cands = slices.DeleteFunc(cands, func(c memory.Candidate) bool { return r.q.Exclude[c.ID] })
	return cands[:min(len(cands), candidates)]
}

// enough is how many candidates are read at first: as many as are asked for, unless a
// fact behind them may stand in for a turn among them.
func (r *recalling) enough(kept []memory.Candidate, topK int) int {
	if r.q.Whole || r.then != nil || len(kept) <= topK ||
		slices.ContainsFunc(kept[topK:], func(c memory.Candidate) bool { return c.Kind == memory.KindFact }) {
		return len(kept)
	}
	return topK
}

// fit keeps the hits that there is room for.
func (r *recalling) fit(ctx context.Context, hits []memory.Hit, topK int) {
	if r.q.Whole {
		r.hits = hits
		return
	}
	fresh, held := r.uncarried(r.withReasons(ctx, hits))
	budget := r.q.Budget
	if budget == 0 {
		budget = math.MaxInt
	}
	var overruled []memory.Hit
	for {
		r.hits, r.dropped = recall.Fit(fresh, recall.FitOptions{TopK: topK, Budget: budget, Question: r.asked, Echoes: r.echoes})
		against := r.againstOwn(ctx, r.hits)
		if len(against) == 0 {
			break
		}
		overruled = append(overruled, against...)
		fresh = slices.DeleteFunc(slices.Clone(fresh), func(h memory.Hit) bool { return r.overruled[h.Memory.ID()] })
	}
	for _, h := range held {
		r.dropped = append(r.dropped, recall.Dropped{Hit: h, Stage: "carried"})
	}
	for _, h := range overruled {
		r.dropped = append(r.dropped, recall.Dropped{Hit: h, Stage: "contradicted"})
	}
}

// reasonsOf is how many facts are shown with their turns where a question is for a reason.
const reasonsOf = 3

// withReasons puts behind the first facts the turns that they were learned from, where the question is
// for a reason: ranking prefers facts, which seldom have it. Fit leaves out what says no more.
func (r *recalling) withReasons(ctx context.Context, hits []memory.Hit) []memory.Hit {
	if r.then != nil || !recall.AsksWhy(r.asked) {
		return hits
	}
	out, left := make([]memory.Hit, 0, len(hits)+reasonsOf), reasonsOf
	for _, h := range hits {
		out = append(out, h)
		if h.Memory.Fact == nil || h.Memory.Link != nil || left == 0 || h.Why.Get("own") == 0 {
			continue
		}
		left--
		var missing []string
		for _, id := range h.Memory.Fact.Provenance.Turns {
			if !r.q.Exclude[id] && !slices.ContainsFunc(hits, func(other memory.Hit) bool { return other.Memory.ID() == id }) {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			continue
		}
		turns, err := r.e.Store.Get(ctx, r.q.Scope.Owner, missing...)
		if err != nil {
			r.skip("reasons", err)
			return hits
		}
		for _, m := range turns {
			if m.Turn != nil && m.Visible(r.now) && m.Turn.Tells() {
				out = append(out, memory.Hit{Memory: m, Score: h.Score, Why: append(slices.Clone(h.Why), memory.Part{Name: "reason", Value: 1})})
			}
		}
	}
	return out
}

// againstOwn returns the hits that another user shares and an own fact of the user's
// contradicts, whether that is a hit or not. It looks at the present only: facts of another
// time are not searched for contradictions.
func (r *recalling) againstOwn(ctx context.Context, hits []memory.Hit) []memory.Hit {
	if r.then != nil {
		return nil
	}
	var out []memory.Hit
	for _, h := range hits {
		link := h.Memory.Link
		if link == nil || !betweenUsers(link.Fact.Scope.Owner, link.Owner) {
			continue
		}
		id := h.Memory.ID()
		is, looked := r.overruled[id]
		if !looked {
			own, err := r.e.ownAgainst(ctx, *link)
			if err != nil {
				r.skip("shared", err)
			}
			if r.overruled == nil {
				r.overruled = map[string]bool{}
			}
			is = err != nil || len(own) > 0
			r.overruled[id] = is
		}
		if is {
			out = append(out, h)
		}
	}
	return out
}

// wanted is what the searcher is asked for. An embedder that fails, or takes more than its
// share of the time that is left, leaves the words.
func (r *recalling) wanted(ctx context.Context, query recall.Query, share float64) memory.Search {
	s := memory.Search{
		Text:         query.Text,
		Weights:      query.Weights,
		Kinds:        r.q.Kinds,
		Category:     r.q.Category,
		Tag:          r.q.Tag,
		Conversation: r.q.Conversation,
		Exclude:      r.q.Exclude,
		Now:          r.now,
		Limit:        candidates + min(r.q.Carries, maxCarried),
		WordsFirst:   ofWords(r.e.Embedder) && r.e.opts.Recall.Measure == recall.Fitted,
	}
	if r.e.opts.Recall.NoTurns && len(s.Kinds) == 0 && r.ruled() {
		s.Kinds = []memory.Kind{memory.KindFact, memory.KindSummary}
	}
	ctx, cancel := within(ctx, share)
	defer cancel()
	err := r.part(func() error {
		if c, ok := r.e.Embedder.(interface{ Knows(question string) bool }); ok {
			r.vector = c.Knows(query.Near)
		}
		vectors, err := r.e.Embedder.Embed(ctx, memory.AsQuestion, query.Near)
		if err == nil {
			s.Vector, s.ByVector = vectors[0], r.e.opts.Recall.Measure != recall.Fitted
		}
		return err
	})
	if err != nil {
		r.skip("embedder", err)
	}
	return s
}

// search asks the resident index or, for another time than the present, one that
// is built of what there was then.
func (r *recalling) search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	switch {
	case r.q.At != (memory.At{}):
		return r.searchPast(ctx, s)
	case r.q.Scope.Conversation != "":
		return r.searchApart(ctx, s)
	case r.e.opts.Recall.Reach == ReachConversation && r.q.In != "" && r.ruled() && r.q.Conversation == "":
		return r.searchConversation(ctx, s)
	}
	if ix, ok := r.e.Searcher.(besideSearcher); ok && r.q.Beside != nil {
		ctx = ix.Beside(ctx, r.q.Beside)
		r.q.Beside = nil // a second search is of the same question
	}
	return r.e.Searcher.Search(ctx, s)
}
