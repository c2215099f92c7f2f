package assembly

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// TestProfileAssistant follows design 1 as clients of the proxy see it: what an exchange
// teaches, and what a prompt is given. TestProfileAssistantChats has its own chats.
func TestProfileAssistant(t *testing.T) { onIndexes(t, profileAssistant) }

func profileAssistant(t *testing.T, index map[string]string) {
	s := newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner"}, index)
	c := s.talk()
	// What a question teaches, which is nothing, is said too: learning that failed would be tried again a
	// second later, in the middle of what comes then.
	ask := func(words string) chatAsked {
		s.t.Helper()
		s.model.on("memory_extraction", "NOTHING")
		got, _ := s.talk().says(words)
		return got
	}

	// Step 3: the prompt and its user message; the exchange is read whole.
	s.model.reply = "Good to know that you are tall."
	s.model.on("memory_extraction", "User is 183 cm tall")
	c.says("I am 183 cm tall.")
	asked := s.model.taken("")
	if len(asked) != 1 || asked[0].name != "memory_extraction" || asked[0].user != "Reply with exactly one line: NOTHING or the single fact. No explanation." {
		t.Fatalf("the model that learns was asked %v", namesOf(asked))
	}
	s.has("memory_extraction.md", asked[0].system, "I am 183 cm tall.", "Good to know that you are tall.", "Attached documents:", "(nothing)")
	s.wantFacts("", []string{"User is 183 cm tall"})

	// Step 4: what is not a fact.
	openings := []string{"the Benoni", "the Catalan", "the Najdorf", "the Pirc", "the Grob", "the Slav"}
	for i, reply := range []string{"NOTHING", "Nothing to store.", "", "Too short", "Yes", "Does the user play chess?"} {
		s.model.on("memory_extraction", reply)
		c.says("I play chess a lot, by the way: " + openings[i])
	}
	s.wantFacts("", []string{"User is 183 cm tall"})

	// Step 5: a duplicate, from 0.90 on, is not stored; the prompt had shown it.
	s.model.taken("")
	s.model.on("memory_extraction", "User is 183 cm tall.")
	c.says("Did I say that I am 183 cm tall?")
	s.has("memory_extraction.md", s.model.taken("memory_extraction")[0].system, "- User is 183 cm tall")
	s.wantFacts("", []string{"User is 183 cm tall"})

	// At most 5 memories: all of them, without a search, in the system message.
	s.remember(nil, "User plays the cello", "User has a dog named Rex", "User drinks oolong tea", "User works as a nurse")
	got := ask("Who painted the ceiling?")
	if got.Messages[0].Role != "system" || len(got.Messages) != 2 {
		t.Errorf("the block is not in the system message: %s", got.body)
	}
	s.has("the system message", got.says(0), "## Relevant memory\n", "183 cm", "cello", "Rex", "oolong", "nurse")
	s.lacks("the system message", got.says(0), "on the fly")
	got = ask("How tall am I?")
	s.has("all there is", got.says(0), "183 cm", "cello", "Rex", "oolong", "nurse")

	// A search shows what is near all the same.
	if all := s.scores("How tall am I?", "", nil); len(all) != 1 || all[0] > 0.999 {
		t.Errorf("a search of few memories has the scores %v, want that of the one that answers", all)
	}
	if all := s.scores("How tall am I?", `,"score_threshold":0.9999`, nil); len(all) != 0 {
		t.Errorf("%v reach a score_threshold of 0.9999", all)
	}

	// More than 5: the 5 nearest of at least 0.5, and a short first-person question is
	// found.
	s.remember(nil, "User's sister is called Eva", "User was born in Porto", "User drives a green van")
	got = ask("How tall am I?")
	s.has("the block", got.says(0), "183 cm")
	s.lacks("the block", got.says(0), "cello", "green van")

	// Nothing found: the 10 most recent.
	s.remember(nil, "User collects stamps", "User sails a dinghy", "User speaks Finnish", "User grows roses")
	got = ask("Which planets have rings?")
	shown := 0
	for _, f := range s.facts("") {
		if strings.Contains(got.says(0), f) {
			shown++
		}
	}
	if shown != 10 {
		t.Errorf("%d facts stand in for a search that found nothing, want the 10 most recent:\n%s", shown, got.says(0))
	}
	s.lacks("the 10 most recent", got.says(0), "183 cm", "cello")

	s.model.on("memory_extraction", "NOTHING")
	s.shows(5)

	// A regenerated reply is learned from again, and says it once.
	before := len(s.facts(""))
	c = s.talk()
	s.model.on("memory_extraction", "User moved to Faro")
	c.says("I moved to Faro.")
	s.model.reply = "Faro is lovely."
	s.model.on("memory_extraction", "User moved to Faro")
	c.messages = c.messages[:1]
	s.model.taken("")
	c.send()
	if again := s.model.taken("memory_extraction"); len(again) != 1 || !strings.Contains(again[0].system, "Faro is lovely.") {
		t.Errorf("the regenerated reply was read %d times: %+v", len(again), again)
	}
	if n := len(s.facts("")); n != before+1 {
		t.Errorf("there are %d facts after a regenerated reply, want %d", n, before+1)
	}

	// Manual memory: tags, newest first, edited and deleted.
	var made struct{ ID string }
	s.ok(&made, "POST", "/api/memory", `{"content":"User likes figs","tags":["food"]}`)
	if all := s.facts(""); all[0] != "User likes figs" {
		t.Errorf("the newest is not first: %q", all)
	}
	s.wantFacts("&tag=food", []string{"User likes figs"})
	s.ok(nil, "PATCH", "/api/memory/"+made.ID, `{"content":"User likes dried figs","tags":["fruit"]}`)
	s.wantFacts("&tag=fruit", []string{"User likes dried figs"})
	s.ok(nil, "DELETE", "/api/memory/"+made.ID, "")
	s.wantFacts("&tag=fruit", nil)

	// Without a model nothing is learned.
	s = newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "absent"}, index)
	s.talk().says("I live in Lisbon.")
	s.wantFacts("", nil)
}

// TestProfileOpenwebui follows design 3: who asks, what a message teaches, conflicts,
// and the audit.
func TestProfileOpenwebui(t *testing.T) {
	s := newStage(t, "openwebui", nil)
	ana, ben := []string{"X-OpenWebUI-User-Id", "ana"}, []string{"X-OpenWebUI-User-Id", "ben"}
	c := s.talk(ana...)

	// 4.4: the prompt, the shape of its reply and its schema.
	s.model.on("memory_formation", `{"memories": ["User lives in New York"]}`)
	c.says("I live in New York.")
	asked := s.model.taken("")
	if len(asked) != 1 || asked[0].name != "memory_formation" {
		t.Fatalf("the model that learns was asked %v", namesOf(asked))
	}
	s.has("memory_formation.md", asked[0].system, "You are an expert memory archivist.", "Ignore transient information", "a list of strings called 'memories'", "I live in New York.")
	s.has("the request", asked[0].body, `"memories"`, "json_schema")
	s.wantFacts("", []string{"User lives in New York"}, ana...)

	// 4.6: direct contradiction. The old fact leaves, and the audit has the change.
	s.clock.pass(time.Hour)
	s.model.on("memory_formation", `{"memories": ["User lives in Los Angeles"]}`)
	s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
	c.says("I live in Los Angeles now.")
	asked = s.model.taken("conflict_resolution")
	if len(asked) != 1 {
		t.Fatalf("conflict_resolution was asked %d times, want once", len(asked))
	}
	s.has("conflict_resolution.md", asked[0].system, "User lives in New York", "User lives in Los Angeles", `"action": "replace", "target_id": "0"`, `"action": "add"`)
	s.wantFacts("", []string{"User lives in Los Angeles"}, ana...)
	s.wantFacts("&status=superseded", []string{"User lives in New York"}, ana...)
	var audit struct {
		Changes []struct{ OldID, NewID, Reason string }
	}
	body := s.ok(nil, "GET", "/api/changes?action=replace", "", ana...)
	s.has("/api/changes", body, `"old_id"`, `"new_id"`, `"reason"`, `"created_at"`)
	_ = json.Unmarshal([]byte(body), &audit)
	if len(audit.Changes) != 1 || audit.Changes[0].Reason != "User lives in New York → User lives in Los Angeles" {
		t.Errorf("the audit has %+v, want 1 replacement with both wordings as its reason", audit.Changes)
	}

	// Redundancy: ignored. Refinement: replaced. New information: inserted.
	s.model.on("memory_formation", `{"memories": ["User lives in Los Angeles"]}`)
	c.says("As I said, I live in Los Angeles.")
	s.model.on("memory_formation", `{"memories": ["User likes TypeScript"]}`)
	s.model.on("conflict_resolution", `{"action": "add", "target_id": ""}`)
	c.says("I like TypeScript.")
	s.clock.pass(time.Hour)
	s.model.on("memory_formation", `{"memories": ["User likes TypeScript with strict mode"]}`)
	s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0", "reason": "It adds detail."}`)
	c.says("I like TypeScript with strict mode.")
	s.has("/api/changes", s.ok(nil, "GET", "/api/changes?action=replace", "", ana...), `"reason":"It adds detail."`)
	s.model.on("memory_formation", `{"memories": []}`)
	c.says("Write a poem!")
	s.wantFacts("", []string{"User lives in Los Angeles", "User likes TypeScript with strict mode"}, ana...)

	// The flip-flop: only what is strictly newer replaces.
	s.has("the log", s.log.String(), `"event":"memory_decision","user_id":"ana","input_message_length":19,"extracted_count":1,"decisions":[{"fact":"`, `"action":"replace","target_id":"`, `","reason":"redundant"}]`)

	// Retrieval: in the system message, named in the answer; nobody else's.
	got, answer := s.talk(ana...).says("Where do I live?")
	if got.Messages[0].Role != "system" {
		t.Errorf("the block is not in the system message: %s", got.body)
	}
	s.has("the system message", got.says(0), "## Relevant memory\n", "User lives in Los Angeles", "Re-rank these memories on the fly")
	s.has("the answer", answer, `"memory_hits"`, "User lives in Los Angeles")
	var named struct {
		Memories []struct {
			ID, Content string
			CreatedAt   time.Time `json:"created_at"`
			Score       float64
		}
	}
	if err := json.Unmarshal([]byte(answer), &named); err != nil {
		t.Fatal(err)
	}
	if m := named.Memories; len(m) == 0 || m[0].Content != "User lives in Los Angeles" || m[0].ID == "" || m[0].CreatedAt.IsZero() || m[0].Score <= 0.3 {
		t.Errorf("memories: %+v in %s", m, answer)
	}
	got, _ = s.talk(ben...).says("Where do I live?")
	s.lacks("Ben's request", got.body, "Los Angeles")
	s.wantFacts("", nil, ben...)

	// What is next to a question is left out.
	got, _ = s.talk(ana...).says("Which paint suits the fence?")
	s.lacks("the request", got.body, "TypeScript", "Los Angeles")

	s.remember(ana, "User has a dog named Rex", "User's sister is called Eva", "User drinks oolong tea", "User drives a green van", "User speaks Finnish",
		"User grows roses", "User works as a nurse", "User was born in Porto", "User plays the cello", "User sails a dinghy")
	s.shows(10, ana...)

	// No header: no memory, neither read nor written.
	got, answer = s.talk().says("I live in Oslo. Where do I live?")
	if len(got.Messages) != 1 {
		t.Errorf("an anonymous request was given memory: %s", got.body)
	}
	s.lacks("the anonymous answer", answer, "memory_hits")
	if left := s.model.taken("memory_formation"); slices.ContainsFunc(left, func(p promptAsked) bool { return strings.Contains(p.system, "Oslo") }) {
		t.Error("an anonymous message was learned from")
	}

	// 4.7: metrics.
	s.has("/metrics", s.ok(nil, "GET", "/metrics", ""), "memory_total_count{kind=\"fact\"} 12\n", "memory_replacement_rate", "memory_dedup_rate", "retrieval_hit_rate")
	s.has("Ana's stats", s.ok(nil, "GET", "/api/stats", "", ana...), `"facts":12`)
	s.has("Ben's stats", s.ok(nil, "GET", "/api/stats", "", ben...), `"facts":0`)
}

// TestProfileOpenwebuiReplaces holds design 3, 4.3: within the hour the newer opinion replaces the
// older one, in either direction.
func TestProfileOpenwebuiReplaces(t *testing.T) {
	s := newStage(t, "openwebui", nil)
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	c := s.talk(ana...)
	s.model.on("memory_formation", `{"memories": ["User likes coffee"]}`)
	c.says("I like coffee.")
	for _, feels := range []string{"hate", "like"} {
		s.clock.pass(time.Minute)
		s.model.on("memory_formation", `{"memories": ["User `+feels+`s coffee"]}`)
		s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
		c.says("I " + feels + " coffee.")
		s.wantFacts("", []string{"User " + feels + "s coffee"}, ana...)
	}

	// What a person wrote by hand is not replaced: the new fact waits for them.
	const written, said = "User lives in New York", "User lives in Los Angeles"
	s.remember(ana, written)
	s.clock.pass(time.Minute)
	s.model.on("memory_formation", `{"memories": ["`+said+`"]}`)
	s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
	c.says("I live in Los Angeles.")
	s.wantFacts("", []string{"User likes coffee", written}, ana...)
	s.wantFacts("&status=pending", []string{said}, ana...)
}

// TestProfileOpenwebuiRetrievesMemoriesAlone holds design 3, 3: what was only said is not a memory.
func TestProfileOpenwebuiRetrievesMemoriesAlone(t *testing.T) {
	s := newStage(t, "openwebui", nil)
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	for _, said := range []string{"The project Falcon ships on the 4th of March.", "The project Osprey ships on the 5th of May."} {
		memories := `{"memories": []}`
		if strings.Contains(said, "Osprey") {
			memories = `{"memories": ["The project Osprey ships on the 5th of May"]}`
		}
		s.model.on("memory_formation", memories)
		s.talk(ana...).says(said)
	}
	for project, retrieved := range map[string]bool{"Falcon": false, "Osprey": true} {
		question := "When does the project " + project + " ship?"
		s.model.on("memory_formation", `{"memories": []}`)
		got, answer := s.talk(ana...).says(question)
		if shown := strings.Contains(got.says(0), project+" ships"); shown != retrieved {
			t.Errorf("%q: memory is shown: %v, want %v: %s", question, shown, retrieved, answer)
		}
		s.lacks("the answer", answer, `"kind":"turn"`)
		s.lacks("a search", s.ok(nil, "POST", "/api/memory/search", fmt.Sprintf(`{"query":%q}`, question), ana...), `"kind":"turn"`)
		s.has("a search of turns", s.ok(nil, "POST", "/api/memory/search", fmt.Sprintf(`{"query":%q,"kinds":["turn"]}`, question), ana...), project+" ships")
	}
}

// TestProfileOpenwebuiShares holds design 3, 2.1, 4.6 and 5: two users look at one fact. A
// contradiction unlinks it for the user who says so, and adds their own; the other keeps
// it. Erasing a user takes it from everybody.
func TestProfileOpenwebuiShares(t *testing.T) {
	s := newStage(t, "openwebui", nil)
	ana, ben, cy := []string{"X-OpenWebUI-User-Id", "ana"}, []string{"X-OpenWebUI-User-Id", "ben"}, []string{"X-OpenWebUI-User-Id", "cy"}
	const bun, node = "The backend of the shop runs on Bun", "The backend of the shop runs on Node"
	var fact struct{ ID string }
	s.ok(&fact, "POST", "/api/memory", `{"content":"`+bun+`"}`, ana...)
	s.ok(nil, "POST", "/api/memory/"+fact.ID+"/share", `{"to":"user/ben"}`, ana...)
	s.ok(nil, "POST", "/api/memory/"+fact.ID+"/share", `{"to":"user/cy"}`, ana...)
	s.wantFacts("", []string{bun}, ben...)

	s.clock.pass(time.Hour)
	c := s.talk(ben...)
	s.model.on("memory_formation", `{"memories": []}`)
	got, _ := c.says("What does the backend of the shop run on?")
	s.has("Ben's request", got.says(0), "shared by ana: "+bun)
	s.model.on("memory_formation", `{"memories": ["`+node+`"]}`)
	s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
	c.says("The backend of the shop runs on Node.")
	s.wantFacts("", []string{node}, ben...)
	s.wantFacts("", []string{bun}, ana...)
	s.wantFacts("", []string{bun}, cy...)
	s.has("Ben's audit", s.ok(nil, "GET", "/api/changes?action=unlink", "", ben...), fact.ID)

	s.ok(nil, "PATCH", "/api/memory/"+fact.ID, `{"content":"The backend of the shop runs on Bun 2"}`, ana...)
	s.settle()
	s.wantFacts("", []string{node}, ben...)
	s.wantFacts("", []string{"The backend of the shop runs on Bun 2"}, cy...)

	s.has("the receipt", s.ok(nil, "DELETE", "/api/users/ana", "", ana...), `"user":"ana"`, `"links":2`)
	s.wantFacts("", nil, ana...)
	s.wantFacts("", nil, cy...)
	s.wantFacts("", []string{node}, ben...)
	got, _ = s.talk(ana...).says("I like marzipan.")
	if len(got.Messages) != 1 {
		t.Errorf("an erased user's chat was given memory: %s", got.body)
	}
	s.wantFacts("", nil, ana...)
}

// TestProfileOpenwebuiBootstrap holds design 3, 4.5: below five personal memories the
// global ones join in.
func TestProfileOpenwebuiBootstrap(t *testing.T) {
	file := t.TempDir() + "/everybody.md"
	writeFile(t, file, "- The backend restarts every night at three\n")
	s := newStage(t, "openwebui", map[string]string{"bootstrap": file})
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	facts := []string{"User plays the cello", "User has a dog named Rex", "User drinks oolong tea", "User works as a nurse", "User speaks Finnish"}
	for n := 0; n <= len(facts); n++ {
		got, _ := s.talk(ana...).says("When does the backend restart?")
		if joins := strings.Contains(got.body, "every night at three"); joins != (n < 5) {
			t.Errorf("with %d personal memories the global pool joins in: %v", n, joins)
		}
		if n < len(facts) {
			s.remember(ana, facts[n])
		}
	}
}

// TestProfileAgentCLI follows design 4: request extras, the augmented user message,
// reconciliation and eviction.
func TestProfileAgentCLI(t *testing.T) { onIndexes(t, profileAgentCLI) }

func profileAgentCLI(t *testing.T, index map[string]string) {
	s := newStage(t, "agent-cli", map[string]string{"upkeep.conversation": "10", "summaries.every": "2"}, index)
	c := s.talk("Authorization", "Bearer client-key")
	c.extras = map[string]any{"memory_id": "work"}

	// Step 3: facts, then ADD, UPDATE, DELETE and NONE by short ids.
	s.model.on("extract", `{"facts": [{"text": "User lives in Berlin", "turn": "t1", "quote": "I live in Berlin", "subject": "user", "attribute": "home", "category": "home", "confidence": 1}]}`)
	c.says("I live in Berlin.")
	s.wantFacts("", []string{"User lives in Berlin"})
	s.clock.pass(time.Hour)
	s.model.on("extract", `{"facts": [{"text": "User lives in Lisbon", "quote": "I moved to Lisbon"}, {"text": "User plays the cello", "quote": "I play the cello"}]}`)
	s.model.on("reconcile", `{"decisions": [{"new": 1, "event": "UPDATE", "id": "0", "text": "User lives in Lisbon", "reason": "moved"}, {"new": 2, "event": "ADD", "id": "", "text": "", "reason": "new"}]}`)
	s.model.on("summarize", "- User moved from Berlin to Lisbon.\n- User plays the cello.")
	s.model.taken("")
	c.says("I moved to Lisbon. I live in Lisbon now, and I play the cello.")
	read, compared := s.model.taken("extract"), s.model.taken("reconcile")
	if len(read) != 1 || len(compared) != 1 {
		t.Fatalf("the model that learns was asked for facts %d times and for decisions %d times, want once each", len(read), len(compared))
	}
	s.has("reconcile.md", compared[0].system+compared[0].user, "ADD", "UPDATE", "DELETE", "NONE", "[0]", "User lives in Berlin")
	s.lacks("extract.md", read[0].user[strings.Index(read[0].user, "The turns:"):], "OK.") // the assistant's words are read only to understand the user's
	s.wantFacts("", []string{"User lives in Lisbon", "User plays the cello"})

	// The safeguard: no additions although there were new facts.
	s.clock.pass(time.Hour)
	s.model.on("extract", `{"facts": [{"text": "User drives a green van", "quote": "I drive a green van"}]}`)
	s.model.on("reconcile", `{"decisions": []}`)
	c.says("I drive a green van.")
	s.wantFacts("", []string{"User lives in Lisbon", "User plays the cello", "User drives a green van"})

	// Step 1: the last user message is augmented and nothing else; the client's key
	// goes on; the answer names the hits.
	other := s.talk("Authorization", "Bearer client-key")
	other.extras = map[string]any{"memory_id": "work", "memory_mode": "read"}
	got, answer := other.says("Where do I live?")
	if len(got.Messages) != 1 || got.Messages[0].Role != "user" || !strings.HasSuffix(got.says(-1), "Current message: Where do I live?") {
		t.Errorf("the user message was not augmented: %s", got.body)
	}
	s.has("the user message", got.says(-1), "## Long-term memory (most relevant first)\n", "[memory] User lives in Lisbon")
	s.lacks("the user message", got.says(-1), "## Relevant memory")
	s.lacks("the answer", answer, `"memories"`)
	s.lacks("the request", got.body, "memory_id")
	if key := got.header.Get("Authorization"); key != "Bearer client-key" {
		t.Errorf("the upstream was sent the key %q", key)
	}
	var hits struct {
		Hits []map[string]any `json:"memory_hits"`
	}
	if err := json.Unmarshal([]byte(answer), &hits); err != nil || len(hits.Hits) == 0 || len(hits.Hits) > 5 {
		t.Errorf("memory_hits: %v, %s", err, answer)
	} else {
		for _, field := range []string{"id", "role", "content", "created_at", "score"} {
			if hits.Hits[0][field] == nil {
				t.Errorf("a hit has no %s: %v", field, hits.Hits[0])
			}
		}
		for _, h := range hits.Hits {
			if role := map[any]any{"fact": "memory", "summary": "summary"}[h["kind"]]; role != nil && h["role"] != role {
				t.Errorf("a hit has another role than %v: %v", role, h)
			}
		}
	}

	// top_k of 0 or less skips retrieval: the client's own bytes.
	for _, k := range []int{0, -1} {
		other.extras["memory_top_k"] = k
		got, _ = other.says("And where is that?")
		if got.says(-1) != "And where is that?" {
			t.Errorf("with memory_top_k %d the message is %q", k, got.says(-1))
		}
	}
	// A threshold of its own.
	other.extras = map[string]any{"memory_id": "work", "memory_mode": "read", "memory_score_threshold": 1}
	if got, _ = other.says("Do I drive a van?"); strings.Contains(got.says(-1), "green van") {
		t.Errorf("nothing is beyond a threshold of 1: %q", got.says(-1))
	}

	// The conversation's summary is always there, in front; no other one's is.
	c.extras["memory_mode"] = "read"
	got, _ = c.says("Which planets have rings?")
	c.messages, c.extras["memory_mode"] = c.messages[:len(c.messages)-2], "read_write"
	if said := got.says(-1); !strings.Contains(said, "[summary] - User moved from Berlin to Lisbon") || !strings.HasSuffix(said, "Current message: Which planets have rings?") {
		t.Errorf("the summary is not in front of %q", said)
	}
	elsewhere := s.talk()
	elsewhere.extras = map[string]any{"memory_id": "elsewhere", "memory_mode": "read"}
	got, _ = elsewhere.says("Which planets have rings?")
	s.lacks("another conversation", got.body, "moved from Berlin")

	// It is written anew.
	s.has("summaries", s.ok(nil, "GET", "/api/memory?kind=summary", ""), "moved from Berlin to Lisbon")

	// Eviction: no more than max_entries in a conversation, turns and facts together, the
	// oldest go first. Its summary is none of them.
	c.says("What is next?") // it can teach nothing, and no model is asked
	entries := s.entries("work")
	if n := len(entries); n > 10 || n < 8 || slices.Contains(entries, "I live in Berlin.") || !slices.Contains(entries, "What is next?") {
		t.Errorf("the conversation keeps %d entries, want the 10 newest at most: %q", n, entries)
	}

	// Search alone and add alone.
	s.has("search", s.ok(nil, "POST", "/api/memory/search", `{"query":"Do I play an instrument?"}`), "cello")
	s.model.on("extract", `{"facts": [{"text": "User grows roses", "quote": "I grow roses"}]}`)
	s.model.on("reconcile", `{"decisions": [{"new": 1, "event": "ADD", "id": "", "text": "", "reason": ""}]}`)
	s.ok(nil, "POST", "/api/memory/add", `{"text":"I grow roses.","wait":true}`)
	s.has("facts", strings.Join(s.facts(""), "\n"), "User grows roses")
}

// entries are the turns and facts of a conversation.
func (s *stage) entries(conversation string) (out []string) {
	s.t.Helper()
	for _, kind := range []string{"turn", "fact"} {
		out = append(out, s.facts("&kind="+kind+"&conversation="+conversation)...)
	}
	return out
}

// TestProfileAgentCLIKeepsConversationsApart: scopes are the conversation and global, for
// what is said and for what is learned; default is the one that no memory_id names.
func TestProfileAgentCLIKeepsConversationsApart(t *testing.T) {
	s := newStage(t, "agent-cli", map[string]string{"recall.threshold": "-1", "summaries.mode": "off"})
	tell := func(id, said, fact string) {
		t.Helper()
		c := s.talk()
		if id != "" {
			c.extras = map[string]any{"memory_id": id}
		}
		s.model.on("extract", fmt.Sprintf(`{"facts": [{"text": %q, "quote": %q}]}`, fact, strings.TrimSuffix(said, ".")))
		c.says(said)
	}
	// Each says something of the same thing. None replaces another's, although they
	// contradict each other: reconciliation is not even asked.
	tell("work", "My locker code is 1111.", "User's locker code is 1111")
	tell("home", "My locker code is 2222.", "User's locker code is 2222")
	tell("global", "My locker code is 3333.", "User's locker code is 3333")
	tell("", "My locker code is 4444.", "User's locker code is 4444")
	s.remember(nil, "User's spare locker code is 5555")
	if asked := s.model.taken("reconcile"); len(asked) > 0 {
		t.Errorf("facts of one conversation were compared with another's: %s", asked[0].user)
	}
	for id, own := range map[string]string{"work": "1111", "home": "2222", "global": "", "default": "4444", "": "4444", "elsewhere": ""} {
		for _, question := range []string{"What is my locker code?", "What do you know about me?"} {
			c := s.talk()
			c.extras = map[string]any{"memory_mode": "read"}
			if id != "" {
				c.extras["memory_id"] = id
			}
			got, _ := c.says(question)
			for _, code := range []string{"1111", "2222", "3333", "4444", "5555"} {
				if shown, want := strings.Contains(got.says(-1), code), code == own || code == "3333" || code == "5555"; shown != want {
					t.Errorf("in %q %s shows %s: %v, want %v:\n%s", id, question, code, shown, want, got.says(-1))
				}
			}
		}
	}
	// What is written down without a conversation is of the default one, as in the design.
	s.model.on("extract", `{"facts": [{"text": "User grows roses", "quote": "I grow roses"}]}`)
	s.ok(nil, "POST", "/api/memory/add", `{"text":"I grow roses.","wait":true}`)
	if e := s.entries("default"); !slices.Contains(e, "User grows roses") || !slices.Contains(e, "I grow roses.") {
		t.Errorf("the conversation default has %q", e)
	}
	// Said again it is known, and what is newer replaces it, in its conversation alone.
	s.clock.pass(time.Hour)
	s.model.on("reconcile", `{"decisions": [{"new": 1, "event": "UPDATE", "id": "0", "text": "User's locker code is 6666", "reason": "changed"}]}`)
	tell("work", "My locker code is 6666.", "User's locker code is 6666")
	left := strings.Join(s.facts(""), "\n")
	s.has("the facts", left, "2222", "3333", "4444", "6666")
	s.lacks("the facts", left, "1111")
	for i := range 6 { // more that are nearer than any that it is compared with
		tell(fmt.Sprint("other", i), "My locker code is 7777.", "User's locker code is 7777")
	}
	s.model.on("reconcile", `{"decisions": [{"new": 1, "event": "UPDATE", "id": "0", "text": "User's locker code is 7777", "reason": "changed"}]}`)
	s.clock.pass(time.Hour)
	tell("global", "My locker code is 7777.", "User's locker code is 7777")
	left = strings.Join(s.facts(""), "\n")
	s.has("the facts", left, "2222", "4444", "6666", "7777")
	s.lacks("the facts", left, "3333")
}

// TestProfileAgentCLISumsUpFromTheFirstTurn: what is said in a chat, and what is added.
func TestProfileAgentCLISumsUpFromTheFirstTurn(t *testing.T) {
	s := newStage(t, "agent-cli", nil)
	summaries := func(conversation string) string {
		return strings.Join(s.facts("&kind=summary&conversation="+conversation), "\n")
	}
	s.model.on("extract", `{"facts": []}`)
	s.model.on("summarize", "- User moved to Faro.")
	c := s.talk()
	c.extras = map[string]any{"memory_id": "work"}
	c.says("I moved to Faro.")
	if got := summaries("work"); got != "- User moved to Faro" {
		t.Errorf("after the first turn the summary is %q", got)
	}
	for i, what := range []string{"roses", "figs"} {
		s.model.on("extract", `{"facts": []}`)
		s.model.on("summarize", "- User grows "+what+".")
		s.ok(nil, "POST", "/api/memory/add", `{"text":"I grow `+what+`.","wait":true}`)
		s.settle()
		if got := summaries("default"); got != "- User grows "+what {
			t.Errorf("after text %d was added the summary is %q", i+1, got)
		}
	}
}

// TestProfileAgentCLIKeepsMarkdown: the files of a folder are the memory.
func TestProfileAgentCLIKeepsMarkdown(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "memory")
	s := newStage(t, "agent-cli", map[string]string{"data": data, "store": "sqlite", "summaries.mode": "off"})
	c := s.talk()
	c.extras = map[string]any{"memory_id": "work"}
	s.model.on("extract", `{"facts": [{"text": "User lives in Berlin", "quote": "I live in Berlin"}]}`)
	c.says("I live in Berlin.")
	if err := s.loci.vault.Store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := readTree(t, dir)
	s.has("the vault", all, "User lives in Berlin", "I live in Berlin.", "created_at:", "id:", "OK.")
	for _, kind := range []string{"facts", "turns/user", "turns/assistant"} { // of the conversation that taught it
		if files, err := filepath.Glob(filepath.Join(dir, "entries", "work", kind, "*.md")); err != nil || len(files) == 0 {
			t.Errorf("there are no files in entries/work/%s: %v", kind, err)
		}
	}
}

// TestProfileDesktop follows design 5: triggers by count, batches, categories,
// confidence and a person's control.
func TestProfileDesktop(t *testing.T) {
	s := newStage(t, "desktop", nil)
	c := s.talk()

	// Every 3 user messages, not before the second exchange; the batch holds both
	// sides.
	c.says("Hello! I am new here.")
	c.says("I prefer tea to coffee.")
	if asked := s.model.taken("extract"); len(asked) != 0 {
		t.Fatalf("learning began after 2 user messages: %+v", asked)
	}
	s.model.on("extract", `{"facts": [{"text": "User prefers tea to coffee", "quote": "I prefer tea to coffee", "category": "preference", "confidence": 0.6}, {"text": "User works on Apollo", "quote": "I work on Apollo", "category": "project", "confidence": 0.9}]}`)
	c.says("I work on Apollo.")
	asked := s.model.taken("extract")
	if len(asked) != 1 {
		t.Fatalf("learning was asked %d times after 3 user messages, want once", len(asked))
	}
	if n := strings.Count(asked[0].user, "[t"); n != 6 {
		t.Errorf("the batch has %d messages, want the 6 that are new:\n%s", n, asked[0].user)
	}
	s.wantFacts("&category=preference", []string{"User prefers tea to coffee"})
	s.wantFacts("&category=project", []string{"User works on Apollo"})

	// The next batch is read with what was said before it. What is said again makes a
	// fact surer.
	c.says("As I said, I prefer tea to coffee.")
	c.says("It is late.")
	s.model.on("extract", `{"facts": [{"text": "User prefers tea to coffee", "quote": "I prefer tea to coffee", "category": "preference", "confidence": 0.6}]}`)
	c.says("Good night.")
	asked = s.model.taken("extract")
	if len(asked) != 1 || !strings.Contains(asked[0].user, "Before,") || !strings.Contains(asked[0].user, "I work on Apollo.") {
		t.Errorf("the second batch: %+v, want it with what was said before", asked)
	}
	var tea struct {
		Memories []struct {
			ID         string
			Confidence float64
		}
	}
	s.ok(&tea, "GET", "/api/memory?category=preference", "")
	if len(tea.Memories) != 1 || tea.Memories[0].Confidence <= 0.6 {
		t.Errorf("what was said again is as sure as before: %+v", tea)
	}

	// The last user messages are the question, all of them; the block stands in the
	// system message.
	q := s.talk()
	q.says("Let us talk about tea.")
	got, _ := q.says("Which one do I like better?")
	if got.Messages[0].Role != "system" {
		t.Errorf("the block is not in the system message: %s", got.body)
	}
	s.has("the system message", got.says(0), "## Relevant memory\n", "User prefers tea to coffee")

	// An edited fact is found by its new words and no more by the old ones.
	s.ok(nil, "PATCH", "/api/memory/"+tea.Memories[0].ID, `{"content":"User prefers cocoa to anything"}`)
	s.has("search", s.ok(nil, "POST", "/api/memory/search", `{"query":"cocoa","kinds":["fact"]}`), "User prefers cocoa")
	s.lacks("search", s.ok(nil, "POST", "/api/memory/search", `{"query":"coffee","kinds":["fact"]}`), "User prefers")

	// Added by hand, for one project.
	s.ok(nil, "POST", "/api/memory", `{"content":"The budget is 1200 euros","project":"apollo","category":"project"}`)
	s.wantFacts("&project=apollo", []string{"The budget is 1200 euros"})
}

// TestProfileDesktopReview: what waits is approved or rejected by a person.
func TestProfileDesktopReview(t *testing.T) {
	s := newStage(t, "desktop", map[string]string{"review.confidence": "0.8", "learn.every": "1", "preset.exchanges": "1"})
	c := s.talk()
	for _, what := range []string{"canoe", "tandem"} {
		s.model.on("extract", fmt.Sprintf(`{"facts": [{"text": "User owns a %[1]s", "quote": "I own a %[1]s", "confidence": 0.5}]}`, what))
		s.model.on("reconcile", `{"decisions": []}`)
		c.says("I own a " + what + ".")
	}
	s.wantFacts("", nil)
	for _, judged := range [][2]string{{"canoe", "approve"}, {"tandem", "reject"}} {
		var waiting struct{ Memories []struct{ ID string } }
		s.ok(&waiting, "GET", "/api/memory?status=pending&q="+judged[0], "")
		if len(waiting.Memories) != 1 {
			t.Fatalf("%d facts of a %s wait", len(waiting.Memories), judged[0])
		}
		s.ok(nil, "POST", "/api/memory/"+waiting.Memories[0].ID+"/"+judged[1], "")
	}
	s.wantFacts("", []string{"User owns a canoe"})
	s.wantFacts("&status=rejected", []string{"User owns a tandem"})
}

// TestProfilesScoreByTheirOwnModel: with the embedder that a profile names a score is the cosine
// of the texts as they are, without a prefix, as in the designs. The threshold is on it.
func TestProfilesScoreByTheirOwnModel(t *testing.T) {
	server := httptest.NewServer(&embedServer{})
	t.Cleanup(server.Close)
	facts := []string{"User's sister is called Eva", "User's brother is called Tom", "User drinks oolong tea", "User drives a green van", "User speaks Finnish", "User grows roses"}
	for profile, embedder := range map[string]string{"assistant": "remote:bge-small-en-v1.5", "openwebui": "remote:mistral-embed", "platform": "remote:text-embedding-3-small"} {
		threshold := map[string]float64{"assistant": 0.5, "openwebui": 0.8, "platform": 0.45}[profile]
		s := newStage(t, profile, map[string]string{"embedder": embedder, "embed.url": server.URL + "/v1", "preset.expand": "false"})
		ana := []string{"X-OpenWebUI-User-Id", "ana"}
		s.remember(ana, facts...)
		s.settle()
		const question = "What is the sister of the user called?"
		vectors, err := embed.Lexical{}.Embed(t.Context(), memory.AsDocument, append([]string{question}, facts...)...)
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for _, v := range vectors[1:] {
			cosine := 0.0
			for i, x := range v {
				cosine += float64(x) * float64(vectors[0][i])
			}
			want = append(want, max(0, cosine))
		}
		slices.Sort(want)
		slices.Reverse(want)
		for least, more := range map[float64]string{
			threshold: "", want[0] - 0.01: fmt.Sprintf(`,"score_threshold":%f`, want[0]-0.01), want[1] - 0.01: fmt.Sprintf(`,"score_threshold":%f`, want[1]-0.01),
		} {
			over := slices.IndexFunc(want, func(x float64) bool { return x < least })
			got := s.scores(question, more, ana)
			if !slices.EqualFunc(got, want[:over], func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }) {
				t.Errorf("%s: from %v on the scores are %v, want the cosines %v", profile, least, got, want[:over])
			}
		}
	}
}

// TestProfileAgentCLIScoresByItsReranker: 0.8 of the reranker's number and 0.2 of recency, of
// as much as there is in the conversation and in global alike.
func TestProfileAgentCLIScoresByItsReranker(t *testing.T) {
	embeds := &embedServer{scores: map[string]float64{"User grows roses": 0.9, "User grows figs": 0.6, "User grows tall": 0.3}}
	server := httptest.NewServer(embeds)
	t.Cleanup(server.Close)
	s := newStage(t, "agent-cli", map[string]string{"embed.url": server.URL + "/v1", "reranker": "remote:ms-marco-MiniLM-L-6-v2", "summaries.mode": "off"})
	teach := func(conversation, fact string) {
		s.model.on("extract", fmt.Sprintf(`{"facts": [{"text": %q, "quote": %q}]}`, fact, strings.Replace(fact, "User grows", "I grow", 1)))
		s.model.on("reconcile", `{"decisions": []}`)
		s.ok(nil, "POST", "/api/memory/add", fmt.Sprintf(`{"conversation":%q,"text":%q,"wait":true}`, conversation, strings.Replace(fact, "User grows", "I grow", 1)+"."))
	}
	teach("work", "User grows roses")
	s.clock.pass(30 * 24 * time.Hour)
	teach("global", "User grows figs")
	teach("home", "User grows tall")
	s.settle()
	var found struct {
		Hits []struct {
			Content string
			Score   float64
		}
	}
	s.ok(&found, "POST", "/api/memory/search", `{"query":"What do I grow?","kinds":["fact"],"conversation":"work"}`)
	want := map[string]float64{"User grows roses": 0.8*0.9 + 0.2*math.Exp(-1), "User grows figs": 0.8*0.6 + 0.2}
	for _, h := range found.Hits {
		if math.Abs(h.Score-want[h.Content]) > 1e-3 {
			t.Errorf("%q has the score %v, want %v", h.Content, h.Score, want[h.Content])
		}
	}
	if len(found.Hits) != 2 {
		t.Errorf("found %+v, want what the conversation and global taught", found.Hits)
	}
}

// asked is the answer to POST /query.
type asked struct {
	Response      string
	Citations     []map[string]any
	MemoryContext struct {
		Context        []similarMessage
		RecentMessages []struct{ Role, Content, Timestamp string } `json:"recent_messages"`
		Summaries      []struct {
			SessionID    string `json:"session_id"`
			Summary      string
			MessageCount int `json:"message_count"`
			Model        string
			Timestamp    string
		}
		Memories []struct {
			Key, Value string
			UpdatedAt  string `json:"updated_at"`
			TokenCount int    `json:"tokenCount"`
		}
		Dim int `json:"query_embedding_dim"`
	} `json:"memory_context"`
	Intent       string
	AgentsUsed   []string `json:"agents_used"`
	NeedMemory   bool     `json:"need_memory"`
	MemoryReason string   `json:"memory_reason"`
	SessionID    string   `json:"session_id"`
}

type similarMessage struct {
	Role, Content, Timestamp string
	Similarity               float64
	SessionID                string `json:"session_id"`
}

// query asks POST /query, and has the model write reply.
func (s *stage) query(reply string, fields map[string]any) asked {
	s.t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	s.model.on("write", reply)
	var out asked
	s.ok(&out, "POST", "/query", string(body))
	s.settle()
	return out
}

// TestProfilePlatform follows design 2: sessions of queries, what is read for each, the
// prompt and its limits, and summaries.
func TestProfilePlatform(t *testing.T) {
	s := newStage(t, "platform", nil)
	ana := func(session, text string, more ...any) map[string]any {
		q := map[string]any{"query": text, "session_id": session, "user_id": "ana"}
		for i := 0; i < len(more); i += 2 {
			q[more[i].(string)] = more[i+1]
		}
		return q
	}

	// Every field of the response, on nothing.
	status, body := s.do("POST", "/query", `{"query":"Hello","use_memory":false}`)
	if status != 503 {
		t.Errorf("without a model that writes: status %d %s", status, body)
	}
	s.model.on("write", "Hi!")
	body = s.ok(nil, "POST", "/query", `{"query":"Hello","use_memory":false}`)
	s.has("the answer", body, `"response":"Hi!"`, `"citations":[]`, `"memory_context":{"context":[],"recent_messages":[],"summaries":[],"memories":[],"query_embedding_dim":0}`,
		`"intent":"smalltalk"`, `"agents_used":["CoordinatorAgent","WriterAgent"]`, `"need_memory":false`, `"memory_reason":"use_memory is false"`)

	// Each of its fields is in the description of the API.
	var described, fields map[string]any
	s.ok(&described, "GET", "/openapi.json", "")
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	schemas := described["components"].(map[string]any)["schemas"].(map[string]any)
	if described["paths"].(map[string]any)["/query"] == nil || schemas["QueryResponse"] == nil {
		t.Fatal("/query is not in the description of the API")
	}
	for field := range fields {
		if schemas["QueryResponse"].(map[string]any)["properties"].(map[string]any)[field] == nil {
			t.Errorf("the description of /query lacks %s", field)
		}
	}

	// Keys and values, written explicitly; nothing else is learned.
	for i := range 9 {
		s.clock.pass(time.Minute)
		s.ok(nil, "PUT", fmt.Sprintf("/api/profile/key%d", i), fmt.Sprintf(`{"value":"value %d"}`, i), "X-Loci-User", "ana")
	}
	// A session of 10 pairs. Its summary is due after the tenth, of the last 12
	// messages; nothing is learned as facts.
	topics := []string{"violins", "glaciers", "bakeries", "lighthouses", "submarines", "orchids", "volcanoes", "typewriters", "comets", "beavers"}
	for i, topic := range topics {
		s.clock.pass(time.Minute)
		if i == 9 {
			s.model.on("summarize", "- Reads about violins and glaciers.\n- Plans a trip to see beavers.")
		}
		s.query("Noted, "+topic+".", ana("first", "I decided to write an essay about "+topic+" for school."))
		got := s.model.taken("summarize")
		if (len(got) == 1) != (i == 9) {
			t.Fatalf("after %d pairs a summary was asked for %d times", i+1, len(got))
		}
		if len(got) == 1 && strings.Count(got[0].user, "[t") != 12 {
			t.Errorf("the summary is of %d messages, want the last 12:\n%s", strings.Count(got[0].user, "[t"), got[0].user)
		}
	}
	s.wantFacts("", nil, "X-Loci-User", "ana")
	if left := s.model.taken("extract"); len(left) != 0 {
		t.Errorf("%d messages were learned from", len(left))
	}

	// What is read: similar turns, the last 6 pairs, 3 summaries, 8 entries.
	s.model.taken("")
	a := s.query("You write about glaciers.", ana("first", "What did I decide about glaciers?", "top_k", 3, "location", map[string]any{"city": "Faro", "country": "PT"}))
	mc := a.MemoryContext
	if !a.NeedMemory || a.Intent != "general" && a.Intent != "memory" || !slices.Equal(a.AgentsUsed, []string{"MemoryAgent", "CoordinatorAgent", "WriterAgent"}) || a.MemoryReason == "" {
		t.Errorf("the route: %+v", a)
	}
	if len(mc.Context) == 0 || len(mc.Context) > 3 || !strings.Contains(mc.Context[0].Content, "glaciers") || mc.Context[0].SessionID != "first" || mc.Context[0].Role != "user" {
		t.Errorf("context: %+v", mc.Context)
	}
	for _, c := range mc.Context {
		if c.Similarity <= 0 || c.Similarity > 1 || c.Timestamp == "" {
			t.Errorf("a similar message has no score from 0 to 1, or no time: %+v", c)
		}
	}
	if n := len(mc.RecentMessages); n != 12 || !strings.Contains(mc.RecentMessages[11].Content, "beavers") || mc.RecentMessages[11].Role != "assistant" {
		t.Errorf("%d recent messages, want the 12 of the last 6 pairs: %+v", n, mc.RecentMessages)
	}
	if len(mc.Summaries) != 1 || mc.Summaries[0].SessionID != "first" || mc.Summaries[0].MessageCount != 20 || mc.Summaries[0].Model != "learner" || !strings.Contains(mc.Summaries[0].Summary, "violins") {
		t.Errorf("summaries: %+v", mc.Summaries)
	}
	if len(mc.Memories) != 8 || mc.Memories[0].Key != "key8" || mc.Memories[0].TokenCount == 0 || mc.Memories[0].UpdatedAt == "" {
		t.Errorf("%d profile entries, want the 8 latest: %+v", len(mc.Memories), mc.Memories)
	}
	if mc.Dim == 0 || len(a.Citations) == 0 || a.Citations[0]["content"] == nil {
		t.Errorf("dims %d, citations %v", mc.Dim, a.Citations)
	}

	// The prompt: design 2's order and limits.
	written := s.model.taken("write")
	if len(written) != 1 {
		t.Fatalf("the model wrote %d times", len(written))
	}
	prompt, at := written[0].user, -1
	for _, section := range []string{"## Recent conversation", "summaries", "stored user facts", "similar messages", "recent turns", "## User location\ncity: Faro, country: PT", "## Query\nWhat did I decide about glaciers?"} {
		i := strings.Index(prompt, section)
		if i <= at {
			t.Errorf("%q is missing or out of order in:\n%s", section, prompt)
		}
		at = i
	}
	s.has("the prompt", prompt, "key8: value 8", "key4: value 4")
	s.lacks("the prompt", prompt, "key3: value 3", "Image understanding")

	// Another session of hers has that in reach while it is short; another user not.
	b := s.query("Glaciers.", ana("second", "Which essay about glaciers did I want to write?"))
	if len(b.MemoryContext.Context) == 0 || b.MemoryContext.Context[0].SessionID != "first" || len(b.MemoryContext.RecentMessages) != 0 || len(b.MemoryContext.Summaries) != 1 {
		t.Errorf("a new session of the same user: %+v", b.MemoryContext)
	}
	other := s.query("No idea.", map[string]any{"query": "Which essay about glaciers did I want to write?", "user_id": "ben"})
	if c := other.MemoryContext; len(c.Context)+len(c.RecentMessages)+len(c.Summaries)+len(c.Memories) != 0 || other.SessionID == "" {
		t.Errorf("Ben is told %+v", c)
	}

	// A session of 50 messages stands alone.
	var talk []string
	for i := range 50 {
		talk = append(talk, fmt.Sprintf(`{"role":"user","content":"Entry %d of the diary of a gardener in spring"}`, i))
	}
	s.ok(nil, "POST", "/api/memory/add", `{"infer":false,"conversation":"long","messages":[`+strings.Join(talk, ",")+`]}`, "X-Loci-User", "ana")
	for session, reaches := range map[string]bool{"long": false, "third": true} {
		got := s.query("Glaciers?", ana(session, "Which essay about glaciers did I want to write?")).MemoryContext.Context
		if reached := slices.ContainsFunc(got, func(c similarMessage) bool { return c.SessionID == "first" }); reached != reaches {
			t.Errorf("from the session %s, the first one is in reach: %v", session, reached)
		}
	}

	// Images are described before the answer is written.
	s.model.on("describe", "A glacier under a blue sky.")
	s.model.taken("")
	i := s.query("A glacier.", ana("second", "What is this?", "images", []string{"data:image/png;base64,AAAA"}))
	seen := s.model.taken("")
	if len(seen) != 2 || seen[0].name != "describe" || !strings.Contains(seen[0].body, `"image_url":{"url":"data:image/png;base64,AAAA"}`) {
		t.Errorf("the model was asked %v", namesOf(seen))
	} else {
		s.has("the prompt", seen[1].user, "## Image understanding\nA glacier under a blue sky.")
	}
	if i.Intent != "image" || !slices.Contains(i.AgentsUsed, "VisionAgent") {
		t.Errorf("an image's route is %s %v", i.Intent, i.AgentsUsed)
	}
}

// TestProfilePlatformKeepsSummaries: a later summary takes no earlier one's place.
func TestProfilePlatformKeepsSummaries(t *testing.T) {
	s := newStage(t, "platform", nil)
	var last asked
	for i := range 21 {
		if i == 9 || i == 19 {
			s.model.on("summarize", fmt.Sprintf("- Has talked about trip %d.", i))
		}
		last = s.query("Fine.", map[string]any{"query": fmt.Sprintf("I plan trip number %d to Porto.", i), "session_id": "trip"})
	}
	sums := last.MemoryContext.Summaries
	if len(sums) != 2 || sums[0].Summary != "- Has talked about trip 19" || sums[1].Summary != "- Has talked about trip 9" || sums[0].MessageCount != 40 || sums[1].MessageCount != 20 {
		t.Errorf("summaries: %+v, want both, the newest first", sums)
	}
}

// TestProfilePlatformReadsWithoutItsEmbedder: its embedder is asked for the query alone, and
// what needs no vector is there although that answers nobody.
func TestProfilePlatformReadsWithoutItsEmbedder(t *testing.T) {
	embeds := &embedServer{}
	server := httptest.NewServer(embeds)
	t.Cleanup(server.Close)
	s := newStage(t, "platform", map[string]string{"embed.url": server.URL + "/v1", "recall.deadline": "2s", "summaries.every": "2"})
	ask := func(text string) asked {
		return s.query("Fine.", map[string]any{"query": text, "session_id": "trip", "user_id": "ana"})
	}
	s.ok(nil, "PUT", "/api/profile/timezone", `{"value":"UTC"}`, "X-Loci-User", "ana")
	if first := s.query("Hi.", map[string]any{"query": "Hello.", "session_id": "other", "user_id": "ana"}); first.MemoryContext.Dim == 0 {
		t.Error("the first query has no query_embedding_dim")
	}
	embeds.taken("")
	for i := range 4 {
		s.model.on("summarize", fmt.Sprintf("- Plans a trip, stage %d.", i))
		ask(fmt.Sprintf("I decided to visit the lighthouse of Nazaré on day %d of the trip.", i))
	}
	if first := embeds.taken("lighthouse"); len(first) == 0 {
		t.Fatal("nothing was embedded")
	}
	const question = "Which lighthouse did I decide to visit?"
	a := ask(question)
	if asked := embeds.taken(""); len(asked) != 2 || asked[0] != question { // the query, and later its turn; the answer was given before
		t.Errorf("for one query were embedded %q", asked)
	}
	if len(a.MemoryContext.Context) == 0 || a.MemoryContext.Dim == 0 {
		t.Errorf("similar messages: %+v", a.MemoryContext)
	}
	if again := ask(question); again.MemoryContext.Context[0].Content != question || again.MemoryContext.Context[0].Similarity > 1 {
		t.Errorf("the question again is like %+v, want itself and at most 1", again.MemoryContext.Context[0])
	}
	embeds.down.Store(true)
	body, err := json.Marshal(map[string]any{"query": "What is the lighthouse called that I decided to visit?", "session_id": "trip", "user_id": "ana"})
	if err != nil {
		t.Fatal(err)
	}
	s.model.on("write", "Fine.")
	s.ok(&a, "POST", "/query", string(body))
	embeds.down.Store(false)
	if m := a.MemoryContext; len(m.Context) == 0 || len(m.RecentMessages) == 0 || len(m.Summaries) == 0 || len(m.Memories) != 1 || m.Dim != 0 {
		t.Errorf("without an embedder: %+v", m)
	}
}

// embedServer is a server of embeddings, by words, and of a reranker with the scores that it is
// given. While it is down it answers nobody.
type embedServer struct {
	down   atomic.Bool
	scores map[string]float64 // of a text, by the reranker

	mu    sync.Mutex // guards texts
	texts []string
}

func (e *embedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Input, Documents []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if e.down.Load() {
		<-r.Context().Done()
		return
	}
	if strings.HasSuffix(r.URL.Path, "/rerank") {
		var results []any
		for i, text := range in.Documents {
			results = append(results, map[string]any{"index": i, "relevance_score": e.scores[text]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
		return
	}
	e.mu.Lock()
	e.texts = append(e.texts, in.Input...)
	e.mu.Unlock()
	vectors, err := embed.Lexical{}.Embed(r.Context(), memory.AsDocument, in.Input...)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var data []any
	for i, v := range vectors {
		data = append(data, map[string]any{"index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// taken returns the texts with this in them that were embedded since the last look.
func (e *embedServer) taken(with string) (out []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, text := range e.texts {
		if strings.Contains(text, with) {
			out = append(out, text)
		}
	}
	e.texts = nil
	return out
}

// TestProfilePlatformSumsUpByRule: where the model fails, the rules do it.
func TestProfilePlatformSumsUpByRule(t *testing.T) {
	s := newStage(t, "platform", nil)
	var last asked
	for i := range 11 {
		last = s.query("Fine.", map[string]any{"query": fmt.Sprintf("I decided to visit Lisbon in %d and to rent a car there.", 2030+i), "session_id": "trip"})
	}
	if sums := last.MemoryContext.Summaries; len(sums) != 1 || sums[0].Model != "rule_based" || !strings.Contains(sums[0].Summary, "Lisbon") {
		t.Errorf("summaries: %+v", sums)
	}
}

// TestProfilePlatformSumsUpWhatUsersSaid: what the built-in model answered is in no summary.
func TestProfilePlatformSumsUpWhatUsersSaid(t *testing.T) {
	s := newStage(t, "platform", map[string]string{"upstream.url": "", "learn.model": "none"})
	var last asked
	for i := range 11 {
		what := fmt.Sprintf("I decided to visit Lisbon in %d.", 2030+i)
		if i%2 == 1 {
			what = fmt.Sprintf("When do I visit Lisbon, %d again?", 2029+i)
		}
		body, err := json.Marshal(map[string]any{"query": what, "session_id": "trip"})
		if err != nil {
			t.Fatal(err)
		}
		s.ok(&last, "POST", "/query", string(body))
		s.settle()
	}
	if sums := last.MemoryContext.Summaries; len(sums) != 1 || !strings.Contains(sums[0].Summary, "decided to visit Lisbon") {
		t.Errorf("summaries: %+v", sums)
	} else {
		s.lacks("the summary", sums[0].Summary, "loci/recall", "From memory", "Noted", "When do I")
	}
}

// scores are those of the facts that a search finds; without recency they are their
// relevance.
func (s *stage) scores(question, more string, headers []string) []float64 {
	s.t.Helper()
	var found struct{ Hits []struct{ Score float64 } }
	s.ok(&found, "POST", "/api/memory/search", fmt.Sprintf(`{"query":%q,"kinds":["fact"]%s}`, question, more), headers...)
	var out []float64
	for _, h := range found.Hits {
		out = append(out, h.Score)
	}
	return out
}

// shows holds how many memories a prompt is given at most, by a question that all of
// them answer.
func (s *stage) shows(most int, headers ...string) {
	s.t.Helper()
	_, answer := s.talk(headers...).says("What do you know about me?")
	if n := strings.Count(answer, `"kind":"fact"`); n != most {
		s.t.Errorf("%d memories are shown, want %d", n, most)
	}
}
