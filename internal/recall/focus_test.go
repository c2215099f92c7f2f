package recall

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

func TestQuestionsInAMessageCountMost(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const talk = "The bus was late again and it rained on my new shoes. A dog shook itself right beside the counter. I had two coffees and still feel asleep. "
	for name, c := range map[string]struct{ message, asks, statement string }{
		"behind small talk":   {talk + "Which size did we order for the kitchen window blinds?", "blinds", "counter"},
		"before small talk":   {"Which size did we order for the kitchen window blinds? " + talk, "blinds", "counter"},
		"behind small talk 2": {talk + "Write a note to the landlord about the broken boiler downstairs", "boiler", "counter"},
	} {
		q := NewQuery(c.message, now, QueryOptions{})
		if !strings.Contains(q.EmbedText, c.asks) || strings.Contains(q.EmbedText, c.statement) || !strings.Contains(q.SearchText, c.statement) {
			t.Errorf("%s: near to %q of %q", name, q.EmbedText, q.SearchText)
		}
		weight, stated := q.TermWeights["counter"]
		if _, less := q.TermWeights[text.Term(c.asks)]; !stated || weight >= 1 || less {
			t.Errorf("%s: words weigh %v", name, q.TermWeights)
		}
	}
	if q := NewQuery("Where did I park?", now, QueryOptions{}); q.TermWeights != nil || q.SearchText == "" {
		t.Errorf("a question alone: %+v", q)
	}
}

func TestPastedTextIsNotAskedFor(t *testing.T) {
	q := NewQuery("Dear tenant,\n\nthe lift will be out of order.\n\nKind regards,\nThe office\n\nWho do I tell about this?", time.Time{}, QueryOptions{})
	if strings.Contains(q.SearchText, "lift") || !strings.Contains(q.SearchText, "tell") {
		t.Errorf("searched for %q", q.SearchText)
	}
	if q = NewQuery("```\nx = 1\n```", time.Time{}, QueryOptions{}); !strings.Contains(q.SearchText, "x = 1") {
		t.Errorf("nothing but code: searched for %q", q.SearchText)
	}
}

func TestFormSaysWhetherAMessageNeedsMemory(t *testing.T) {
	needs := func(message string) float64 { return NewQuery(message, time.Time{}, QueryOptions{}).NeedLogOdds }
	for _, pair := range [][2]string{
		{"which of the rooms can I give her while we repaint", "what is the capital of Mongolia"},
		{"what did we say about the colours for my kitchen", "write a haiku about a lighthouse"},
		{"remind him of the thing I promised for the party", "hello there"},
	} {
		if needs(pair[0]) <= needs(pair[1]) {
			t.Errorf("%q needs memory less (%.1f) than %q (%.1f)", pair[0], needs(pair[0]), pair[1], needs(pair[1]))
		}
	}
}

func TestHugeMessagesAreReadAtTheirEnds(t *testing.T) {
	long := "Where is my red bicycle? " + strings.Repeat("Is this question number one of a thousand? ", 4000) + "Who has my green scarf?"
	for _, message := range []string{long, strings.Repeat("é", 100_000), strings.Repeat("لماذا ", 20_000), strings.Repeat("我在哪里？", 20_000), "", "\x00\xff"} {
		q := NewQuery(message, time.Time{}, QueryOptions{})
		if len(q.SearchText) > 2*maxReadBytes+maxReadBytes || len(q.EmbedText) > 4*maxQuestionBytes+100 {
			t.Errorf("%.20q: searches for %d bytes, near to %d", message, len(q.SearchText), len(q.EmbedText))
		}
	}
	if q := NewQuery(long, time.Time{}, QueryOptions{}); !strings.Contains(q.SearchText, "bicycle") || !strings.Contains(q.SearchText, "scarf") {
		t.Errorf("searched for %.60q … %q", q.SearchText, q.SearchText[max(0, len(q.SearchText)-60):])
	}
}
