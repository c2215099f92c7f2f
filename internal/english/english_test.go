package english

import (
	"strings"
	"testing"
)

func TestReadFindsWhatThePersonWrote(t *testing.T) {
	const mail = "Dear tenant,\n\nthe lift will be out of order on Monday. Please use the stairs.\n\nKind regards,\nThe office"
	const code = "for i in range(3):\n    print(i)\n\nx = [a[i] for i in (1, 2)]"
	const log = "2026-01-02 10:11:12 INFO [main] started in 34 ms\n2026-01-02 10:11:13 WARN [pool-1] 3/5 retries (code=504)"
	for name, c := range map[string]struct{ message, own string }{
		"alone":            {"Where do I park?", "Where do I park?"},
		"before a mail":    {"Who do I tell about this?\n\n" + mail, "Who do I tell about this?"},
		"behind a mail":    {mail + "\n\nWho do I tell about this?", "Who do I tell about this?"},
		"fenced":           {"Why is this slow?\n```python\nimport time\n```", "Why is this slow?"},
		"a fence unclosed": {"Why is this slow?\n```\nimport time", "Why is this slow?"},
		"code":             {"Why is this slow?\n\n" + code, "Why is this slow?"},
		"a log":            {log + "\n\nwhat broke on my server", "what broke on my server"},
		"quoted":           {"> I can come on Friday\n\nwhat do I answer him?", "what do I answer him?"},
		"a greeting":       {"Hi there,\n\nwe moved to Ghent last week.\n\nWhat is left to do?", "Hi there, we moved to Ghent last week. What is left to do?"},
		"no text":          {" \n\t\n", ""},
	} {
		var own []string
		for _, s := range ParseSentences(c.message) {
			if !s.IsPasted {
				own = append(own, s.Slice(c.message))
			}
		}
		if got := strings.Join(own, " "); got != c.own {
			t.Errorf("%s: %q, want %q", name, got, c.own)
		}
	}
}

func TestClausesHaveTheirMoods(t *testing.T) {
	for message, want := range map[string][]Mood{
		"hi there!":                             {MoodGreeting},
		"thanks so much":                        {MoodGreeting},
		"I moved to Ghent, where do I register": {MoodStatement, MoodQuestion},
		"Write a note to Ines.":                 {MoodRequest},
		"it rained all day. what can I cook?":   {MoodStatement, MoodQuestion},
		"wo wohne ich?":                         {MoodQuestion},
		"ok, please tell me when the bus comes": {MoodQuestion},
		"我住在哪里？":                                {MoodQuestion},
	} {
		var got []Mood
		for _, s := range ParseSentences(message) {
			for _, c := range s.Clauses {
				got = append(got, c.Mood)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", message, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", message, got, want)
			}
		}
	}
}

func TestLongSentencesComeInParts(t *testing.T) {
	dictated := strings.Repeat("we went to the market and we bought a lot of apples ", 8) + "and can you tell me what the name of the stall was"
	sentences := ParseSentences(dictated)
	if len(sentences) < 4 {
		t.Fatalf("%d sentences of %q", len(sentences), dictated)
	}
	for _, s := range sentences {
		if n := len(strings.Fields(s.Slice(dictated))); n > maxSentenceWords {
			t.Errorf("%d words: %q", n, s.Slice(dictated))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Dear all,\n\n> a, b\n```\nx\n\nwhat? 你好。")
	f.Fuzz(func(t *testing.T, message string) {
		end := 0
		for _, s := range ParseSentences(message) {
			if s.Start < end || s.End <= s.Start || s.End > len(message) || len(s.Clauses) == 0 {
				t.Fatalf("%q: sentence %v behind %d", message, s, end)
			}
			end = s.End
		}
	})
}
