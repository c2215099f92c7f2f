package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// eraseForm is the form of a page that shows what would be erased, with a word typed.
func eraseForm(t *testing.T, page, word string) url.Values {
	t.Helper()
	form := url.Values{"word": {word}}
	for _, name := range []string{"ids", "sum"} {
		_, value, ok := strings.Cut(page, `name="`+name+`" value="`)
		if value, _, _ = strings.Cut(value, `"`); !ok || value == "" {
			t.Fatalf("the page has no %s:\n%s", name, page)
		}
		form.Set(name, value)
	}
	return form
}

// converse keeps what was said in a chat, a question and an answer.
func (r *rig) converse(chat, says, answer string) []string {
	r.t.Helper()
	kept, err := r.engine.Exchange.Ingest(r.t.Context(), memtest.Ana, exchange.IngestRequest{Conversation: chat, Messages: []exchange.Message{
		{Role: memory.RoleUser, Content: says}, {Role: memory.RoleAssistant, Content: answer},
	}})
	if err != nil || len(kept.TurnIDs) != 2 {
		r.t.Fatalf("kept %v, %v", kept.TurnIDs, err)
	}
	return kept.TurnIDs
}

func TestWhatIsErasedIsWhatWasShown(t *testing.T) {
	r := newRig(t, "")
	a := r.fact("User hides the key under the blue flowerpot")
	form := eraseForm(t, r.shows("/erase?q=the+flowerpot", "Erase 1 memory for good"), "erase")
	// Another tab: the question finds one memory still, but another one.
	b := r.fact("User painted a flowerpot")
	r.sent("/memories/"+a.ID, url.Values{"do": {"edit"}, "content": {"User hides the key in the shed"}})
	w := r.post("/erase", form)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "memory has changed") || !strings.Contains(w.Body.String(), "in the shed") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if r.now(a.ID).Content == "" || r.now(b.ID).Content == "" {
		t.Fatal("something was erased that was not shown as it is")
	}
	// What the question finds meanwhile stays.
	form = eraseForm(t, r.shows("/erase?q=the+flowerpot", "painted"), "erase")
	c := r.fact("User broke a flowerpot")
	to := r.sent("/erase", form)
	r.shows(to, "1 memory, whose text is erased", b.ID)
	if r.now(b.ID).Content != "" || r.now(c.ID).Content == "" || r.now(a.ID).Content == "" {
		t.Error("it did not erase the one that was shown, and that alone")
	}
	r.shows("/insights", ">erased<")
	r.shows("/?status=retired", "Erased: its words are gone")
	if life := r.shows("/memories/"+b.ID, "<i>Without words</i>"); strings.Contains(life, `value="restore"`) {
		t.Error("what was erased is offered to be restored")
	}
}

func TestAllThatWouldBeErasedCanBeSeen(t *testing.T) {
	r := newRig(t, "")
	for i := range maxShownErased + 5 {
		r.fact(fmt.Sprintf("User owns book number %d-x", i))
	}
	body := r.shows("/erase?q=everything", "Erase 105 memories for good", "5 more memories")
	for i := range maxShownErased + 5 {
		if !strings.Contains(body, fmt.Sprintf("number %d-x<", i)) {
			t.Errorf("book %d is not shown", i)
		}
	}
	sound(t, "/erase?q=everything", body)
	r.shows(r.sent("/erase", eraseForm(t, body, "erase")), "105 memories, whose text is erased")
}

// TestWhatQuotesAnErasedTurnIsErasedByItsWords: it stays until somebody asks for it.
func TestWhatQuotesAnErasedTurnIsErasedByItsWords(t *testing.T) {
	r := newRig(t, "")
	turns := r.converse("safe", "The code of my safe is 4711 zebra.", "Noted.")
	quotes := r.converse("later", "What should I not forget?", "That zebra number, 4711.")
	r.converse("other", "How warm is it in Porto?", "Quite warm.")
	at := "/erase?id=" + turns[0]
	body := r.shows(at, "keep their text")
	sound(t, at, body)
	r.shows(r.sent("/erase", eraseForm(t, body, "erase")), turns[0])
	body = r.shows("/erase?q=zebra+4711", "That zebra number, 4711.")
	r.shows(r.sent("/erase", eraseForm(t, body, "erase")), quotes[1])
	if all := r.get("/data/export").Body.String(); strings.Contains(all, "4711") || !strings.Contains(all, "warm") {
		t.Errorf("what is left is\n%s", all)
	}
}
