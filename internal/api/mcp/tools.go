package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Limits of arguments and results, in bytes or counts. The engine also limits the content of a fact.
const (
	maxTextBytes  = 32 << 20
	maxQueryBytes = 100_000
	maxNameBytes  = 512
	maxShownBytes = 600 // longer memories are shortened in lists
	maxHits       = 50
	maxListed     = 100
	defaultListed = 20
	maxIDs        = 500
	maxTags       = 64
)

const nothingRelevant = "Memory has nothing relevant to this."

func (d *handler) toolFuncs() map[string]toolFunc {
	return map[string]toolFunc{
		"remember": d.rememberFact, "recall": d.recallMemories, "context": d.recallContext, "get": d.getByID, "list": d.listMemories,
		"update": d.updateFact, "forget": d.forgetMemories, "review": d.reviewFacts, "search": d.searchForChatGPT, "fetch": d.fetchForChatGPT,
	}
}

// item is a memory in a result.
type item struct {
	ID         string        `json:"id"`
	Kind       memory.Kind   `json:"kind,omitempty"`
	Content    string        `json:"content"`
	Date       string        `json:"date,omitempty"`
	Score      float64       `json:"score,omitempty"`
	Status     memory.Status `json:"status,omitempty"` // omitted if active
	Role       memory.Role   `json:"role,omitempty"`
	Category   string        `json:"category,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Project    string        `json:"project,omitempty"`
	ReplacedBy []string      `json:"now,omitempty"`
	Replaced   []string      `json:"before,omitempty"`
}

func itemOf(m memory.Memory) item {
	v := client.View(m)
	at := v.ObservedAt
	if at.IsZero() {
		at = v.CreatedAt
	}
	out := item{
		ID: v.ID, Kind: v.Kind, Content: httpx.Truncate(v.Content, maxShownBytes), Date: at.Format(time.DateOnly),
		Status: v.Status, Role: v.Role, Category: v.Category, Tags: v.Tags, Project: v.Project,
	}
	if out.Status == memory.Active {
		out.Status = ""
	}
	return out
}

func itemsOf(memories []memory.Memory) []item {
	out := make([]item, 0, len(memories))
	for _, m := range memories {
		out = append(out, itemOf(m))
	}
	return out
}

type writeResult struct {
	Result   string   `json:"result"`
	ID       string   `json:"id"`
	Content  string   `json:"content"`
	Replaced []string `json:"replaced,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// writeResultOf describes a written fact. The field Result is outcome, or "held" if the fact is pending.
func (d *handler) writeResultOf(ctx context.Context, c caller, f memory.Fact, outcome string) (any, error) {
	out := writeResult{Result: outcome, ID: f.ID, Content: f.Content}
	if f.Status != memory.Pending {
		if outcome == "saved" {
			for _, old := range curate.ReplacedFacts(ctx, d.engine.Core, f) {
				out.Replaced = append(out.Replaced, httpx.Truncate(old.Content(), maxShownBytes))
			}
		}
		return out, nil
	}
	why, err := d.engine.Curate.PendingReason(ctx, c.owner, f)
	out.Result, out.Reason = "held", why
	return out, err
}

func (d *handler) rememberFact(ctx context.Context, c caller, a *arguments) (any, error) {
	input := curate.FactInput{
		Content: a.requiredText("content", maxTextBytes), Category: a.text("category", maxNameBytes),
		Tags: a.textList("tags", maxTags), Project: a.text("project", maxNameBytes),
	}
	if a.err != nil {
		return nil, a.err
	}
	f, created, err := d.engine.Curate.Remember(ctx, c.owner, input, c.author)
	if err != nil {
		return nil, err
	}
	result := "duplicate"
	if created {
		result = "saved"
	}
	return d.writeResultOf(ctx, c, f, result)
}

func (d *handler) updateFact(ctx context.Context, c caller, a *arguments) (any, error) {
	var edit curate.FactEdit
	id := a.requiredText("id", maxNameBytes)
	if a.has("content") {
		edit.Content = new(a.text("content", maxTextBytes))
	}
	if a.has("category") {
		edit.Category = new(a.text("category", maxNameBytes))
	}
	if a.has("tags") {
		edit.Tags = new(a.textList("tags", maxTags))
	}
	if a.err != nil {
		return nil, a.err
	}
	f, err := d.engine.Curate.EditByTool(ctx, c.owner, id, edit, c.author)
	if err != nil {
		return nil, err
	}
	return d.writeResultOf(ctx, c, f, "saved")
}

// newQuestion builds the question for the tools recall, context and search.
func newQuestion(c caller, a *arguments, textParameter string) retrieve.Question {
	q := retrieve.Question{
		Scope: memory.Scope{Owner: c.owner, Project: a.text("project", maxNameBytes)}, Text: a.requiredText(textParameter, maxQueryBytes),
		Category: a.text("category", maxNameBytes), Tag: a.text("tag", maxNameBytes), API: "mcp",
	}
	if n := a.number("limit", 0, maxHits); n > 0 {
		q.TopK = &n
	}
	return q
}

func (d *handler) recallHits(ctx context.Context, c caller, a *arguments) ([]memory.Hit, error) {
	q := newQuestion(c, a, "query")
	if a.err != nil {
		return nil, a.err
	}
	if err := d.engine.Curate.CheckToolAccess(ctx, c.owner, false); err != nil {
		return nil, err
	}
	found, err := d.engine.Retrieve.Recall(ctx, q)
	return found.Hits, err
}

type recallResult struct {
	Relevant bool   `json:"relevant"`
	Memories []item `json:"memories"`
	Note     string `json:"note,omitempty"`
}

func (d *handler) recallMemories(ctx context.Context, c caller, a *arguments) (any, error) {
	hits, err := d.recallHits(ctx, c, a)
	if err != nil {
		return nil, err
	}
	out := recallResult{Relevant: len(hits) > 0, Memories: make([]item, 0, len(hits))}
	for _, h := range hits {
		shown, v := itemOf(h.Memory), client.ViewHit(h, false)
		shown.Score, shown.ReplacedBy, shown.Replaced = float64(int(100*h.Score+0.5))/100, v.Now, v.Was
		out.Memories = append(out.Memories, shown)
	}
	if !out.Relevant {
		out.Note = nothingRelevant
	}
	return out, nil
}

type contextResult struct {
	Context string   `json:"context"`
	IDs     []string `json:"ids"`
}

// text implements textResult.
func (c contextResult) text() string { return c.Context }

func (d *handler) recallContext(ctx context.Context, c caller, a *arguments) (any, error) {
	q := newQuestion(c, a, "topic")
	q.WithCore = a.boolean("core", false)
	if a.err != nil {
		return nil, a.err
	}
	return d.contextBlock(ctx, q)
}

// contextBlock returns the memory block for a question.
func (d *handler) contextBlock(ctx context.Context, q retrieve.Question) (contextResult, error) {
	out := contextResult{Context: nothingRelevant, IDs: []string{}}
	if err := d.engine.Curate.CheckToolAccess(ctx, q.Scope.Owner, false); err != nil {
		return out, err
	}
	found, err := d.engine.Exchange.RecallBlock(ctx, q)
	if err != nil || found.Block == "" {
		return out, err
	}
	out.Context = found.Block
	for _, h := range found.Hits {
		out.IDs = append(out.IDs, h.Memory.ID())
	}
	return out, nil
}

func (d *handler) getByID(ctx context.Context, c caller, a *arguments) (any, error) {
	id := a.requiredText("id", maxNameBytes)
	if a.err != nil {
		return nil, a.err
	}
	return d.loadMemory(ctx, c, id)
}

func (d *handler) loadMemory(ctx context.Context, c caller, id string) (client.Memory, error) {
	if err := d.engine.Curate.CheckToolAccess(ctx, c.owner, false); err != nil {
		return client.Memory{}, err
	}
	m, err := d.engine.Get(ctx, c.owner, id)
	if err != nil {
		return client.Memory{}, err
	}
	return client.View(m), nil
}

type listResult struct {
	Memories []item `json:"memories"`
	Next     string `json:"next_cursor,omitempty"`
}

func (d *handler) listMemories(ctx context.Context, c caller, a *arguments) (any, error) {
	q := memory.Query{
		Tag: a.text("tag", maxNameBytes), Category: a.text("category", maxNameBytes), Project: a.text("project", maxNameBytes),
		Text: a.text("query", maxQueryBytes), Limit: a.number("limit", defaultListed, maxListed), Cursor: a.text("cursor", maxNameBytes),
	}
	if kind := a.oneOf("kind", string(memory.KindFact), string(memory.KindTurn), string(memory.KindSummary)); kind != "" {
		q.Kinds = []memory.Kind{memory.Kind(kind)}
	}
	if status := a.oneOf("status", string(memory.Active), string(memory.Pending), string(memory.Superseded), string(memory.Retired), string(memory.Rejected)); status != "" {
		q.Statuses = []memory.Status{memory.Status(status)}
	}
	if a.err != nil {
		return nil, a.err
	}
	if err := d.engine.Curate.CheckToolAccess(ctx, c.owner, false); err != nil {
		return nil, err
	}
	found, err := d.engine.List(ctx, c.owner, q)
	if err != nil {
		return nil, err
	}
	return listResult{itemsOf(found.Memories), found.Next}, nil
}

type forgetResult struct {
	Result   string `json:"result"`
	Memories []item `json:"memories"`
	Run      string `json:"run,omitempty"`
}

func (d *handler) forgetMemories(ctx context.Context, c caller, a *arguments) (any, error) {
	matching := curate.ForgetRequest{
		Query: strings.TrimSpace(a.text("query", maxQueryBytes)), IDs: a.textList("ids", maxIDs), DryRun: a.boolean("dry_run", true),
	}
	if a.err != nil {
		return nil, a.err
	}
	memories, r, err := d.engine.Curate.ForgetMatching(ctx, c.owner, matching, c.author)
	if err != nil {
		return nil, err
	}
	out := forgetResult{Result: "forgotten", Memories: itemsOf(memories), Run: r.Run}
	switch {
	case len(memories) == 0:
		out.Result = "nothing_found"
	case matching.DryRun:
		out.Result = "would_forget"
	case r.Changes == 0:
		out.Result, out.Run = "forgotten_before", ""
	}
	return out, nil
}

type reviewResult struct {
	Pending []pendingItem `json:"waiting"`
	Decided *item         `json:"decided,omitempty"`
	Next    string        `json:"next_cursor,omitempty"`
}

type pendingItem struct {
	item
	Reason   string `json:"reason,omitempty"`
	Quote    string `json:"said,omitempty"`
	Replaces []item `json:"replaces,omitempty"`
}

func (d *handler) reviewFacts(ctx context.Context, c caller, a *arguments) (any, error) {
	id, decision := a.text("id", maxNameBytes), a.oneOf("decision", string(memory.ActionApprove), string(memory.ActionReject))
	limit, cursor := a.number("limit", defaultListed, maxListed), a.text("cursor", maxNameBytes)
	if (id == "") != (decision == "") {
		a.setError("decision", "send both the id of the fact and the decision, or neither")
	}
	if a.err != nil {
		return nil, a.err
	}
	if err := d.engine.Curate.CheckToolAccess(ctx, c.owner, false); err != nil {
		return nil, err
	}
	out := reviewResult{Pending: []pendingItem{}}
	if id != "" {
		judged, _, err := d.engine.Curate.Judge(ctx, c.owner, []curate.Judgement{{ID: id, Action: memory.Action(decision)}}, "", c.author)
		if err != nil {
			return nil, err
		}
		out.Decided = new(itemOf(judged[0]))
		return out, nil
	}
	found, err := d.engine.Curate.PendingFacts(ctx, c.owner, limit, cursor)
	if err != nil {
		return nil, err
	}
	for _, w := range found.Facts {
		entry := pendingItem{item: itemOf(w.Memory), Reason: w.Reason}
		if w.Turn != nil {
			entry.Quote = httpx.Truncate(w.Turn.Content, maxShownBytes)
		}
		for _, f := range w.Conflicts {
			entry.Replaces = append(entry.Replaces, itemOf(memory.Memory{Fact: &f}))
		}
		out.Pending = append(out.Pending, entry)
	}
	out.Next = found.Next
	return out, nil
}

// Results of search and fetch in the format of ChatGPT's connectors.
type (
	searchResponse struct {
		Results []result `json:"results"`
	}
	result struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	fetchResponse struct {
		result
		Text     string            `json:"text"`
		Metadata map[string]string `json:"metadata"`
	}
)

const maxTitleBytes = 80

func searchResultOf(id, content string) result {
	return result{id, httpx.Truncate(strings.Join(strings.Fields(content), " "), maxTitleBytes), memoryURI + id}
}

func (d *handler) searchForChatGPT(ctx context.Context, c caller, a *arguments) (any, error) {
	hits, err := d.recallHits(ctx, c, a)
	if err != nil {
		return nil, err
	}
	out := searchResponse{Results: make([]result, 0, len(hits))}
	for _, h := range hits {
		out.Results = append(out.Results, searchResultOf(h.Memory.ID(), h.Memory.Content()))
	}
	return out, nil
}

func (d *handler) fetchForChatGPT(ctx context.Context, c caller, a *arguments) (any, error) {
	id := a.requiredText("id", maxNameBytes)
	if a.err != nil {
		return nil, a.err
	}
	m, err := d.loadMemory(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return fetchResponse{
		result: searchResultOf(m.ID, m.Content), Text: m.Content,
		Metadata: map[string]string{"kind": string(m.Kind), "status": string(m.Status), "created_at": m.CreatedAt.Format(time.RFC3339)},
	}, nil
}
