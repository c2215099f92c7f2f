package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// tenTurns is a chat as people write, with what a model makes of each message: the known
// fact that goes is named by its words.
var tenTurns = []struct{ says, answer, text, quote, replaces string }{
	{"hey, I live in Porto now, moved here for a job", "Porto is lovely. What would you like to know?", "User lives in Porto", "I live in Porto now", ""},
	{"can you make me a list of things to see?", "Gladly: the Ribeira, the Clérigos tower, the Serralves garden, and a walk along the river at sunset.", "", "", ""},
	{"ok thanks!", "You are welcome.", "", "", ""},
	{"my interview with Priya is on 2026-01-07", "Good luck with it! Shall we prepare some questions?", "User has an interview with Priya on 2026-01-07", "my interview with Priya is on 2026-01-07", ""},
	{"actually no, it's 2026-01-08", "Noted, the eighth then.", "User has an interview with Priya on 2026-01-08", "actually no, it's 2026-01-08", "User has an interview with Priya on 2026-01-07"},
	{"I play the cello btw", "A fine instrument.", "User plays the cello", "I play the cello", ""},
	{"what is a good recipe for soup?", "Try leek and potato: soften the leeks in butter, add potatoes and stock, simmer, and blend.", "", "", ""},
	{"I am allergic to celery", "Then leave it out of the stock.", "User is allergic to celery", "I am allergic to celery", ""},
	{"lol great", "Anything else?", "", "", ""},
	{"I have a dog named Rex", "Say hello to Rex.", "User has a dog named Rex", "I have a dog named Rex", ""},
}

// opsModel replies to the extraction prompt with what tenTurns says of the new turns in it.
type opsModel struct {
	calls, tokens int
	asked         []memory.Prompt
}

func (m *opsModel) Complete(_ context.Context, p memory.Prompt) (memory.Reply, error) {
	known, turns, _ := strings.Cut(p.User, "The turns:")
	known, _, _ = strings.Cut(known, "Before,")
	ops := []map[string]any{}
	for _, t := range tenTurns {
		if t.text == "" || !strings.Contains(turns, "    "+t.says) {
			continue
		}
		op := map[string]any{"op": "add", "ids": []string{}, "text": t.text, "quote": t.quote, "about": "user", "lasting": true}
		for line := range strings.Lines(known) {
			id, fact, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "["), "] ")
			switch {
			case t.replaces != "" && fact == t.replaces:
				op["op"], op["ids"] = "replace", []string{id}
			case fact == t.text:
				op["op"], op["ids"] = "same", []string{id}
			}
		}
		ops = append(ops, op)
	}
	reply, _ := json.Marshal(map[string]any{"ops": ops})
	m.calls++
	m.tokens += text.EstimateTokens(p.System+p.User) + text.EstimateTokens(string(reply))
	m.asked = append(m.asked, p)
	return memory.Reply{Text: string(reply), Model: "ops"}, nil
}

// TestAModelReadsSeveralExchangesTogether follows a chat of ten exchanges with the settings that
// a server has by itself.
func TestAModelReadsSeveralExchangesTogether(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		m := &opsModel{}
		r.LLM = m
		r.Opts.LearnModel = "ops"
		r.Opts.Learn.MessagesPerLesson, r.Opts.Learn.IdleTime, r.Opts.Learn.ContextMessages = 4, 2*time.Minute, 8
		s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "c"}}
		facts := func() string {
			page := try(r.Store.List(ctx, ana, memory.Query{})).orFail(t)
			return contentsOf(page.Memories)
		}
		for i, turn := range tenTurns {
			s.reply = turn.answer
			noError(t)(s.step("user ana: " + turn.says))
			r.clock.Advance(10 * time.Second)
			if i == 0 && (m.calls != 0 || facts() != "") {
				t.Errorf("after one exchange the model was asked %d times and known is %q", m.calls, facts())
			}
		}
		if m.calls != 2 {
			t.Errorf("after ten exchanges the model was asked %d times, want twice", m.calls)
		}
		noError(t)(s.pass("+5m"))
		if m.calls != 3 {
			t.Errorf("after a pause the model was asked %d times, want three times", m.calls)
		}
		for _, a := range m.asked {
			if a.Name != "extract" {
				t.Errorf("asked %s, want extract alone", a.Name)
			}
		}
		got := facts()
		for _, want := range []string{"User lives in Porto", "User plays the cello", "User is allergic to celery", "User has a dog named Rex"} {
			if !strings.Contains(got, want) {
				t.Errorf("known is %q, without %q", got, want)
			}
		}
		if perExchange := m.tokens / len(tenTurns); perExchange > 500 {
			t.Errorf("an exchange takes %d tokens, want 500 at most", perExchange)
		}
		turns, err := r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "c", Unlearned: true})
		if err != nil || len(turns) != 0 {
			t.Errorf("%d turns are not learned from (%v)", len(turns), err)
		}
		t.Logf("%d calls, %d tokens an exchange", m.calls, m.tokens/len(tenTurns))
		noError(t)(s.step("user ana: Please remember that the gate code is 4711."))
		if got := facts(); !strings.Contains(got, "gate code is 4711") {
			t.Errorf("known is %q after an order to remember", got)
		}
	})
}

func contentsOf(in []memory.Memory) string {
	var out []string
	for _, m := range in {
		out = append(out, m.Content())
	}
	return strings.Join(out, " | ")
}

// TestWhatNobodyCanBeAskedTheRulesLearn has the chat's own model learn, before any chat.
func TestWhatNobodyCanBeAskedTheRulesLearn(t *testing.T) {
	r := newRig(t, stores["inmem"])
	m := &opsModel{}
	r.LLM, r.Opts.LearnModel = m, ""
	noError(t)(r.Lessons.Learn(context.Background(), r.told(t, ana, "c", "I live in Porto.")))
	page, err := r.Store.List(context.Background(), ana, memory.Query{})
	if err != nil || contentsOf(page.Memories) != "User lives in Porto" || m.calls != 0 {
		t.Errorf("known is %q after %d calls (%v)", contentsOf(page.Memories), m.calls, err)
	}
}

type tooMany struct{ after time.Duration }

func (tooMany) Error() string                        { return "429" }
func (e tooMany) RateLimited() (time.Duration, bool) { return e.after, true }
func (e tooMany) Complete(context.Context, memory.Prompt) (memory.Reply, error) {
	return memory.Reply{}, fmt.Errorf("ask: %w", e)
}

// TestAModelThatIsAskedTooOftenIsLeftAlone waits longer each time, and as long as it says.
func TestAModelThatIsAskedTooOftenIsLeftAlone(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.Opts.LearnModel = "m"
	r.LLM = tooMany{}
	var waits []time.Duration
	wait := func() {
		_, err := r.Lessons.Complete(context.Background(), ana, memory.Prompt{Name: "extract"})
		var off *jobs.PutOff
		if !errors.As(err, &off) {
			t.Fatalf("got %v, want a put-off", err)
		}
		waits = append(waits, off.Until.Sub(r.Time()).Round(time.Second))
	}
	wait()
	wait()
	r.LLM = tooMany{2 * time.Hour}
	wait()
	if got, want := fmt.Sprint(waits), "[1m0s 2m0s 2h0m0s]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
}
