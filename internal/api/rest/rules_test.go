package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// everyWrite has one request of each writing operation.
var everyWrite = []struct{ method, path, body string }{
	{"POST", "/api/memory", `{"content":"Ana has two sisters"}`},
	{"POST", "/api/memory/add", `{"text":"I live in Lisbon."}`},
	{"PATCH", "/api/memory/{tea}", `{"content":"Ana drinks sencha tea"}`},
	{"DELETE", "/api/memory/{tea}", ""},
	{"POST", "/api/memory/{tea}/pin", ""},
	{"POST", "/api/memory/{climbing}/approve", ""},
	{"POST", "/api/memory/{climbing}/reject", ""},
	{"POST", "/api/memory/{cello}/restore", ""},
	{"POST", "/api/memory/forget", `{"query":"oolong tea"}`},
	{"POST", "/api/changes/undo", `{"change":"{change}"}`},
	{"PUT", "/api/pause", `{"pause":"learning"}`},
	{"POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve","content":"Ana likes climbing"}]}`},
}

func TestRepeatedKeyWritesOnce(t *testing.T) {
	for _, c := range everyWrite {
		r := newRig(t).furnish()
		before := r.version()
		first := r.do(c.method, c.path, c.body, "Idempotency-Key", "k1")
		after := r.version()
		again := r.do(c.method, c.path, c.body, "Idempotency-Key", "k1")
		if first.Code >= 300 || again.Code >= 300 || before == after || r.version() != after {
			t.Errorf("%s %s: answered %d and %d, versions %d, %d, %d; want one write", c.method, c.path, first.Code, again.Code, before, after, r.version())
		}
		if idsOf(first) != idsOf(again) {
			t.Errorf("%s %s: answered\n%s and\n%s; want the same", c.method, c.path, first.Body, again.Body)
		}
		if other := r.as("ben", c.method, "/api/memory", `{"content":"Ben has a boat"}`, "Idempotency-Key", "k1"); c.path == "/api/memory" && other.Code != http.StatusCreated {
			t.Errorf("ben's use of the same key: %d %s, want a write of his own", other.Code, other.Body)
		}
	}
}

// idsOf returns the ids in an answer. A repeated answer may differ elsewhere: forgotten memories show
// their current state.
func idsOf(w *httptest.ResponseRecorder) string {
	return strings.Join(regexp.MustCompile(`"(id|run|turns|job|conversation)":("[^"]*"|\[[^]]*\])`).FindAllString(w.Body.String(), -1), ",")
}

func TestAKeyIsForOneKindOfRequest(t *testing.T) {
	r := newRig(t).furnish()
	r.do("PATCH", "/api/memory/{tea}", `{"content":"Ana drinks sencha tea"}`, "Idempotency-Key", "k1")
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/memory/forget", `{"ids":["{tea}"]}`},
		{"POST", "/api/memory/{climbing}/approve", ""},
		{"POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve"}]}`},
	} {
		if w := r.do(c.method, c.path, c.body, "Idempotency-Key", "k1"); w.Code != http.StatusConflict {
			t.Errorf("%s %s: %d %s, want a conflict", c.method, c.path, w.Code, w.Body)
		}
	}
}

// version returns a number that every write of ana's increases.
func (r *rig) version() int64 {
	r.t.Helper()
	v, err := r.engine.Store.Versions(context.Background(), []memory.Owner{memory.User(memory.DefaultNamespace, "ana")})
	if err != nil {
		r.t.Fatal(err)
	}
	return v[0]
}

func TestRefusedRequestsWriteNothing(t *testing.T) {
	r := newRig(t).furnish()
	before := r.version()
	for _, c := range everyWrite {
		for name, body := range map[string]string{"cut off": strings.TrimSuffix(c.body, "}"), "bytes": c.body + "\xff", "unknown": `{"colour":"red"}`} {
			if body == "" || (c.body == "" && !strings.HasSuffix(c.path, "/pin")) {
				continue // a decision has no body
			}
			if w := r.do(c.method, c.path, body); w.Code < 400 || w.Code >= 500 {
				t.Errorf("%s %s of a body %s: %d %s", c.method, c.path, name, w.Code, w.Body)
			}
		}
	}
	if after := r.version(); after != before {
		t.Errorf("version %d after refusals, want %d", after, before)
	}
}

func TestPagesListEverythingOnce(t *testing.T) {
	r := newRig(t)
	want := map[string]bool{}
	for _, thing := range []string{"tea", "rain", "chess", "maps", "snow"} {
		want[r.id("POST", "/api/memory", `{"content":"Ana likes `+thing+` a lot"}`)] = true
	}
	for _, list := range []string{"/api/memory?limit=2", "/api/changes?limit=2"} {
		got := map[string]bool{}
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			var page struct {
				Memories []struct{ ID string }
				Changes  []struct {
					New string `json:"new_id"`
				}
				Next string `json:"next_cursor"`
			}
			r.decode(r.do("GET", list+"&cursor="+cursor, ""), &page)
			for _, m := range page.Memories {
				got[m.ID] = true
			}
			for _, c := range page.Changes {
				got[c.New] = true
			}
			if cursor = page.Next; len(page.Memories)+len(page.Changes) > 2 || pages > 3 {
				t.Fatalf("%s: page %d is %+v", list, pages, page)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %v, want %v", list, got, want)
		}
		for id := range want {
			if !got[id] {
				t.Errorf("%s: %s is missing", list, id)
			}
		}
	}
}

func TestUndoRestoresAndCanBeUndone(t *testing.T) {
	r := newRig(t).furnish()
	var gone, undone client.Receipt
	r.decode(r.do("DELETE", "/api/memory/{tea}", ""), &gone)
	r.decode(r.do("POST", "/api/changes/undo", `{"run":"`+gone.Run+`"}`), &undone)
	if got := r.do("GET", "/api/memory", "").Body.String(); !strings.Contains(got, "oolong") {
		t.Errorf("after undoing: %s, want the tea back", got)
	}
	r.do("POST", "/api/changes/undo", `{"run":"`+undone.Run+`"}`)
	if got := r.do("GET", "/api/memory", "").Body.String(); strings.Contains(got, "oolong") {
		t.Errorf("after undoing the undo: %s, want it gone", got)
	}
	w := r.do("POST", "/api/changes/undo", `{"run":"`+gone.Run+`"}`)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), undone.Run) {
		t.Errorf("undo of what was changed since: %d %s, want a conflict that lists the changes", w.Code, w.Body)
	}
}

func TestUndoDryRunShowsConflicts(t *testing.T) {
	r := newRig(t).furnish()
	r.do("PATCH", "/api/memory/{tea}", `{"content":"Ana drinks sencha tea"}`)
	before := r.version()
	var would, undone client.Undone
	r.decode(r.do("POST", "/api/changes/undo", `{"run":"{run}","dry_run":true}`), &would)
	if r.version() != before {
		t.Error("a dry run wrote something")
	}
	if len(would.Later) != 1 || would.Later[0].Action != memory.ActionUpdate {
		t.Errorf("later changes %+v, want the edit", would.Later)
	}
	if len(would.Steps) != 1 || would.Steps[0].Before.Fact.Content != "Ana drinks sencha tea" || would.Steps[0].After.Fact.Status != memory.Retired {
		t.Errorf("steps %+v, want that the tea as it is now leaves", would.Steps)
	}
	r.decode(r.do("POST", "/api/changes/undo", `{"run":"{run}","cascade":true}`), &undone)
	if len(undone.Steps) != 1 || undone.Steps[0].Run != undone.Run || undone.Steps[0].Before.Fact.Content != "Ana drinks sencha tea" || undone.DryRun || undone.Later != nil {
		t.Errorf("undone %+v, want the step that the dry run showed", undone)
	}
}

// pend adds a pending fact of ana's with its reason.
func (r *rig) pend(f memory.Fact, why memory.Change) {
	r.t.Helper()
	f.Status = memory.Pending
	why.Action, why.After.Fact = memory.ActionAdd, &f
	if _, err := r.engine.Store.Apply(context.Background(), f.Scope.Owner, memtest.Run("pend-"+f.ID), why); err != nil {
		r.t.Fatal(err)
	}
}

func TestReviewShowsSourceAndReason(t *testing.T) {
	r := newRig(t)
	ana := memory.User(memory.DefaultNamespace, "ana")
	berlin := r.id("POST", "/api/memory", `{"content":"User lives in Berlin"}`)
	other := r.id("POST", "/api/memory", `{"content":"User owns a red bicycle"}`)
	var kept client.Added
	r.decode(r.do("POST", "/api/memory/add", `{"infer":false,"conversation":"move","messages":[{"role":"user","content":"Hi! I moved to Łódź in May. Bye."}]}`), &kept)
	f := memtest.Fact(ana, "User lives in Łódź")
	f.Subject, f.Attribute, f.ObservedAt = "user", "home", r.clock.Now().Add(-time.Hour)
	f.Provenance = memory.Provenance{Conversation: "move", Turns: kept.Turns, Quote: &memory.Span{Turn: kept.Turns[0], Start: 4, End: 30}}
	r.pend(f, memory.Change{OldID: other, NewID: f.ID, Reason: "it is doubtful", Author: memory.Author{Kind: memory.ByModel, Name: "m", Prompt: "p"}})

	var page client.Review
	r.decode(r.do("GET", "/api/review", ""), &page)
	if len(page.Waiting) != 1 {
		t.Fatalf("%d wait, want 1", len(page.Waiting))
	}
	w := page.Waiting[0]
	if w.Memory.ID != f.ID || w.Reason != "it is doubtful" || w.Author.Prompt != "p" {
		t.Errorf("waiting: %+v, want the fact, its reason and author", w)
	}
	if q := w.Quote; q == nil || q.Before != "Hi! " || q.Words != "I moved to Łódź in May." || q.After != " Bye." || q.Conversation != "move" || q.Role != memory.RoleUser {
		t.Errorf("quote: %+v, want it in its turn", q)
	}
	if len(w.Conflicts) != 2 || w.Conflicts[0].ID != berlin || w.Conflicts[1].ID != other {
		t.Errorf("conflicts: %+v, want the other home and what the journal names", w.Conflicts)
	}

	// Approving it replaces both, in one run that can be undone.
	var decided client.Reviewed
	r.decode(r.do("POST", "/api/review", `{"judgements":[{"id":"`+f.ID+`","action":"approve"}]}`), &decided)
	list := r.do("GET", "/api/memory", "").Body.String()
	if strings.Contains(list, "Berlin") || strings.Contains(list, "bicycle") || !strings.Contains(list, "Łódź") || decided.Changes != 3 {
		t.Errorf("after approving with %d changes: %s", decided.Changes, list)
	}
	r.do("POST", "/api/changes/undo", `{"run":"`+decided.Run+`"}`)
	list = r.do("GET", "/api/memory", "").Body.String()
	if !strings.Contains(list, "Berlin") || !strings.Contains(list, "bicycle") || strings.Contains(list, "Łódź") {
		t.Errorf("after undoing it: %s", list)
	}
	r.decode(r.do("GET", "/api/review", ""), &page)
	if len(page.Waiting) != 1 || page.Waiting[0].Reason != "it is doubtful" {
		t.Errorf("waiting after undoing it: %+v", page.Waiting)
	}
}

func TestTraceIsPrivateToItsOwner(t *testing.T) {
	r := newRig(t).furnish()
	var found client.SearchAnswer
	r.decode(r.do("POST", "/api/memory/search", `{"query":"what tea does Ana drink?"}`), &found)
	var trace memory.Trace
	r.decode(r.do("GET", "/api/traces/"+found.Trace, ""), &trace)
	if trace.Question != "what tea does Ana drink?" || trace.Door != "search" || len(trace.Hits) != len(found.Hits) {
		t.Errorf("trace %+v of %+v", trace, found)
	}
	if w := r.as("ben", "GET", "/api/traces/"+found.Trace, ""); w.Code != http.StatusNotFound {
		t.Errorf("ben reads ana's trace: %d %s", w.Code, w.Body)
	}
}

func TestRequestWithoutUserIsRefused(t *testing.T) {
	r := newRig(t).furnish()
	for _, c := range append(everyWrite, []struct{ method, path, body string }{
		{"GET", "/api/memory", ""}, {"GET", "/api/memory/{tea}", ""}, {"DELETE", "/api/memory/{tea}", ""}, {"GET", "/api/memory/{tea}/history", ""},
		{"POST", "/api/memory/search", `{"query":"tea"}`}, {"GET", "/api/changes", ""}, {"GET", "/api/review", ""}, {"GET", "/api/traces/x", ""}, {"GET", "/api/stats", ""}, {"GET", "/api/jobs", ""}, {"POST", "/api/jobs/x/retry", ""},
		{"GET", "/api/export", ""}, {"POST", "/api/import", "x"},
	}...) {
		w := r.as("", c.method, c.path, c.body)
		if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "oolong") {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
			continue
		}
		wantProblem(t, c.method+" "+c.path, w)
	}
	if w := r.as("", "GET", "/health", ""); w.Code != http.StatusOK {
		t.Errorf("health: %d", w.Code)
	}
}

func TestBodyIsJSONWhateverItsType(t *testing.T) {
	r := newRig(t)
	for i, media := range []string{"", "application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/plain"} {
		headers := []string{}
		if media != "" {
			headers = []string{"Content-Type", media}
		}
		body := `{"content":"Ana likes number ` + strings.Repeat("I", i+1) + `"}`
		if w := r.do("POST", "/api/memory", body, headers...); w.Code != http.StatusCreated {
			t.Errorf("%q: %d %s", media, w.Code, w.Body)
		}
	}
}

// TestWaitingForLearning has one client wait until its messages were learned from, and another
// disconnect.
func TestWaitingForLearning(t *testing.T) {
	r := newRig(t)
	learned := make(chan error, 1)
	go func() {
		<-r.woken
		job, err := r.engine.Store.Claim(context.Background(), []memory.JobKind{memory.JobLearn}, time.Minute)
		if err == nil {
			_, err = r.engine.Lessons.Learn(context.Background(), job)
		}
		learned <- err
	}()
	var added client.Added
	r.decode(r.do("POST", "/api/memory/add", `{"text":"I live in Lisbon.","wait":true}`), &added)
	if err := <-learned; err != nil {
		t.Fatal(err)
	}
	if len(added.Memories) != 1 || !strings.Contains(added.Memories[0].Content, "Lisbon") || added.Memories[0].Provenance == nil {
		t.Errorf("learned %+v, want where the user lives and why", added.Memories)
	}
}

func TestParkedJobsCanBeTriedAgain(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	r.do("POST", "/api/memory/add", `{"text":"I live in Lisbon."}`)
	job, err := r.engine.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Store.Finish(ctx, job.Lease, memory.Outcome{Park: true, Cause: "the model is gone"}); err != nil {
		t.Fatal(err)
	}
	var jobs client.Jobs
	r.decode(r.do("GET", "/api/jobs", ""), &jobs)
	if len(jobs.Jobs) != 1 || jobs.Jobs[0].State != memory.JobParked || jobs.Jobs[0].Error != "the model is gone" {
		t.Fatalf("jobs: %+v", jobs)
	}
	if w := r.as("ben", "POST", "/api/jobs/"+job.ID+"/retry", ""); w.Code != http.StatusNotFound {
		t.Errorf("ben retries ana's: %d", w.Code)
	}
	if w := r.do("POST", "/api/jobs/"+job.ID+"/retry", ""); w.Code != http.StatusNoContent {
		t.Errorf("retry: %d %s", w.Code, w.Body)
	}
	if w := r.do("POST", "/api/jobs/"+job.ID+"/retry", ""); w.Code != http.StatusConflict {
		t.Errorf("retry of what is queued: %d %s", w.Code, w.Body)
	}
}

func TestOperationsAreDocumentedAlike(t *testing.T) {
	mux := http.NewServeMux()
	api := (&handler{Options{Version: "1"}, newRig(t).engine}).newAPI(mux)
	for path, item := range api.OpenAPI().Paths {
		for method, op := range operationsOf(item) {
			if op.BodyReadTimeout >= 0 {
				t.Errorf("%s %s: a deadline of %v on its body would cancel what takes longer", method, path, op.BodyReadTimeout)
			}
			if op.Summary == "" || op.OperationID == "" {
				t.Errorf("%s %s: no summary or id", method, path)
			}
			for status, answer := range op.Responses {
				if status < "400" {
					continue
				}
				if _, ok := answer.Content["application/problem+json"]; !ok || len(answer.Content) != 1 {
					t.Errorf("%s %s: status %s is documented as %v", method, path, status, answer.Content)
				}
			}
		}
	}
	names := api.OpenAPI().Components.Schemas.Map()
	for name := range names {
		if strings.HasSuffix(name, "InputBody") || strings.HasSuffix(name, "OutputBody") || strings.HasPrefix(name, "Error") || strings.ContainsAny(name, "[]-_") {
			t.Errorf("schema %s has no name of ours", name)
		}
	}
	if names["Problem"] == nil {
		t.Error("errors have no schema Problem")
	}
	why, err := json.Marshal(names["Hit"].Properties["why"])
	if err != nil || !strings.Contains(string(why), `"additionalProperties":{"format":"double","type":"number"}`) {
		t.Errorf("why is described as %s, %v; want an object of numbers", why, err)
	}
}
