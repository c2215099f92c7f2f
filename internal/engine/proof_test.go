package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// client is a chat client that resends its history, or what it makes of it.
type client struct {
	r       *rig
	id      string // of the chat, "" where the client sends none
	canned  []string
	history []string // the user's messages and the answers in turn
	answers int
}

// send sends messages, the user's and the assistant's in turn, the last one the user's, and
// returns the block that the model was given, and the answer.
func (c *client) send(t testing.TB, messages []string, change func(*exchange.Incoming)) (block, answer string) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	all := append(slices.Clone(c.canned), messages...)
	var out []message
	for i, text := range all {
		role := "user"
		if (len(all)-i)%2 == 0 {
			role = "assistant"
		}
		out = append(out, message{role, text})
	}
	body := try(json.Marshal(map[string]any{"model": "m", "messages": out})).orFail(t)
	chat := try(chatapi.Decode(body)).orFail(t)
	in := exchange.Incoming{Owner: ana, Chat: chat, ChatID: c.id}
	if change != nil {
		change(&in)
	}
	x := c.r.Exchange.Open(t.Context(), in)
	p := x.Prepare(t.Context())
	x.RecordQuestion(t.Context())
	c.answers++
	answer = fmt.Sprintf("This is the answer with number %d, and no other.", c.answers)
	x.RecordAnswer(t.Context(), answered(answer))
	noError(t)(c.r.work(t.Context()))
	return p.Block, answer
}

// say says something more.
func (c *client) say(t testing.TB, words string) (block string) {
	request := append(slices.Clone(c.history), words)
	block, answer := c.send(t, request, nil)
	c.history = append(request, answer)
	return block
}

// edit puts other words in the place of message at, and goes on from there.
func (c *client) edit(t testing.TB, at int, words string) (block string) {
	c.history = c.history[:at:at]
	return c.say(t, words)
}

func has(facts []string, want ...string) bool {
	for _, w := range want {
		if !slices.Contains(facts, w) {
			return false
		}
	}
	return true
}

// TestEditedRequestIsNotGivenWhatItReplaces: it is placed before it is given anything.
func TestEditedRequestIsNotGivenWhatItReplaces(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		c := &client{r: r, id: "c"}
		c.say(t, "Good morning to you, it is a lovely day.")
		c.say(t, "My sister is called Berta, what is a good present for my sister?")
		block := c.edit(t, 2, "My sister is called Carla, what is a good present for my sister?")
		if strings.Contains(block, "Berta") {
			t.Errorf("the edited request is given %q", block)
		}
	})
}

// TestHistoryThatNobodySawIsNotRecalled: a chat that was cloned from somebody else's.
func TestHistoryThatNobodySawIsNotRecalled(t *testing.T) {
	for name, want := range map[core.HistoryPolicy]bool{core.AlignHistory: false, core.RecallHistory: true} {
		r := newRig(t, stores["sqlite"])
		r.Opts.History = name
		c := &client{r: r, id: "clone", history: []string{"I have diabetes, what may I eat?", "Many vegetables are fine for people with diabetes."}}
		c.say(t, "Thanks a lot for all of that.")
		other := &client{r: r, id: "other", answers: 50}
		if block := other.say(t, "Do I have diabetes?"); strings.Contains(block, "I have diabetes") != want {
			t.Errorf("history %s: the block is %q", name, block)
		}
		c.say(t, "And what about fruit?")
		turns, err := r.Store.Turns(t.Context(), ana, memory.TurnQuery{Conversation: "clone"})
		if err != nil || len(turns) != 6 {
			t.Errorf("history %s: %d turns are kept (%v), want 6", name, len(turns), err)
		}
	}
}

// TestClientsIDsSayWhatAMessageFollows, whatever became of the words before it.
func TestClientsIDsSayWhatAMessageFollows(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		c := &client{r: r, id: "c"}
		follow := func(parent, answer string) func(*exchange.Incoming) {
			return func(in *exchange.Incoming) {
				in.AnswerID = answer
				if parent != "" {
					in.AfterTurnID, in.FirstMessageIndex = r.Exchange.PointAfterAnswer(t.Context(), ana, parent).TurnID, in.Chat.LastUser()
				}
			}
		}
		c.send(t, []string{"I live in Rome."}, follow("", "a1"))
		c.send(t, []string{"I live in Rome.", "an answer in other words", "I have a cat named Pip."}, follow("a1", "a2"))
		c.send(t, []string{"I live in Rome.", "an answer in other words", "I have a dog named Rex."}, follow("a1", "a3"))
		if got := r.facts(t, ana); !has(got, "User lives in Rome", "User has a dog named Rex") || has(got, "User has a cat named Pip") {
			t.Errorf("known is %q, want Rome and Rex: the cat was edited away", got)
		}
		if got := r.path(t, "c"); len(got) != 4 {
			t.Errorf("the path is %q, want two exchanges", got)
		}
	})
}

// TestNoFactIsRetiredWithoutProof plays random clients that compact, cut, prefix and repeat.
// What the user said and did not edit stays known.
func TestNoFactIsRetiredWithoutProof(t *testing.T) {
	foods := strings.Fields("peanuts shrimp mustard celery sesame lupin milk soy wheat eggs walnuts crab squid kiwi mango corn barley rye oats plums")
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, stores["inmem"])
		c := &client{r: r, id: rapid.SampledFrom([]string{"", "c"}).Draw(rt, "id")}
		if rapid.Bool().Draw(rt, "canned") {
			c.canned = []string{"Change the greeting in this example file for me.", "Here is the changed greeting, as a block."}
		}
		said, known, whole := 0, map[string]bool{}, true
		words := func() string {
			food := foods[said%len(foods)]
			said++
			known["User is allergic to "+food] = true
			return "I am allergic to " + food + "."
		}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch op := rapid.SampledFrom([]string{"say", "say", "edit", "sum up", "cut", "restart", "repeat"}).Draw(rt, "op"); {
			case op == "edit" && whole && len(c.history) >= 4:
				at := 2 * rapid.IntRange(1, len(c.history)/2-1).Draw(rt, "at")
				food, _ := strings.CutPrefix(strings.TrimSuffix(c.history[at], "."), "I am allergic to ")
				delete(known, "User is allergic to "+food)
				c.edit(t, at, words())
			case op == "sum up" && len(c.history) > 0:
				c.history, whole = []string{fmt.Sprintf("[Summary of what was said before number %d]", said), "Understood."}, false
			case op == "cut" && len(c.history) >= 4:
				c.history, whole = c.history[2*rapid.IntRange(1, len(c.history)/2-1).Draw(rt, "from"):], false
			case op == "restart":
				c.history, whole = nil, true
			case op == "repeat" && len(c.history) >= 2:
				c.send(t, c.history[:len(c.history)-1], nil)
				whole = false // the client may have kept either answer
			case said < len(foods):
				c.say(t, words())
			}
			got := r.facts(t, ana)
			for fact := range known {
				if !slices.Contains(got, fact) {
					rt.Fatalf("%q is not known any more: %q", fact, got)
				}
			}
		}
	})
}
