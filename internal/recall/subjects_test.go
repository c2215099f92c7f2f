package recall

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// saidOfOthers are questions, and under each what was said: after "-" it is of somebody else or a
// mere case, after "+" the user's own, or may be.
const saidOfOthers = `
where was I born?
- My daughter Lotte was born in Oslo, and that was the only calm birth I ever saw
- she was born in Zumaia, in a house with a view of nothing but sea
- My mum says "I was born in a taxi"
+ I was born in Porto, my sister in Faro
+ born in Porto, raised in Lyon
+ My sister and I were born in Faro
+ my mum always says I was born in a taxi
did I break my wrist?
- Moira slipped on the harbour steps and broke her wrist though
- my son broke his wrist again
- My brother fell off his bike, got up, and broke a wrist on the way home
+ broke my wrist, great
+ fell off the bike and broke a wrist
+ Moira broke her wrist, and I broke mine
+ My dog pulled so hard that it broke my wrist
did I lose my licence?
- One of our drivers, Terrence, lost his licence for speeding
+ They took my licence away
do I have a dog?
- if I had a dog I would call him Rollmops
- She has two dogs and a Volvo
- my sister has a dog
- imagine I had a dog
- if I ever won the lottery I'd buy a dog
+ I was wondering if you could help me train a dog
+ if I remember rightly I'd like the same dog food
+ my dog is called Rex
+ got a dog!
+ my dog bit the postman
am I engaged?
- Arjun got engaged to Neha on Sunday
- My cousin Teresa is engaged
+ got engaged!!
+ Sam and I are engaged
am I a widower?
- My mum says "I've been a widow for ten years and I'm finally going dancing". Love her
- A colleague wrote "I have been a widow for two years" and everybody sent hearts
+ I told her "I am a widower"
have I got a scar?
- all the time. He's left handed though and has a scar over his eye
+ He laughed at the scar on my chin
am I allergic to nuts?
- Lotte is allergic to them, she says: nuts
- Abena is not allowed any nuts, so says her mum
+ My mum says I'm allergic to nuts
+ nuts make me itch
when was my surgery?
- My mother had her surgery on Thursday
+ They moved the surgery to June 3
+ surgery's on May 20 with Dr. Okafor at St. Luke's
+ Surgery went well, the doctor says
+ The doctor says she will do the surgery in May
what car do I drive?
- Ran into my ex, Curtis, at the shop. He drives a Tesla now
+ My sister sold me her Tesla, I drive it to work
+ Katrin let me drive her Tesla
what would I call my dog?
+ if I had a dog I would call him Rollmops
where does my sister live?
+ My sister lives in Faro
who did I meet?
+ My sister met somebody
did Ana and I meet in Rome?
+ She met him in Rome
`

func TestOthersAreNotTheUser(t *testing.T) {
	var o *SubjectFilter
	question := ""
	for line := range strings.Lines(strings.TrimSpace(saidOfOthers)) {
		line = strings.TrimSpace(line)
		mark, said, _ := strings.Cut(line, " ")
		if mark != "+" && mark != "-" {
			question = line
			o = NewSubjectFilter(NewQuery(line, time.Time{}, QueryOptions{}))
			continue
		}
		turn := memory.Memory{Turn: &memory.Turn{Role: memory.RoleUser, Content: said}}
		if got, want := o.Is(turn), mark == "-"; got != want && o == nil {
			t.Errorf("%q: %q is another's, want it the user's", question, said)
		} else if got != want {
			t.Errorf("%q: %q is another's: %v, want %v: %+v", question, said, got, want, claimsIn(nil, said, o.asks))
		}
	}
}

func TestWhatIsLeftWithoutOthersIsAboutTheQuestion(t *testing.T) {
	o := NewSubjectFilter(NewQuery("what am I allergic to?", time.Time{}, QueryOptions{}))
	weak := memory.Why{{Name: "related", Value: 0.5}, {Name: "vector", Value: 0.1}}
	for _, c := range []struct {
		said string
		why  memory.Why
		want bool
	}{
		{"The drums were loud last night", weak, true},
		{"She is allergic to everything", weak, true},
		{"I have an allergy to bees", weak, false},
		{"The drums were loud last night", memory.Why{{Name: "lexical", Value: 0.2}}, false},
		{"The drums were loud last night", memory.Why{{Name: "vector", Value: 0.4}}, false},
		{"The drums were loud last night", nil, false},
	} {
		turn := memory.Memory{Turn: &memory.Turn{Role: memory.RoleUser, Content: c.said}}
		if got := o.Aside(memory.Hit{Memory: turn, Why: c.why}); got != c.want {
			t.Errorf("%q with %v is aside: %v, want %v", c.said, c.why, got, c.want)
		}
	}
}

func BenchmarkOthers(b *testing.B) {
	said := []string{
		"My daughter Lotte was born in Oslo, and that was the only calm birth I ever saw",
		"looks like we're moving to Leipzig in the summer, my boss wants me to run a ward there",
		"Ran into my ex, Curtis, at the shop. He drives a Tesla now and has a mustache",
		"I took on two people. Maite for the counter, and Jon who is 19 and bakes with me. Jon wants to be a DJ",
	}
	for _, asked := range []string{"where was I born?", "where was Lotte born?"} {
		b.Run(asked, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o := NewSubjectFilter(NewQuery(asked, time.Time{}, QueryOptions{}))
				for i := range 16 {
					o.Is(memory.Memory{Turn: &memory.Turn{Role: memory.RoleUser, Content: said[i%len(said)]}})
				}
			}
		})
	}
	b.Run("query alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewQuery("where was I born?", time.Time{}, QueryOptions{})
		}
	})
}
