package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// write writes a fact down and returns its id.
func (l *loci) write(t *testing.T, content string) string {
	t.Helper()
	var m remembered
	if err := json.Unmarshal(l.post(t, "/api/memory", map[string]string{"content": content}), &m); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// withStatus returns the contents of facts that have a status.
func (l *loci) withStatus(t *testing.T, status string) string {
	t.Helper()
	code, body := l.request(t, http.MethodGet, "/api/memory?status="+status, nil, nil)
	var page struct{ Memories []remembered }
	if err := json.Unmarshal(body, &page); err != nil || code != http.StatusOK {
		t.Fatalf("list %s facts: status %d, %v", status, code, err)
	}
	var out []string
	for _, m := range page.Memories {
		out = append(out, m.Content)
	}
	return strings.Join(out, "; ")
}

func TestPageFindsWhileOneTypesAndSaysWhy(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.write(t, "User is allergic to peanuts")
	l.write(t, "User lives in Lisbon")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.see("#results", "User lives in Lisbon")
	b.key("/")
	b.press("what am I allergic to")
	b.see("#results .found", "hit")
	b.see("#results .rows .words", "peanuts")
	b.until("the question stays in the field that has the focus", `document.activeElement.matches("[data-search]") && document.activeElement.value === "what am I allergic to"`)
	b.until("the address can be shared", `location.search.includes("allergic")`)
	b.click(".row .why summary")
	b.see(".row .why .legend", "words")
	b.see(".row .why .numbers", "relevance")
}

func TestPageEditsInItsPlaceAndUndoes(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.write(t, "User likes green tea")
	l.write(t, "User lives in Lisbon")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.see(".rows", "green tea")
	b.key("j")
	b.key("j")
	b.until("the second memory has the focus", `document.activeElement.innerText.includes("green tea")`)
	b.key("e")
	b.until("the words have the focus", `document.activeElement.matches("textarea[name=content]")`)
	b.press(" with mint")
	b.press(kb.Enter)
	b.see("#toast", "Saved.")
	b.see(".rows", "User likes green tea with mint")
	b.key("u")
	b.see("#toast", "Undone.")
	b.unsee(".rows", "mint")
	b.click(".row:first-child [data-forget]")
	b.see("#toast", "Forgotten: User lives in Lisbon")
	b.unsee(".rows", "Lisbon")
	if gone := l.withStatus(t, "retired"); gone != "User lives in Lisbon" {
		t.Errorf("forgotten are %q", gone)
	}
	b.click("#toast button")
	b.see(".rows", "User lives in Lisbon")
	b.click(".row:nth-child(1) .choose")
	b.click(".row:nth-child(2) .choose")
	b.click(".bulk [value=forget]")
	b.see("#toast", "2 memories forgotten.")
	b.see("#results", "Nothing is remembered yet")
	b.key("u")
	b.see(".rows", "green tea")
}

func TestPageDecidesByKeyOnWhatWaits(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir(), "LOCI_REVIEW_CONFLICTS=true", "LOCI_REVIEW_CATEGORIES=health")
	waiting(t, l)
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.see("#nav", "2")
	b.key("g")
	b.key("2")
	b.see("h1", "Review")
	b.see(".against", "User lives in Berlin")
	b.see(".wait mark", "I moved to Lisbon in May")
	b.key("j")
	b.key("r")
	b.see("#toast", "Rejected: User is allergic to peanuts")
	b.see(".cards", "User lives in Lisbon")
	b.unsee(".cards", "peanuts")
	b.key("a")
	b.see("#toast", "Approved: User lives in Lisbon")
	b.see("main", "Nothing waits for you")
	if now := l.withStatus(t, "active"); !strings.Contains(now, "Lisbon") || strings.Contains(now, "Berlin") {
		t.Errorf("active are %q", now)
	}
	b.key("u")
	b.see(".cards", "User lives in Lisbon")
	if now := l.withStatus(t, "active"); strings.Contains(now, "Lisbon") || !strings.Contains(now, "Berlin") {
		t.Errorf("after the undo active are %q", now)
	}
}

func TestPageShowsMemoryAsOfADay(t *testing.T) {
	t.Parallel()
	chromium(t)
	l := demo(t)
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/time")
	b.see("#then", "User lives in Lisbon")
	eval[bool](b, `(r => { r.value = 0; r.dispatchEvent(new Event("input", { bubbles: true })); return true })(document.querySelector("[type=range]"))`)
	b.see("#then h2", "As of")
	b.see("#then .rows", "User lives in Berlin")
	b.see("#then .rows", "replaced since")
	b.unsee("#then .rows", "Lisbon")
	b.see("#then .steps", "User lives in Lisbon")
	b.open("/?q=Lisbon")
	b.click("#results .row a.words")
	b.see("mark", "I moved to Lisbon")
	b.see(".chain", "User lives in Berlin")
	b.click(".quote figcaption a")
	b.see(".turn.here", "I moved to Lisbon last week!")
	b.see(".turn.here .learned", "User lives in Lisbon")
}

// manyFacts lets the head of the memories count many, and says whether a button then
// covers the count.
const manyFacts = `(() => {
	const count = document.querySelector(".head > p"), button = document.querySelector(".add > summary").getBoundingClientRect()
	count.firstChild.textContent = "9 999 999 facts · "
	return [...count.getClientRects()].some(r => r.right > button.left && r.bottom > button.top && r.top < button.bottom)
})()`

func TestPageFitsAPhoneAndTheNight(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir(), "LOCI_REVIEW_CONFLICTS=true")
	waiting(t, l)
	l.write(t, "User once wrote "+strings.Repeat("Donaudampfschifffahrt", 30))
	id := l.write(t, "<script>document.title = 'taken'</script> <b>bold</b>")
	other := l.write(t, "User is afraid of thunder")
	l.submit(t, "/memories/"+id+"/relations", url.Values{"other": {other}, "kind": {"follows"}})
	l.submit(t, "/profile", url.Values{"key": {"language"}, "value": {"English"}, "do": {"set"}})
	l.submit(t, "/profile", url.Values{"key": {strings.Repeat("key", 30)}, "value": {"English"}, "do": {"set"}})
	l.post(t, "/api/memory", map[string]any{"content": "User collects labels", "category": strings.Repeat("category", 6), "tags": []string{strings.Repeat("tag", 40)}})
	b := browse(t, l, phoneWidth, phoneHeight)
	b.open("/playground")
	b.chat("Where do I live?")
	b.chat("Is thunder loud?") // has a word of a fact that it does not say
	talk := eval[string](b, "location.pathname + location.search")
	projects(t, l)
	l.submit(t, "/contexts", url.Values{"title": {"House rules"}, "content": {"No shoes inside."}})
	for _, path := range []string{"/", "/?q=where+do+I+live", "/memories/" + id, "/review", "/conversations", "/traces", "/contexts", l.context(t), l.context(t) + "?edit=1",
		l.conversation(t), l.conversation(t) + "?edit=1", "/time", "/insights", "/jobs", "/jobs?vectors=1", "/settings", "/settings/prompts/extract", "/?project=atlas",
		"/playground", talk, "/playground?temporary=1", "/data", "/erase?q=Donaudampfschifffahrt", "/erase?id=" + other, "/profile", "/profile?edit=language", "/memories/" + id + "?find=thunder", "/signin"} {
		b.open(path)
		b.until(path+" is no wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
		if wrong := eval[string](b, unfit); wrong != "" {
			t.Errorf("%s: who uses no eyes or no mouse meets: %s", path, wrong)
		}
		if hidden := eval[string](b, unnamed); hidden != "" {
			t.Errorf("%s: these have no name for who cannot see them: %s", path, hidden)
		}
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			if pale := eval[string](b, contrast); pale != "" {
				t.Errorf("%s, dark %v: too little contrast: %s", path, dark, pale)
			}
		}
	}
	b.open("/")
	b.see(".rows", "<b>bold</b>")
	if over := eval[bool](b, manyFacts); over {
		t.Error("the count of very many facts lies under the button beside it")
	}
	if title := eval[string](b, "document.title"); !strings.HasPrefix(strings.TrimLeft(title, "(0123456789) "), "Memories") {
		t.Errorf("the title is %q: a memory's text was run", title)
	}
}

// context is the address of the first context, and conversation of the chat used last.
func (l *loci) context(t *testing.T) string {
	t.Helper()
	var all struct{ Contexts []remembered }
	l.decode(t, "/api/contexts", &all)
	return "/contexts/" + all.Contexts[0].ID
}

func (l *loci) conversation(t *testing.T) string {
	t.Helper()
	var all struct{ Chats []remembered }
	l.decode(t, "/api/chats", &all)
	return "/conversations/" + all.Chats[0].ID
}

func (l *loci) decode(t *testing.T, path string, into any) {
	t.Helper()
	if status, body := l.request(t, http.MethodGet, path, nil, nil); status != http.StatusOK || json.Unmarshal(body, into) != nil {
		t.Fatalf("GET %s: status %d: %s", path, status, body)
	}
}

// unnamed lists controls that a screen reader cannot name, and pictures without words.
const unnamed = `[...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary, [role=img]")]
	.filter(e => e.checkVisibility() && !(e.innerText || "").trim() && !e.getAttribute("aria-label") && !(e.labels && e.labels.length && e.labels[0].textContent.trim()))
	.map(e => e.outerHTML.slice(0, 120)).join("\n")`

// unfit lists what breaks the page for screen readers and keyboards: its landmarks and
// headings, ids that are there twice or nowhere, lists and tables without their
// parts, hidden things that take the focus, targets too small for a finger.
const unfit = `(() => {
	const out = [], all = q => [...document.querySelectorAll(q)], seen = e => e.checkVisibility({ visibilityProperty: true });
	const say = (what, e) => out.push(what + ": " + (e.outerHTML || e).slice(0, 110));
	if (!document.documentElement.lang) say("no language", "html");
	if (!document.title.trim()) say("no title", "title");
	for (const [q, n] of [["main", 1], ["h1", 1], ["header", 1], ["[autofocus]", null]]) if (n && all(q).length !== n) say(all(q).length + " times", q);
	let level = 0;
	for (const h of all("h1, h2, h3, h4").filter(seen).filter(h => h.closest("main"))) { const n = +h.tagName[1]; if (n > level + 1) say("a heading skips a level", h); level = n; }
	const ids = {};
	for (const e of all("[id]")) { const id = e.getAttribute("id"); if (ids[id]) say("an id twice", e); ids[id] = e; }
	for (const a of ["aria-labelledby", "aria-describedby", "aria-controls", "for", "form", "list"]) for (const e of all("[" + a + "]")) for (const id of e.getAttribute(a).split(/\s+/)) if (id && !ids[id]) say(a + " names nothing", e);
	for (const e of all("[tabindex]")) if (+e.getAttribute("tabindex") > 0) say("an order of its own", e);
	for (const e of all("[aria-hidden=true] :is(a[href], button, input, select, textarea)")) say("hidden, and takes the focus", e);
	for (const e of all("ul, ol")) for (const c of e.children) if (!/^(LI|TEMPLATE|SCRIPT)$/.test(c.tagName)) say("no item of a list", c);
	for (const e of all("li")) if (!/^(UL|OL)$/.test(e.parentElement.tagName)) say("an item of no list", e);
	for (const e of all("dl > *")) if (!/^(DT|DD|DIV)$/.test(e.tagName)) say("no part of a list of terms", e);
	for (const e of all("img:not([alt]), svg:not([aria-hidden], [role])")) if (!e.closest("[aria-hidden]")) say("a picture without words", e);
	for (const e of all("a a, a button, button a, button button, label label")) say("one control in another", e);
	for (const e of all("fieldset")) if (!e.querySelector("legend")) say("a group without a name", e);
	for (const e of all("button, select, summary, input:not([type=hidden])").filter(seen)) { const r = (e.closest("label") || e).getBoundingClientRect(); if (r.width && (r.height < 20 || r.width < 20) && !e.matches(".quiet, .choose")) say("too small for a finger", e); }
	return out.join("\n");
})()`

// contrast lists texts whose colour is less than 4.5 to 1 from what is behind them.
const contrast = `(() => {
	const parts = c => c.match(/[\d.]+/g).map(Number);
	const light = c => { const [r, g, b] = parts(c).slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > .5) return "rgb(" + c.slice(0, 3) + ")"; } return "rgb(255,255,255)"; };
	const out = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement;
		if (!n.textContent.trim() || !e.offsetParent || e.closest("option, .hide, .skip, kbd")) continue;
		const a = light(getComputedStyle(e).color), b = light(behind(e));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) out.add(ratio.toFixed(2) + " " + n.textContent.trim().slice(0, 30) + " ." + e.className);
	}
	return [...out].join("\n");
})()`

func TestPageTellsOfChangesFromElsewhere(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.see("#results", "Nothing is remembered yet")
	b.until("changes are listened to", "stream !== null && seen !== null")
	l.write(t, "User likes figs")
	b.see(".rows", "User likes figs")
	b.click("#nav a[href='/insights']")
	b.see("h1", "Insights")
	b.key("?")
	b.see("dialog[open]", "go to a view")
}

// say types into the playground and sends it.
func (b *browser) say(words string) {
	b.t.Helper()
	b.until("no answer is under way", "speaking === null")
	b.focus(".say textarea")
	b.press(words)
	b.key(kb.Enter)
}

func TestPageRemembersInOneChatWhatWasToldInAnother(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/playground")
	b.see("#talk", "Try your memory")
	b.say("My sister Mia lives in Lisbon.")
	b.see(".exchange .r-user", "My sister Mia lives in Lisbon.")
	b.see(".beside", "Learned from this")
	b.see(".beside", "Mia")
	b.until("the chat has an address", `/conversation=[^&]/.test(location.search)`)
	b.click(".head .filters a")
	b.see("#talk", "Try your memory")
	b.say("Where does Mia live?")
	b.see(".exchange .r-assistant", "Lisbon")
	b.see(".beside .give", "Mia")
	b.click(".beside .why summary")
	b.see(".beside .legend", "words")
	b.click(".beside [data-edit]")
	b.until("the words have the focus", `document.activeElement.matches(".beside textarea")`)
	b.press(" now" + kb.Enter)
	b.see("#toast", "Saved.")
	b.see(".beside .give", " now")
	b.key("u")
	b.see("#toast", "Undone.")
	b.click(".beside [data-forget]")
	b.see("#toast", "Forgotten: ")
	b.see(".beside .give", "Restore")
	if gone := l.withStatus(t, "retired"); !strings.Contains(gone, "Mia") {
		t.Errorf("forgotten are %q", gone)
	}
	b.click("#toast button")
	b.see(".beside .give", "Forget this")
	b.click("#nav a[href='/conversations']")
	b.see(".rows", "My sister Mia lives in Lisbon.")
	b.open("/conversations")
	b.click(".rows li:first-child a.words")
	b.click(".turn.r-assistant .meta a")
	b.see("h1", "Where does Mia live?")
	b.see("main", "Memories that were used")
}

func TestPageLeavesNothingOfATemporaryChat(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, acknowledge, says("You said figs."))
	up.at["/v1/models"] = replies(http.StatusOK, nil, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
	l := serve(t, t.TempDir(), up.setting())
	l.write(t, "User lives in Lisbon")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/playground?temporary=1")
	b.see("main", "nothing of it is stored")
	b.say("I am in love with figs.")
	b.see(".r-assistant", acknowledged("I am in love with figs."))
	b.say("What did I say?")
	b.see(".exchange:nth-child(2) .r-assistant", "You said figs.")
	if sent := string(up.last(t).Body); !strings.Contains(sent, "I am in love with figs.") || strings.Contains(sent, "Lisbon") || strings.Contains(sent, "memory_mode") {
		t.Errorf("the upstream was sent %s", sent)
	}
	b.open("/conversations")
	b.see("main", "No conversations yet")
	if turns := l.turns(t, nil); len(turns) > 0 {
		t.Errorf("of a temporary chat %d turns are kept", len(turns))
	}
	if kept := l.withStatus(t, "active"); kept != "User lives in Lisbon" {
		t.Errorf("remembered are %q", kept)
	}
}

func TestPageStopsAnAnswer(t *testing.T) {
	t.Parallel()
	words, gone := make(chan string, 1), make(chan struct{})
	words <- "Once "
	up := newUpstream(t, streams(words, gone))
	up.at["/v1/models"] = replies(http.StatusOK, nil, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
	l := serve(t, t.TempDir(), up.setting())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/playground")
	b.say("Tell me a story.")
	b.see(".r-assistant", "Once")
	b.click("[data-stop]")
	<-gone
	b.until("it has come to its end", `speaking === null && !document.querySelector(".speaking")`)
	b.see("#talk", "Tell me a story.")
	b.say("Go on.")
	b.see(".exchange:last-child .r-assistant", acknowledged("Go on."))
	eventually(t, l, "both questions and the answer are kept", patience, func() bool { return len(l.turns(t, nil)) >= 3 }) // words are seen before the answer has ended
}

func TestPageErasesForGoodOnceThatIsTyped(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.write(t, "User hides the key under the blue flowerpot")
	l.write(t, "User lives in Lisbon")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/data")
	b.focus("[action='/erase'] [name=q]")
	b.press("the flowerpot" + kb.Enter)
	b.see("h1", "Erase for good?")
	b.see(".rows", "blue flowerpot")
	b.unsee(".rows", "Lisbon")
	b.focus("[name=word]")
	b.press("yes" + kb.Enter)
	b.see("main", "type “erase” to confirm")
	b.focus("[name=word]")
	b.press("erase" + kb.Enter)
	b.see("h1", "Erased")
	b.see("main", "What remains")
	b.unsee("main", "flowerpot")
	if _, all := l.request(t, http.MethodGet, "/api/export", nil, nil); strings.Contains(string(all), "flowerpot") || !strings.Contains(string(all), "Lisbon") {
		t.Errorf("an export has\n%s", all)
	}
}

func TestPageLooksIntoAFileBeforeItIsBroughtIn(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.write(t, "User lives in Lisbon")
	file := t.TempDir() + "/things.txt"
	if err := os.WriteFile(file, []byte("- User likes figs\n- User lives in Lisbon\n- User plays the cello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/data")
	b.do("choose the file", chromedp.SetUploadFiles(chromedp.CSS("[type=file]"), []string{file}))
	b.click("[formaction]")
	b.see("#brought", "things.txt would add")
	b.see("#brought", "User plays the cello")
	if kept := l.withStatus(t, "active"); kept != "User lives in Lisbon" {
		t.Errorf("looking wrote %q", kept)
	}
	b.click("[data-bring] button:not(.main)")
	b.see("#brought", "was imported")
	if kept := l.withStatus(t, "active"); !strings.Contains(kept, "cello") || strings.Count(kept, "Lisbon") != 1 {
		t.Errorf("after the import there are %q", kept)
	}
	heard := eval[string](b, "String(seen)")
	l.write(t, "User has a kite")
	b.until("the page hears of the change", "String(seen) !== "+quoted(heard)+" && waiting === 0")
	b.see("#brought", "was imported")
	b.click("#brought form button")
	b.see("#toast", "Undone.")
	if kept := l.withStatus(t, "active"); !strings.Contains(kept, "Lisbon") || !strings.Contains(kept, "kite") || strings.Contains(kept, "cello") {
		t.Errorf("after the undo there are %q", kept)
	}
}

func TestPageRelatesFactsByKeyboard(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	id := l.write(t, "User has a dog named Rex")
	l.write(t, "Rex is afraid of thunder")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/memories/" + id)
	b.see("#related", "tied to no other fact")
	b.focus(".add-tie summary")
	b.press(kb.Enter)
	b.focus("[name=find]")
	b.press("thunder")
	b.see("#found", "Rex is afraid of thunder")
	b.press(kb.Tab) // the button that finds is for those without a script
	b.until("the kind has the focus", `document.activeElement.name === "kind"`)
	b.press("ref" + kb.Tab + kb.Tab + kb.Enter)
	b.see("#toast", "Related.")
	b.see(".ties", "refines")
	b.see(".ties", "thunder")
	b.focus(".ties a")
	b.press(kb.Enter)
	b.see("h1", "Rex is afraid of thunder")
	b.see(".ties", "refines this")
	b.click(".ties button")
	b.see("#toast", "no longer related")
	b.see("#related", "tied to no other fact")
	b.key("u")
	b.see(".ties", "refines this")
}

func TestPageAttachesADocumentToAChat(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	file := t.TempDir() + "/House rules.md"
	if err := os.WriteFile(file, []byte("No shoes inside.\nThe gate closes at ten.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.key("g")
	b.key("4")
	b.see("main", "No documents yet")
	b.click(".add summary")
	b.do("choose the file", chromedp.SetUploadFiles(chromedp.CSS("[type=file]"), []string{file}))
	b.until("its words can be seen", `document.querySelector("textarea[name=content]").value.includes("closes at ten") && document.querySelector("[name=title]").value === "House rules"`)
	b.click(".add .main")
	b.see("#toast", "Added: House rules")
	b.see(".document", "The gate closes at ten.")
	b.see("main", "of the limit for documents")
	b.key("e")
	b.until("the text has the focus", `document.activeElement.matches("textarea[name=content]")`)
	b.press(kb.Enter + "Dogs may.")
	b.click("[data-writing] .main")
	b.see(".document", "Dogs may.")
	b.click("[value=chat]")
	b.see("h1", "Playground")
	b.chat("When does the gate close?")
	b.click(".beside a[href^='/traces/']")
	b.see("pre.card", "The gate closes at ten.")
	b.open("/contexts")
	b.see(".rows", "in 1 chat")
	b.key("j")
	b.press(kb.Delete)
	b.see("main", "No documents yet")
	b.key("u")
	b.see(".rows", "House rules")
}

func TestPageGivesAChatATitleAndDocuments(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	l.post(t, "/api/contexts", map[string]string{"title": "Menu", "content": "Soup on Monday."})
	l.post(t, "/api/memory/add", map[string]any{"conversation": "lunch", "wait": true, "messages": []map[string]string{{"role": "user", "content": "What is there to eat?"}}})
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/conversations/lunch")
	b.click("[data-edit]")
	b.until("the title has the focus", `document.activeElement.name === "title"`)
	b.press("Lunch" + kb.Tab + "Be brief.")
	b.click("[name=context]")
	b.click("[data-writing] .main")
	b.see("#toast", "Saved.")
	b.see("h1", "Lunch")
	b.see(".summary", "Be brief.")
	b.see(".attached", "Menu")
	b.key("u")
	b.unsee("main", "Be brief.")
	b.click("[data-edit]")
	b.click("details.group summary")
	b.click("[value=delete]")
	b.see("main", "No conversations yet")
	b.click("#toast button")
	b.see(".rows", "What is there to eat?")
}

func TestPageTellsWhatRecursAndSharesIt(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	projects(t, l)
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/insights")
	b.see("#across", "User writes the tests first")
	b.click("#across .bars a")
	b.see("#results", "User prefers tabs to spaces")
	b.unsee("#results", "Thursday")
	b.click("#results .row a.words")
	b.see("#shared", "It is not shared.")
	b.click("#shared summary")
	b.focus("#shared [name=name]")
	b.press("ben" + kb.Enter)
	b.see("#shared", "ben")
	b.see("#toast", "Shared with ben.")
	b.click("#shared .ties button")
	b.see("#shared", "It is not shared.")
	b.open("/settings")
	b.click("a[href='/settings/prompts/extract']")
	b.see("h1", "extract")
	b.see("pre.card", "I moved to Lisbon.")
}

func TestPageKeepsAProfile(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.click(".head a[href='/profile']")
	b.see("main", "There is nothing yet")
	b.focus("[name=key][required]")
	b.press("timezone" + kb.Tab + "Europe/Lisbon" + kb.Enter)
	b.see(".rows", "Europe/Lisbon")
	b.key("j")
	b.key("e")
	b.until("the value has the focus", `document.activeElement.matches("textarea[name=value]")`)
	b.press(" (winter)" + kb.Enter)
	b.see(".rows", "Europe/Lisbon (winter)")
	b.key("u")
	b.unsee(".rows", "winter")
}

func TestPageAsksForTheKey(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir(), "LOCI_API_KEY=a-key-of-this-server")
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/?q=figs")
	b.see("h1", "Sign in to Loci")
	const ready = `document.activeElement.name === "key" && document.readyState === "complete"`
	b.until("the key is asked for", ready)
	b.press("another key" + kb.Enter)
	b.see("[role=alert]", "not valid on this server")
	b.until("the key is asked for again", ready)
	b.press("a-key-of-this-server" + kb.Enter)
	b.see("h1", "Memories")
	b.until("it goes on where it was asked for", `location.search === "?q=figs"`)
	if cookie := eval[string](b, "document.cookie"); cookie != "" {
		t.Errorf("a script of the page reads the cookie %q", cookie)
	}
	b.click("footer form button")
	b.see("h1", "Sign in to Loci")
}

func TestPageEndsWithItsServerWhileItIsLookedAt(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/")
	b.until("changes are listened to", "stream !== null && seen !== null")
	b.lost = true
	l.stop(t)
	if strings.Contains(l.log.String(), "cut off") {
		t.Errorf("the server waited for the page, and cut it off:\n%s", l.log)
	}
}
