package text

import "testing"

func TestMannerOf(t *testing.T) {
	for want, texts := range map[Manner][]string{
		Seeks: {
			"What is my home address?", "What is my home address", "Tell me my home address", "Do you know my home address?",
			"What was my home address again?", "Which home address do I have?", "Can you find my home address?", "I need my home address",
			"Give me my current home address", "Remind me of my home address", "Look up my home address", "home address?", "My address?",
			"Hi there! Could you tell me where I live", "whats my address", "Where's home?", "In which city do I live?", "which city do I live in",
			"I'd like to know my address.", "I forgot where I live.", "I can't remember my address", "You know my address?", "Any allergies?",
			"Do you remember where I said I live?", "Did I tell you about my dog?", "Address? I need it, what is it?", "How old am I", "Wo wohne ich?",
			"I want to know what I am allergic to", "I need to look up my address", "I'm trying to remember where I live", "Please list my allergies", "Let me know where I live", "Who am I?", "Where did I say I live?",
		},
		Phrase: {"My home address, please", "home address", "Current address", "Ok, thanks!", "Rex"},
		Tells: {
			"I live in Porto.", "I live in Porto, right?", "You know that I moved to Porto?", "Did you know I have a cat?", "Do you remember I am Ana?",
			"Did I tell you I live in Porto?", "I moved to Porto. Where do I live?", "When I was in Porto I lived in a hotel", "What I like is coffee.",
			"Remind me to buy milk", "Remind me that the dentist is on Friday", "I like my home", "My name is Ana", "I need a new laptop",
			"Yes", "No peanuts, I am allergic", "Tell him I love cats", "I forgot my umbrella", "Have a nice day with Rex and my sister tomorrow in the park", "",
			"It is home", "I had to move house", "I need to see the doctor", "I want to find my keys", "I have to remember my passport",
			"I need to look after my sister", "I want to have my car fixed",
		},
	} {
		for _, s := range texts {
			if got := MannerOf(s); got != want {
				t.Errorf("%q: manner %d, want %d", s, got, want)
			}
		}
	}
}

// FuzzMannerOf: whatever a text, it has a manner, and one that cannot ask tells.
func FuzzMannerOf(f *testing.F) {
	f.Add("Tell me. \xff I? 'd like, in")
	f.Add("in which")
	f.Fuzz(func(t *testing.T, s string) {
		if got := MannerOf(s); got > Seeks || !MayAsk(s) && got != Tells {
			t.Errorf("%q: %d", s, got)
		}
	})
}
