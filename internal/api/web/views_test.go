package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// views are the page's views, each with its heading when there is nothing.
var views = map[string]string{
	"/": "Nothing is remembered yet", "/review": "Nothing waits for you", "/conversations": "No conversations yet",
	"/time": "Nothing has happened yet", "/insights": "Nothing is remembered yet", "/jobs": "All done", "/settings": "Pause memory",
	"/playground": "Try your memory", "/playground?temporary=1": "Off the record", "/data": "Export", "/profile": "There is nothing yet",
	"/contexts": "No documents yet", "/settings/prompts/extract": "As a model gets it", "/traces": "Nothing was asked",
}

func TestEveryViewIsThereWhenThereIsNothing(t *testing.T) {
	r := newRig(t, "")
	for path, says := range views {
		body := r.shows(path, says, `<html lang="en">`, "<title>", "<h1", `<main id="main"`, `aria-current="page"`)
		sound(t, path, body)
	}
	r.shows("/?q=where+do+I+live", "No memory matches.")
	r.shows("/?tag=nowhere", "No memory matches these filters.")
}

// sound reports what no page may have: holes in templates, and what the policy would
// refuse.
func sound(t *testing.T, path, body string) {
	t.Helper()
	for _, bad := range []string{"ZgotmplZ", "<no value>", "%!", "<nil>", " style=", "javascript:", "https://", "http://"} {
		if i := strings.Index(body, bad); i >= 0 {
			t.Errorf("GET %s: it has %q: …%s…", path, bad, body[max(0, i-80):min(len(body), i+80)])
		}
	}
	if found := regexp.MustCompile(`<[^>]* on[a-z]+=|<script>|<style`).FindString(body); found != "" {
		t.Errorf("GET %s: it has %q, which the policy refuses", path, found)
	}
	for _, p := range strings.Split(body, "<p")[1:] {
		p, _, _ = strings.Cut(p, "</p>")
		if found := regexp.MustCompile(`<(form|div|ul|ol|dl|p|details|section|figure|h[1-6])[ >]`).FindString(p); found != "" && !strings.HasPrefix(p, "ath") && !strings.HasPrefix(p, "re") && !strings.HasPrefix(p, "rogress") {
			t.Errorf("GET %s: %s ends the paragraph that it stands in: <p%s", path, found, p)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if ids[m[1]] {
			t.Errorf("GET %s: two things have the id %q", path, m[1])
		}
		ids[m[1]] = true
	}
}

// furnish gives ana some of everything, and returns the views of single things.
func furnish(r *rig) []string {
	r.t.Helper()
	berlin := r.fact("User lives in Berlin", "places", "old")
	r.clock.Advance(24 * time.Hour)
	lisbon := memtest.Fact(memtest.Ana, "User lives in Lisbon")
	r.apply("move", memory.Replace(r.now(berlin.ID), lisbon, r.clock.Now(), "she moved", memory.Author{Kind: memory.ByRule, Name: "moved"})...)
	r.clock.Advance(24 * time.Hour)
	gone := r.fact("User plays the cello")
	r.sent("/memories/"+gone.ID, url.Values{"do": {"forget"}})
	wait := r.pending("User may like climbing", "On Sunday I may go climbing, who knows.", "I may go climbing")
	summary := memtest.Summary(memtest.Ana, "talk", "They spoke of climbing.")
	r.apply("summary", memtest.Change(memory.ActionAdd, summary))
	found, err := r.engine.Retrieve.Recall(r.t.Context(), retrieve.Question{Scope: memory.Scope{Owner: memtest.Ana}, Text: "Where does the user live?"})
	if err != nil {
		r.t.Fatal(err)
	}
	usage := memory.Usage{Day: r.clock.Now(), Purpose: "extract", Model: "pupil", Calls: 2, InputTokens: 1200, OutputTokens: 300, Cost: 0.01}
	if err := r.engine.Store.AddUsage(r.t.Context(), memtest.Ana, usage); err != nil {
		r.t.Fatal(err)
	}
	return []string{
		"/memories/" + berlin.ID, "/memories/" + lisbon.ID, "/memories/" + gone.ID, "/memories/" + wait.ID, "/memories/" + lisbon.ID + "?edit=1",
		"/conversations/talk", "/traces/" + found.TraceID, "/review?edit=" + wait.ID, "/?edit=" + lisbon.ID, "/?q=Where+does+the+user+live",
		"/?status=superseded", "/?status=retired", "/?kind=turn", "/?kind=summary", "/?as_of=2020-01-01", "/time?n=0", "/undo?run=move&back=/time",
	}
}

func TestEveryViewShowsWhatThereIs(t *testing.T) {
	r := newRig(t, "")
	single := furnish(r)
	for path := range views {
		sound(t, path, r.shows(path))
	}
	for _, path := range single {
		sound(t, path, r.shows(path))
	}
	r.shows("/", "User lives in Lisbon")
	r.shows("/?status=superseded", "User lives in Berlin", `value="restore"`)
	r.shows("/?status=retired", "User plays the cello")
	r.shows("/?tag=places&status=superseded", "User lives in Berlin")
	r.shows("/?kind=turn", "who knows")
	r.shows("/review", "1 fact waiting", "<mark>I may go climbing</mark>, who knows.", "not sure enough", "50 %")
	r.shows("/conversations", "On Sunday I may go climbing")
	r.shows("/conversations/talk", "They spoke of climbing.", "I see.", "User may like climbing", "pending")
	r.shows("/insights", "1\u202f200", "300", "0.0100", "added", "replaced")
	r.shows("/settings", "127.0.0.1:1", "flag", "recall.top_k")
	r.shows(single[0], "superseded", "she moved", "the rule moved", "User lives in Lisbon")
	r.shows(single[1], "User lives in Berlin", "What replaced what")
}

func TestASearchSaysWhyAndWhatWasLeftOut(t *testing.T) {
	r := newRig(t, "")
	furnish(r)
	r.shows("/?q=Where+does+the+user+live", "User lives in Lisbon", `class="w-words"`, "it has words of the question", "· words ", "relevance", "left out, and why", "/traces/")
}

func TestMemoryAsOfADayIsThatOfItsEnd(t *testing.T) {
	r := newRig(t, "")
	furnish(r)
	day := r.clock.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	_, max, _ := strings.Cut(r.shows("/time"), `max="`)
	max, _, _ = strings.Cut(max, `"`)
	today, err := strconv.Atoi(max)
	if err != nil {
		t.Fatal(err)
	}
	body := r.shows(fmt.Sprint("/time?n=", today-2), "User lives in Berlin", "replaced since", "What changed since", "1 fact")
	then, _, _ := strings.Cut(body, "What changed since")
	if strings.Contains(then, "Lisbon") {
		t.Errorf("as of %s the page knows of Lisbon", day)
	}
	if body := r.shows("/?as_of="+day, "User lives in Berlin"); strings.Contains(body, "Lisbon") {
		t.Errorf("the list as of %s has Lisbon", day)
	}
	r.shows("/time", "Today", "User lives in Lisbon")
}

func TestWhatCannotBeShownSaysSo(t *testing.T) {
	r := newRig(t, "")
	for path, status := range map[string]int{
		"/memories/none": http.StatusNotFound, "/conversations/none": http.StatusNotFound, "/contexts/none": http.StatusNotFound, "/settings/prompts/none": http.StatusNotFound, "/traces/none": http.StatusNotFound,
		"/?cursor=broken": http.StatusBadRequest, "/?as_of=yesterday": http.StatusBadRequest, "/undo": http.StatusBadRequest, "/undo?to=noon": http.StatusBadRequest,
		"/undo?run=none": http.StatusNotFound, "/undo?change=none": http.StatusNotFound,
	} {
		w := r.get(path)
		if w.Code != status || !strings.Contains(w.Body.String(), "data-problem") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("GET %s: status %d, want %d and a page that says why:\n%s", path, w.Code, status, w.Body)
		}
	}
	r.fact("User lives in Berlin")
	if w := r.get("/time?n=soon"); w.Code != http.StatusBadRequest {
		t.Errorf("GET /time?n=soon: status %d", w.Code)
	}
	if w := r.get("/nowhere"); w.Code != http.StatusTeapot {
		t.Errorf("what is not the page's is answered with %d by the page", w.Code)
	}
}

// hostile are texts that break pages.
var hostile = []string{
	`<script>alert("x")</script>`, `"><img src=x onerror=alert(1)>`, `</textarea></li></ul><h1>ha</h1>`, `javascript:alert(1)`,
	`{{.}} ${7*7} &amp; &lt;b&gt;`, strings.Repeat("Donaudampfschiff", 120), "שלום עולם \u202eevil\u202c مرحبا", "👩‍👩‍👧‍👦🏳️‍🌈\u0301\u0301\u0301", "a\x00b\x1b[31m\u2028c",
}

func TestMemoryIsNeverMarkup(t *testing.T) {
	for _, text := range hostile {
		r := newRig(t, "")
		f := memtest.Fact(memtest.Ana, text)
		f.Category, f.Tags, f.Subject, f.Model, f.Scope.Project = text, []string{text}, text, text, text
		add := memtest.Add(f)
		add.Reason, add.Author = text, memory.Author{Kind: memory.ByModel, Name: text}
		r.apply("hostile", add)
		w := r.pending(text+" waits", text+" said", text)
		_, err := r.engine.Exchange.Ingest(t.Context(), memtest.Ana, exchange.IngestRequest{Conversation: text, Project: text, Messages: []exchange.Message{{Role: memory.RoleUser, Name: text, Content: text}}})
		if err != nil {
			t.Fatal(err)
		}
		r.post("/profile", url.Values{"do": {"set"}, "key": {text}, "value": {text}})
		document := cmp.Or(r.post("/contexts", url.Values{"title": {text}, "content": {text + " and more"}}).Header().Get("Location"), "/contexts")
		r.post("/conversations/"+url.PathEscape(text), url.Values{"do": {"edit"}, "title": {text}, "rules": {text}, "context": {strings.TrimPrefix(document, "/contexts/")}})
		r.post("/memories/"+f.ID+"/share", url.Values{"do": {"share"}, "to": {"user"}, "name": {text}})
		r.post("/memories/"+f.ID+"/relations", url.Values{"other": {w.ID}, "kind": {"follows"}})
		q := url.QueryEscape(text)
		for _, path := range []string{
			"/", "/?q=" + q, "/?tag=" + q, "/?category=" + q, "/?edit=" + f.ID, "/memories/" + f.ID, "/memories/" + f.ID + "?edit=1", "/review", "/review?edit=" + w.ID,
			"/conversations", "/conversations/" + url.PathEscape(text), "/time", "/insights", "/jobs", "/audit", "/undo?run=hostile&back=" + q,
			"/playground?conversation=" + q + "&model=" + q, "/erase?id=" + f.ID, "/profile?edit=" + q, "/memories/" + f.ID + "?find=" + q, "/data",
			"/contexts", document, document + "?edit=1", "/conversations/" + url.PathEscape(text) + "?edit=1", "/traces", "/traces?conversation=" + q, "/?project=" + q,
		} {
			got := r.get(path)
			body := got.Body.String()
			if strings.Contains(path, "\x00") || got.Code == http.StatusBadRequest || got.Code == http.StatusNotFound {
				continue // not all of it can be asked for; what answers is a page all the same
			}
			if got.Code != http.StatusOK {
				t.Errorf("GET %s: status %d", path, got.Code)
			}
			for _, bad := range []string{"<script>", "<img", "<h1>ha", `href="javascript:`, `href='javascript:`, "ZgotmplZ"} {
				if strings.Contains(body, bad) {
					t.Errorf("GET %s with %q: the page has %s", path, text, bad)
				}
			}
		}
	}
}

// mostBytes is what a first look may load, the style and the script included, before
// anything is packed.
const mostBytes = 100_000

func TestTheFirstLookIsSmall(t *testing.T) {
	r := newRig(t, "")
	for i := range 60 {
		r.fact(fmt.Sprintf("User has told of thing number %d, in a sentence of the usual length", i), "things", "told")
	}
	body := r.shows("/")
	if n := strings.Count(body, `class="row"`); n != listPageSize {
		t.Errorf("the first page lists %d memories, want %d", n, listPageSize)
	}
	size := len(body)
	for _, m := range regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`).FindAllStringSubmatch(body, -1) {
		w := r.get(m[1])
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("GET %s: status %d, %v", m[1], w.Code, w.Header())
		}
		size += w.Body.Len()
	}
	if size > mostBytes {
		t.Errorf("a first look loads %d bytes, more than %d", size, mostBytes)
	}
	t.Logf("a first look loads %d bytes", size)
	r.shows("/?cursor="+regexp.MustCompile(`cursor=([^"&]+)"`).FindStringSubmatch(body)[1], "thing number 3")
}

func TestOfALongConversationTheEndIsShown(t *testing.T) {
	r := newRig(t, "")
	var said []exchange.Message
	for i := range maxShownTurns + 7 {
		said = append(said, exchange.Message{Role: memory.RoleUser, Content: fmt.Sprintf("turn %d of many", i)})
	}
	kept, err := r.engine.Exchange.Ingest(t.Context(), memtest.Ana, exchange.IngestRequest{Conversation: "long", Messages: said})
	if err != nil {
		t.Fatal(err)
	}
	if body := r.shows("/conversations/long", "Show 7 earlier turns", "turn 206 of many"); strings.Contains(body, "turn 6 of many") {
		t.Error("all of it is shown")
	}
	r.shows("/conversations/long?all=1", "turn 0 of many", "turn 206 of many")
	r.shows("/conversations/long?turn="+kept.TurnIDs[1], `class="turn r-user here" id="t-`+kept.TurnIDs[1]+`"`)
	w := r.get("/memories/" + kept.TurnIDs[1])
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/conversations/long?turn="+kept.TurnIDs[1]) {
		t.Errorf("a turn is shown at %q, status %d", to, w.Code)
	}
	if w := r.post("/memories/bulk", url.Values{"do": {"tag"}, "tag": {"x"}, "id": {kept.TurnIDs[1]}}); w.Code != http.StatusBadRequest {
		t.Errorf("a tag on a turn: status %d", w.Code)
	}
}

func TestTheTimelineTellsWhoDecidedWhat(t *testing.T) {
	r := newRig(t, "")
	r.sent("/settings", url.Values{"pause": {"learning"}})
	for i, author := range []memory.Author{{Kind: memory.ByRule, Name: "rules"}, {Kind: memory.ByRule, Name: "upkeep"}, {Kind: memory.ByModel, Name: "pupil"}, {}} {
		add := memtest.Add(memtest.Fact(memtest.Ana, fmt.Sprintf("fact %d", i)))
		add.Author = author
		r.apply(fmt.Sprint("run", i), add)
	}
	r.shows("/time", "by the rules", "by the rule upkeep", "by the model pupil", "by ana", "pause = learning", "fact 3")
}

func TestTypedSearchLeavesNoTrace(t *testing.T) {
	r := newRig(t, "")
	r.fact("User plays the oboe")
	for _, typed := range []string{"o", "ob", "oboe"} {
		w := r.get("/?q="+typed, headerTyping, "yes")
		if body := w.Body.String(); w.Code != http.StatusOK || strings.Contains(body, "/traces/") && strings.Contains(body, ">trace<") {
			t.Errorf("%s: status %d: %s", typed, w.Code, body)
		}
		if typed == "oboe" && !strings.Contains(w.Body.String(), "User plays the oboe") {
			t.Errorf("nothing is found: %s", w.Body)
		}
	}
	kept := func() int {
		t.Helper()
		all, err := r.engine.Traces.Traces(t.Context(), memtest.Ana, memory.TraceQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := kept(); n != 0 {
		t.Errorf("%d traces are kept of what was typed", n)
	}
	r.shows("/?q=oboe", ">trace<", "1 candidate")
	if n := kept(); n != 1 {
		t.Errorf("%d traces are kept of a search, want 1", n)
	}
}
