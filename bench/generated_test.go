package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// generated is a small data set made here: people who talk about things they did,
// with questions that need stems, speakers, dates, answers to questions and
// neighbouring turns.
func generated() Dataset {
	r := rand.New(rand.NewPCG(11, 12))
	things := []string{"violin", "kayak", "sourdough", "telescope", "greenhouse", "marathon", "pottery", "chess", "beehive", "sailing",
		"calligraphy", "fencing", "accordion", "origami", "juggling", "archery", "quilting", "cycling", "astronomy", "woodwork"}
	smallTalk := []string{"That sounds great!", "How lovely.", "Tell me more about that.", "I am glad to hear it.", "What else is going on?", "The weather is nice here."}
	set := Dataset{Name: "generated"}
	for n, pair := range [][2]string{{"Mira", "Tomas"}, {"Ines", "Bela"}} {
		c := Conversation{Name: fmt.Sprint(n)}
		at := time.Date(2024, 1, 10, 18, 0, 0, 0, time.UTC)
		say := func(who, content string) string {
			ref := fmt.Sprintf("%d:%d", n, len(c.Turns))
			c.Turns = append(c.Turns, Turn{Ref: ref, Session: at.Format(time.DateOnly), Role: memory.RoleUser, Name: who, Content: content, At: at})
			at = at.Add(time.Minute)
			return ref
		}
		ask := func(kind, question string, gold ...string) {
			c.Questions = append(c.Questions, Question{Text: question, Category: kind, Gold: gold})
		}
		for i, thing := range things[n*10 : n*10+10] {
			at = time.Date(2024, time.Month(1+i), 10, 18, 0, 0, 0, time.UTC)
			who, other := pair[i%2], pair[1-i%2]
			say(other, smallTalk[r.IntN(len(smallTalk))])
			first := say(who, fmt.Sprintf("I started with %s lessons last week.", thing))
			say(other, fmt.Sprintf("Who teaches you %s?", thing))
			reply := say(who, fmt.Sprintf("My neighbour, doctor number %d, does.", 10+i))
			say(other, fmt.Sprintf("I never liked %s much.", thing))
			say(other, smallTalk[r.IntN(len(smallTalk))])
			ask("stem", fmt.Sprintf("What lesson did %s start, was it %s?", who, thing), first)
			ask("reply", fmt.Sprintf("Who teaches %s %s?", who, thing), reply)
			ask("date", fmt.Sprintf("What lessons were started in %s 2024?", at.Month()), first)
		}
		set.Conversations = append(set.Conversations, c)
	}
	return set
}

func TestRetrievalOfGeneratedTalkDoesNotRegress(t *testing.T) {
	d := &Direct{Embedder: embed.Lexical{}}
	report, err := Retrieval(context.Background(), d, generated())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Logf("\n%s", report)
	for kind, least := range map[string]float64{"stem": 0.95, "reply": 0.95, "date": 0.95} {
		if got := report.Categories[kind].Recall; got < least {
			t.Errorf("%s: recall@10 %.3f, want at least %.2f", kind, got, least)
		}
	}
	if report.All.MRR < 0.9 || report.Refusal < 0.9 {
		t.Errorf("MRR@20 %.3f, refusal %.3f; want at least 0.9, 0.9", report.All.MRR, report.Refusal)
	}
}

func TestAreaUnderCurve(t *testing.T) {
	for _, test := range []struct {
		high, low []float64
		want      float64
	}{
		{[]float64{2, 3}, []float64{0, 1}, 1}, {[]float64{0, 1}, []float64{2, 3}, 0}, {[]float64{1}, []float64{1}, .5}, {[]float64{1, 3}, []float64{2}, .5}, {nil, nil, 0},
	} {
		if got := areaUnderCurve(test.high, test.low); got != test.want {
			t.Errorf("areaUnderCurve(%v, %v) = %v, want %v", test.high, test.low, got, test.want)
		}
	}
}

func TestScoreIsOfTheFirstPlaces(t *testing.T) {
	var found []string
	for i := range 20 {
		found = append(found, fmt.Sprint(i))
	}
	if recall, rr := score(found, []string{"3", "11"}); recall != .5 || rr != .25 {
		t.Errorf("recall %v, reciprocal rank %v; want 0.5, 0.25", recall, rr)
	}
	if recall, rr := score(found, []string{"x"}); recall != 0 || rr != 0 {
		t.Errorf("nothing found scores %v, %v", recall, rr)
	}
}
