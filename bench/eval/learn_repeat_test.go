package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// repeatTurns is how many exchanges each way to learn has after all was told, or LOCI_FUZZ_TURNS.
const repeatTurns = 30

// toldOnce is all that the user says about themselves.
var toldOnce = []string{
	"I live in Bergen.", "I have a dog called Pim.", "I am allergic to peanuts.", "I work as a nurse at Acme.", "My sister Nora plays the cello.",
	"I don't eat lemons.", "I am 43 years old.", "My wife is called Helga.", "I like chess.", "I have two bicycles at home.",
}

// TestRepeatedMemoriesTeachNothing has a user tell ten things and then ask about them, while the
// assistant repeats what it was given in other words, and the client now and then sends that back in the
// user's name. Learn by rules or by a model that takes every sentence for a fact, from the user's turns
// or the assistant's too: nothing is known afterwards that was not known when the user had told all.
func TestRepeatedMemoriesTeachNothing(t *testing.T) {
	t.Parallel()
	turns := repeatTurns
	if n, err := strconv.Atoi(os.Getenv("LOCI_FUZZ_TURNS")); err == nil {
		turns = n
	}
	for _, model := range []bool{false, true} {
		for _, assistant := range []bool{false, true} {
			t.Run(fmt.Sprintf("model=%v/assistant=%v", model, assistant), func(t *testing.T) {
				t.Parallel()
				p := newEchoing(t, model, assistant)
				for _, s := range toldOnce {
					p.say(s)
				}
				known := p.facts()
				for range turns {
					p.say(p.ask())
				}
				fresh := slices.DeleteFunc(p.facts(), func(m client.Memory) bool {
					return slices.ContainsFunc(known, func(k client.Memory) bool { return k.ID == m.ID })
				})
				if len(known) < 6 || len(fresh) > 0 {
					t.Errorf("%d facts of %d things told; %d exchanges later %d more: %+v", len(known), len(toldOnce), turns, len(fresh), fresh)
				}
			})
		}
	}
}

// echoing is the program with an assistant that repeats its memories.
type echoing struct {
	*Instance
	t      *testing.T
	r      *rand.Rand
	chat   []chatMessage
	answer string
	ahead  atomic.Int64 // of its clock

	mu    sync.Mutex // guards block
	block string     // of the last request
}

func newEchoing(t *testing.T, model, assistant bool) *echoing {
	p := &echoing{t: t, r: rand.New(rand.NewPCG(7, 7))}
	upstream := httptest.NewServer(http.HandlerFunc(p.repeat))
	t.Cleanup(upstream.Close)
	settings := map[string]string{"upstream.url": upstream.URL + "/v1", "learn.assistant": fmt.Sprint(assistant), "learn.every": "1", "recall.deadline": "1m"} // a busy machine is no reason for an answer without memory
	if model {
		learner := modelServer(t, func(prompt, _, user string) (int, string) {
			if prompt != "extract" {
				return http.StatusOK, `{"decisions":[]}`
			}
			return http.StatusOK, everySentence(user)
		})
		settings["learn.url"], settings["learn.model"] = learner.URL+"/v1", "gullible"
	}
	var err error
	if p.Instance, err = OpenInstance(t.Context(), defaults(t), settings, p.now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// repeat answers a chat with what its request holds from memory.
func (p *echoing) repeat(w http.ResponseWriter, r *http.Request) {
	var in struct{ Messages []chatMessage }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block = ""
	for _, m := range in.Messages[max(0, len(in.Messages)-3):] { // where the block of this request may be
		if i := strings.LastIndex(m.Content, recall.FenceOpen); i >= 0 {
			p.block, _, _ = strings.Cut(m.Content[i:], recall.FenceClose)
			p.block += recall.FenceClose
		}
	}
	answer := "What would you like to talk about?"
	if lines := blockLines(p.block); len(lines) > 0 {
		answer = []string{
			"This is what I remember:\n" + reworded(p.r, lines), strings.Join(lines, "\n"),
			"You told me that " + strings.ToLower(strings.Join(bodies(lines), ", that ")) + ".",
		}[p.r.IntN(3)]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "echo", "choices": []any{
		map[string]any{"index": 0, "finish_reason": "stop", "message": chatMessage{memory.RoleAssistant, answer}},
	}})
}

// ask returns a message in which the user says nothing new.
func (p *echoing) ask() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	question := []string{"What do you know about me?", "Where do I live?", "What is my dog called?", "What must I not eat?", "Thanks!", "How old am I?"}[p.r.IntN(6)]
	return []string{
		p.block + "\n\n" + question, // a client that puts the memory into the message
		"Context:\n" + strings.Join(blockLines(p.block), "\n") + "\n\n" + question,
		"> " + strings.ReplaceAll(p.answer, "\n", "\n> ") + "\n\n" + question, "You said: " + p.answer + "\n" + question,
		question, question, question, question,
	}[p.r.IntN(8)]
}

// say sends the chat with a message, and waits until it is learned from.
func (p *echoing) say(words string) {
	p.t.Helper()
	if len(p.chat) > 24 {
		p.chat = nil
	}
	p.chat = append(p.chat, chatMessage{memory.RoleUser, words})
	body, err := json.Marshal(map[string]any{"model": "echo", "messages": p.chat})
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.HTTP.Post(p.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Choices []struct{ Message chatMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Choices) != 1 {
		p.t.Fatalf("chat: %s, %v", resp.Status, err)
	}
	p.answer = got.Choices[0].Message.Content
	p.chat = append(p.chat, chatMessage{memory.RoleAssistant, p.answer})
	for again := true; again; { // a lesson that was put off because this chat was under way is given at once
		if err := p.Loci.Settle(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
		all, err := p.As("").Jobs(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		again = false
		for _, j := range all.Jobs {
			if j.State == memory.JobQueued && j.Error == "a chat is running" {
				p.ahead.Add(int64(j.RunAt.Sub(p.now())))
				again = true
			}
		}
	}
}

func (p *echoing) now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

// facts are those that are active or wait.
func (p *echoing) facts() []client.Memory {
	page, err := p.As("").List(p.t.Context(), client.ListQuery{Kind: "fact", Status: "active,pending", Limit: 500})
	if err != nil {
		p.t.Fatal(err)
	}
	return page.Memories
}

// everySentence is the reply of a model that takes every sentence of the turns for a fact about the user.
func everySentence(user string) string {
	var facts []map[string]any
	you := strings.NewReplacer("You ", "User ", "you ", "User ", "your ", "User's ")
	_, turns, _ := strings.Cut(user, "The turns:")
	for line := range strings.Lines(turns) {
		for _, span := range text.Sentences(line) {
			if s := strings.TrimSpace(span.Slice(line)); len(s) >= 8 && !strings.HasPrefix(s, "[") && !strings.HasSuffix(s, "?") {
				said := you.Replace(thirdPerson(strings.TrimLeft(s, "-*•> 0123456789.")))
				facts = append(facts, map[string]any{"text": said, "quote": s, "subject": "user", "confidence": 0.9})
			}
		}
	}
	return ofModel(facts...)
}
