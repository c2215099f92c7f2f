package english

import "testing"

func TestPurpose(t *testing.T) {
	for want, messages := range map[Mood][]string{
		MoodQuestion: {
			"What is my home address?", "whats my address", "home address?", "Tell me my home address", "Remind me of my home address",
			"hi there, what am I allergic to?", "omg when is my exam", "heyyy where did I park??", "In which city do I live?",
			"I forgot where I live.", "I can't remember where I live", "I want to know what I am allergic to", "Wo wohne ich?",
		},
		MoodGreeting: {"hi there!", "thanks so much"},
		MoodStatement: {
			"what I like is tea", "I moved to Ghent, where do I register?", "Write a note to Ines.", "Remind me to buy milk",
			"Tell him I love cats", "I forgot my umbrella", "when we were young the mill still worked", "I know where he lives", "",
		},
	} {
		for _, s := range messages {
			if got := PurposeOf(s); got != want {
				t.Errorf("%q: mood %d, want %d", s, got, want)
			}
		}
	}
}
