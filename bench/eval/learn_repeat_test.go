package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
)

// repeatTurns is how many exchanges each way to learn has after all was told, or
// LOCI_FUZZ_TURNS.
const repeatTurns = 30

// toldOnce is all that the user says about themselves.
var toldOnce = []string{
	"I live in Bergen.", "I have a dog called Pim.", "I am allergic to peanuts.", "I work as a nurse at Acme.", "My sister Nora plays the cello.",
	"I don't eat lemons.", "I am 43 years old.", "My wife is called Helga.", "I like chess.", "I have two bicycles at home.",
}

// TestRepeatedMemoriesTeachNothing has a user tell ten things and then ask about
// them, while the assistant repeats what it was given in other words, the client
// now and then sends that back in the user's name, and the program starts anew in
// between. Learn by rules or by a model that takes every sentence for a fact, from
// the user's turns or the assistant's too: nothing is known afterwards that was not
// known when the user had told all.
func TestRepeatedMemoriesTeachNothing(t *testing.T) {
	t.Parallel()
	turns := repeatTurns
	if n, err := strconv.Atoi(os.Getenv("LOCI_FUZZ_TURNS")); err == nil {
		turns = n
	}
	if testing.Short() {
		turns = min(turns, 60)
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
				for i := range turns {
					if i%25 == 24 {
						p.restart()
					}
					p.say(p.ask())
				}
				var fresh []string
				for _, m := range p.facts() {
					if !slices.ContainsFunc(known, func(k client.Memory) bool { return k.ID == m.ID }) {
						fresh = append(fresh, string(m.Status)+": "+m.Content)
					}
				}
				t.Logf("%d facts of %d things told; %d exchanges later %d more", len(known), len(toldOnce), turns, len(fresh))
				if len(known) < 6 {
					t.Errorf("only %d facts were learned of what was told", len(known))
				}
				if len(fresh) == 0 {
					return
				}
				report := t.Errorf
				if repeatsTeach[t.Name()[strings.Index(t.Name(), "/")+1:]] {
					report = t.Logf
				}
				report("repeating taught %d facts, such as\n%s", len(fresh), strings.Join(fresh[:min(12, len(fresh))], "\n"))
			})
		}
	}
}

// repeatsTeach are the ways to learn that are known to learn from repetitions; they
// are logged and fail nothing. Take a line out when it is mended.
var repeatsTeach = map[string]bool{}

// echoing is the program with an assistant that repeats its memories.
type echoing struct {
	t      *testing.T
	r      *rand.Rand
	config config.Config
	chat   []map[string]string
	answer string

	mu    sync.Mutex // guards block
	block string     // of the last request

	loci   *loci.Loci
	server *httptest.Server
	stop   func()
}

func newEchoing(t *testing.T, model, assistant bool) *echoing {
	p := &echoing{t: t, r: rand.New(rand.NewPCG(7, 7))}
	upstream := httptest.NewServer(http.HandlerFunc(p.repeat))
	t.Cleanup(upstream.Close)
	flags := map[string]string{"data": t.TempDir(), "log.level": "error", "upstream.url": upstream.URL + "/v1", "learn.assistant": fmt.Sprint(assistant), "recall.deadline": "10s", "learn.every": "1"}
	if model {
		learner := modelServer(t, func(prompt, _, user string) (int, string) {
			if prompt != "extract" {
				return http.StatusOK, `{"decisions":[]}`
			}
			return http.StatusOK, everySentence(user)
		})
		flags["learn.url"], flags["learn.model"] = learner.URL+"/v1", "gullible"
	}
	var err error
	if p.config, err = config.Load(config.Sources{Flags: flags}); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *echoing) start() {
	l, err := loci.Open(context.Background(), p.config, loci.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- l.Run(ctx) }()
	server := httptest.NewServer(l.Handler())
	p.loci, p.server = l, server
	p.stop = func() {
		server.Close()
		cancel()
		if err := <-stopped; err != nil {
			p.t.Error(err)
		}
		if err := l.Close(); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *echoing) restart() {
	p.stop()
	p.start()
}

// repeat answers a chat with what its request holds from memory.
func (p *echoing) repeat(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct{ Content string } `json:"messages"`
	}
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
		answer = p.inOtherWords(lines)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{
		"id": "c", "object": "chat.completion", "model": "echo",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": answer}}},
	}); err != nil {
		return // the client went away
	}
}

// inOtherWords says what lines of a block say.
func (p *echoing) inOtherWords(lines []string) string {
	switch p.r.IntN(4) {
	case 0:
		return "This is what I remember:\n" + reworded(p.r, lines)
	case 1: // as one sentence
		return "You told me that " + strings.ToLower(strings.Join(bodies(lines), ", that ")) + "."
	case 2: // turned around, as a translation would
		var out []string
		for _, l := range bodies(lines) {
			words := strings.Fields(strings.NewReplacer("User's", "your", "User", "you").Replace(l))
			cut := p.r.IntN(len(words))
			out = append(out, "• "+strings.Join(append(slices.Clone(words[cut:]), words[:cut]...), " "))
		}
		return strings.Join(out, "\n")
	}
	return strings.Join(lines, "\n")
}

// bodies are the memories of lines, without bullet, date and speaker.
func bodies(lines []string) []string {
	var out []string
	for _, l := range lines {
		body := strings.TrimPrefix(l, "- ")
		if date, rest, ok := strings.Cut(body, " "); ok && strings.Count(date, "-") == 2 {
			body = rest
		}
		if _, rest, ok := strings.Cut(body, " said: "); ok {
			body = rest
		}
		if body != "" {
			out = append(out, body)
		}
	}
	return out
}

// ask returns a message in which the user says nothing new.
func (p *echoing) ask() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	question := []string{"What do you know about me?", "Where do I live?", "What is my dog called?", "What must I not eat?", "Who is in my family?", "Thanks!", "Can you suggest a present?", "How old am I?"}[p.r.IntN(8)]
	switch p.r.IntN(8) {
	case 0: // a client that puts the memory into the message
		return p.block + "\n\n" + question
	case 1:
		return "Context:\n" + strings.Join(blockLines(p.block), "\n") + "\n\n" + question
	case 2: // quoting the answer
		return "> " + strings.ReplaceAll(p.answer, "\n", "\n> ") + "\n\n" + question
	case 3:
		return "You said: " + p.answer + "\n" + question
	}
	return question
}

// say sends the chat with a message, and waits until it is learned from.
func (p *echoing) say(words string) {
	p.t.Helper()
	if len(p.chat) > 24 {
		p.chat = nil
	}
	p.chat = append(p.chat, map[string]string{"role": "user", "content": words})
	body, err := json.Marshal(map[string]any{"model": "echo", "messages": p.chat})
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.server.Client().Post(p.server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err != nil || closeErr != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("chat: %s %v %s", resp.Status, err, data)
	}
	var got struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(data, &got); err != nil || len(got.Choices) != 1 {
		p.t.Fatalf("answer %s: %v", data, err)
	}
	p.answer = got.Choices[0].Message.Content
	p.chat = append(p.chat, map[string]string{"role": "assistant", "content": p.answer})
	if err := p.loci.Settle(context.Background()); err != nil {
		p.t.Fatal(err)
	}
}

// facts are those that are active or wait.
func (p *echoing) facts() []client.Memory {
	c := client.New(p.server.URL, client.Options{HTTP: p.server.Client()})
	page, err := c.List(context.Background(), client.ListQuery{Kind: "fact", Status: "active,pending", Limit: 500})
	if err != nil {
		p.t.Fatal(err)
	}
	return page.Memories
}

// everySentence is the reply of a model that takes every sentence of the turns for
// a fact about the user.
func everySentence(user string) string {
	var facts []map[string]any
	_, turns, _ := strings.Cut(user, "The turns:")
	for line := range strings.Lines(turns) {
		for _, span := range text.Sentences(line) {
			s := strings.TrimSpace(span.Of(line))
			if len(s) < 8 || strings.HasPrefix(s, "[") || strings.HasSuffix(s, "?") {
				continue
			}
			facts = append(facts, map[string]any{
				"text":  strings.NewReplacer("You ", "User ", "you ", "User ", "your ", "User's ").Replace(thirdPerson(strings.TrimLeft(s, "-*•> 0123456789."))),
				"quote": s, "subject": "user", "confidence": 0.9,
			})
		}
	}
	return ofModel(facts...)
}
