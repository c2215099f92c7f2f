package recall

import (
	"testing"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/memory"
)

// What somebody asks memory tells nothing of them; what it takes for granted may, and what is asked
// of the world says what it is for.
func TestBareQuestions(t *testing.T) {
	for said, want := range map[string]emptiness{
		"What is my job?":                                     bare,
		"Do you remember where I work?":                       bare,
		"hi, quick one: when do i get up?":                    bare,
		"whats my bakery called":                              bare,
		"Can you tell me how many grandchildren I have?":      bare,
		"I can't remember where I work":                       bare,
		"I forgot which bank I'm with":                        bare,
		"Did I tell you what I used to drive?":                bare,
		"Do I have a dog?":                                    bare,
		"Hello! Remind me of my address, please.":             bare,
		"With whom do I play bridge?":                         bare,
		"and what breed is he?":                               bare,
		"Tell me about my sister":                             bare,
		"Who is Sorcha?":                                      presumes,
		"When is my flight to Lisbon?":                        presumes,
		"Why do I take these pills?":                          presumes,
		"What did I do on Friday?":                            presumes,
		"Can you find a vet for my dog Rex?":                  gives,
		"Where can I buy vegan cheese near Porto?":            gives,
		"What should I cook for my diabetic aunt?":            gives,
		"Do I need a visa for Japan?":                         gives,
		"How do I get red wine out of a carpet?":              gives,
		"What do you think of my plan?":                       gives,
		"Did I tell you that I moved?":                        gives,
		"Did I tell you my wife is pregnant?":                 gives,
		"Do you remember my mother has diabetes?":             gives,
		"Have I told you my dog died?":                        gives,
		"Did I mention the landlord raised the rent?":         gives,
		"Did I tell you my address?":                          bare,
		"Do you remember the dog I have?":                     bare,
		"I live in Porto, right?":                             gives,
		"Where do I work? I moved to Porto.":                  gives,
		"How is my cat, she was ill?":                         gives,
		"What's my address, because I have to fill in a form": gives,
		"What I like is tea":                                  gives,
		"I forgot my umbrella in Lyon":                        gives,
		"Remind me to call my sister":                         gives,
		"Hello!":                                              gives,
		"":                                                    gives,
	} {
		asked, _ := english.Purpose(said)
		if got := barenessOf(asked); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
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
