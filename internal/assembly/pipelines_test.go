package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const pipelinesKey = "loci-key-0123456789"

// openWebUI sends what Open WebUI 0.12.4 sends to a pipelines server.
type openWebUI struct {
	t *testing.T
	l *Loci
}

func newOpenWebUI(t *testing.T, users string) openWebUI {
	return openWebUI{t, openWith(t, map[string]string{"api_key": pipelinesKey, "users": users, "learn.model": "none"})}
}

func (o openWebUI) send(method, path, user, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+pipelinesKey)
	if user != "" {
		r.Header.Set("X-Loci-User", user)
	}
	w := httptest.NewRecorder()
	o.l.Handler().ServeHTTP(w, r)
	return w
}

// filter sends a body to the filter and returns the body that Open WebUI goes on with.
func (o openWebUI) filter(which, user, body string) string {
	o.t.Helper()
	w := o.send(http.MethodPost, "/pipelines/loci-memory/filter/"+which, "",
		fmt.Sprintf(`{"user": {"id": %q, "email": "ana@example.com", "name": "Ana Example", "role": "user"}, "body": %s}`, user, body))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		o.t.Fatalf("%s %s: %d %s", which, body, w.Code, w.Body)
	}
	return strings.TrimSpace(w.Body.String())
}

// inletBody is a chat's request. more stands in its metadata.
func inletBody(chat, messages, words, more string) string {
	return fmt.Sprintf(`{"stream": true, "model": "scripted-1", "messages": %s, "params": {}, "seed": 12345678901234567890, "features": {"memory": false}, `+
		`"metadata": {"user_id": "u", "user_agent": "Mozilla/5.0", "chat_id": %q, "user_message": {"id": "u1", "parentId": null, "childrenIds": [], "role": "user", "content": %q, "timestamp": 1763900000}, `+
		`"user_message_id": "u1", "filter_ids": [], "tool_ids": null, "files": null, "session_id": "s", "params": {"function_calling": "native"}%s}}`, messages, chat, words, more)
}

// outletBody is a chat after an answer with an id.
func outletBody(chat, messages, answer string) string {
	return fmt.Sprintf(`{"model": "scripted-1", "messages": %s, "filter_ids": [], "chat_id": %q, "session_id": "s", "id": %q}`, messages, chat, answer)
}

const (
	firstExchange = `{"id": "u1", "role": "user", "content": "<attached_files>\n<file type=\"file\" id=\"f\" name=\"I have a dog.txt\"/>\n</attached_files>\n\nMy sister Mira lives in Lisbon.", "info": null, "timestamp": 1763900000},
		{"id": "a1", "role": "assistant", "content": "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\n> Hm\n</details>\nA fine city.", "info": null, "timestamp": 1763900001, "usage": {"total_tokens": 15}}`
	secondExchange = `{"id": "u2", "role": "user", "content": "I play the cello.", "info": null, "timestamp": 1763900002},
		{"id": "a2", "role": "assistant", "content": "All right.", "info": null, "timestamp": 1763900003, "finish_reason": "stop"}`
)

func (o openWebUI) memories(user, kind string) []string {
	o.t.Helper()
	w := o.send(http.MethodGet, "/api/memory?kind="+kind, user, "")
	var page client.Memories
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
		o.t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	var out []string
	for _, m := range page.Memories {
		out = append(out, m.Content)
	}
	slices.Sort(out)
	return out
}

func (o openWebUI) remember(user, words string) {
	o.t.Helper()
	if w := o.send(http.MethodPost, "/api/memory", user, fmt.Sprintf(`{"content": %q}`, words)); w.Code != http.StatusCreated {
		o.t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// TestPipelinesAreListed asks as Open WebUI does for models and on its Pipelines page.
func TestPipelinesAreListed(t *testing.T) {
	o := newOpenWebUI(t, "multi")
	var models struct {
		Pipelines bool
		Data      []struct {
			ID       string
			Pipeline struct {
				Type      string
				Pipelines []string
				Priority  *int
			}
		}
	}
	w := o.send(http.MethodGet, "/pipelines/models", "", "")
	if err := json.Unmarshal(w.Body.Bytes(), &models); err != nil || !models.Pipelines || len(models.Data) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if m := models.Data[0]; m.ID != "loci-memory" || m.Pipeline.Type != "filter" || !slices.Equal(m.Pipeline.Pipelines, []string{"*"}) || m.Pipeline.Priority == nil {
		t.Errorf("the filter is %+v", m)
	}
	for _, path := range []string{"/pipelines/pipelines", "/pipelines/loci-memory/valves", "/pipelines/loci-memory/valves/spec"} {
		if w := o.send(http.MethodGet, path, "", ""); w.Code != http.StatusOK || w.Body.Bytes()[0] != '{' {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := o.send(http.MethodGet, "/v1/models", "", ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "pipeline") {
		t.Errorf("/v1/models: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/pipelines/models", nil)
	w = httptest.NewRecorder()
	if o.l.Handler().ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("without a key: %d %s", w.Code, w.Body)
	}
}

// TestPipelineInletGivesMemory puts the block into the system message and leaves all else.
func TestPipelineInletGivesMemory(t *testing.T) {
	o := newOpenWebUI(t, "multi")
	o.remember("ana", "Mira lives in Lisbon")
	const question = "Where does Mira live?"
	for name, system := range map[string]struct{ before, after string }{
		"none":  {``, `{"role": "system", "content": "BLOCK"}, `},
		"text":  {`{"role": "system", "content": "Be <brief>."}, `, `{"role": "system", "content": "Be <brief>.\n\nBLOCK"}, `},
		"parts": {`{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, `, `{"role": "system", "content": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "BLOCK"}]}, `},
	} {
		user := fmt.Sprintf(`{"role": "user", "content": [{"type": "text", "text": %q}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]}]`, question)
		got := o.filter("inlet", "ana", inletBody("c9", "["+system.before+user, question, ""))
		begin, end := strings.Index(got, "<loci-memory"), strings.LastIndex(got, "</loci-memory>")
		if begin < 0 || end < 0 || !strings.Contains(got[begin:end], "Lisbon") || !strings.Contains(got, "12345678901234567890") {
			t.Errorf("%s: %s", name, got)
			continue
		}
		got = got[:begin] + "BLOCK" + got[end+len("</loci-memory>"):]
		same(t, name, got, inletBody("c9", "["+system.after+user, question, ""))
	}
	plain := inletBody("c9", `[{"role": "user", "content": "Where does Mira live?"}]`, question, "")
	same(t, "another user", o.filter("inlet", "ben", plain), plain)
}

// TestPipelineOutletKeepsExchangeOnce keeps each exchange by its ids, without what Open WebUI
// writes around the words; an edit takes the place of what it replaces.
func TestPipelineOutletKeepsExchangeOnce(t *testing.T) {
	o := newOpenWebUI(t, "multi")
	first, second := outletBody("c1", "["+firstExchange+"]", "a1"), outletBody("c1", "["+firstExchange+", "+secondExchange+"]", "a2")
	for range 2 {
		same(t, "first", o.filter("outlet", "ana", first), first)
		same(t, "second", o.filter("outlet", "ana", second), second)
	}
	if got, want := o.memories("ana", "turn"), []string{"A fine city.", "All right.", "I play the cello.", "My sister Mira lives in Lisbon."}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	edited := strings.NewReplacer("u2", "u3", "a2", "a3", "cello", "viola").Replace(secondExchange)
	o.filter("outlet", "ana", outletBody("c1", "["+firstExchange+", "+edited+"]", "a3"))
	if got, want := o.memories("ana", "turn"), []string{"A fine city.", "All right.", "I play the viola.", "My sister Mira lives in Lisbon."}; !slices.Equal(got, want) {
		t.Errorf("after the edit %q, want %q", got, want)
	}
	if got := o.memories("ben", "turn"); len(got) > 0 {
		t.Errorf("another user has %q", got)
	}
}

// TestPipelinesLeaveAlone: chats that nobody keeps, rooms, tasks, paused memory and bodies that
// are not understood pass as they are.
func TestPipelinesLeaveAlone(t *testing.T) {
	o := newOpenWebUI(t, "multi")
	for _, user := range []string{"ana", "paused"} {
		o.remember(user, "Mira lives in Lisbon")
	}
	if w := o.send(http.MethodPut, "/api/pause", "paused", `{"pause": "memory"}`); w.Code >= 300 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	const question = `[{"role": "user", "content": "Where does Mira live?"}]`
	for name, c := range map[string]struct{ user, body string }{
		"temporary": {"ana", inletBody("temporary:x", question, "Where does Mira live?", "")},
		"local":     {"ana", inletBody("local:x", question, "Where does Mira live?", "")},
		"channel":   {"ana", inletBody("channel:x", question, "Where does Mira live?", "")},
		"no chat":   {"ana", inletBody("", question, "Where does Mira live?", "")},
		"task":      {"ana", inletBody("c2", question, "Where does Mira live?", `, "task": "title_generation", "task_body": {}`)},
		"nobody":    {"", inletBody("c2", question, "Where does Mira live?", "")},
		"paused":    {"paused", inletBody("c2", question, "Where does Mira live?", "")},
		"no words":  {"ana", inletBody("c2", `[]`, "", "")},
		"odd":       {"ana", `{"messages": "none", "chat_id": 7}`},
		"bad name":  {strings.Repeat("a", 3000), inletBody("c2", question, "Where does Mira live?", "")},
	} {
		same(t, name, o.filter("inlet", c.user, c.body), c.body)
	}
	for name, c := range map[string]struct{ user, chat, messages, id string }{
		"temporary": {"ana", "temporary:x", "[" + firstExchange + "]", "a1"},
		"channel":   {"ana", "channel:x", "[" + firstExchange + "]", "a1"},
		"nobody":    {"", "c2", "[" + firstExchange + "]", "a1"},
		"paused":    {"paused", "c2", "[" + firstExchange + "]", "a1"},
		"no ids":    {"ana", "c2", `[{"role": "user", "content": "I own a boat."}, {"role": "assistant", "content": "Nice."}]`, "a1"},
		"empty":     {"ana", "c2", "[]", "a1"},
	} {
		body := outletBody(c.chat, c.messages, c.id)
		same(t, name, o.filter("outlet", c.user, body), body)
	}
	for _, user := range []string{"ana", "paused"} {
		if got := o.memories(user, "turn"); len(got) > 0 {
			t.Errorf("%s: kept %q", user, got)
		}
	}
}

// TestPipelinesTellUsersApart: on a server of one user, too, Open WebUI's users have memories of their own.
func TestPipelinesTellUsersApart(t *testing.T) {
	o := newOpenWebUI(t, "single")
	o.filter("outlet", "ana", outletBody("c1", "["+firstExchange+"]", "a1"))
	got := map[string]int{}
	for _, user := range []string{"ana", "ben", ""} {
		got[user] = len(o.memories(user, string(memory.KindTurn)))
	}
	if want := map[string]int{"ana": 2, "ben": 0, "": 0}; !maps.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}
