package learn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// afterTalk returns the turns and the facts that the rules read in them.
func afterTalk(messages ...string) []memory.Memory {
	var out []memory.Memory
	for i, words := range messages {
		turn := memory.Turn{ID: fmt.Sprintf("turn-%d", i), Role: memory.RoleUser, Content: words, Status: memory.Active, CreatedAt: time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)}
		out = append(out, memory.Memory{Turn: &turn})
		for j, c := range extract.FactsByRules([]extract.Utterance{{Turn: turn, Text: words}}) {
			out = append(out, memory.Memory{Fact: &memory.Fact{
				ID: fmt.Sprintf("fact-%d-%d", i, j), Content: c.Text, Subject: c.Subject, Attribute: c.Attribute, Category: c.Category,
				Status: memory.Active, Source: memory.Extracted, Provenance: memory.Provenance{Quote: c.Span, Turns: []string{turn.ID}},
			}})
		}
	}
	return out
}

// TestForgetWishesAreRead has messages, a wish, and the beginnings of the forgotten facts and
// turns. All others stay.
func TestForgetWishesAreRead(t *testing.T) {
	for _, c := range []struct{ message, wish, goes string }{
		// by what the rules read in the wish
		{"I hate dill", "forget that I hate dill", "I hate dill|User dislikes dill"},
		{"I hate dill/I hate cilantro", "forget that I hate dill", "I hate dill|User dislikes dill"},
		{"I can't stand dill", "forget that I hate dill", "I can't stand dill|User dislikes dill"},
		{"I love dill", "forget that I hate dill", ""},
		{"I hate cilantro but I love dill", "Forget that I love dill.", "I hate cilantro but|User loves dill"},
		{"I live in Berlin/I hate Berlin", "forget that I live in Berlin", "I live in Berlin|User lives in Berlin"},
		{"I live in Berlin", "forget that I live in Rome", ""},
		{"I work at Google", "forget that I work at Google", "I work at Google|User works at Google"},
		{"I work at Google", "forget that I work at Apple", ""},
		{"I was diagnosed with HIV", "forget that I have HIV", "I was diagnosed|User has HIV"},
		{"I have diabetes", "forget that I have HIV", ""},
		{"I was diagnosed with HIV", "don't remember that I have HIV", "I was diagnosed|User has HIV"},
		{"I have a dog named Rex/I have a dog named Max", "forget that I have a dog named Rex", "I have a dog named Rex|User has a dog named Rex"},
		{"My wife is named Eva", "forget that my wife is named Eva", "My wife is|User's wife is"},
		{"My wife is named Eva/My sister is named Ann", "delete that my wife is named Eva", "My wife is|User's wife is"},
		// by the everyday name of an attribute
		{"I work at Google", "forget my job", "I work at|User works at"},
		{"I work as a nurse at St Mary's", "forget my job", "I work as|User works as"},
		{"My job is stressful", "forget my job", "My job is"},
		{"I work as a nurse/My sister works at Google", "please forget my job", "I work as|User works as"},
		{"I work at Google", "erase where I work", "I work at|User works at"},
		{"I live in Leeds/I work out every Friday", "forget my job", ""},
		{"I earn 90k a year", "Forget my salary", "I earn 90k"},
		{"My salary is 90k", "forget how much I earn", "My salary is|User's salary is"},
		{"My salary is 90k/I have a dog named Rex", "Remove my income", "My salary is|User's salary is"},
		{"I live in Leeds", "Forget my address.", "I live in|User lives in"},
		{"I live in Leeds/My mother lives in York", "forget where I live", "I live in|User lives in"},
		{"I live in Leeds", "forget my old address", ""},
		{"I used to live in York/I live in Leeds", "forget my old address", "I used to|User used to"},
		{"I'm 34 years old", "forget my age", "I'm 34|User is 34"},
		{"I'm 34 years old", "forget how old I am", "I'm 34|User is 34"},
		{"My birthday is May 3/My sister's birthday is June 1", "Forget my birthday", "My birthday|User's birthday"},
		{"My birthday is May 3/My sister's birthday is June 1", "Forget my sister's birthday", "My sister's|User's sister's"},
		{"I am vegan/I'm allergic to nuts", "forget my diet", "I am vegan|User is vegan"},
		{"I am vegan/I'm allergic to nuts", "delete my allergies", "I'm allergic|User is allergic"},
		{"I was diagnosed with HIV", "Forget what I told you about my diagnosis.", "I was diagnosed|User has HIV"},
		{"I have diabetes/I hate dill", "forget my illness", "I have diabetes|User has diabetes"},
		{"I have diabetes/I'm allergic to nuts/I hate dill", "forget everything about my health", "I have diabetes|User has diabetes|I'm allergic|User is allergic"},
		{"My name is Ana/My dog's name is Rex", "forget my name", "My name is|User's name is"},
		// of the user, or of others
		{"I have diabetes/My father has diabetes", "forget that I have diabetes", "I have diabetes|User has diabetes"},
		{"I have diabetes/My father has diabetes", "forget my diabetes", "I have diabetes|User has diabetes"},
		{"I have diabetes/My father has diabetes", "forget that my father has diabetes", "My father has|User's father has"},
		{"I'm 34 years old/My daughter is 3 years old", "forget my age", "I'm 34|User is 34"},
		{"I love my wife/I love pizza", "forget that I love my wife", "I love my wife|User loves their wife"},
		// by a name
		{"My wife is named Eva", "Forget about Eva", "My wife is|User's wife is"},
		{"I have a dog named Rex/My son Max is 5", "forget Rex", "I have a dog|User has a dog"},
		{"I use Python every day", "Forget about Python", ""},
		{"My favourite language is Python", "Forget about Python", ""},
		{"My friend Tom came by", "Forget about Tom", "My friend Tom|User's friend"},
		{"I hate my boss Carl", "scrap what I said about Carl", "I hate my boss|User dislikes"},
		{"I hate my boss Carl", "Forget about Carl.", "I hate my boss|User dislikes"},
		{"My boss is called Carl/I have a dog named Rex", "drop everything I told you about Carl", "My boss is|User's boss is"},
		{"My wife is Ann", "Forget everything about Ann", "My wife is|User's wife is"},
		// by a thing, or a statement in other words than the user's own
		{"Please remember that the door code is 4711", "Forget the door code", "The door code"},
		{"Please remember that the door code is 4711", "Please forget the door code.", "The door code"},
		{"Please remember that the door code is 4711", "Forget about the door code", "The door code"},
		{"Please remember that the door code is 4711/Remember that the gate code is 12", "forget that the door code is 4711", "The door code"},
		{"Please remember that the door code is 4711", "forget that the door code is 4712", ""},
		{"Please remember that the door code is 4711", "Forget the gate code", ""},
		{"My dentist appointment is on Friday/I have a dog named Rex", "forget the dentist appointment", "User's dentist"},
		{"I have a dog named Rex/The dog is barking again", "Forget the dog", ""},
		{"Remember that the front door code is 4711/I painted the front door red", "Forget the front door code", "The front door code"},
		{"Remember that the door code is 4711/Remember that the gate code is 12/I write code in Go", "Forget the code.", ""},
		{"Remember that the code is 4711/Can you review the code of my parser?", "Forget the code.", "The code is"},
		{"Remember that the shop is open on Sundays", "forget that the shop is not open on Sundays", ""},
		{"Remember that the alarm is never off at night", "forget that the alarm is off at night", ""},
		{"Remember that Ann is older than Bob", "forget that Bob is older than Ann", ""},
		{"Remember that the red team has 5 members and a coach", "forget that the red team has 5 members", ""},
		// about the same thing in other words
		{"I play the cello every Friday", "forget about my cello", "I play the cello|User plays the cello"},
		{"I play the cello every Friday", "forget what I said about the piano", ""},
	} {
		t.Run(c.message+": "+c.wish, func(t *testing.T) {
			_, wishes := extract.MemoryCommands([]extract.Utterance{{Turn: memory.Turn{Role: memory.RoleUser}, Text: c.wish}})
			if len(wishes) != 1 {
				t.Fatalf("%d wishes", len(wishes))
			}
			var want []string
			for w := range strings.SplitSeq(c.goes, "|") {
				if w != "" {
					want = append(want, w)
				}
			}
			var goes []string
			for _, m := range MemoriesToForget(wishes[0], afterTalk(strings.Split(c.message, "/")...)) {
				goes = append(goes, m.Content())
			}
			ok := len(goes) == len(want)
			for i := 0; ok && i < len(want); i++ {
				ok = strings.HasPrefix(goes[i], want[i])
			}
			if !ok {
				t.Errorf("%q goes, want %q", goes, want)
			}
		})
	}
}

func TestOtherUsesOfForgetAreNoWishes(t *testing.T) {
	for _, words := range []string{
		"Forget it, let's talk about something else", "Forget it, I live in Berlin", "forget that, and tell me a joke", "Never mind, forget this.",
		"drop the users table", "Drop my first paragraph?", "scrap that idea", "don't remember where I put my keys", "Don't you remember my name?",
		"Delete the second line", "Delete the door code", "Remove the header", "forget the last question", "Forget the semicolons and use tabs, please", "don't forget that I hate dill", "forget about python", "I don't remember my old address", "Remove the last column",
	} {
		if _, wishes := extract.MemoryCommands([]extract.Utterance{{Turn: memory.Turn{Role: memory.RoleUser}, Text: words}}); len(wishes) > 0 {
			t.Errorf("%q is read as the wish %+v", words, wishes)
		}
	}
}

// TestForgetWithAStatementBehindIsTalk has a bare "forget" before a statement, and requests to
// forget before one.
func TestForgetWithAStatementBehindIsTalk(t *testing.T) {
	for words, orders := range map[string]int{
		"forget the gym, i cancelled it": 0, "forget coffee, I'm on tea now": 0, "ok forget the cello - I sold it on friday": 0, "forget Netflix, we have Mubi now": 0,
		"Forget the red one, I bought the blue one.": 0, "forget paris. we go to rome": 0, "forget the keto thing, I eat bread again": 0, "forget tuesday, i can only do wednesdays": 0,
		"forget the meeting because i'm ill": 0, "forget the marathon, my knee is done": 0, "forget thursdays, she teaches on mondays now": 0,

		"forget my address, I don't want you to have it": 1, "forget that I work at Google, I never said so": 1, "forget where I live": 1, "forget what I told you about Ben, I was angry": 1, "please forget the gym, you remember too much": 1,
		"forget my old phone number, I have a new one": 1, "forget when I was born": 1, "forget everything you know about me, I'm leaving": 1, "forget that I hate dill and I hate cilantro": 1, "delete my salary, I regret saying it": 1,
		"forget how much I earn": 1, "don't remember that I smoke, I am ashamed": 1,
		"so forget the puppy, my landlord said no": 1, // talk, too, but what others said is no statement
	} {
		_, wishes := extract.MemoryCommands([]extract.Utterance{{Turn: memory.Turn{Role: memory.RoleUser}, Text: words}})
		if len(wishes) != orders {
			t.Errorf("%q is read as %d wishes, want %d: %+v", words, len(wishes), orders, wishes)
		}
	}
}

// TestUnrelatedFactsStayAfterForgetting: a turn is forgotten whole, but a fact only by its own
// words.
func TestUnrelatedFactsStayAfterForgetting(t *testing.T) {
	found := afterTalk("I live in Berlin and I have a dog named Rex.", "I was told. I hate my boss Carl.")
	for _, m := range MemoriesToForget(extract.ForgetCommand{Object: "I live in Berlin"}, found) {
		if strings.Contains(m.Content(), "dog") && m.Fact != nil {
			t.Errorf("%q goes with its turn", m.Content())
		}
	}
	// A fact that another turn also supports stays.
	quoted := memory.Memory{Fact: &memory.Fact{
		ID: "f", Content: "User is unhappy at the office", Source: memory.Extracted, Subject: "user",
		Provenance: memory.Provenance{Quote: &memory.Span{Turn: "turn-1", Start: 12, End: 31}, Turns: []string{"turn-1"}},
	}}
	wish := extract.ForgetCommand{Object: "Carl"}
	goes := func() bool {
		for _, m := range MemoriesToForget(wish, append(found, quoted)) {
			if m.Fact != nil && m.Fact.ID == "f" {
				return true
			}
		}
		return false
	}
	if !goes() {
		t.Error("a fact stays whose words are to be forgotten")
	}
	quoted.Fact.Provenance.Turns = append(quoted.Fact.Provenance.Turns, "turn-0")
	if goes() {
		t.Error("a fact goes that another turn speaks for")
	}
}
