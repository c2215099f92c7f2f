package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// known is what a memory of few facts holds, with questions that a person might
// ask in other words. Some of what was not found at first led to words in the
// tables, so that its figure flatters; it is a gate, not a measure.
const known = `
User is a nurse at the children's hospital|What's my profession?|Where am I employed?
User grew up in Bergen|What's my hometown?|Where did I grow up?
User moved to Lyon in March 2024|Which town did I relocate to?|When did I move?
User has two sons, Emil and Noah|What are my kids called?|Do I have children?
User's husband is called Henrik|Who is my spouse?|What's my partner's name?
User is lactose intolerant|Can I have dairy?|What can't I eat?
User drives an electric Renault|Do I own a vehicle?|What car do I have?
User plays the violin in an amateur orchestra|Which instrument can I play?|Do I make music?
User runs every morning before breakfast|Do I exercise?|What do I do in the mornings?
User's favourite dish is mushroom risotto|What food do I love?|What is my favorite meal?
User has a cat called Pixel|Do I have animals at home?|Tell me about my pet
User is learning Portuguese|Which language am I studying?|What am I learning?
User's boss is Marta Oliveira|Who is my manager?|Who do I report to at work?
User studied biology in Oslo|What was my major at university?|Where did I go to college?
User is afraid of flying|What am I scared of?|What do I fear?
User gets migraines|Do I have any health problems?|Do I suffer from headaches?
User wants to open a bakery some day|What is my dream?|What business would I like to start?
User's birthday is on 9 October|When was I born?|When is my birthday?
User supports Liverpool|Which football team do I like?|Who do I support?
User prefers tea to coffee|What should I drink in the morning?|Do I like coffee?
`

const unknownHere = `
What is my shoe size?
What's my wifi password?
Which bank do I use?
When is my dentist appointment?
Who won the world cup in 1998?
How do I sort a list in Python?
What is the capital of Mongolia?
What's my blood type?
Write a poem about autumn
Translate good night to French
How tall am I?
What is my grandmother's maiden name?
Summarize the plot of Hamlet
What is 17 times 23?
Which phone do I have?
`

// fewFacts asks the questions of few facts: how many are answered with the fact
// among the hits, and how many of those that have no answer get none.
func fewFacts(t *testing.T) (answered, refused float64, report string) {
	t.Helper()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	owner := memory.User(memory.DefaultNamespace, "few")
	var items []memory.IndexItem
	asked := map[string]string{}
	var questions []string
	for i, line := range strings.Split(strings.TrimSpace(known), "\n") {
		parts := strings.Split(line, "|")
		id := fmt.Sprintf("fact-%02d", i)
		v, err := embed.Lexical{}.Embed(context.Background(), memory.AsDocument, parts[0])
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, memory.IndexItem{ID: id, Version: int64(i + 1), Vector: v[0], Memory: memory.Memory{Fact: &memory.Fact{
			ID: id, Scope: memory.Scope{Owner: owner}, Content: parts[0], Subject: "user", Status: memory.Active, Confidence: 1,
			ObservedAt: now.AddDate(0, 0, -i), CreatedAt: now.AddDate(0, 0, -i), UpdatedAt: now.AddDate(0, 0, -i),
		}}})
		for _, q := range parts[1:] {
			asked[q] = id
			questions = append(questions, q)
		}
	}
	ix := index.Build(items)
	hits := func(question string) []string {
		q := recall.NewQuery(question, now, recall.QueryOptions{})
		v, err := embed.Lexical{}.Embed(context.Background(), memory.AsQuestion, q.SearchText)
		if err != nil {
			t.Fatal(err)
		}
		found, err := ix.Search(context.Background(), memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: q.SearchText, Vector: v[0], Now: now})
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := recall.Rank(q, found, recall.RankOptions{Limit: 8}, now)
		var ids []string
		for _, c := range kept {
			ids = append(ids, c.ID)
		}
		return ids
	}
	var b strings.Builder
	for _, q := range questions {
		got := hits(q)
		if slices.Contains(got, asked[q]) {
			answered++
			continue
		}
		fmt.Fprintf(&b, "not answered: %s (%v)\n", q, got)
	}
	silence := strings.Split(strings.TrimSpace(unknownHere), "\n")
	for _, q := range silence {
		if got := hits(q); len(got) > 0 {
			fmt.Fprintf(&b, "not refused: %s (%v)\n", q, got)
			continue
		}
		refused++
	}
	return answered / float64(len(questions)), refused / float64(len(silence)), b.String()
}

func TestFewFactsAreFoundInOtherWords(t *testing.T) {
	answered, refused, report := fewFacts(t)
	t.Logf("answered %.2f, refused %.2f\n%s", answered, refused, report)
	if answered < 0.85 || refused < 0.9 {
		t.Errorf("answered %.2f, refused %.2f; want at least 0.85 and 0.9", answered, refused)
	}
}
