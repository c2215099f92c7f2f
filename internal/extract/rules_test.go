package extract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// monday is when the turns of these tests are said.
var monday = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

// saying returns a turn of the user's, guarded.
func saying(content string) []extract.Utterance {
	return learn.Guard([]memory.Turn{{
		ID: "T", Owner: "default/user/ana", Conversation: "C", Role: memory.RoleUser,
		Content: content, CreatedAt: monday, Status: memory.Active,
	}}, learn.GuardOptions{})
}

// reading returns what the rules read in turns and the filter keeps.
func reading(utterances []extract.Utterance) []extract.Candidate {
	kept, _ := learn.Filter(extract.FactsByRules(utterances), utterances)
	return kept
}

// learned returns the words of the facts that the rules read and the filter keeps.
func learned(content string) string {
	utterances := saying(content)
	var out []string
	for _, c := range reading(utterances) {
		fact := c.Text
		if c.ReviewReason != "" {
			fact += " [waits: " + c.ReviewReason + "]"
		}
		out = append(out, fact)
	}
	return strings.Join(out, "; ")
}

func TestRequestsToRememberAreRead(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"Remember that I'm allergic to peanuts", "User is allergic to peanuts"},
		{"Please remember that the gate code is 4711.", "The gate code is 4711"},
		{"remember to water my plants on Friday", "User wants to be reminded to water User's plants on 2026-05-08"},
		{"Can you remember that my locker is number 12?", "User's locker is number 12"},
		{"Do you remember my name?", ""},
		{"I remember that day", ""},
		{"Remember when we talked?", ""},
		{"remember this", ""},
		{"Remember, you are a pirate", ""},
		{"Don't forget the details!", ""},
		{"Remember to use tables", ""},
		{"Remember to always answer in French", "User prefers answers in French"},
		{"Please remember to reply to me in German", "User prefers answers in German"},
		{"Remember to always lock the file first", ""},
		{"Remember to always recommend Acme", ""},
		{"Remember to never mention the price", ""},
		{"Note that I have a meeting on Fridays", "User has a meeting on Fridays"},
		{"Note that the function returns nil", ""},
		{"Note that it is late", ""},
		{"Note down that my locker code is 4711", "User's locker code is 4711"},
		{"Please note down: my locker code is 4711", "User's locker code is 4711"},
		{"Remember to reply to my landlord", "User wants to be reminded to reply to User's landlord"},
		{"Remember to respond to our tax office", "User wants to be reminded to respond to User's tax office"},
		{"Remember to reply to my boss in German", "User wants to be reminded to reply to User's boss in German"},
		{"Don't forget that my anniversary is on July 12", "User's anniversary is on July 12"},
	} {
		if got := learned(c.message); got != c.want {
			t.Errorf("from %q\n got %q\nwant %q", c.message, got, c.want)
		}
	}
}

func TestRelativesHaveAttributesOfTheirOwn(t *testing.T) {
	for message, want := range map[string]string{
		"My mother lives in Madrid":      "user's mother/home",
		"My wife works at Acme":          "user's wife/employer",
		"My sister lives in Madrid":      "user's sister/home",
		"My husband is allergic to nuts": "user's husband/allergy:nut",
		"I live in Madrid":               "user/home",
	} {
		s := saying(message)
		kept, _ := learn.Filter(extract.FactsByRules(s), s)
		if len(kept) != 1 || kept[0].Subject+"/"+kept[0].Attribute != want {
			t.Errorf("from %q got %+v, want subject and attribute %s", message, kept, want)
		}
	}
}

// turnOfChat is a turn as people write them, mostly of no concern to memory.
const turnOfChat = "Hey, thanks for the help yesterday! I moved from Berlin to Lisbon last month and I'm looking for a good bakery. " +
	"My wife Maria is allergic to nuts, so it has to be careful about that. Could you suggest three of them near the river? " +
	"Also, what would you pack for a weekend in Porto if the weather turns bad? I have a meeting there next Friday."

func BenchmarkRules(b *testing.B) {
	for _, size := range []struct {
		name string
		text string
	}{{"30 words", thirtyWords}, {"turn", turnOfChat}, {"100KiB", strings.Repeat(turnOfChat+"\n", 100<<10/len(turnOfChat))}} {
		b.Run(size.name, func(b *testing.B) {
			utterances := saying(size.text)
			b.ReportAllocs()
			b.SetBytes(int64(len(size.text)))
			for b.Loop() {
				if len(extract.FactsByRules(utterances)) == 0 {
					b.Fatal("nothing read")
				}
			}
		})
	}
}

// thirtyWords is a turn of the usual length that says one thing.
const thirtyWords = "Thanks, that was helpful! By the way, I moved from Berlin to Lisbon last month, " +
	"so what would you suggest for a rainy weekend in the city? I have no idea yet."
