package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func TestEachRequestSaysWhatMemoryMayDo(t *testing.T) {
	t.Parallel()
	up := teach(t, life())
	l := serve(t, t.TempDir(), up.learning()...)
	l.tell(t, allergy)
	for _, test := range []struct {
		name          string
		opt           option.RequestOption
		reads, writes bool
	}{
		{"read", option.WithJSONSet("memory_mode", "read"), true, false},
		{"write", option.WithJSONSet("memory_mode", "write"), false, true},
		{"off", option.WithJSONSet("memory_mode", "off"), false, false},
		{"read_write", option.WithHeader("X-Loci-Mode", "read_write"), true, true},
		{"a temporary chat", option.WithHeader("X-OpenWebUI-Chat-Id", "temporary:7c1f"), true, false},
		{"a temporary chat of older versions", option.WithHeader("X-OpenWebUI-Chat-Id", "local:7c1f"), true, false},
		{"a channel", option.WithHeader("X-OpenWebUI-Chat-Id", "channel:7c1f"), false, false},
	} {
		said := "What am I allergic to? I ask with " + test.name + "."
		for _, streamed := range []bool{false, true} {
			c := chat{client: l.sdk(test.opt)}
			if streamed {
				c.history = append(c.history, openai.UserMessage(said+" Streamed."))
				if _, err := c.tryStream(t.Context()); err != nil {
					t.Fatalf("%s: stream: %v", test.name, err)
				}
			} else {
				c.say(t, said)
			}
			if got := strings.Contains(blockOf(t, up.last(t).Body), allergyTold); got != test.reads {
				t.Errorf("%s, streamed %v: memory was read: %v, want %v", test.name, streamed, got, test.reads)
			}
		}
		turns := l.turns(t, nil)
		if got := count(turns, "user", said) == 1 && count(turns, "user", said+" Streamed.") == 1; got != test.writes {
			t.Errorf("%s: memory was written: %v, want %v:%s", test.name, got, test.writes, contents(turns))
		}
	}
}

func TestPauseHoldsLearningOrMemory(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	l := serve(t, t.TempDir(), up.learning()...)
	l.tell(t, allergy)

	l.prints(t, "pause learning", "learning is paused")
	c := chat{client: l.sdk()}
	c.say(t, "I work as a nurse.")
	if count(l.turns(t, nil), "user", "I work as a nurse.") != 1 {
		t.Error("while learning is on hold what is said is kept")
	}

	l.prints(t, "pause memory", "memory is paused")
	other := chat{client: l.sdk()}
	other.say(t, askAllergy)
	if block := blockOf(t, up.last(t).Body); block != "" || count(l.turns(t, nil), "user", askAllergy) != 0 {
		t.Errorf("while memory is on hold a chat was given %q and left%s", block, contents(l.turns(t, nil)))
	}

	l.prints(t, "pause none", "nothing is paused")
	again := chat{client: l.sdk()}
	again.say(t, askAllergy)
	if !strings.Contains(blockOf(t, up.last(t).Body), allergyTold) {
		t.Errorf("after the pause memory is read again:\n%s", up.last(t).Body)
	}
	again.say(t, "I live in Berlin.")
	eventually(t, l, "learning after the pause", patience, func() bool { return count(l.facts(t, nil), "", "User lives in Berlin") == 1 })
	for _, lesson := range p.lessons("") {
		if strings.Contains(lesson.User, "nurse") {
			t.Errorf("what was said while learning was on hold was given to the model:\n%s", lesson.User)
		}
	}
}

func TestSeveralMessagesAreLearnedTogether(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	l := serve(t, t.TempDir(), up.learning("LOCI_LEARN_EVERY=3", "LOCI_LEARN_IDLE=2s")...)
	c := chat{client: l.sdk()}
	for _, said := range []string{"I live in Berlin.", "I work as a nurse.", allergy} {
		c.say(t, said)
	}
	l.settle(t, nil, patience)
	first := p.lessons("extract")
	if len(first) != 1 || !strings.Contains(first[0].User, "Berlin") || !strings.Contains(first[0].User, "nurse") || !strings.Contains(first[0].User, "peanuts") {
		t.Fatalf("three messages had to be learned from together, in one lesson; there were %d: %+v", len(first), first)
	}
	c.say(t, "I have a dog named Rex.") // one is left over, and is learned once the chat rests
	l.prints(t, "jobs", "learn", "next try")
	l.settle(t, nil, patience)
	if n := len(p.lessons("extract")); n != 2 {
		t.Errorf("there were %d lessons, want 2", n)
	}
	if facts := l.facts(t, nil); len(facts) != 4 {
		t.Errorf("four facts had to be learned:%s", contents(facts))
	}
}

// A model on the machine that answers waits for the end of the answer.
func TestUserMessagesAreLearnedFromOnce(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	words := make(chan string, 1)
	up.script = []answer{streams(words, nil)}
	l := serve(t, t.TempDir(), up.learning("LOCI_LEARN_AFTER=user")...)
	c := chat{client: l.sdk()}
	c.history = append(c.history, openai.UserMessage(allergy))
	words <- "I "
	done := make(chan error, 1)
	go func() {
		_, err := c.tryStream(t.Context())
		done <- err
	}()
	eventually(t, l, "the lesson", patience, func() bool { return strings.Contains(l.command(t, "jobs"), "a chat is running") })
	words <- "see."
	close(words)
	if err := <-done; err != nil {
		t.Fatalf("stream: %v", err)
	}
	eventually(t, l, "the question's fact", patience, func() bool { return len(l.facts(t, nil)) == 1 })
	l.settle(t, nil, patience)
	if n := len(p.lessons("extract")); n != 1 {
		t.Errorf("the exchange was learned from %d times, want once", n)
	}
}

func TestADaysTokensStopLearningAndNoChat(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	// A lesson takes 14 tokens, by the pupil's own count.
	l := serve(t, t.TempDir(), up.learning("LOCI_RECALL_CORE=0", "LOCI_LEARN_DAY_TOKENS=10", "LOCI_LEARN_INPUT_PRICE=2", "LOCI_LEARN_OUTPUT_PRICE=4")...)
	l.tell(t, allergy)
	l.prints(t, "usage", "extract", "11", "all")

	c := chat{client: l.sdk()}
	c.say(t, "I work as a nurse.")
	eventually(t, l, "learning to be put off", patience, func() bool {
		return strings.Contains(l.command(t, "jobs"), "14 of the 10 tokens a day are spent")
	})
	out := l.command(t, "jobs")
	if !strings.Contains(out, "next try ") || strings.Contains(out, "failed") || strings.Contains(out, "parked") {
		t.Errorf("a job that was put off is tried again and did not fail:\n%s", out)
	}
	c.say(t, askAllergy)
	if !strings.Contains(blockOf(t, up.last(t).Body), allergyFact) {
		t.Errorf("the chat goes on with memory:\n%s", up.last(t).Body)
	}
	if n := len(p.lessons("")); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	_, metrics := l.request(t, http.MethodGet, "/metrics", nil, nil)
	for _, want := range []string{`loci_learn_tokens_total{model="scripted",purpose="extract",side="input"} 11`, `loci_learn_cost_total{model="scripted",purpose="extract"} 3.4e-05`} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("/metrics has no %q", want)
			for line := range strings.Lines(string(metrics)) {
				if strings.Contains(line, "learn_") {
					t.Log(strings.TrimSpace(line))
				}
			}
		}
	}
}
