package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// runs are what the page offers to undo.
func (r *rig) runs() []string {
	r.t.Helper()
	var out []string
	_, toast, _ := strings.Cut(r.shows("/"), `id="toast"`)
	for part := range strings.SplitSeq(toast, `name="run" value="`) {
		if run, _, ok := strings.Cut(part, `"`); ok && !strings.Contains(run, "<") && !strings.Contains(run, " ") {
			out = append(out, run)
		}
	}
	return out
}

func TestWhatIsWrittenDownIsRemembered(t *testing.T) {
	r := newRig(t, "")
	if to := r.sent("/memories", url.Values{"content": {" User likes figs "}, "category": {"food"}, "tags": {"fruit, sweet,"}, "back": {"/?q=figs"}}); to != "/?q=figs" {
		t.Errorf("it leads to %s", to)
	}
	body := r.shows("/", "Remembered.", "User likes figs", "fruit", "sweet", ">food<")
	if strings.Contains(r.shows("/"), "Remembered.") {
		t.Error("what was done is said twice")
	}
	if strings.Count(body, `class="row"`) != 1 {
		t.Errorf("there is not one memory:\n%s", body)
	}
	r.sent("/memories", url.Values{"content": {"User likes figs"}})
	r.shows("/", "already stored")
	if w := r.post("/memories", url.Values{"content": {"  "}}); w.Code != http.StatusBadRequest {
		t.Errorf("an empty fact: status %d", w.Code)
	}
	if w := r.post("/memories", url.Values{"content": {strings.Repeat("long ", 2000)}}); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long fact: status %d", w.Code)
	}
	if w := r.post("/memories", url.Values{"content": {"\xff\xfe"}}); w.Code != http.StatusBadRequest {
		t.Errorf("no text: status %d", w.Code)
	}
	if w := r.post("/memories", url.Values{"content": {strings.Repeat("x", 80<<10)}}); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge form: status %d", w.Code)
	}
}

func TestThePageNamesWhatAFactReplaces(t *testing.T) {
	r := newRig(t, "")
	first := r.fact("User lives in Berlin").ID
	r.sent("/memories", url.Values{"content": {"User lives in Porto"}})
	r.shows("/", "Remembered. It replaces: User lives in Berlin", "Undo", `name="run" value="`)
	r.sent("/memories/"+first, url.Values{"do": {"restore"}})
	r.shows("/", "Restored. It replaces: User lives in Porto")
}

func TestAFactIsEditedPinnedForgottenAndBrought(t *testing.T) {
	r := newRig(t, "")
	id := r.fact("User lives in Berlin", "old").ID
	at := "/memories/" + id
	r.sent(at, url.Values{"do": {"edit"}, "content": {"User lives in Porto"}, "category": {"place"}, "tags": {"new, home"}, "confidence": {"80"}})
	if f := r.now(id); f.Content != "User lives in Porto" || f.Category != "place" || !slices.Equal(f.Tags, []string{"new", "home"}) || f.Confidence != 0.8 {
		t.Errorf("edited it is %+v", f)
	}
	r.shows(at, "<del", "User lives in Berlin", "<ins", "by ana", "edited by hand")
	r.sent(at, url.Values{"do": {"pin"}})
	if r.now(id).Core != memory.CoreAlways {
		t.Error("it is not pinned")
	}
	r.shows(at, `value="unpin"`)
	r.sent(at, url.Values{"do": {"unpin"}})
	if r.now(id).Core != memory.CoreAuto {
		t.Error("it is still pinned")
	}
	r.sent(at, url.Values{"do": {"edit"}, "core": {"never"}})
	if r.now(id).Core != memory.CoreNever {
		t.Error("it may still be in prompts by itself")
	}
	r.shows(at, "search only")
	r.shows("/?edit="+id, `value="never" selected`)
	r.sent(at, url.Values{"do": {"forget"}})
	if s := r.now(id).Status; s != memory.Retired {
		t.Errorf("forgotten it is %s", s)
	}
	r.shows(at, `value="restore"`)
	r.sent(at, url.Values{"do": {"restore"}})
	if s := r.now(id).Status; s != memory.Active {
		t.Errorf("restored it is %s", s)
	}
	for _, form := range []url.Values{{"do": {"fly"}}, {}, {"do": {"edit"}, "confidence": {"much"}}, {"do": {"edit"}, "confidence": {"200"}}, {"do": {"edit"}, "core": {"often"}}, {"do": {"approve"}}} {
		if w := r.post(at, form); w.Code != http.StatusBadRequest && w.Code != http.StatusConflict {
			t.Errorf("%v: status %d", form, w.Code)
		}
	}
	if w := r.post("/memories/none", url.Values{"do": {"edit"}, "content": {"x"}}); w.Code != http.StatusNotFound {
		t.Errorf("an edit of nothing: status %d", w.Code)
	}
}

func TestWhatWasDoneIsUndoneByItsRuns(t *testing.T) {
	r := newRig(t, "")
	a, b := r.fact("User likes figs"), r.fact("User likes plums")
	for _, do := range []url.Values{{"do": {"forget"}}, {"do": {"pin"}}, {"do": {"tag"}, "tag": {"fruit"}}} {
		do["id"] = []string{a.ID, b.ID}
		r.sent("/memories/bulk", do)
		for _, id := range do["id"] {
			if f := r.now(id); f.Status == memory.Active && !f.Pinned() && len(f.Tags) == 0 {
				t.Errorf("%v did nothing to %+v", do, f)
			}
		}
		runs := r.runs()
		if len(runs) == 0 {
			t.Fatalf("%v: nothing is offered to undo", do)
		}
		r.sent("/undo", url.Values{"run": runs})
		for _, id := range do["id"] {
			if f := r.now(id); f.Status != memory.Active || f.Pinned() || len(f.Tags) > 0 {
				t.Errorf("%v is not undone: %+v", do, f)
			}
		}
	}
	r.sent("/memories/bulk", url.Values{"do": {"forget"}})
	r.shows("/", "Nothing was selected.")
	if w := r.post("/memories/bulk", url.Values{"do": {"fly"}, "id": {a.ID}}); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown thing to do: status %d", w.Code)
	}
	if w := r.post("/memories/bulk", url.Values{"do": {"forget"}, "id": slices.Repeat([]string{a.ID}, 500)}); w.Code != http.StatusBadRequest {
		t.Errorf("too many: status %d", w.Code)
	}
}

func TestAnUndoAsksBeforeItTakesLaterChangesAlong(t *testing.T) {
	r := newRig(t, "")
	id := r.fact("User likes figs").ID
	added, err := r.engine.History(t.Context(), memtest.Ana, id, "")
	if err != nil {
		t.Fatal(err)
	}
	r.sent("/memories/"+id, url.Values{"do": {"edit"}, "content": {"User likes green figs"}})
	asks := r.sent("/undo", url.Values{"change": {added.Changes[0].ID}, "back": {"/memories/" + id}})
	if !strings.HasPrefix(asks, "/undo?") || r.now(id).Status != memory.Active {
		t.Fatalf("it leads to %s and the fact is %s", asks, r.now(id).Status)
	}
	r.shows(asks, "Undo more?", "edited", "Keep everything", `href="/memories/`+id)
	r.sent("/undo", url.Values{"change": {added.Changes[0].ID}, "cascade": {"yes"}})
	if s := r.now(id).Status; s != memory.Retired {
		t.Errorf("undone it is %s", s)
	}
}

func TestMemoryGoesBackToADay(t *testing.T) {
	r := newRig(t, "")
	figs := r.fact("User likes figs").ID
	then := r.clock.Now().UTC().Format("2006-01-02T15:04:05.999999Z07:00")
	plums := r.fact("User likes plums").ID
	r.shows("/undo?to="+url.QueryEscape(then)+"&back=/time", "Go back in time?", "User likes plums")
	r.sent("/undo", url.Values{"to": {then}, "cascade": {"yes"}, "change": {""}, "run": {""}})
	if r.now(figs).Status != memory.Active || r.now(plums).Status != memory.Retired {
		t.Errorf("figs are %s and plums %s", r.now(figs).Status, r.now(plums).Status)
	}
}

func TestAPersonDecidesOnWhatWaits(t *testing.T) {
	r := newRig(t, "")
	one := r.pending("User may climb", "I may climb.", "I may climb")
	two := r.pending("User may swim", "I may swim.", "I may swim")
	three := r.pending("User may ski", "I may ski.", "I may ski")
	four := r.pending("User may sail", "I may sail.", "I may sail")
	r.sent("/review", url.Values{"do": {"approve"}, "id": {one.ID}, "back": {"/review"}})
	if s := r.now(one.ID).Status; s != memory.Active {
		t.Errorf("approved it is %s", s)
	}
	r.sent("/undo", url.Values{"run": r.runs()})
	if s := r.now(one.ID).Status; s != memory.Pending {
		t.Errorf("after the undo it is %s", s)
	}
	r.sent("/review", url.Values{"do": {"approve"}, "id": {two.ID}, "content": {"User swims on Sundays"}})
	if f := r.now(two.ID); f.Status != memory.Active || f.Content != "User swims on Sundays" {
		t.Errorf("in better words it is %+v", f)
	}
	r.sent("/review", url.Values{"do": {"reject"}, "id": {one.ID, three.ID}})
	if r.now(one.ID).Status != memory.Rejected || r.now(three.ID).Status != memory.Rejected {
		t.Errorf("rejected they are %s and %s", r.now(one.ID).Status, r.now(three.ID).Status)
	}
	r.sent("/memories/"+four.ID, url.Values{"do": {"approve"}})
	r.shows("/review", "Nothing waits for you")
	r.sent("/review", url.Values{"do": {"approve"}})
	if w := r.post("/review", url.Values{"do": {"praise"}, "id": {one.ID}}); w.Code != http.StatusBadRequest && w.Code != http.StatusConflict {
		t.Errorf("an unknown judgement: status %d", w.Code)
	}
}

func TestMemoryIsPausedAndTheWholePageSaysSo(t *testing.T) {
	r := newRig(t, "")
	for pause, says := range map[string]string{"learning": "Learning is paused", "memory": "Memory is paused"} {
		r.sent("/settings", url.Values{"pause": {pause}})
		r.shows("/insights", says)
		if got := r.engine.CurrentPause(t.Context(), memtest.Ana); string(got) != pause {
			t.Errorf("%s is on hold, want %s", got, pause)
		}
	}
	r.sent("/settings", url.Values{"pause": {string(core.PauseNone)}})
	if w := r.post("/settings", url.Values{"pause": {"forever"}}); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown pause: status %d", w.Code)
	}
}

func TestAParkedJobIsTriedAgain(t *testing.T) {
	r := newRig(t, "")
	kept, err := r.engine.Exchange.Ingest(t.Context(), memtest.Ana, exchange.IngestRequest{Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: "I like figs."}}})
	if err != nil {
		t.Fatal(err)
	}
	job, err := r.engine.Store.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, 1e9)
	if err != nil || job.ID != kept.JobID {
		t.Fatalf("claimed %+v, %v", job, err)
	}
	if err := r.engine.Store.Finish(t.Context(), job.Lease, memory.Outcome{Park: true, Cause: "the model <b>fell</b> over"}); err != nil {
		t.Fatal(err)
	}
	r.shows("/jobs", "parked", "the model &lt;b&gt;fell&lt;/b&gt; over", "Try again", "<b>1</b>")
	r.sent("/jobs/"+url.PathEscape(job.ID), url.Values{"back": {"/jobs"}})
	r.shows("/jobs", "queued", "The job will run again.")
	if w := r.post("/jobs/none", url.Values{}); w.Code != http.StatusNotFound {
		t.Errorf("a job that is none: status %d", w.Code)
	}
}
