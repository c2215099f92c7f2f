package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// context adds one of ana's and returns its address.
func (r *rig) context(title, content string) string {
	r.t.Helper()
	return r.sent("/contexts", url.Values{"title": {title}, "content": {content}})
}

// undoLast presses the undo of what was just done, as the page at path offers it.
func (r *rig) undoLast(path string) {
	r.t.Helper()
	form := url.Values{"back": {path}}
	for _, run := range runsIn(r.shows(path)) {
		form.Add("run", run)
	}
	r.sent("/undo", form)
}

// runsIn are the runs that a page offers to undo.
func runsIn(body string) (runs []string) {
	_, toast, _ := strings.Cut(body, `id="toast"`)
	for _, part := range strings.Split(toast, `name="run" value="`)[1:] {
		run, _, _ := strings.Cut(part, `"`)
		runs = append(runs, run)
	}
	return runs
}

func TestAContextIsWrittenEditedTakenAwayAndBrought(t *testing.T) {
	r := newRig(t, "")
	at := r.context(" House rules ", "No shoes inside.\r\nDogs may.")
	sound(t, at, r.shows(at, "<h1 dir=\"auto\">House rules</h1>", "Dogs may.", "of the limit for documents", "Added: House rules", "No chat"))
	r.shows("/contexts", "House rules", "in no chat", "100 tokens")
	if to := r.sent(at, url.Values{"do": {"edit"}, "title": {"Rules"}, "content": {"No shoes.\r\nNo smoke."}, "back": {at}}); to != at {
		t.Errorf("an edit leads to %s", to)
	}
	all, err := r.engine.Contexts(t.Context(), memtest.Ana, memory.At{})
	if err != nil || len(all) != 1 || all[0].Title != "Rules" || all[0].Content != "No shoes.\nNo smoke." {
		t.Errorf("there are %+v, %v", all, err)
	}
	r.undoLast(at)
	r.shows(at, "House rules", "Dogs may.", "Undone.")
	r.sent(at, url.Values{"do": {"drop"}, "back": {"/contexts"}})
	body := r.shows("/contexts", "Removed.", "No documents yet")
	gone := r.shows(at, "taken away", "Restore", "Dogs may.")
	sound(t, at, gone)
	if strings.Contains(gone, "Chat with it") {
		t.Error("what was taken away can be talked about")
	}
	r.sent("/undo", url.Values{"run": runsIn(body)})
	r.shows("/contexts", "House rules")
	if w := r.post(at, url.Values{"do": {"erase"}, "word": {"yes"}}); w.Code != http.StatusBadRequest {
		t.Errorf("erased without the word: status %d", w.Code)
	}
	r.sent(at, url.Values{"do": {"erase"}, "word": {eraseWord}})
	if w := r.get(at); strings.Contains(w.Body.String(), "Dogs") {
		t.Errorf("after the erasure %s shows\n%s", at, w.Body)
	}
	for _, bad := range []url.Values{{"title": {"empty"}}, {"content": {"  "}}, {"content": {strings.Repeat("long ", 1000)}}} {
		if w := r.post("/contexts", bad); w.Code < 400 || w.Code >= 500 {
			t.Errorf("POST /contexts %.40v: status %d", bad, w.Code)
		}
	}
	if w := r.post("/contexts/none", url.Values{"do": {"burn"}}); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown deed: status %d", w.Code)
	}
}

func TestAFileBecomesAContextWithoutAScript(t *testing.T) {
	r := newRig(t, "")
	send := func(content string) *httptest.ResponseRecorder {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		_ = form.WriteField("title", "")
		_ = form.WriteField("content", "")
		file, _ := form.CreateFormFile("file", "Recipe.md")
		_, _ = file.Write([]byte(content))
		_ = form.Close()
		req := httptest.NewRequest(http.MethodPost, "http://localhost/contexts", &b)
		req.Header.Set("Content-Type", form.FormDataContentType())
		req.Header.Set("Origin", "http://localhost")
		return r.send(req)
	}
	if w := send("Beat two eggs."); w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	r.shows("/contexts", "Recipe", "Beat two eggs.")
	for _, bad := range []string{"", "\xff\xfe", strings.Repeat("x", 80<<10)} {
		if w := send(bad); w.Code != http.StatusBadRequest && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("a file of %d bytes: status %d", len(bad), w.Code)
		}
	}
}

func TestAContextIsAttachedToChatsAndTakesItsRoom(t *testing.T) {
	r := newRig(t, "")
	long := r.context("", strings.Repeat("one two three four five\n", 40))
	short := r.context("Note", "Be kind.")
	id := strings.TrimPrefix(short, "/contexts/")
	r.shows(long, "over the limit for documents", "cut off")
	if _, err := r.engine.Exchange.Ingest(t.Context(), memtest.Ana, exchange.IngestRequest{Conversation: "talk", Messages: []exchange.Message{{Role: memory.RoleUser, Content: "Hello there"}}}); err != nil {
		t.Fatal(err)
	}
	r.sent("/conversations/talk", url.Values{"do": {"edit"}, "shown": {id}, "context": {id}})
	r.shows(short, "Attached to", `href="/conversations/talk"`)
	r.shows("/contexts", "in 1 chat")
	r.shows("/conversations/talk", "Note", "Attached", "of the limit for documents")
	to := r.sent(short, url.Values{"do": {"chat"}})
	chat, _, _ := strings.Cut(strings.TrimPrefix(to, "/playground?conversation="), "&")
	made, err := r.engine.Chats.Chat(t.Context(), memtest.Ana, chat)
	if err != nil || len(made.Contexts) != 1 || made.Contexts[0] != id {
		t.Errorf("the chat at %s is %+v, %v", to, made, err)
	}
	sound(t, to, r.shows(to, "Attached", short))
	if w := r.get(short, "X-Loci-User", "ben"); w.Code != http.StatusNotFound {
		t.Errorf("ben sees ana's document: status %d", w.Code)
	}
}

func TestAConversationIsEditedAndDeleted(t *testing.T) {
	r := newRig(t, "")
	one, two := strings.TrimPrefix(r.context("One", "1"), "/contexts/"), strings.TrimPrefix(r.context("Two", "2"), "/contexts/")
	r.pending("User may like climbing", "On Sunday I may go climbing, who knows.", "I may go climbing")
	sound(t, "edit", r.shows("/conversations/talk?edit=1", `name="rules"`, "One", "Two", "Save"))
	shown := []string{one, two}
	r.sent("/conversations/talk", url.Values{"do": {"edit"}, "title": {"Climbing"}, "rules": {"Be brief.\r\nBe kind."}, "shown": shown, "context": {two, one}})
	chat, err := r.engine.Chats.Chat(t.Context(), memtest.Ana, "talk")
	if err != nil || chat.Title != "Climbing" || chat.Rules != "Be brief.\nBe kind." || strings.Join(chat.Contexts, " ") != two+" "+one {
		t.Errorf("the chat is %+v, %v", chat, err)
	}
	sound(t, "transcript", r.shows("/conversations/talk", "Climbing", "Be kind.", "/contexts/"+one))
	r.shows("/conversations", "2 documents")
	r.sent("/contexts/"+one, url.Values{"do": {"drop"}}) // it may come back: an edit that did not show it leaves it
	r.sent("/conversations/talk", url.Values{"do": {"edit"}, "shown": {two}})
	if chat, err = r.engine.Chats.Chat(t.Context(), memtest.Ana, "talk"); err != nil || strings.Join(chat.Contexts, " ") != one || chat.Title != "Climbing" {
		t.Errorf("after detaching one the chat is %+v, %v", chat, err)
	}
	if to := r.sent("/conversations/talk", url.Values{"do": {"delete"}}); to != "/conversations" {
		t.Errorf("a deletion leads to %s", to)
	}
	body := r.shows("/conversations", "Deleted.", "No conversations yet")
	sound(t, "deleted", r.shows("/conversations/talk", "deleted"))
	r.sent("/undo", url.Values{"run": runsIn(body)})
	r.shows("/conversations", "Climbing")
	if w := r.post("/conversations/talk", url.Values{"do": {"sing"}}); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown deed: status %d", w.Code)
	}
}
