package rest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func (r *rig) search(body string) client.SearchAnswer {
	r.t.Helper()
	w := r.do("POST", "/api/memory/search", body)
	if w.Code != 200 {
		r.t.Fatalf("search %s: %d %s", body, w.Code, w.Body)
	}
	var found client.SearchAnswer
	r.decode(w, &found)
	return found
}

// TestSearchBlock requests the text of a memory block.
func TestSearchBlock(t *testing.T) {
	r := newRig(t).furnish()
	const question = `{"query":"What does Ana drink in the morning?"`
	if found := r.search(question + `}`); found.Block != "" || found.Pause != "" {
		t.Errorf("block %q and pause %q without block: true", found.Block, found.Pause)
	}
	found := r.search(question + `,"block":true}`)
	if len(found.Hits) == 0 || !strings.Contains(found.Block, "oolong") || !strings.Contains(found.Block, "<loci-memory>") || found.Pause != "none" {
		t.Fatalf("got %d hits, pause %q and the block %q; want oolong in a fence", len(found.Hits), found.Pause, found.Block)
	}
	if w := r.do("GET", "/api/traces/"+found.Trace, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "oolong") {
		t.Errorf("trace of the block: %d %s", w.Code, w.Body)
	}
	if found := r.search(`{"query":"Where do we sail in June?","block":true}`); !strings.Contains(found.Block, "Madeira") {
		t.Errorf("the block %q has no Madeira", found.Block)
	}
	if found := r.search(`{"query":"Where do we sail in June?","block":true,"asked_in":"trip"}`); strings.Contains(found.Block, "Madeira") || len(found.Hits) > 0 && strings.Contains(found.Hits[0].Content, "Madeira") {
		t.Errorf("a conversation gets its own messages: %q", found.Block)
	}
	r.do("POST", "/api/memory/add", `{"conversation":"home","parent_id":"","messages":[{"role":"user","content":"My sister Mira lives in Lisbon.","id":"u1"}]}`)
	job, err := r.engine.Store.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute)
	if err == nil {
		_, err = r.engine.Lessons.Learn(t.Context(), job)
	}
	if err != nil {
		t.Fatal(err)
	}
	if found := r.search(`{"query":"Where does my sister Mira live?","block":true}`); !strings.Contains(found.Block, "Lisbon") {
		t.Errorf("the block %q has no Lisbon", found.Block)
	}
	if found := r.search(`{"query":"My sister Mira lives in Porto","block":true,"asked_in":"home"}`); strings.Contains(found.Block, "Lisbon") {
		t.Errorf("an edit gets the fact that it replaces: %q", found.Block)
	}
	r.do("PUT", "/api/pause", `{"pause":"learning"}`)
	if found := r.search(question + `,"block":true}`); found.Block == "" || found.Pause != "learning" {
		t.Errorf("while learning is paused: pause %q, block %q", found.Pause, found.Block)
	}
	r.do("PUT", "/api/pause", `{"pause":"memory"}`)
	if found := r.search(question + `,"block":true}`); found.Block != "" || len(found.Hits) > 0 || found.Pause != "memory" {
		t.Errorf("while memory is paused: pause %q, %d hits, block %q", found.Pause, len(found.Hits), found.Block)
	}
}

// A block without a chat has what search finds, even if the text is no question.
func TestExplicitSearchAcceptsAnyText(t *testing.T) {
	r := newRig(t).furnish()
	refused := 0
	for _, asked := range []string{"Write a poem on oolong.", "Thanks, oolong it is!", "What does Ana drink in the morning?"} {
		body := `{"query":"` + asked + `"`
		found, block, chat := r.search(body+`}`), r.search(body+`,"block":true}`), r.search(body+`,"block":true,"asked_in":"another"}`)
		if len(found.Hits) == 0 || len(block.Hits) == 0 || found.Hits[0].ID != block.Hits[0].ID || !strings.Contains(block.Block, "oolong") {
			t.Errorf("%s: search finds %d memories, the block has %d: %q", asked, len(found.Hits), len(block.Hits), block.Block)
		}
		if len(chat.Hits) == 0 {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no message is refused in a chat; the test shows nothing")
	}
}

// An explicit search returns twelve memories, a chat eight, unless a setting has another number.
func TestExplicitSearchGetsTwelveMemories(t *testing.T) {
	for _, c := range []struct{ set, purpose, chat int }{{-1, 12, 8}, {5, 5, 5}} {
		r := newRig(t)
		r.engine.Opts.TopK = c.set
		for i := range 20 {
			r.do("POST", "/api/memory", fmt.Sprintf(`{"content":"User drank tea number %d in town %d"}`, i, 100+i))
		}
		const question = `{"query":"Which tea did I drink?"`
		for more, want := range map[string]int{`}`: c.purpose, `,"block":true}`: c.purpose, `,"block":true,"asked_in":"another"}`: c.chat} {
			if got := len(r.search(question + more).Hits); got != want {
				t.Errorf("top_k %d, %s: %d memories, want %d", c.set, more, got, want)
			}
		}
	}
}

// The deadline of chats does not apply to an explicit search.
func TestExplicitSearchHasNoDeadline(t *testing.T) {
	r := newRig(t).furnish()
	r.engine.Opts.Deadline = time.Nanosecond
	const question = `{"query":"What does Ana drink in the morning?","block":true`
	if found := r.search(question + `}`); !strings.Contains(found.Block, "oolong") || len(found.Degraded) > 0 {
		t.Errorf("the block %q lacks %v", found.Block, found.Degraded)
	}
	if found := r.search(question + `,"asked_in":"another"}`); len(found.Degraded) == 0 {
		t.Error("a chat is in time; the test shows nothing")
	}
}
