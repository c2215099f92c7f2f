package eval

import (
	"math"
	"testing"
)

// TestChatIsLearned tells the program what people say of themselves in chats, most of it a
// sentence each, and looks at what it knows then. It is a gate, a little below what was reached.
func TestChatIsLearned(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]struct{ precision, recall, superseded, wrong float64 }{
		"first":  {precision: 0.80, recall: 0.47, superseded: 0.23, wrong: 0.011},
		"second": {precision: 0.66, recall: 0.33, superseded: 0.13, wrong: 0.013},
	} {
		lessons, err := OpenLearn("jsonl", 0, "testdata/chat/"+name+".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		report, err := Learned(t.Context(), lessons, LearnOptions{Config: defaults(t)})
		if err != nil {
			t.Fatal(err)
		}
		precision, recall, superseded := figure(t, report, "precision"), figure(t, report, "recall"), figure(t, report, "superseded")
		wrong := figure(t, report, "wrong") + figure(t, report, "wrong subject")
		t.Logf("%s: precision %.3f, recall %.3f, superseded %.3f, wrong %.3f", name, precision, recall, superseded, wrong)
		if len(lessons) != 150 || precision < least.precision || recall < least.recall || superseded < least.superseded || wrong > least.wrong || math.IsNaN(wrong) {
			t.Errorf("%s: %d lessons, want 150; at least %+v", name, len(lessons), least)
		}
	}
}

// TestFactsOfOthersAndWrongOnesAreCounted has lessons of which a part must not be known.
func TestFactsOfOthersAndWrongOnesAreCounted(t *testing.T) {
	const lesson = `{"id":"a","category":"pets","turns":[{"content":"My sister has asthma. I have a cat."}],` +
		`"gold":[{"text":"User has asthma","subject":"user"},{"text":"User owns a cat","or":["User has a cat"],"category":"pets"}],"wrong":["User has a cat and a dog"]}` + "\n" +
		`{"id":"b","category":"pets","turns":[{"content":"I live in Oslo."}],"gold":[{"text":"User lives in Bergen"}],"wrong":["User lives in Oslo"]}`
	lessons, err := lessonsOf("jsonl", lesson)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Learned(t.Context(), lessons, LearnOptions{Config: defaults(t)})
	if err != nil {
		t.Fatal(err)
	}
	one, two := report.Lessons[0], report.Lessons[1]
	if one.counts["wrong subject"] != 1 || one.counts["wrong"] != 0 || one.counts["right"] != 1 || one.counts["junk"] != 1 {
		t.Errorf("one wrong subject and one right of %+v", one)
	}
	if two.counts["wrong"] != 1 || two.counts["junk"] != 1 || two.counts["right"] != 0 {
		t.Errorf("one wrong of %+v", two)
	}
}
