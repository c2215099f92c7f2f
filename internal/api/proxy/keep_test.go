package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// historyClient is a client of chat completions whose user takes random steps.
type historyClient struct {
	*rig
	rand    *rand.Rand
	history []string          // messages in JSON; the last one is a user message or a tool result
	facts   []memory.Fact     // active facts
	gone    []string          // text that no block may contain any more
	blocks  map[string]string // first block of each user message, by the history up to it
	asked   int
	noted   int
	session string // "": the client sends none
}

func (c *historyClient) note() {
	c.noted++
	topic := topics[c.rand.IntN(len(topics))]
	f, _, err := c.engine.Curate.Remember(context.Background(), nobody, curate.FactInput{
		Content: fmt.Sprintf("%s, as entry %03d says", topic.fact, c.noted), Core: memory.Pin(c.rand.IntN(8) == 0),
	}, memory.Author{Kind: memory.ByPerson})
	if err != nil {
		c.t.Fatal(err)
	}
	if !slices.ContainsFunc(c.facts, func(g memory.Fact) bool { return g.ID == f.ID }) {
		c.facts = append(c.facts, f)
	}
}

func entryOf(f memory.Fact) string { return f.Content[strings.Index(f.Content, "entry "):] }

// change forgets or edits a fact.
func (c *historyClient) change() {
	if len(c.facts) == 0 {
		return
	}
	i := c.rand.IntN(len(c.facts))
	f, ctx, by := c.facts[i], context.Background(), memory.Author{Kind: memory.ByPerson}
	c.facts = slices.Delete(c.facts, i, i+1)
	if now, err := c.store.Get(ctx, nobody, f.ID); err != nil || now[0].Status() != memory.Active { // another fact replaced it
		return
	}
	var err error
	if c.rand.IntN(2) == 0 {
		_, err = c.engine.Curate.Forget(ctx, nobody, []string{f.ID}, "", by)
	} else {
		c.noted++
		words := strings.Replace(f.Content, entryOf(f), fmt.Sprintf("entry %03d says", c.noted), 1)
		var edited memory.Fact
		if edited, err = c.engine.Curate.EditFact(ctx, nobody, f.ID, curate.FactEdit{Content: &words}, by); err == nil {
			c.facts = append(c.facts, edited)
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.gone = append(c.gone, entryOf(f))
}

// lost compares a block with the first block of its message. Only deleted memories may be missing, such as an
// edited message.
func (c *historyClient) lost(first, block string) {
	c.t.Helper()
	turns := try(c.store.Turns(context.Background(), nobody, memory.TurnQuery{})).orFail(c.t)
	var want []string
	for _, line := range linesOf(first) {
		gone := slices.ContainsFunc(c.gone, func(words string) bool { return strings.Contains(line, words) })
		if _, words, ok := strings.Cut(line, " said: "); ok {
			gone = !slices.ContainsFunc(turns, func(t memory.Turn) bool { return t.Content == words })
		}
		if !gone {
			want = append(want, line)
		}
	}
	if got := linesOf(block); !slices.Equal(got, want) {
		c.t.Errorf("a message got\n%s\nand later\n%s", first, block)
	}
}

func linesOf(block string) (lines []string) {
	for line := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(line, "- ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (c *historyClient) ask() {
	c.asked++
	words := fmt.Sprintf("%s This is question %d.", topics[c.rand.IntN(len(topics))].ask, c.asked)
	c.history = append(c.history, `{"role":"user","content":"`+words+`"}`)
}

const askTool = `{"role":"assistant","content":null,"tool_calls":[{"id":"%[1]s","type":"function","function":{"name":"ls","arguments":"{}"}}]}`

// send sends the history and checks the request that the upstream got.
func (c *historyClient) send() {
	c.t.Helper()
	answer, next := says(done), `{"role":"assistant","content":"`+done+`"}`
	tool := c.rand.IntN(3) == 0
	if tool {
		next = fmt.Sprintf(askTool, fmt.Sprint("call_", c.asked, "_", len(c.history)))
		answer = sends(http.StatusOK, `{"choices":[{"index":0,"message":`+next+`}]}`, "Content-Type", "application/json")
	}
	c.upstream.answers(answer)
	body := `{"model":"m","messages":[` + strings.Join(c.history, ",") + `]}`
	if resp, got := c.chat(body, "X-Session-Id", c.session); resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%d %s", resp.StatusCode, got)
	}
	got := c.upstream.one(c.t).body
	if bare := blockForms.ReplaceAllString(got, ""); bare != body {
		c.t.Fatalf("without its blocks the request is\n%s\nnot\n%s", bare, body)
	}
	c.check(got)
	c.history = append(c.history, next)
	if tool {
		id := fmt.Sprint("call_", c.asked, "_", len(c.history)-1)
		c.history = append(c.history, `{"role":"tool","tool_call_id":"`+id+`","content":"main.py"}`)
	}
}

// check verifies the blocks of a request.
func (c *historyClient) check(body string) {
	c.t.Helper()
	var request struct {
		Messages []json.RawMessage
	}
	noError(c.t)(json.Unmarshal([]byte(body), &request))
	lines, before, block := map[string]int{}, "", ""
	last := 0
	for i, m := range request.Messages {
		if strings.HasPrefix(string(m), `{"role":"user"`) {
			last = i
		}
	}
	for i, m := range request.Messages {
		var message struct{ Role, Content string }
		noError(c.t)(json.Unmarshal(m, &message))
		if blockForms.MatchString(string(m) + ",") {
			block = message.Content
			for _, line := range linesOf(block) {
				lines[line]++
			}
			continue
		}
		before += string(m)
		if message.Role == "user" {
			first, seen := c.blocks[before]
			switch {
			case !seen && i == last:
				c.blocks[before] = block
			case first != block:
				c.lost(first, block)
			}
			block = ""
		}
	}
	for line, n := range lines {
		if n > 1 {
			c.t.Errorf("occurs %d times: %s", n, line)
		}
	}
	for _, words := range c.gone {
		if strings.Contains(strings.Join(blockForms.FindAllString(body, -1), ""), words) {
			c.t.Errorf("a deleted memory appears: %s", words)
		}
	}
}

// step takes a random step of the user.
func (c *historyClient) step() {
	if !strings.HasPrefix(c.history[len(c.history)-1], `{"role":"assistant"`) { // a tool result requires an answer
		c.send()
		return
	}
	if c.writes() {
		c.send()
	}
}

// writes changes the history, or returns false after it changed memory.
func (c *historyClient) writes() bool {
	var users []int
	for i, m := range c.history {
		if strings.HasPrefix(m, `{"role":"user"`) {
			users = append(users, i)
		}
	}
	if c.session == "" { // without a session, going further back begins a conversation
		users = users[len(users)-1:]
	}
	from := users[c.rand.IntN(len(users))]
	switch n := c.rand.IntN(12); {
	case n < 5:
		c.ask()
	case n < 7: // edit an earlier message
		c.history = c.history[:from]
		c.ask()
	case n < 9 && from > 0: // regenerate the last or an earlier answer
		c.history = c.history[:from+1]
	case n == 9: // summarize the history
		c.asked++
		c.history = []string{fmt.Sprintf(`{"role":"user","content":"Summary %d: we worked on the project."}`, c.asked), `{"role":"assistant","content":"Ok."}`}
		c.ask()
	case n == 10:
		c.change()
		return false
	default:
		c.note()
		return false
	}
	return true
}

// TestRandomHistoriesKeepTheirBlocks requires, after any step, that a request without its blocks is the client's,
// that a block only changes with its memories, and that no memory occurs twice in a request.
func TestRandomHistoriesKeepTheirBlocks(t *testing.T) {
	for seed := range uint64(10) {
		c := &historyClient{
			rig: newRig(t, func(s *setup) { s.keep = true }), rand: rand.New(rand.NewPCG(seed, 7)), //nolint:gosec // a test's
			blocks: map[string]string{},
		}
		if seed%2 == 0 {
			c.session = "ses_1"
		}
		for range 12 {
			c.note()
		}
		c.ask()
		c.send()
		for range 40 {
			c.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestRefusedRequestIsResentWithoutBlocks(t *testing.T) {
	r := newRig(t, func(s *setup) { s.keep = true })
	r.know("User always uses tabs")
	first := `{"role":"user","content":"Hello?"},{"role":"assistant","content":"Hello!"}`
	r.chat(ask("Hello?"))
	r.upstream.asked()
	body := `{"model":"m","messages":[` + first + `,{"role":"user","content":"Which?"}]}`
	r.upstream.answers(func(w http.ResponseWriter, q *http.Request) {
		if asked := r.upstream.got; strings.Contains(asked[len(asked)-1].body, "loci-memory") {
			sends(http.StatusBadRequest, `{"error":{"message":"no"}}`, "Content-Type", "application/json")(w, q)
			return
		}
		says("This one.")(w, q)
	})
	r.chat(body)
	if got := r.upstream.asked(); len(got) != 2 || !strings.Contains(got[0].body, "tabs") || got[1].body != body {
		t.Fatalf("upstream had %d requests: %+v", len(got), got)
	}
	later := `{"model":"m","messages":[` + first + `,{"role":"user","content":"Which?"},{"role":"assistant","content":"This one."},{"role":"user","content":"Why?"}]}`
	r.upstream.answers(says("Because."))
	r.chat(later)
	if got := r.upstream.one(t).body; strings.Count(got, "loci-memory>") != 2 || strings.Index(got, "loci-memory") < strings.Index(got, "This one.") {
		t.Errorf("then the request is %s", got)
	}
}
