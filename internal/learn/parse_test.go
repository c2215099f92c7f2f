package learn

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func contents(cands []extract.Candidate) string {
	var out []string
	for _, c := range cands {
		out = append(out, c.Text)
	}
	return strings.Join(out, "|")
}

func TestParseFactsReadsJSON(t *testing.T) {
	const two = "User lives in Lisbon|User has a dog"
	for name, c := range map[string]struct{ reply, want string }{
		"objects":           {`{"facts":[{"text":"User lives in Lisbon","quote":"I live in Lisbon"},{"text":"User has a dog"}]}`, two},
		"strings":           {`{"facts":["User lives in Lisbon","User has a dog"]}`, two},
		"memories":          {`{"memories":["User lives in Lisbon","User has a dog"]}`, two},
		"bare array":        {`["User lives in Lisbon","User has a dog"]`, two},
		"array of objects":  {`[{"fact":"User lives in Lisbon"},{"text":"User has a dog"}]`, two},
		"fenced":            {"```json\n[\"User lives in Lisbon\",\"User has a dog\"]\n```", two},
		"prose around":      {"Sure! Here [as asked] are the facts:\n{\"facts\": [\"User lives in Lisbon\", \"User has a dog\"]}\nAnything else?", two},
		"upper-case keys":   {`{"Facts":[{"Text":"User lives in Lisbon"},{"Text":"User has a dog"}]}`, two},
		"thinking first":    {"<think>maybe [\"User is a spy\"]</think>\n[\"User lives in Lisbon\",\"User has a dog\"]", two},
		"byte order mark":   {"\ufeff[\"User lives in Lisbon\",\"User has a dog\"]", two},
		"single object":     {`{"text":"User lives in Lisbon","confidence":0.9}`, "User lives in Lisbon"},
		"cut off in a text": {`{"facts":[{"text":"User lives in Lisbon","quote":"a"},{"text":"User has a d`, "User lives in Lisbon"},
		"cut off in a key":  {`["User lives in Lisbon",{"te`, "User lives in Lisbon"},
		"cut off in ids":    {`{"ops":[{"op":"add","ids":[],"text":"User lives in Lisbon","quote":"I live"},{"op":"end","ids":["k2","k`, "User lives in Lisbon"},
		"NOTHING":           {"NOTHING", ""},
		"none, fenced":      {"```\nnone\n```", ""},
		"no text":           {"  \n", ""},
		"empty list":        {`{"facts":[]}`, ""},
		"empty array":       {`[]`, ""},
		"empty object":      {`{}`, ""},
		"escapes":           {`["Caf\u00e9 \ud83d\ude00 \"x\" \ud83d"]`, "Café 😀 \"x\" \ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseFacts(c.reply)
			if err != nil || contents(got) != c.want {
				t.Errorf("ParseFacts(%q) = %q, %v; want %q", c.reply, contents(got), err, c.want)
			}
		})
	}
}

func TestParseFactsReadsTheFields(t *testing.T) {
	got, err := ParseFacts(`{"facts":[{"text":" User lives in Lisbon ","quote":"Lisbon","turn":"t2","subject":"User","attribute":"Home","category":"HOME","confidence":0.9,"tags":["a","1"],"ids":"[K2]","lasting":"no"}]}`)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v; want one fact", got, err)
	}
	c := got[0]
	if c.Text != "User lives in Lisbon" || c.Quote != "Lisbon" || c.TurnID != "t2" || c.Subject != "user" || c.Attribute != "home" || c.Category != "home" || c.Confidence != 0.9 || strings.Join(c.Tags, ",") != "a,1" || strings.Join(c.TargetIDs, ",") != "k2" {
		t.Errorf("got %+v", c)
	}
}

func TestParseFactsRefusesWhatHoldsNoFacts(t *testing.T) {
	for _, reply := range []string{"The weather is nice.\nLet us talk.", "- User lives in Lisbon\n- User has a dog", "I'm sorry, but I can't help with that.", "<think>the user lives in Lis", `{"facts": [{"te`, "{", memtest.Garbage, `{"error": {"message": 5}}`} {
		got, err := ParseFacts(reply)
		if !errors.Is(err, memory.Invalid) {
			t.Errorf("ParseFacts(%q) = %v, %v; want invalid", reply, got, err)
		}
	}
}

// nearTwo returns two candidates with two facts near the first.
func nearTwo() []extract.Candidate {
	a, b := fact("User lives in Berlin"), fact("User has a cat")
	return []extract.Candidate{
		{Text: "User lives in Lisbon", Neighbors: []extract.Neighbor{{Fact: a}, {Fact: b}}},
		{Text: "User has a dog", Neighbors: []extract.Neighbor{{Fact: b}}},
	}
}

// fact returns an active fact of Ana's, observed at [memtest.Epoch].
func fact(content string) memory.Fact {
	f := memtest.Fact(memtest.Ana, content)
	f.Hash = text.Hash(content)
	f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
	return f
}

func TestParseDecisionsReadsJSON(t *testing.T) {
	cands := nearTwo()
	berlin, cat := cands[0].Neighbors[0].Fact.ID, cands[0].Neighbors[1].Fact.ID
	type d = Decision
	for name, c := range map[string]struct {
		reply string
		want  []Decision
	}{
		"ours": {`{"decisions":[{"new":1,"event":"UPDATE","id":"0","text":"User lives in Lisbon","reason":"moved"},{"new":2,"event":"ADD","id":"","text":"","reason":""}]}`,
			[]d{{0, Update, berlin, "User lives in Lisbon", "moved"}, {1, Add, "", "", ""}}},
		"numbers as text, ids in brackets": {`[{"new":"1","event":"update","id":"[0]"}]`, []d{{0, Update, berlin, "", ""}}},
		"events on known facts":            {`{"memory":[{"id":"0","text":"User lives in Lisbon","event":"UPDATE"},{"id":"1","text":"User has a cat","event":"NONE"},{"id":"2","text":"User has a dog","event":"ADD"}]}`, []d{{0, Update, berlin, "User lives in Lisbon", ""}, {1, Add, "", "User has a dog", ""}}},
		"delete alone":                     {`{"decisions":[{"event":"DELETE","id":"1"}]}`, []d{{-1, Delete, cat, "", ""}}},
		"whole id":                         {`{"new":1,"action":"replace","target_id":"` + berlin + `"}`, []d{{0, Update, berlin, "", ""}}},
		"fenced":                           {"```json\n{\"decisions\":[{\"new\":2,\"event\":\"NONE\",\"id\":\"1\"}]}\n```", []d{{1, None, cat, "", ""}}},
		"unknown target":                   {`{"decisions":[{"new":1,"event":"UPDATE","id":"99"}]}`, []d{{0, Update, "", "", ""}}},
		"unknown candidate":                {`{"decisions":[{"new":9,"event":"ADD"}]}`, nil},
		"unknown event":                    {`{"decisions":[{"new":1,"event":"EXPLODE"}]}`, nil},
		"delete of nothing":                {`{"decisions":[{"new":1,"event":"DELETE","id":"7"}]}`, nil},
		"empty":                            {`{"decisions":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDecisions(c.reply, cands)
			if err != nil || !equalDecisions(got, c.want) {
				t.Errorf("ParseDecisions(%q) = %+v, %v; want %+v", c.reply, got, err, c.want)
			}
		})
	}
}

func equalDecisions(a, b []Decision) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestSeedThreesReplyNeedsNoNumber: its prompt asks about one candidate at a time.
func TestSeedThreesReplyNeedsNoNumber(t *testing.T) {
	cands := nearTwo()[:1]
	got, err := ParseDecisions(`{"action":"replace","target_id":"0"}`, cands)
	if want := []Decision{{0, Update, cands[0].Neighbors[0].Fact.ID, "", ""}}; err != nil || !equalDecisions(got, want) {
		t.Errorf("replace = %+v, %v; want %+v", got, err, want)
	}
	got, err = ParseDecisions(`{"action":"add"}`, cands)
	if want := []Decision{{0, Add, "", "", ""}}; err != nil || !equalDecisions(got, want) {
		t.Errorf("add = %+v, %v; want %+v", got, err, want)
	}
}

func TestParseDecisionsRefusesWhatHoldsNone(t *testing.T) {
	for _, reply := range []string{"", "I would keep both.", memtest.Garbage, `{"facts": "none"}`} {
		if got, err := ParseDecisions(reply, nearTwo()); !errors.Is(err, memory.Invalid) {
			t.Errorf("ParseDecisions(%q) = %v, %v; want invalid", reply, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"facts":["a"]}`, `[[[[{"facts":`, "```json\n{}\n```", `{"a":"\u12`, "- a\n- b", memtest.Garbage, `{"decisions":[{"new":1,"event":"UPDATE","id":"0"}]}`, `{,:}`, `'`, "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		cands, err := ParseFacts(reply)
		if err != nil && !errors.Is(err, memory.Invalid) {
			t.Fatalf("ParseFacts(%q): %v is not invalid", reply, err)
		}
		for _, c := range cands {
			if strings.TrimSpace(c.Text) == "" || c.Confidence < 0 || c.Confidence > 1 {
				t.Fatalf("ParseFacts(%q) gave %+v", reply, c)
			}
		}
		candidates := nearTwo()
		decisions, err := ParseDecisions(reply, candidates)
		if err != nil && !errors.Is(err, memory.Invalid) {
			t.Fatalf("ParseDecisions(%q): %v is not invalid", reply, err)
		}
		for _, d := range decisions {
			if d.CandidateIndex < -1 || d.CandidateIndex >= len(candidates) {
				t.Fatalf("ParseDecisions(%q) gave %+v", reply, d)
			}
		}
	})
}
