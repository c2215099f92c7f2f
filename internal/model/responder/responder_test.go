package responder

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

var day = time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)

func fact(content string) memory.Hit {
	return memory.Hit{Memory: memory.Memory{Fact: &memory.Fact{Content: content, ObservedAt: day}}}
}

func turn(role memory.Role, content string) memory.Hit {
	return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{Role: role, Content: content, CreatedAt: day}}}
}

func TestAnswersRepeatMemoryAndSaySo(t *testing.T) {
	hits := []memory.Hit{
		fact("User lives in Lisbon"),
		fact("User's dog is named Rex"),
		turn(memory.RoleUser, "I moved to Lisbon\nin May"),
		turn(memory.RoleAssistant, "Lisbon is sunny."),
		{Memory: memory.Memory{Summary: &memory.Summary{Text: "Talk about moving."}}},
		fact("user lives in Lisbon."),
		turn(memory.RoleUser, "where do I live?"),
	}
	got := Respond("Where do I live?", hits, MemoryEffect{})
	want := "From memory:\n" +
		"- You live in Lisbon (2026-05-03)\n" +
		"- Your dog is named Rex (2026-05-03)\n" +
		"- On 2026-05-03 you said: “I moved to Lisbon in May”\n" +
		"- On 2026-05-03 the assistant said: “Lisbon is sunny.”\n" +
		"- Talk about moving.\n\n" +
		"(" + disclaimer + ")"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSharedFactsAreNotTheUsers(t *testing.T) {
	for home, want := range map[memory.Owner]string{
		memory.User(memory.DefaultNamespace, "eva"):  "- eva shared: User is allergic to bees (2026-05-03)\n",
		memory.Pool(memory.DefaultNamespace, "team"): "- The pool team shared: User is allergic to bees (2026-05-03)\n",
		memory.Global(memory.DefaultNamespace):       "- Everybody's memory shared: User is allergic to bees (2026-05-03)\n",
	} {
		f := memory.Fact{Scope: memory.Scope{Owner: home}, Content: "User is allergic to bees", ObservedAt: day}
		got := Respond("Am I allergic to bees?", []memory.Hit{{Memory: memory.Memory{Fact: &f, Link: &memory.Link{Fact: f}}}}, MemoryEffect{})
		if !strings.Contains(got, want) || strings.Contains(got, "You are") {
			t.Errorf("of %s: got %q, want the line %q", home, got, want)
		}
	}
}

func TestWithoutMemoryItSaysThatItKnowsNothing(t *testing.T) {
	for _, question := range []string{"Where do I live?", "tell me about my dog", "Hi. What is my name? Thanks."} {
		if got := Respond(question, nil, MemoryEffect{}); !strings.HasPrefix(got, nothingKnown) || !strings.Contains(got, Name) {
			t.Errorf("Respond(%q) = %q, want it to say that it knows nothing, and its name", question, got)
		}
	}
}

func TestStatementsAreAcknowledged(t *testing.T) {
	for message, want := range map[string]string{
		"I moved to Lisbon.":                 "Noted.",
		"Remember that the gate code is 12.": "I will remember that.",
		"Forget it, something else.":         "Noted.",
		"  ":                                 "There was nothing to answer.",
	} {
		if got := Respond(message, nil, MemoryEffect{}); !strings.HasPrefix(got, want) || !strings.Contains(got, Name) {
			t.Errorf("Respond(%q) = %q, want it to begin %q and to say who answers", message, got, want)
		}
	}
	got := Respond("I moved to Lisbon.", []memory.Hit{fact("User has a dog"), turn(memory.RoleUser, "I moved to Lisbon.")}, MemoryEffect{})
	if !strings.Contains(got, "You have a dog") || strings.Contains(got, "you said") {
		t.Errorf("got %q, want the dog and not what was just said", got)
	}
}

func TestLinesAreFewAndShort(t *testing.T) {
	var hits []memory.Hit
	for _, c := range "abcdefghij" {
		hits = append(hits, turn(memory.RoleUser, strings.Repeat(string(c)+"é", 400)))
	}
	got := Respond("what did I say?", hits, MemoryEffect{})
	if n := strings.Count(got, "\n- "); n != maxLines {
		t.Errorf("%d lines, want %d", n, maxLines)
	}
	for line := range strings.Lines(got) {
		if len([]rune(line)) > maxLineLetters+60 {
			t.Errorf("a line of %d letters", len([]rune(line)))
		}
	}
}

func TestFactsAddressTheUser(t *testing.T) {
	for fact, want := range map[string]string{
		"User lives in Lisbon":              "You live in Lisbon",
		"The user is allergic to nuts":      "You are allergic to nuts",
		"User's name is Ana":                "Your name is Ana",
		"User has two kids":                 "You have two kids",
		"User does not eat meat":            "You do not eat meat",
		"User no longer works at Acme":      "You no longer work at Acme",
		"User teaches maths":                "You teach maths",
		"User studies physics":              "You study physics",
		"User loves User's job":             "You love your job",
		"User loves their job":              "You love your job",
		"User plays chess with their aunt":  "You play chess with your aunt",
		"User likes bands and their songs":  "You like bands and their songs",
		"User moved to Lisbon":              "You moved to Lisbon",
		"User used to live in Berlin":       "You used to live in Berlin",
		"User passes the time":              "You pass the time",
		"The gate code is 4711":             "The gate code is 4711",
		"User's sister is User's neighbour": "Your sister is your neighbour",
	} {
		if got := factInSecondPerson(fact); got != want {
			t.Errorf("toUser(%q) = %q, want %q", fact, got, want)
		}
	}
}

// TestPromisesNoMoreThanWillBe has the whole answer for each message and outlook.
func TestPromisesNoMoreThanWillBe(t *testing.T) {
	const (
		off, idle = "Memory is paused", "Learning is paused"
		end       = " (" + disclaimer + ")"
	)
	found := []memory.Hit{fact("User has a dog")}
	for _, c := range []struct {
		message string
		o       MemoryEffect
		want    string
	}{
		{"Forget my job", MemoryEffect{ForgetRequest: "my job", ForgetCount: 2}, "I will forget that."},
		{"Can you forget my job?", MemoryEffect{ForgetRequest: "my job", ForgetCount: 2}, "I will forget that."},
		{"Forget my job", MemoryEffect{ForgetRequest: "my job"}, "I found nothing to forget about “my job”."},
		{"Forget my job", MemoryEffect{ForgetRequest: "my job", ForgetUnknown: true}, "I will look for what you ask me to forget, but I cannot tell now whether I have it."},
		{"Forget my job", MemoryEffect{ForgetRequest: "my job", NotStoredReason: off, NotLearnedReason: off}, "Memory is paused, so nothing is forgotten now, and this message is not stored."},
		{"Forget my job", MemoryEffect{ForgetRequest: "my job", NotLearnedReason: idle}, "Learning is paused, so nothing is forgotten now. You can still remove it from the list of memories."},
		{"Remember that I ski.", MemoryEffect{NotStoredReason: off}, "Memory is paused, so this message is not stored."},
		{"I ski.", MemoryEffect{NotStoredReason: off}, "Memory is paused, so this message is not stored."},
		{"Remember that I ski.", MemoryEffect{NotLearnedReason: idle}, "Learning is paused: I keep what you say and learn nothing from it."},
		{"I ski.", MemoryEffect{NotLearnedReason: idle}, "Learning is paused: I keep what you say and learn nothing from it."},
		{"Remember that I ski.", MemoryEffect{}, "I will remember that."},
		{"Forget it, let's talk about something else", MemoryEffect{}, "Noted. I keep what you say and learn what will matter later."},
	} {
		hits := found
		if c.o.ForgetRequest == "" {
			hits = nil
		}
		if got := Respond(c.message, hits, c.o); got != c.want+end {
			t.Errorf("Respond(%q, %+v) =\n%s\nwant\n%s", c.message, c.o, got, c.want+end)
		}
	}
	if got := Respond("Where do I live?", nil, MemoryEffect{NotStoredReason: off}); strings.Contains(got, "I will remember") || !strings.Contains(got, off) {
		t.Errorf("a question while memory is paused is answered %q", got)
	}
}
