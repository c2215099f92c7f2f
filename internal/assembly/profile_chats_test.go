package assembly

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// spoken is a reply as a client of /api/chats hears it.
type spoken struct {
	events   []string // their names
	hits     []string // what memory gave
	text     string
	question string // as it is kept
	answer   string
}

// hear sends a message into a chat, or asks for another answer, and reads the events.
func (s *stage) hear(path, body string) spoken {
	s.t.Helper()
	var out spoken
	for event := range strings.SplitSeq(strings.TrimSpace(s.ok(nil, "POST", path, body)), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		out.events = append(out.events, name)
		var v struct {
			Content          string
			Hits             []struct{ Content string }
			Question, Answer *struct{ Content string }
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			s.t.Fatalf("%s: %v in %q", path, err, event)
		}
		out.text += v.Content
		for _, h := range v.Hits {
			out.hits = append(out.hits, h.Content)
		}
		if v.Question != nil {
			out.question = v.Question.Content
		}
		if v.Answer != nil {
			out.answer = v.Answer.Content
		}
	}
	s.settle()
	return out
}

// TestProfileAssistantChats follows design 1 from a chat of its own: what the prompt holds,
// a reply that is streamed, saved and learned from, and one that is regenerated.
func TestProfileAssistantChats(t *testing.T) {
	s := newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner", "chats.model": "chatter"})
	var house, other, chat struct{ ID string }
	s.ok(&house, "POST", "/api/contexts", `{"title":"House","content":"The house in Faro has a red door.\nUser keeps the spare key under the flowerpot."}`)
	s.ok(&other, "POST", "/api/contexts", `{"title":"Boat","content":"`+strings.Repeat("The boat is looked after in March. ", 60)+`User is a member of the sailing club of Olhao."}`)
	s.ok(&chat, "POST", "/api/chats", `{"title":"Faro","contexts":["`+house.ID+`"],"rules":"Answer in one sentence."}`)
	messages := "/api/chats/" + chat.ID + "/messages"
	sayIn := func(path, words string) spoken {
		s.t.Helper()
		body := try(json.Marshal(map[string]string{"content": words})).orFail(s.t)
		return s.hear(path, string(body))
	}
	say := func(words string) spoken { s.t.Helper(); return sayIn(messages, words) }
	// What a question teaches, which is nothing, is said too: learning that failed would be
	// tried again a second later, in the middle of what comes then.
	nothing := func() { s.model.on("memory_extraction", "NOTHING") }
	ask := func(words string) spoken { // in another chat: this one holds what was said in it
		s.t.Helper()
		nothing()
		var made struct{ ID string }
		s.ok(&made, "POST", "/api/chats", `{"contexts":["`+house.ID+`"],"rules":"Answer in one sentence."}`)
		return sayIn("/api/chats/"+made.ID+"/messages", words)
	}

	// The reply is streamed and saved; after it the exchange is read whole, with what is
	// attached to the chat, and without what is not.
	s.model.reply = "You are tall."
	s.model.on("memory_extraction", "User is 183 cm tall")
	got := say("I am 183 cm tall.")
	if strings.Join(got.events, " ") != "memory delta done" || got.text != "You are tall." || got.question != "I am 183 cm tall." || got.answer != "You are tall." {
		t.Errorf("the reply is %+v", got)
	}
	asked := s.model.taken("memory_extraction")
	if len(asked) != 1 {
		t.Fatalf("the exchange was read %d times", len(asked))
	}
	s.has("memory_extraction.md", asked[0].system, "I am 183 cm tall.", "You are tall.", "red door", "spare key")
	s.lacks("memory_extraction.md", asked[0].system, "sailing club")
	s.wantFacts("", []string{"User is 183 cm tall"})

	// The system message: system.md, what is attached, the chat's rules, what is remembered.
	ask("/brief How tall am I?")
	sent := s.model.lastChat(t)
	at := 0
	for _, part := range []string{"You are a helpful assistant", "red door", "Answer in one sentence.", "## Relevant memory", "183 cm"} {
		i := strings.Index(sent.says(0)[at:], part)
		if i < 0 {
			t.Fatalf("%q is not in its place in the system message:\n%s", part, sent.says(0))
		}
		at += i
	}
	nothing()
	say("/brief How tall am I?")
	sent = s.model.lastChat(t)
	if len(sent.Messages) != 4 || sent.Messages[0].Role != "system" || sent.says(1) != "I am 183 cm tall." || sent.says(2) != "You are tall." || sent.says(3) != "/brief How tall am I?" {
		t.Errorf("the conversation is %s", sent.body)
	}

	// What any context says is not learned, attached or not: by its words, or as a
	// passage of a long one.
	for _, reply := range []string{"User keeps the spare key under the flowerpot.", "User is a member of the sailing club of Olhao"} {
		s.model.on("memory_extraction", reply)
		say("Did I tell you that? " + fmt.Sprint(len(reply)))
	}
	s.wantFacts("", []string{"User is 183 cm tall"})

	// At most 5: all of them. The extractor is shown 8 that are related; a duplicate of
	// one, from 0.90, is not stored.
	s.remember(nil, "User plays the cello", "User has a dog named Rex", "User drinks oolong tea", "User works as a nurse")
	if got = ask("Who painted the ceiling?"); len(got.hits) != 5 {
		t.Errorf("of 5 memories %d are in the prompt: %q", len(got.hits), got.hits)
	}
	s.remember(nil, "User's sister plays the viola", "User's brother plays the drums", "User's aunt plays the harp", "User's uncle plays the flute", "User's cousin plays the oboe", "User's niece plays the lute",
		"User's nephew plays the gong", "User's father plays the organ")
	s.model.taken("")
	s.model.on("memory_extraction", "User plays the cello.")
	say("Who plays what in my family, and what do I play?")
	known := s.model.taken("memory_extraction")[0].system
	if n := strings.Count(known[strings.Index(known, "Remembered already:"):strings.Index(known, "Attached documents:")], "\n- "); n != 8 {
		t.Errorf("the extractor is shown %d memories, want 8:\n%s", n, known)
	}
	if n := len(s.facts("")); n != 13 {
		t.Errorf("there are %d facts after a duplicate, want 13", n)
	}

	// More than 5: 5 of them at most, of at least 0.5; nothing found: the 10 most recent.
	if got = ask("Who plays the viola and who plays the harp?"); len(got.hits) == 0 || len(got.hits) > 5 {
		t.Errorf("%d memories are in the prompt, want 1 to 5: %q", len(got.hits), got.hits)
	}
	facts := 0
	got = ask("Which planets have rings?")
	for _, h := range got.hits {
		for _, f := range s.facts("") {
			if f == h {
				facts++
			}
		}
	}
	if facts != 10 {
		t.Errorf("%d facts stand in for a search that found nothing, want 10: %q", facts, got.hits)
	}

	// Regenerate, twice: each reply takes the place of the one before, with what it taught.
	s.model.reply = "Your flight leaves Faro at nine."
	s.model.on("memory_extraction", "User's flight leaves Faro at nine")
	say("When do I leave?")
	for _, again := range []struct{ reply, fact string }{
		{"Your ferry leaves Olhao at ten.", "User's ferry leaves Olhao at ten"}, {"Your train leaves Lagos at eleven.", "User's train leaves Lagos at eleven"},
	} {
		s.model.reply = again.reply
		s.model.on("memory_extraction", again.fact)
		s.model.taken("")
		if got = s.hear(messages+"/regenerate", ""); got.answer != again.reply {
			t.Errorf("regenerated: %+v", got)
		}
		if read := s.model.taken("memory_extraction"); len(read) != 1 || !strings.Contains(read[0].system, again.reply) {
			t.Errorf("the regenerated reply was read %d times", len(read))
		}
		if all := strings.Join(s.facts(""), "\n"); strings.Count(all, " leaves ") != 1 || !strings.Contains(all, again.fact) {
			t.Errorf("after %q there is\n%s", again.reply, all)
		}
	}
	whole := s.ok(nil, "GET", "/api/chats/"+chat.ID, "")
	s.has("the chat", whole, "Your train leaves")
	s.lacks("the chat", whole, "Your flight leaves", "Your ferry leaves")

	// The log of the chat, oldest first; re-embedding as a dry run.
	log := s.ok(nil, "GET", "/api/chats/"+chat.ID+"/events?limit=500", "")
	s.has("the events", log, `"type":"prompt"`, `"type":"recall"`, `"type":"response"`, `"type":"memory"`, "Your ferry leaves", `"status":"replaced"`)
	s.has("a dry run", s.ok(nil, "POST", "/api/reembed", `{"dry_run":true}`), `"lacking":0`)
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	if left := s.model.lines; len(left) != 0 {
		t.Errorf("nobody asked for %q", left)
	}
}

// TestProfileAssistantReadsAllOfAnExchange: the extractor is shown code, quotes and contexts as
// they are, but no secrets. A message may have rules of its own.
func TestProfileAssistantReadsAllOfAnExchange(t *testing.T) {
	s := newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner", "chats.model": "chatter"})
	var manual, chat struct{ ID string }
	s.ok(&manual, "POST", "/api/contexts", `{"title":"Manual","content":"`+strings.Repeat("The pump is cleaned once a month. ", 1200)+`The valve opens at nine bar."}`)
	s.ok(&chat, "POST", "/api/chats", `{"contexts":["`+manual.ID+`"],"rules":"Answer in one sentence."}`)
	messages := "/api/chats/" + chat.ID + "/messages"

	s.model.on("memory_extraction", "User lives in Trondheim")
	said := "I wrote this for the pump:\n```\nhome = \"Trondheim\"\nkey = \"sk-abcdefghijklmnopqrstuvwxyz012345\"\n```\n> The pump is loud.\n\nI live in Trondheim. Is it right?"
	body := try(json.Marshal(map[string]string{"content": said, "rules": "Answer in French."})).orFail(t)
	s.hear(messages, string(body))
	s.has("the system message", s.model.lastChat(t).says(0), "Answer in one sentence.\nAnswer in French.")
	asked := s.model.taken("memory_extraction")
	if len(asked) != 1 {
		t.Fatalf("the exchange was read %d times", len(asked))
	}
	s.has("memory_extraction.md", asked[0].system, `home = "Trondheim"`, "> The pump is loud.", "The valve opens at nine bar.")
	s.lacks("memory_extraction.md", asked[0].system, "sk-abcdef")
	s.wantFacts("", []string{"User lives in Trondheim"})

	s.model.on("memory_extraction", "NOTHING")
	s.hear(messages, `{"content":"What is a pump?"}`)
	s.lacks("the system message", s.model.lastChat(t).says(0), "French")
	s.model.on("memory_extraction", "NOTHING")
	s.hear(messages+"/regenerate", `{"rules":"Answer in Norwegian."}`)
	s.has("the system message", s.model.lastChat(t).says(0), "Answer in one sentence.\nAnswer in Norwegian.")

	// A document that is larger than the model's window is cut, and says so.
	s = newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner"})
	s.ok(&manual, "POST", "/api/contexts", `{"title":"Manual","content":"`+strings.Repeat("The pump is cleaned once a month. ", 6000)+`The valve opens at nine bar."}`)
	s.ok(&chat, "POST", "/api/chats", `{"contexts":["`+manual.ID+`"]}`)
	s.model.on("memory_extraction", "NOTHING")
	c := s.talk()
	c.extras = map[string]any{"memory_id": chat.ID}
	c.says("I like the pump.")
	shown := s.model.taken("memory_extraction")[0].system
	s.lacks("memory_extraction.md", shown, "nine bar")
	if len(shown) > 5*32_000 {
		t.Errorf("a prompt of %d bytes for a window of 32,000 tokens", len(shown))
	}
}
