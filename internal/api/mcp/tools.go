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
	longText   = 32 << 20
	longQuery  = 100_000
	longName   = 512
	longShown  = 600 // maximum bytes of a memory in a list
	mostHits   = 50
	mostListed = 100
	listed     = 20
	mostIDs    = 500
	mostTags   = 64
)

const nothingRelevant = "Memory has nothing relevant to this."

func (d *handler) verbs() map[string]verb {
	return map[string]verb{
		"remember": d.remember, "recall": d.recall, "context": d.context, "get": d.get, "list": d.list,
		"update": d.update, "forget": d.forget, "review": d.review, "search": d.search, "fetch": d.fetch,
	}
}

// item is a memory in a list.
type item struct {
	ID       string        `json:"id"`
	Kind     memory.Kind   `json:"kind,omitempty"`
	Content  string        `json:"content"`
	Date     string        `json:"date,omitempty"`
	Score    float64       `json:"score,omitempty"`
	Status   memory.Status `json:"status,omitempty"` // omitted if active
	Role     memory.Role   `json:"role,omitempty"`
	Category string        `json:"category,omitempty"`
	Tags     []string      `json:"tags,omitempty"`
	Project  string        `json:"project,omitempty"`
	Now      []string      `json:"now,omitempty"`
	Before   []string      `json:"before,omitempty"`
}

func itemOf(m memory.Memory) item {
	v := client.View(m)
	at := v.ObservedAt
	if at.IsZero() {
		at = v.CreatedAt
	}
	out := item{
		ID: v.ID, Kind: v.Kind, Content: httpx.Brief(v.Content, longShown), Date: at.Format(time.DateOnly),
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

type written struct {
	Result   string   `json:"result"`
	ID       string   `json:"id"`
	Content  string   `json:"content"`
	Replaced []string `json:"replaced,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// writeResultOf describes a written fact with the result, or with the result "held" if the fact is pending.
func (d *handler) writtenOf(ctx context.Context, c caller, f memory.Fact, result string) (any, error) {
	out := written{Result: result, ID: f.ID, Content: f.Content}
	if f.Status != memory.Pending {
		if result == "saved" {
			for _, old := range curate.Replaced(ctx, d.engine.Core, f) {
				out.Replaced = append(out.Replaced, httpx.Brief(old.Content(), longShown))
			}
		}
		return out, nil
	}
	why, err := d.engine.Curate.WhyWaiting(ctx, c.owner, f)
	out.Result, out.Reason = "held", why
	return out, err
}

func (d *handler) remember(ctx context.Context, c caller, a *arguments) (any, error) {
	note := curate.Note{
		Content: a.required("content", longText), Category: a.text("category", longName),
		Tags: a.texts("tags", mostTags), Project: a.text("project", longName),
	}
	if a.err != nil {
		return nil, a.err
	}
	f, created, err := d.engine.Curate.Remember(ctx, c.owner, note, c.author)
	if err != nil {
		return nil, err
	}
	result := "duplicate"
	if created {
		result = "saved"
	}
	return d.writtenOf(ctx, c, f, result)
}

func (d *handler) update(ctx context.Context, c caller, a *arguments) (any, error) {
	var edit curate.Edit
	id := a.required("id", longName)
	if a.has("content") {
		edit.Content = new(a.text("content", longText))
	}
	if a.has("category") {
		edit.Category = new(a.text("category", longName))
	}
	if a.has("tags") {
		edit.Tags = new(a.texts("tags", mostTags))
	}
	if a.err != nil {
		return nil, a.err
	}
	f, err := d.engine.Curate.EditByTool(ctx, c.owner, id, edit, c.author)
	if err != nil {
		return nil, err
	}
	return d.writtenOf(ctx, c, f, "saved")
}

// newQuestion builds the question of recall, context and search.
func question(c caller, a *arguments, about string) retrieve.Question {
	q := retrieve.Question{
		Scope: memory.Scope{Owner: c.owner, Project: a.text("project", longName)}, Text: a.required(about, longQuery),
		Category: a.text("category", longName), Tag: a.text("tag", longName), Door: "mcp",
	}
	if n := a.number("limit", 0, mostHits); n > 0 {
		q.TopK = &n
	}
	return q
}

func (d *handler) hits(ctx context.Context, c caller, a *arguments) ([]memory.Hit, error) {
	q := question(c, a, "query")
	if a.err != nil {
		return nil, a.err
	}
	if err := d.engine.Curate.MayUse(ctx, c.owner, false); err != nil {
		return nil, err
	}
	found, err := d.engine.Retrieve.Recall(ctx, q)
	return found.Hits, err
}

type recalled struct {
	Relevant bool   `json:"relevant"`
	Memories []item `json:"memories"`
	Note     string `json:"note,omitempty"`
}

func (d *handler) recall(ctx context.Context, c caller, a *arguments) (any, error) {
	hits, err := d.hits(ctx, c, a)
	if err != nil {
		return nil, err
	}
	out := recalled{Relevant: len(hits) > 0, Memories: make([]item, 0, len(hits))}
	for _, h := range hits {
		shown, v := itemOf(h.Memory), client.ViewHit(h, false)
		shown.Score, shown.Now, shown.Before = float64(int(100*h.Score+0.5))/100, v.Now, v.Was
		out.Memories = append(out.Memories, shown)
	}
	if !out.Relevant {
		out.Note = nothingRelevant
	}
	return out, nil
}

type contextual struct {
	Context string   `json:"context"`
	IDs     []string `json:"ids"`
}

// text implements texter.
func (c contextual) text() string { return c.Context }

func (d *handler) context(ctx context.Context, c caller, a *arguments) (any, error) {
	q := question(c, a, "topic")
	q.Core = a.flag("core", false)
	if a.err != nil {
		return nil, a.err
	}
	return d.block(ctx, q)
}

// contextBlock returns the memory block about a topic.
func (d *handler) block(ctx context.Context, q retrieve.Question) (contextual, error) {
	out := contextual{Context: nothingRelevant, IDs: []string{}}
	if err := d.engine.Curate.MayUse(ctx, q.Scope.Owner, false); err != nil {
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

func (d *handler) get(ctx context.Context, c caller, a *arguments) (any, error) {
	id := a.required("id", longName)
	if a.err != nil {
		return nil, a.err
	}
	return d.memory(ctx, c, id)
}

func (d *handler) memory(ctx context.Context, c caller, id string) (client.Memory, error) {
	if err := d.engine.Curate.MayUse(ctx, c.owner, false); err != nil {
		return client.Memory{}, err
	}
	m, err := d.engine.Get(ctx, c.owner, id)
	if err != nil {
		return client.Memory{}, err
	}
	return client.View(m), nil
}

type page struct {
	Memories []item `json:"memories"`
	Next     string `json:"next_cursor,omitempty"`
}

func (d *handler) list(ctx context.Context, c caller, a *arguments) (any, error) {
	q := memory.Query{
		Tag: a.text("tag", longName), Category: a.text("category", longName), Project: a.text("project", longName),
		Text: a.text("query", longQuery), Limit: a.number("limit", listed, mostListed), Cursor: a.text("cursor", longName),
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
	if err := d.engine.Curate.MayUse(ctx, c.owner, false); err != nil {
		return nil, err
	}
	found, err := d.engine.List(ctx, c.owner, q)
	if err != nil {
		return nil, err
	}
	return page{itemsOf(found.Memories), found.Next}, nil
}

type forgotten struct {
	Result   string `json:"result"`
	Memories []item `json:"memories"`
	Run      string `json:"run,omitempty"`
}

func (d *handler) forget(ctx context.Context, c caller, a *arguments) (any, error) {
	what := curate.Matching{
		Query: strings.TrimSpace(a.text("query", longQuery)), IDs: a.texts("ids", mostIDs), DryRun: a.flag("dry_run", true),
	}
	if a.err != nil {
		return nil, a.err
	}
	gone, r, err := d.engine.Curate.ForgetMatching(ctx, c.owner, what, c.author)
	if err != nil {
		return nil, err
	}
	out := forgotten{Result: "forgotten", Memories: itemsOf(gone), Run: r.Run}
	switch {
	case len(gone) == 0:
		out.Result = "nothing_found"
	case what.DryRun:
		out.Result = "would_forget"
	case r.Changes == 0:
		out.Result, out.Run = "forgotten_before", ""
	}
	return out, nil
}

type reviewed struct {
	Waiting []waiting `json:"waiting"`
	Decided *item     `json:"decided,omitempty"`
	Next    string    `json:"next_cursor,omitempty"`
}

type waiting struct {
	item
	Reason   string `json:"reason,omitempty"`
	Quote    string `json:"said,omitempty"`
	Replaces []item `json:"replaces,omitempty"`
}

func (d *handler) review(ctx context.Context, c caller, a *arguments) (any, error) {
	id, decision := a.text("id", longName), a.oneOf("decision", string(memory.ActionApprove), string(memory.ActionReject))
	limit, cursor := a.number("limit", listed, mostListed), a.text("cursor", longName)
	if (id == "") != (decision == "") {
		a.fail("decision", "requires the id of the fact, and the id requires it")
	}
	if a.err != nil {
		return nil, a.err
	}
	if err := d.engine.Curate.MayUse(ctx, c.owner, false); err != nil {
		return nil, err
	}
	out := reviewed{Waiting: []waiting{}}
	if id != "" {
		judged, _, err := d.engine.Curate.Judge(ctx, c.owner, []curate.Judgement{{ID: id, Action: memory.Action(decision)}}, "", c.author)
		if err != nil {
			return nil, err
		}
		out.Decided = new(itemOf(judged[0]))
		return out, nil
	}
	found, err := d.engine.Curate.Waiting(ctx, c.owner, limit, cursor)
	if err != nil {
		return nil, err
	}
	for _, w := range found.Waiting {
		one := waiting{item: itemOf(w.Memory), Reason: w.Reason}
		if w.Turn != nil {
			one.Quote = httpx.Brief(w.Turn.Content, longShown)
		}
		for _, f := range w.Conflicts {
			one.Replaces = append(one.Replaces, itemOf(memory.Memory{Fact: &f}))
		}
		out.Waiting = append(out.Waiting, one)
	}
	out.Next = found.Next
	return out, nil
}

// Results of search and fetch in the format of ChatGPT's connectors.
type (
	searched struct {
		Results []result `json:"results"`
	}
	result struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	fetched struct {
		result
		Text     string            `json:"text"`
		Metadata map[string]string `json:"metadata"`
	}
)

const longTitle = 80

func resultOf(id, content string) result {
	return result{id, httpx.Brief(strings.Join(strings.Fields(content), " "), longTitle), memoryURI + id}
}

func (d *handler) search(ctx context.Context, c caller, a *arguments) (any, error) {
	hits, err := d.hits(ctx, c, a)
	if err != nil {
		return nil, err
	}
	out := searched{Results: make([]result, 0, len(hits))}
	for _, h := range hits {
		out.Results = append(out.Results, resultOf(h.Memory.ID(), h.Memory.Content()))
	}
	return out, nil
}

func (d *handler) fetch(ctx context.Context, c caller, a *arguments) (any, error) {
	id := a.required("id", longName)
	if a.err != nil {
		return nil, a.err
	}
	m, err := d.memory(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return fetched{
		result: resultOf(m.ID, m.Content), Text: m.Content,
		Metadata: map[string]string{"kind": string(m.Kind), "status": string(m.Status), "created_at": m.CreatedAt.Format(time.RFC3339)},
	}, nil
}
