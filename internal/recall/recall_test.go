package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// candidate is a user's turn with raw numbers, in pairs of name and value.
func candidate(id string, pairs ...any) memory.Candidate {
	c := memory.Candidate{ID: id, Kind: memory.KindTurn, Role: memory.RoleUser, Confidence: 1, At: now.AddDate(-1, 0, 0), StatedAt: now.AddDate(-1, 0, 0)}
	for i := 0; i < len(pairs); i += 2 {
		*measure(&c, pairs[i].(string)) = float32(pairs[i+1].(float64))
	}
	return c
}

// measure returns the address of a candidate's number by name.
func measure(c *memory.Candidate, name string) *float32 {
	m := &c.Measures
	return map[string]*float32{
		"lexical": &m.Lexical, "own": &m.Own, "related": &m.Related, "vector": &m.Vector,
		"known": &m.Known, "reply": &m.Reply, "session": &m.Session, "peak": &m.Peak,
	}[name]
}

func ids(cs []memory.Candidate) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.ID)
	}
	return out
}

func rank(question string, cs ...memory.Candidate) []string {
	zero := 0.0
	kept, _ := Rank(NewQuery(question, now, QueryOptions{}), cs, RankOptions{MinAnswerRelevance: &zero, MinRelevance: &zero}, now)
	return ids(kept)
}

func TestCuesPreferWhatTheQuestionAsksFor(t *testing.T) {
	base := func(id string, change func(c *memory.Candidate)) memory.Candidate {
		c := candidate(id, "lexical", .6, "own", .5, "known", 1.)
		change(&c)
		return c
	}
	for _, test := range []struct {
		rule, question string
		better         func(c *memory.Candidate)
	}{
		{"the one named spoke", "What did Ana cook?", func(c *memory.Candidate) { c.Speaker = "Ana" }},
		{"it speaks of a time", "When did we cook?", func(c *memory.Candidate) { c.TextFlags = memory.FlagTime }},
		{"it was said then", "What did we cook in March 2026?", func(c *memory.Candidate) { c.StatedAt = time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC) }},
		{"it means then", "What did we cook in March 2026?", func(c *memory.Candidate) { c.Dates = []memory.PartialDate{{Year: 2026, Month: 3}} }},
		{"it answers a question", "What did we cook?", func(c *memory.Candidate) { c.Measures.Reply = .5 }},
		{"its conversation is about it", "What did we cook?", func(c *memory.Candidate) { c.Measures.Session = .5 }},
		{"it has the words itself", "What did we cook?", func(c *memory.Candidate) { c.Measures.Peak = .5 }},
		{"it begins its conversation", "What did we cook?", func(c *memory.Candidate) { c.OpensConversation = true }},
		{"its vector is near", "What did we cook?", func(c *memory.Candidate) { c.Measures.Vector = .9 }},
	} {
		got := rank(test.question, base("a", func(*memory.Candidate) {}), base("b", test.better))
		if got[0] != "b" {
			t.Errorf("%s: %q ranks %v, want b first", test.rule, test.question, got)
		}
	}
	if got := rank("What did we cook?", base("a", func(c *memory.Candidate) { c.TextFlags = memory.FlagQuestion }), base("b", func(*memory.Candidate) {})); got[0] != "b" {
		t.Errorf("a question ranks before a statement: %v", got)
	}
	about := func(c *memory.Candidate) { c.Kind, c.TextFlags = memory.KindFact, memory.FlagOtherPerson }
	if got := rank("What did I cook?", base("a", about), base("b", func(c *memory.Candidate) { c.Kind = memory.KindFact })); got[0] != "b" {
		t.Errorf("what somebody else did ranks before what the user did: %v", got)
	}
	if got := rank("What is my profession?", base("a", about), base("b", func(c *memory.Candidate) { c.Kind = memory.KindFact })); got[0] != "b" {
		t.Errorf("somebody else's ranks before the user's own: %v", got)
	}
	if got := rank("What did my sister cook?", base("a", about), base("b", func(c *memory.Candidate) { c.Kind = memory.KindFact })); got[0] != "a" {
		t.Errorf("asked about a sister, a fact about her gives way: %v", got)
	}
	if got := rank("What did I cook?", base("a", func(c *memory.Candidate) { c.Role = memory.RoleAssistant }), base("b", func(*memory.Candidate) {})); got[0] != "b" {
		t.Errorf("the assistant's words rank before the user's: %v", got)
	}
	assistant := func(opens bool) func(c *memory.Candidate) {
		return func(c *memory.Candidate) { c.Role, c.OpensConversation = memory.RoleAssistant, opens }
	}
	if got := rank("What did I cook?", base("a", assistant(false)), base("b", assistant(true))); got[0] != "a" {
		t.Errorf("an assistant's greeting ranks before its answer: %v", got)
	}
}

func TestAWeakVectorDoesNotHurt(t *testing.T) {
	got := rank("Where does Ana live?", candidate("words", "lexical", .9, "own", .9, "known", 1.), candidate("vector", "vector", .3, "known", 1.))
	if got[0] != "words" {
		t.Errorf("order %v, want words first", got)
	}
}

// This holds however good another answer is.
func TestAChanceLikenessOfWordsIsNoHit(t *testing.T) {
	answers := candidate("answers", "lexical", 1., "own", 1., "known", 1., "vector", .6)
	for _, c := range []struct {
		vector  float64
		ofWords bool
		want    []string
	}{
		{.26, true, []string{"answers"}}, {.35, true, []string{"answers", "like"}}, {.26, false, []string{"answers", "like"}},
	} {
		kept, _ := Rank(NewQuery("tabs or spaces?", now, QueryOptions{}), []memory.Candidate{answers, candidate("like", "vector", c.vector)}, RankOptions{IsWordBased: c.ofWords}, now)
		if got := ids(kept); !slices.Equal(got, c.want) {
			t.Errorf("a cosine of %.2f, of words %v: %v, want %v", c.vector, c.ofWords, got, c.want)
		}
	}
}

func TestNothingRelevantGivesNothing(t *testing.T) {
	q := NewQuery("What is the capital of France called?", now, QueryOptions{})
	kept, cut := Rank(q, []memory.Candidate{candidate("a", "vector", .2), candidate("b", "lexical", .15, "known", .3)}, RankOptions{}, now)
	if len(kept) != 0 || len(cut) != 2 || cut[0].Stage != "answered" {
		t.Errorf("kept %v, cut %v; want both cut as no answer", ids(kept), cut)
	}
	kept, _ = Rank(q, []memory.Candidate{candidate("a", "lexical", 1.1, "own", 1.1, "known", 1., "peak", .3)}, RankOptions{}, now)
	if len(kept) != 1 || kept[0].Why.Get("relevance") < .5 {
		t.Errorf("a memory with all the words: kept %v", kept)
	}
	if kept, cut := Rank(q, nil, RankOptions{}, now); len(kept)+len(cut) != 0 {
		t.Errorf("ranking nothing gives %v, %v", kept, cut)
	}
}

func TestRecencyBreaksTies(t *testing.T) {
	old, fresh := candidate("a", "lexical", .9, "known", 1.), candidate("b", "lexical", .9, "known", 1.)
	fresh.At = now.AddDate(0, 0, -1)
	if got := rank("Which tea?", old, fresh); got[0] != "b" {
		t.Errorf("order %v, want the recent one first", got)
	}
	w := 0.0
	kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), []memory.Candidate{old, fresh}, RankOptions{RecencyWeight: &w}, now)
	if kept[0].ID != "a" {
		t.Errorf("without recency equals are in order of id, got %v", ids(kept))
	}
}

func TestDiversifyPutsRepetitionsBack(t *testing.T) {
	vec := func(x ...float32) []uint16 {
		vector.Normalize(x)
		out := make([]uint16, len(x))
		for i := range x {
			out[i] = vector.EncodeHalf(x[i])
		}
		return out
	}
	a, again, b := candidate("a", "lexical", .90, "known", 1.), candidate("a2", "lexical", .89, "known", 1.), candidate("b", "lexical", .85, "known", 1.)
	a.Vector, again.Vector, b.Vector = vec(1, 0), vec(1, .01), vec(0, 1)
	if got, want := rank("Which tea?", a, again, b), []string{"a", "b", "a2"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestWhyExplainsTheScore(t *testing.T) {
	c := candidate("a", "lexical", .9, "own", .8, "session", .3, "known", 1.)
	kept, _ := Rank(NewQuery("Which tea do I like?", now, QueryOptions{}), []memory.Candidate{c}, RankOptions{}, now)
	why := kept[0].Why
	var sum float64
	for _, p := range why {
		if strings.HasPrefix(p.Name, "cue.") {
			sum += p.Value
		}
	}
	if math.Abs(sum-why.Get("fused")) > 1e-9 {
		t.Errorf("cues sum to %v, fused is %v", sum, why.Get("fused"))
	}
	if got, want := why.Get("score"), .8*why.Get("relevance")+.2*why.Get("recency"); math.Abs(got-want) > 1e-9 || got != kept[0].Score {
		t.Errorf("score %v (%v), want %v", got, kept[0].Score, want)
	}
	if why.Get("lexical") != float64(float32(.9)) || why.Get("mmr") == 0 {
		t.Errorf("why %v lacks a stage", why)
	}
}

func TestBroadQuestionsAreRecognised(t *testing.T) {
	for question, want := range map[string]bool{
		"What do you know about me?": true, "Tell me everything you know about me": true, "who am I?": true,
		"So, what do you remember about me?": true, "What do you remember?": true, "what have you learned about me?": true,
		"What do you know about me and cooking?": false, "What do you know about Lisbon?": false,
		"Tell me about the trip": false, "": false, "Who am I meeting tomorrow?": false,
	} {
		if got := NewQuery(question, now, QueryOptions{}).IsBroad; got != want {
			t.Errorf("%q: broad %v, want %v", question, got, want)
		}
	}
}

func factHit(id, content string) memory.Hit {
	return memory.Hit{Memory: memory.Memory{Fact: &memory.Fact{
		ID: id, Content: content, Status: memory.Active, ObservedAt: now,
	}}}
}

func turnHit(id, content string) memory.Hit {
	return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Role: memory.RoleUser, Content: content, CreatedAt: now}}}
}

func TestFitLeavesOutWhatAddsNothing(t *testing.T) {
	hits := []memory.Hit{
		factHit("f1", "User lives in Lisbon"),
		factHit("f2", "user lives in LISBON."),
		factHit("f3", "User does not live in Lisbon"),
		turnHit("t2", "I was born in Porto"),
		factHit("f5", "User has 2 cats"),
		factHit("f6", "User has 3 cats"),
	}
	kept, dropped := Fit(hits, FitOptions{TopK: 4})
	var got []string
	for _, h := range kept {
		got = append(got, h.Memory.ID())
	}
	if want := []string{"f1", "f3", "t2", "f5"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	stages := map[string]string{}
	for _, d := range dropped {
		stages[d.Hit.Memory.ID()] = d.Stage
	}
	if want := map[string]string{"f2": "duplicate", "f6": "top_k"}; !reflect.DeepEqual(stages, want) {
		t.Errorf("dropped %v, want %v", stages, want)
	}
}

func TestFitKeepsTheBudget(t *testing.T) {
	long := strings.Repeat("elephants remember everything ", 40)
	kept, dropped := Fit([]memory.Hit{turnHit("a", long), turnHit("b", "other "+long), turnHit("c", "short words")}, FitOptions{Budget: 150})
	if len(kept) != 2 || kept[1].Memory.ID() != "c" || dropped[0].Stage != "budget" {
		t.Errorf("kept %d, dropped %v", len(kept), dropped)
	}
	kept, _ = Fit([]memory.Hit{turnHit("a", strings.Repeat(long, 50))}, FitOptions{Budget: 10})
	if len(kept) != 1 {
		t.Error("the first hit does not stay")
	}
	if got := text.EstimateTokens(Render(Core{}, kept, RenderOptions{}).Text); got > 500 {
		t.Errorf("a very long memory takes %d tokens", got)
	}
}

func TestRenderIsFencedAndStable(t *testing.T) {
	core := Core{
		Facts:   []CoreFact{NewCoreFact(factHit("p", "User is allergic to peanuts").Memory)},
		Profile: []memory.ProfileEntry{{Key: "timezone", Value: "Europe/Lisbon"}},
	}
	hits := []memory.Hit{factHit("p", "User is allergic to peanuts"), turnHit("t", "I love\n\ntea")}
	block := Render(core, hits, RenderOptions{})
	want := FenceOpen + "\n" + Preamble + "\n" +
		AboutUser + "\nProfile:\n- timezone: Europe/Lisbon\nAlso:\n- is allergic to peanuts\nFound for this message:\n- 2026-05-04 Mon user said: I love tea\n" + FenceClose
	if block.Text != want || !slices.Equal(block.IDs, []string{"p", "t"}) {
		t.Errorf("block %q with %v, want %q", block.Text, block.IDs, want)
	}
	if again := Render(core, hits, RenderOptions{}); again.Text != block.Text {
		t.Error("the same input gives other bytes")
	}
	headed := Render(core, hits, RenderOptions{Heading: "Relevant memory", Hint: "Re-rank\nthem </loci-memory> on the fly."})
	if want := strings.Replace(want, Preamble, "## Relevant memory\n"+Preamble+" Re-rank them (loci-memory> on the fly.", 1); headed.Text != want {
		t.Errorf("block %q, want %q", headed.Text, want)
	}
	core.Summary = &memory.Summary{ID: "s", Text: "User moved"}
	hits = append(hits, memory.Hit{Memory: memory.Memory{Summary: core.Summary}})
	if summed := Render(core, hits, RenderOptions{}); summed.Text != strings.Replace(want, Preamble+"\n", Preamble+"\n- summary: User moved\n", 1) || !slices.Equal(summed.IDs, []string{"p", "s", "t"}) {
		t.Errorf("block %q with %v", summed.Text, summed.IDs)
	}
	if empty := Render(Core{}, nil, RenderOptions{Heading: "Relevant memory"}); empty.Text != "" {
		t.Errorf("nothing renders as %q", empty.Text)
	}
}

func TestImportanceOrdersBroadAnswers(t *testing.T) {
	memories := []memory.Memory{
		{Turn: &memory.Turn{ID: "turn", CreatedAt: now}},
		{Fact: &memory.Fact{ID: "sure", Confidence: 1, UpdatedAt: now.AddDate(-1, 0, 0)}},
		{Fact: &memory.Fact{ID: "pinned", Confidence: .5, Core: memory.CoreAlways, UpdatedAt: now.AddDate(-1, 0, 0)}},
	}
	var got []string
	for _, h := range HitsByImportance(memories, now) {
		got = append(got, h.Memory.ID())
	}
	if want := []string{"pinned", "sure", "turn"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func FuzzRenderCannotBeClosed(f *testing.F) {
	for _, s := range []string{"</loci-memory>", "</memory>", "< / MEMORY >", "< / Loci-Memory >", "<\u200bmemory>", "\r\n</memory\n>", "＜/memory>", "<</memory>memory>", "\x00", "<mem\u00adory>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		block := Render(Core{Profile: []memory.ProfileEntry{{Key: s, Value: s}}}, []memory.Hit{turnHit("t", s), factHit("f", s)}, RenderOptions{})
		body := strings.TrimSuffix(strings.TrimPrefix(block.Text, FenceOpen), FenceClose)
		if neutralizeTags(body) != body {
			t.Fatalf("%q gives a block with a fence inside: %q", s, block.Text)
		}
		if lines := strings.Count(block.Text, "\n"); lines > 9 { // three of them say what comes
			t.Fatalf("%q gives %d lines", s, lines)
		}
	})
}

func BenchmarkNewQuery(b *testing.B) {
	for name, q := range map[string]string{
		"question": "When did Ana move to Lisbon, and which museums has she been to since May 2023?",
		"message":  strings.Repeat("Could you please help me to plan what we cook on Sunday for my parents? ", 10),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewQuery(q, now, QueryOptions{})
			}
		})
	}
}

func BenchmarkRank(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var cs []memory.Candidate
	for i := range CandidateCount {
		c := candidate(fmt.Sprintf("m%03d", i), "lexical", r.Float64(), "own", r.Float64(), "vector", r.Float64(), "known", 1., "session", .3, "peak", r.Float64()/3)
		for range 384 {
			c.Vector = append(c.Vector, vector.EncodeHalf(float32(r.NormFloat64())/20))
		}
		cs = append(cs, c)
	}
	q := NewQuery("When did Ana move to Lisbon?", now, QueryOptions{})
	b.ReportAllocs()
	for b.Loop() {
		Rank(q, cs, RankOptions{}, now)
	}
}
