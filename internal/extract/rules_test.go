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
func reading(said []extract.Utterance) []extract.Candidate {
	kept, _ := learn.Filter(extract.Rules(said), said)
	return kept
}

// learned returns the words of the facts that the rules read and the filter keeps.
func learned(content string) string {
	said := saying(content)
	var out []string
	for _, c := range reading(said) {
		fact := c.Text
		if c.Waits != "" {
			fact += " [waits: " + c.Waits + "]"
		}
		out = append(out, fact)
	}
	return strings.Join(out, "; ")
}

func TestRulesReadWhatPeopleSayOfThemselves(t *testing.T) {
	families := map[string][]struct{ said, want string }{
		"name": {
			{"My name is Ana.", "User's name is Ana"},
			{"Hi, I'm Ana Sousa and I need help with Go", "User's name is Ana Sousa"},
			{"hey! you can call me Bob", "User's name is Bob"},
			{"my name is ana", "User's name is Ana"},
			{"My name’s José Álvarez, nice to meet you", "User's name is José Álvarez"},
			{"I'm not Sam, I'm Alex", ""},
			{"My name is not important", ""},
			{"Her name is Ana.", ""},
			{"What is my name?", ""},
			{"I'm sorry", ""},
			{"call me later", ""},
		},
		"age": {
			{"I'm 34 years old", "User is 34 years old"},
			{"I am 34", "User is 34 years old"},
			{"I turned 40 last week!", "User is 40 years old"},
			{"My birthday is on 7 May", "User's birthday is 7 May"},
			{"I'm 5 minutes late", ""},
			{"I'm 90% sure", ""},
			{"My son is 4 years old", "User's son is 4 years old"},
		},
		"home": {
			{"I live in Lisbon", "User lives in Lisbon"},
			{"i live in lisbon with my wife", "User lives in lisbon"},
			{"Actually, I now live in New York City, not Boston.", "User lives in New York City"},
			{"I moved from Berlin to Lisbon in May.", "User lives in Lisbon"},
			{"We just moved to São Paulo, Brazil last month", "User lives in São Paulo, Brazil"},
			{"I've been living in Rio de Janeiro since 2019", "User lives in Rio de Janeiro"},
			{"I'm based in London and work as a nurse", "User lives in London; User works as a nurse"},
			{"I no longer live in Berlin", "User no longer lives in Berlin"},
			{"I don't live in Berlin anymore", "User no longer lives in Berlin"},
			{"I used to live in Berlin", "User used to live in Berlin"},
			{"I live in a small village near Porto", "User lives in a small village near Porto"},
			{"I'm originally from Ghana", "User is from Ghana"},
			{"I grew up in Ohio", "User grew up in Ohio"},
			{"I live in Lisbon, what should I see?", "User lives in Lisbon"},
			{"My friend lives in Paris", "User's friend lives in Paris"},
			{"If I lived in Paris I would eat croissants", ""},
			{"I would love to live in Paris", "User would love to live in Paris"},
			{"I might move to Oslo", ""},
			{"Do I live in Lisbon?", ""},
			{"I live in fear of spiders", ""},
			{"She said I live in Paris", ""},
			{`He wrote "I live in Paris" on the card`, ""},
			{"I live in hope", ""},
			{"Imagine I live in Paris", ""},
			{"I moved on to the next task", ""},
			{"Translate to French: I live in Rome", ""},
			{"> I live in Rome\nis that right?", ""},
			{"```\nI live in Rome\n```", ""},
			{"I live on the moon, just kidding", ""},
		},
		"work": {
			{"I work as a software engineer at Google", "User works as a software engineer at Google"},
			{"I'm a nurse", "User is a nurse"},
			{"I am a senior data scientist and love hiking", "User is a senior data scientist; User loves hiking"},
			{"I work at Acme Corp", "User works at Acme Corp"},
			{"I work for a small bakery in Leeds", "User works for a small bakery"},
			{"I just joined Acme as a designer", "User works at Acme"},
			{"I no longer work at Acme", "User no longer works at Acme"},
			{"I left my job at Acme", "User no longer works at Acme"},
			{"I work remotely as a developer for a startup in Berlin", "User works as a developer for a startup in Berlin"},
			{"I used to work at Siemens", "User used to work at Siemens"},
			{"I've been a nurse for ten years", "User has been a nurse for ten years"},
			{"I use Bun", "User uses Bun"},
			{"I use it to parse this file", ""},
			{"We decided to use PostgreSQL", "User decided to use PostgreSQL"},
			{"I work on weekends", ""},
			{"I quit my job", "User quit User's job"},
			{"I'm retired", "User is retired"},
			{"I run a small bakery", "User runs a small bakery"},
			{"I'm a bit tired", ""},
			{"I'm a huge fan of jazz", "User likes jazz"},
			{"You are a helpful engineer", ""},
			{"My sister works at Acme", "User's sister works at Acme"},
		},
		"family": {
			{"My wife's name is Maria", "User's wife is named Maria"},
			{"My wife Maria is a doctor", "User's wife is named Maria; User's wife Maria is a doctor"},
			{"My daughter Emma turned 6 yesterday", "User's daughter is named Emma; User's daughter Emma turned 6 on 2026-05-03"},
			{"My husband's allergic to shellfish", "User's husband is allergic to shellfish"},
			{"My mom's birthday is on June 3rd", "User's mom's birthday is on June 3rd"},
			{"My friend says I'm a great cook", ""},
			{"My wife is a doctor", "User's wife is a doctor"},
			{"My best friend is called Tom", "User's best friend is named Tom"},
			{"Maria is my wife", "User's wife is named Maria"},
			{"I have two kids", "User has two kids"},
			{"I don't have any siblings", "User does not have siblings"},
			{"I'm married to Peter", "User is married to Peter"},
			{"We got engaged!", "User is engaged"},
			{"I'm single", "User is single"},
			{"I'm pregnant", "User is pregnant"},
			{"My wife is here", ""},
			{"My boss is driving me crazy", ""},
		},
		"pets": {
			{"I have a dog named Rex", "User has a dog named Rex"},
			{"My cat's name is Luna.", "User has a cat named Luna"},
			{"We adopted a golden retriever called Max", "User has a golden retriever named Max"},
			{"I have two cats", "User has two cats"},
			{"my dog is barking", ""},
			{"I saw a dog named Rex", ""},
			{"I got a kitten named Pixel yesterday!", "User has a kitten named Pixel"},
			{"my dog's called Biscuit", "User has a dog named Biscuit"},
		},
		"health": {
			{"I'm allergic to peanuts and shellfish", "User is allergic to peanuts; User is allergic to shellfish"},
			{"I'm severely allergic to peanuts, so no satay please", "User is allergic to peanuts"},
			{"I have a nut allergy", "User has a nut allergy"},
			{"I'm not allergic to peanuts", "User is not allergic to peanuts"},
			{"I'm vegetarian", "User is vegetarian"},
			{"I'm no longer vegetarian", "User is no longer vegetarian"},
			{"I am a vegan since 2019", "User is a vegan"},
			{"I don't eat meat", "User does not eat meat"},
			{"I'm lactose intolerant", "User is lactose intolerant"},
			{"I have type 2 diabetes", "User has type 2 diabetes"},
			{"I suffer from migraines", "User has migraines"},
			{"I quit smoking two years ago", "User quit smoking"},
			{"My brother is allergic to cats", "User's brother is allergic to cats"},
		},
		"tastes": {
			{"I love spicy food", "User loves spicy food"},
			{"I really enjoy hiking and swimming", "User enjoys hiking; User enjoys swimming"},
			{"I hate coffee", "User dislikes coffee"},
			{"I don't like olives", "User does not like olives"},
			{"My favourite colour is green", "User's favourite colour is green"},
			{"Green is my favorite color", "User's favourite color is Green"},
			{"I like my pasta", "User likes their pasta"},
			{"I prefer tea over coffee", "User prefers tea over coffee"},
			{"I'm a big fan of Miles Davis", "User likes Miles Davis"},
			{"I'm not into sports", "User does not like sports"},
			{"I love it!", ""},
			{"I like your answer", ""},
			{"I love how you explained it", ""},
			{"I'd like a coffee", ""},
			{"I like that", ""},
			{"Who likes coffee?", ""},
			{"I'm passionate about making a safe, warm place", ""},
		},
		"things": {
			{"I have a question", ""},
			{"I have an idea", ""},
		},
		"studies and languages": {
			{"I'm studying physics at MIT", "User studies physics at MIT"},
			{"I graduated from Leeds University", "User graduated from Leeds University"},
			{"I have a PhD in chemistry", "User has a PhD in chemistry"},
			{"I speak Spanish and French", "User speaks Spanish; User speaks French"},
			{"I'm learning Japanese", "User is learning Japanese"},
			{"My mother tongue is Polish", "User's native language is Polish"},
			{"I play the guitar", "User plays the guitar"},
			{"I speak my mind", ""},
		},
		"plans": {
			{"I'm flying to Rome next Friday", "User is flying to Rome on 2026-05-08"},
			{"I have a dentist appointment tomorrow", "User has a dentist appointment on 2026-05-05"},
			{"My wedding is on 12 September 2026", "User's wedding is on 12 September 2026"},
			{"We're going to visit Japan next year", "User is going to visit Japan in 2027"},
			{"I want to learn to sail", "User wants to learn to sail"},
			{"My goal is to run a marathon", "User's goal is to run a marathon"},
			{"I'm going to ask you something", ""},
			{"I'll be back", ""},
			{"I want to know more", ""},
			{"I'm planning a trip to Japan in October", "User is planning a trip to Japan in October 2026"},
			{"I'm trying to lose weight", "User is trying to lose weight"},
			{"I'll try it tomorrow", ""},
			{"I'm trying to fix a bug", ""},
		},
		"habits and events": {
			{"I go to the gym every morning", "User goes to the gym every morning"},
			{"I run 5 km three times a week", "User runs 5 km three times a week"},
			{"I ran a half marathon last Saturday", "User ran a half marathon on 2026-05-02"},
			{"I've been painting for 5 years", "User has been painting for 5 years"},
			{"I was thinking about it yesterday", ""},
			{"I asked you yesterday", ""},
			{"I always wake up at 6am", "User always wakes up at 6am"},
			{"I practise and train every day", "User practises and trains every day"},
			{"I just need to survive this week", ""},
			{"I took it at the beach last month", ""},
		},
		"remember": {
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
		},
	}
	for family, cases := range families {
		t.Run(family, func(t *testing.T) {
			for _, c := range cases {
				if got := learned(c.said); got != c.want {
					t.Errorf("from %q\n got %q\nwant %q", c.said, got, c.want)
				}
			}
		})
	}
}

func TestRelativesHaveAttributesOfTheirOwn(t *testing.T) {
	for said, want := range map[string]string{
		"My mother lives in Madrid":      "user's mother/home",
		"My wife works at Acme":          "user's wife/employer",
		"My sister lives in Madrid":      "user's sister/home",
		"My husband is allergic to nuts": "user's husband/allergy:nut",
		"I live in Madrid":               "user/home",
	} {
		s := saying(said)
		kept, _ := learn.Filter(extract.Rules(s), s)
		if len(kept) != 1 || kept[0].Subject+"/"+kept[0].Attribute != want {
			t.Errorf("from %q got %+v, want subject and attribute %s", said, kept, want)
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
			said := saying(size.text)
			b.ReportAllocs()
			b.SetBytes(int64(len(size.text)))
			for b.Loop() {
				if len(extract.Rules(said)) == 0 {
					b.Fatal("nothing read")
				}
			}
		})
	}
}

// thirtyWords is a turn of the usual length that says one thing.
const thirtyWords = "Thanks, that was helpful! By the way, I moved from Berlin to Lisbon last month, " +
	"so what would you suggest for a rainy weekend in the city? I have no idea yet."
