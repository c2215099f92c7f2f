package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// rig is the API behind the guard, for several users.
type rig struct {
	t      *testing.T
	engine *engine.Engine
	server *httptest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	clock := &memtest.Clock{}
	store := inmem.Open(inmem.Options{Now: clock.Now})
	ix := index.New(store, index.Options{Model: embed.Lexical{}.Fingerprint()})
	e := engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embed.Lexical{}, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: clock.Now, WakeJobRunner: func() {},
	}, core.Options{TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, RecencyWeight: 0.2, Deadline: 10 * time.Second, LearnAfter: core.NeverLearn, MaxTextBytes: 1 << 10})
	t.Cleanup(func() {
		e.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(httpx.Guard(httpx.Options{MultiUser: true, MaxBody: 64 << 10}, New(e, Options{Version: "1"})))
	t.Cleanup(s.Close)
	return &rig{t, e, s}
}

// user adds the user's name to each request.
type user string

func (u user) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if u != "" {
		r.Header.Set(httpx.HeaderUser, string(u))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// as connects an SDK client for a user.
func (r *rig) as(name, query string) *mcp.ClientSession {
	r.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: r.server.URL + Path + query, HTTPClient: &http.Client{Transport: user(name)}}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

// call calls a tool and decodes its structured result into out. It returns the text of a refusal.
func call(t *testing.T, s *mcp.ClientSession, tool string, args any, out any) (refused string) {
	t.Helper()
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s %v: %d pieces of content, want 1", tool, args, len(res.Content))
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return text
	}
	data, err := json.Marshal(res.StructuredContent)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		t.Fatalf("%s %v: %v in %s", tool, args, err, data)
	}
	return ""
}

type args map[string]any

func TestOneFactThroughAllTools(t *testing.T) {
	s := newRig(t).as("ana", "")
	var made, again writeResult
	call(t, s, "remember", args{"content": "User is allergic to peanuts", "tags": []string{"food"}}, &made)
	call(t, s, "remember", args{"content": "User is allergic to peanuts"}, &again)
	if made.Result != "saved" || again.Result != "duplicate" || made.ID == "" || made.ID != again.ID {
		t.Fatalf("remembered %+v, then %+v; want saved, then duplicate of the same id", made, again)
	}
	var found, nothing recallResult
	call(t, s, "recall", args{"query": "what is the user allergic to?"}, &found)
	call(t, s, "recall", args{"query": "the boiling point of tungsten"}, &nothing)
	if !found.Relevant || len(found.Memories) != 1 || found.Memories[0].ID != made.ID || nothing.Relevant || len(nothing.Memories) != 0 || nothing.Note == "" {
		t.Errorf("recalled %+v and of something else %+v; want the fact, and nothing relevant", found, nothing)
	}
	var one struct{ ID, Content, Status string }
	call(t, s, "get", args{"id": made.ID}, &one)
	var all listResult
	call(t, s, "list", args{"tag": "food"}, &all)
	if one.Content != made.Content || len(all.Memories) != 1 || all.Memories[0].Content != made.Content {
		t.Errorf("got %+v and listed %+v, want %s", one, all, made.Content)
	}
	var block contextResult
	call(t, s, "context", args{"topic": "What nuts may I eat? I am allergic."}, &block)
	if !strings.Contains(block.Context, "peanuts") || !slices.Contains(block.IDs, made.ID) {
		t.Errorf("context: %+v, want the fact in it", block)
	}
	var next writeResult
	call(t, s, "update", args{"id": made.ID, "content": "User is allergic to peanuts and almonds"}, &next)
	if next.Result != "saved" || next.ID == made.ID || !slices.Equal(next.Replaced, []string{made.Content}) || len(made.Replaced) > 0 {
		t.Errorf("updated: %+v, want a new fact in the place of %q", next, made.Content)
	}
	var would, gone, before forgetResult
	call(t, s, "forget", args{"ids": []string{next.ID}}, &would)
	call(t, s, "get", args{"id": next.ID}, &one)
	if would.Result != "would_forget" || len(would.Memories) != 1 || one.Status != "active" {
		t.Errorf("forgetting is tried by default: %+v, and it is %s", would, one.Status)
	}
	call(t, s, "forget", args{"ids": []string{next.ID}, "dry_run": false}, &gone)
	call(t, s, "forget", args{"ids": []string{next.ID}, "dry_run": false}, &before)
	if gone.Result != "forgotten" || gone.Run == "" || before.Result != "forgotten_before" {
		t.Errorf("forgotten: %+v, then %+v", gone, before)
	}
	call(t, s, "recall", args{"query": "what is the user allergic to?"}, &found)
	if slices.ContainsFunc(found.Memories, func(i item) bool { return i.ID == next.ID }) {
		t.Errorf("it is recalled once it is forgotten: %+v", found)
	}
}

func TestHeldFactsAreReviewedByTheUser(t *testing.T) {
	r := newRig(t)
	ana := memory.User(memory.DefaultNamespace, "ana")
	if _, _, err := r.engine.Curate.Remember(context.Background(), ana, curate.FactInput{Content: "User lives in Berlin"}, memory.Author{Kind: memory.ByPerson, Name: "ana"}); err != nil {
		t.Fatal(err)
	}
	s := r.as("ana", "")
	var held writeResult
	call(t, s, "remember", args{"content": "User lives in Lisbon"}, &held)
	var list reviewResult
	call(t, s, "review", args{}, &list)
	if held.Result != "held" || held.Reason == "" || len(list.Pending) != 1 || list.Pending[0].ID != held.ID || list.Pending[0].Reason != held.Reason ||
		len(list.Pending[0].Replaces) != 1 || list.Pending[0].Replaces[0].Content != "User lives in Berlin" {
		t.Fatalf("held %+v, waiting %+v; want it to wait in place of Berlin", held, list)
	}
	if refused := call(t, s, "review", args{"id": held.ID, "decision": "approve"}, nil); !strings.Contains(refused, "only the user can approve") {
		t.Errorf("a model approves: %q, want it refused", refused)
	}
	var decided reviewResult
	call(t, s, "review", args{"id": held.ID, "decision": "reject"}, &decided)
	if decided.Decided == nil || decided.Decided.Status != memory.Rejected {
		t.Errorf("rejected: %+v", decided)
	}
}

func TestArgumentsAsModelsWriteThem(t *testing.T) {
	r := newRig(t)
	s := r.as("ana", "")
	for _, content := range []string{"User drinks oolong tea", "User drinks sencha tea", "User drinks rooibos tea"} {
		call(t, s, "remember", args{"text": content, "tags": "drinks, tea"}, nil)
	}
	for _, a := range []args{
		{"query": "which tea does the user drink?", "limit": 2}, {"q": "which tea does the user drink?", "limit": "2"},
		{"text": "which tea does the user drink?", "top_k": 2.0}, {"question": "which tea does the user drink?", "topK": "2"},
		{"query": "which tea does the user drink?", "max_results": 2, "project": nil},
	} {
		var found recallResult
		if refused := call(t, s, "recall", a, &found); refused != "" || len(found.Memories) != 2 {
			t.Errorf("%v: %q, %+v; want two memories", a, refused, found)
		}
	}
	var all listResult
	call(t, s, "list", args{"limit": "99999"}, &all)
	if len(all.Memories) != 3 || len(all.Memories[0].Tags) != 2 {
		t.Fatalf("listed %+v, want three with two tags", all)
	}
	for _, ids := range []any{[]string{all.Memories[0].ID}, all.Memories[0].ID, `["` + all.Memories[0].ID + `"]`, " " + all.Memories[0].ID + " ,"} {
		var would forgetResult
		if refused := call(t, s, "forget", args{"ids": ids, "dry_run": "true"}, &would); refused != "" || len(would.Memories) != 1 {
			t.Errorf("forget %v: %q, %+v; want one", ids, refused, would)
		}
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	r := newRig(t)
	s := r.as("ana", "")
	for _, c := range []struct {
		tool string
		args any
		want string
	}{
		{"remember", args{}, "content: is missing"},
		{"remember", args{"content": "  "}, "content: is missing"},
		{"remember", args{"content": []int{1}}, "content: must be a string"},
		{"remember", args{"content": strings.Repeat("x", 2000)}, "content: has 2000 bytes"},
		{"remember", args{"content": "a", "user_id": "ben"}, `unknown argument "user_id"; valid: category, content, project, tags`},
		{"remember", args{"content": "a", "fact": "b"}, "unknown argument"},
		{"recall", args{"query": "a", "limit": "many"}, "limit: must be a whole number"},
		{"recall", args{"query": "a", "limit": -1}, "limit: must be a whole number"},
		{"recall", args{"q": "a", "text": "b"}, "query: duplicate argument"},
		{"list", args{"status": "gone"}, `status: "gone" is invalid; valid: active`},
		{"list", args{"cursor": "nonsense"}, "cursor"},
		{"forget", args{}, "either a query or ids"},
		{"forget", args{"query": "tea", "dry_run": "maybe"}, "dry_run: must be true or false"},
		{"review", args{"decision": "reject"}, "decision: send both the id"},
		{"get", args{"id": strings.Repeat("x", 600)}, "id: has 600 bytes"},
		{"update", args{"id": "no-such"}, "no memory"},
	} {
		if refused := call(t, s, c.tool, c.args, nil); !strings.Contains(refused, c.want) {
			t.Errorf("%s %.80v: refused with %q, want %q", c.tool, c.args, refused, c.want)
		}
	}
	if n, err := r.engine.Store.Totals(context.Background()); err != nil || n.Facts != 0 {
		t.Errorf("%d facts were written, %v", n.Facts, err)
	}
}

func TestNobodyReachesAnothersMemory(t *testing.T) {
	r := newRig(t)
	ben, ana := r.as("ben", ""), r.as("ana", "")
	var secret writeResult
	call(t, ben, "remember", args{"content": "Ben hides the key under the blue flowerpot"}, &secret)
	for tool, a := range map[string]args{
		"get": {"id": secret.ID}, "update": {"id": secret.ID, "content": "mine"}, "forget": {"ids": []string{secret.ID}, "dry_run": false},
		"review": {"id": secret.ID, "decision": "reject"},
	} {
		if refused := call(t, ana, tool, a, nil); !strings.Contains(refused, "no memory") || strings.Contains(refused, "flowerpot") {
			t.Errorf("%s with another's id: %q, want that there is no such memory", tool, refused)
		}
	}
	if _, err := ana.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: memoryURI + secret.ID}); err == nil {
		t.Error("another's memory is read as a resource")
	}
	var found recallResult
	if call(t, ana, "recall", args{"query": "where is the key hidden?"}, &found); found.Relevant {
		t.Errorf("recalled %+v of another's", found)
	}
	if refused := call(t, r.as("", ""), "recall", args{"query": "where is the key hidden?"}, nil); !strings.Contains(refused, "missing user") {
		t.Errorf("nobody in particular is answered %q", refused)
	}
}

func TestToolsOfAProfile(t *testing.T) {
	r := newRig(t)
	eight := []string{"context", "forget", "get", "list", "recall", "remember", "review", "update"}
	for query, want := range map[string][]string{"": eight, "?profile=chatgpt": append([]string{"fetch", "search"}, eight...)} {
		listed, err := r.as("ana", query).ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.OutputSchema == nil || tool.Annotations == nil {
				t.Errorf("%s lacks a description, an output schema or annotations", tool.Name)
			}
		}
		slices.Sort(want)
		slices.Sort(names)
		if !slices.Equal(names, want) || listed.CacheScope != "private" {
			t.Errorf("%q: tools %v with scope %q, want %v, private", query, names, listed.CacheScope, want)
		}
	}
	s := r.as("ana", "?profile=chatgpt")
	var made writeResult
	call(t, s, "remember", args{"content": "User plays the cello"}, &made)
	var found searchResponse
	call(t, s, "search", args{"query": "which instrument does the user play?"}, &found)
	if len(found.Results) != 1 || found.Results[0].ID != made.ID || found.Results[0].Title == "" || found.Results[0].URL == "" {
		t.Fatalf("search: %+v", found)
	}
	var whole map[string]any
	call(t, s, "fetch", args{"id": found.Results[0].ID}, &whole)
	if whole["text"] != made.Content || whole["id"] != made.ID || whole["url"] == "" {
		t.Errorf("fetch: %v", whole)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	ana := memory.User(memory.DefaultNamespace, "ana")
	if _, err := r.engine.Query.SetEntry(ctx, ana, "timezone", "Europe/Lisbon", memory.Author{Kind: memory.ByPerson}); err != nil {
		t.Fatal(err)
	}
	s := r.as("ana", "")
	var made writeResult
	call(t, s, "remember", args{"content": "User plays the cello"}, &made)
	for uri, want := range map[string]string{profileURI: "Europe/Lisbon", memoryURI + made.ID: made.Content} {
		got, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents) != 1 || !strings.Contains(got.Contents[0].Text, want) || got.CacheScope != "private" {
			t.Errorf("%s: %+v, %v; want %s, private", uri, got, err, want)
		}
	}
	if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: memoryURI + "no-such"}); err == nil {
		t.Error("a memory that does not exist is read")
	}
	about, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "about", Arguments: map[string]string{"topic": "which instrument do I play?"}})
	if err != nil || !strings.Contains(about.Messages[0].Content.(*mcp.TextContent).Text, "cello") {
		t.Errorf("about: %+v, %v; want the cello in it", about, err)
	}
	save, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "save_session"})
	if err != nil || !strings.Contains(save.Messages[0].Content.(*mcp.TextContent).Text, "remember") {
		t.Errorf("save_session: %+v, %v", save, err)
	}
	if _, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "about"}); err == nil {
		t.Error("about without a topic is answered")
	}
}

func TestPausedMemoryAnswersNoTool(t *testing.T) {
	r := newRig(t)
	s := r.as("ana", "")
	var made writeResult
	call(t, s, "remember", args{"content": "User plays the cello"}, &made)
	if err := r.engine.SetPause(context.Background(), memory.User(memory.DefaultNamespace, "ana"), core.PauseMemory, "", memory.Author{Kind: memory.ByPerson}); err != nil {
		t.Fatal(err)
	}
	for tool, a := range map[string]args{
		"remember": {"content": "User hums"}, "recall": {"query": "cello"}, "context": {"topic": "cello"}, "list": {}, "get": {"id": made.ID},
		"update": {"id": made.ID, "content": "User plays the harp"}, "review": {},
	} {
		if refused := call(t, s, tool, a, nil); !strings.Contains(refused, "paused") {
			t.Errorf("%s while memory is paused: %q, want that it is paused", tool, refused)
		}
	}
}

// post sends a raw body as ana, with alternating names and values of headers.
func (r *rig) post(body string, headers ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.server.URL+Path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(httpx.HeaderUser, "ana")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// TestEarlierProtocols calls each protocol version without a session.
func TestEarlierProtocols(t *testing.T) {
	r := newRig(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		status, answer := r.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
		if status != http.StatusOK || !strings.Contains(answer, `"protocolVersion":"`+version+`"`) || strings.Contains(answer, "logging") {
			t.Errorf("initialize %s: %d %.300s; want that version, without logging", version, status, answer)
		}
		status, answer = r.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}`, "Mcp-Protocol-Version", version)
		if status != http.StatusOK || !strings.Contains(answer, `"memories":[]`) {
			t.Errorf("a call of %s: %d %.300s; want an empty list", version, status, answer)
		}
	}
}

func TestBadMessages(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		"no JSON":         {body: `{"jsonrpc":`, status: http.StatusBadRequest},
		"no UTF-8":        {body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"remember\",\"arguments\":{\"content\":\"\xff\"}}}", status: http.StatusBadRequest, want: "UTF-8"},
		"too large":       {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"content":"` + strings.Repeat("x", 70<<10) + `"}}}`, status: http.StatusRequestEntityTooLarge, want: `"code":-32700`},
		"unknown version": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers: []string{"Mcp-Protocol-Version", "1999-01-01"}, status: http.StatusBadRequest},
		"unknown tool":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope","arguments":{}}}`, status: http.StatusOK, want: `"error":`},
		"unknown method":  {body: `{"jsonrpc":"2.0","id":1,"method":"memory/eat"}`, status: http.StatusBadRequest, want: "memory/eat"},
		"no object":       {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","arguments":[1]}}`, status: http.StatusOK, want: "not a JSON object"},
	} {
		if status, answer := r.post(c.body, c.headers...); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %.300s; want %d with %q", name, status, answer, c.status, c.want)
		}
	}
	if n, err := r.engine.Store.Totals(context.Background()); err != nil || n.Facts != 0 {
		t.Errorf("%d facts were written, %v", n.Facts, err)
	}
}

// TestEveryToolHasItsVerb compares the tools of tools.json with the verbs.
func TestEveryToolHasItsVerb(t *testing.T) {
	verbs := (&handler{}).toolFuncs()
	for _, tool := range loadTools() {
		if verbs[tool.Name] == nil || len(parameterNames(tool)) == 0 {
			t.Errorf("%s has no verb or no parameters", tool.Name)
		}
		delete(verbs, tool.Name)
	}
	if len(verbs) > 0 {
		t.Errorf("tools.json lacks %v", verbs)
	}
}
