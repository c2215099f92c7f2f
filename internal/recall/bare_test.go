package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

// What somebody asks memory tells nothing of them; what it takes for granted may, and what is asked
// of the world says what it is for.
func TestBareQuestions(t *testing.T) {
	for said, want := range map[string]bool{
		"What is my job?":                                     true,
		"Do you remember where I work?":                       true,
		"whats my bakery called":                              true,
		"Can you tell me how many grandchildren I have?":      true,
		"I can't remember where I work":                       true,
		"I forgot which bank I'm with":                        true,
		"Did I tell you what I used to drive?":                true,
		"Do I have a dog?":                                    true,
		"Hello! Remind me of my address, please.":             true,
		"With whom do I play bridge?":                         true,
		"and what breed is he?":                               true,
		"Tell me about my sister":                             true,
		"Who is Sorcha?":                                      false,
		"When is my flight to Lisbon?":                        false,
		"Why do I take these pills?":                          false,
		"What did I do on Friday?":                            false,
		"Can you find a vet for my dog Rex?":                  false,
		"Where can I buy vegan cheese near Porto?":            false,
		"What should I cook for my diabetic aunt?":            false,
		"Do I need a visa for Japan?":                         false,
		"How do I get red wine out of a carpet?":              false,
		"What do you think of my plan?":                       false,
		"Did I tell you that I moved?":                        false,
		"Did I tell you my wife is pregnant?":                 false,
		"Do you remember my mother has diabetes?":             false,
		"Have I told you my dog died?":                        false,
		"Did I mention the landlord raised the rent?":         false,
		"I live in Porto, right?":                             false,
		"Where do I work? I moved to Porto.":                  false,
		"How is my cat, she was ill?":                         false,
		"What's my address, because I have to fill in a form": false,
		"What I like is tea":                                  false,
		"I forgot my umbrella in Lyon":                        false,
		"Remind me to call my sister":                         false,
		"Hello!":                                              false,
		"":                                                    false,
	} {
		m := NewRepeatFilter("").manner(&memory.Turn{Role: memory.RoleUser, Content: said})
		if m.bare != want {
			t.Errorf("%q: bare is %v, want %v", said, m.bare, want)
		}
	}
}

func TestWhatAQuestionTakesForGrantedAnswersWhatAsksForItsKind(t *testing.T) {
	for _, c := range []struct {
		asked, said string
		repeat      bool
	}{
		{"What pets do I have?", "How old is my dog?", false},
		{"What pets do I have?", "Is our old cat allowed on trains?", false},
		{"What pets do I have?", "Do I have a dog?", true},
		{"What pets do I have?", "Where is my umbrella?", true},
		{"Where is my umbrella?", "How old is my dog?", true},
	} {
		said := memory.Memory{Turn: &memory.Turn{ID: "t", Role: memory.RoleUser, Content: c.said}}
		if got := NewRepeatFilter(c.asked).Is(said); got != c.repeat {
			t.Errorf("asked %q, %q is a repeat: %v, want %v", c.asked, c.said, got, c.repeat)
		}
	}
}
