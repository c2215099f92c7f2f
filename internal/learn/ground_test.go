package learn

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// groundCase is a model's fact with the messages that it read, the last of which is the turn.
type groundCase struct {
	key      string
	messages []string
	facts    []string
	turn     string
	at       time.Time
	claim    Claim
	kind     string // of an error, "" for what is true
}

// grounded returns the filtered candidate, nil if it is dropped.
func (c groundCase) grounded() *extract.Candidate {
	turn := memory.Turn{ID: "T", Role: memory.RoleUser, Content: c.turn, CreatedAt: c.at}
	utterances := Guard([]memory.Turn{turn}, GuardOptions{})
	for i := range utterances {
		utterances[i].EarlierMessages, utterances[i].StoredMemories = c.messages[max(0, len(c.messages)-8):], c.facts
		if n := len(c.messages); n > 0 {
			utterances[i].AnsweredMessage = c.messages[n-1]
		}
	}
	kept, _ := Filter([]extract.Candidate{{Text: c.claim.Text, Quote: c.claim.Quote, Subject: strings.ToLower(c.claim.Subject), Confidence: 1, Op: c.claim.Op}}, utterances)
	if len(kept) == 0 {
		return nil
	}
	return &kept[0]
}

func (c groundCase) active() bool {
	got := c.grounded()
	return got != nil && got.ReviewReason == ""
}

// held reports whether a case belongs to the held-back half.
func (c groundCase) held() bool { return sha256.Sum256([]byte(c.key))[0]&1 == 1 }

type writtenFact struct {
	Text, Quote, About string
}

func claimOf(f writtenFact) Claim { return Claim{Text: f.Text, Quote: f.Quote, Subject: f.About} }

type message struct {
	Role, Text string
	Facts      []writtenFact
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// naturalCases are the facts of testdata/natural.json: natural chats, and a strong model's facts
// for each turn.
func naturalCases(t *testing.T) []groundCase {
	t.Helper()
	var data struct {
		Conversations []struct {
			ID, Now string
			Turns   []message
		}
		Singles []struct {
			ID, Now, Text string
			Facts         []writtenFact
		}
	}
	readJSON(t, "testdata/natural.json", &data)
	var out []groundCase
	for _, c := range data.Conversations {
		var before, facts []string
		for _, m := range c.Turns {
			for _, f := range m.Facts {
				out = append(out, groundCase{c.ID, before, facts, m.Text, saidOn(c.Now), claimOf(f), ""})
			}
			for _, f := range m.Facts {
				facts = append(facts, f.Text)
			}
			before = append(before[:len(before):len(before)], m.Text)
		}
	}
	for _, s := range data.Singles {
		for _, f := range s.Facts {
			out = append(out, groundCase{s.ID, nil, nil, s.Text, saidOn(s.Now), claimOf(f), ""})
		}
	}
	return out
}

func saidOn(day string) time.Time {
	at, _ := time.Parse(time.DateOnly, day)
	return at.Add(9 * time.Hour)
}

// adversarialCases are the facts of testdata/adversarial.json, all of them wrong.
func adversarialCases(t *testing.T) []groundCase {
	t.Helper()
	var data []struct {
		ID, Now string
		Turns   []message
		Fact    writtenFact
		Error   string
	}
	readJSON(t, "testdata/adversarial.json", &data)
	var out []groundCase
	for _, a := range data {
		var before []string
		for _, m := range a.Turns[:len(a.Turns)-1] {
			before = append(before, m.Text)
		}
		turn := a.Turns[len(a.Turns)-1].Text
		at := saidOn("2026-03-02")
		if a.Now != "" {
			at = saidOn(a.Now)
		}
		out = append(out, groundCase{turn + a.Fact.Text, before, nil, turn, at, claimOf(a.Fact), a.Error})
	}
	return out
}

// realModelCases are a real model's facts from the shared development data.
func realModelCases(t *testing.T) []groundCase {
	t.Helper()
	type exchange struct {
		ID    any
		Turn  string
		Facts []writtenFact
	}
	var data struct {
		Said          time.Time
		Conversations []struct {
			ID    string
			Turns []exchange
		}
		Messages []exchange
	}
	readJSON(t, sharedData(t, "data/real-model/dev.json"), &data)
	var out []groundCase
	for _, c := range data.Conversations {
		var before, facts []string
		for _, m := range c.Turns {
			for _, f := range m.Facts {
				out = append(out, groundCase{c.ID, before, facts, m.Turn, data.Said, claimOf(f), ""})
			}
			for _, f := range m.Facts {
				facts = append(facts, f.Text)
			}
			before = append(before[:len(before):len(before)], m.Turn)
		}
	}
	for _, m := range data.Messages {
		for _, f := range m.Facts {
			out = append(out, groundCase{"", nil, nil, m.Turn, data.Said, claimOf(f), ""})
		}
	}
	return out
}

// share counts the active cases of a half, and logs the wrong ones of the tuned half.
func share(t *testing.T, cases []groundCase, held, active bool) (n, all int) {
	t.Helper()
	for _, c := range cases {
		if c.held() != held {
			continue
		}
		all++
		got := c.grounded()
		is := got != nil && got.ReviewReason == ""
		if is {
			n++
		}
		if is != active && !held {
			why := "dropped"
			if got != nil {
				why = got.ReviewReason
			}
			t.Logf("%s active %t (%s): %q\n\tquote %q of %q\n\tin %q", c.kind, is, why, c.claim.Text, c.claim.Quote, c.claim.Subject, c.turn)
		}
	}
	return n, all
}

func TestNaturalFactsBecomeActive(t *testing.T) {
	cases := naturalCases(t)
	for _, held := range []bool{false, true} {
		n, all := share(t, cases, held, true)
		t.Logf("held back %t: %d of %d active", held, n, all)
		if n*100 < all*95 {
			t.Errorf("held back %t: %d of %d natural facts are active, want 95 %%", held, n, all)
		}
	}
}

func TestRealModelFactsBecomeActive(t *testing.T) {
	all := realModelCases(t)
	for _, c := range all {
		if got := c.grounded(); got == nil || got.ReviewReason != "" {
			t.Errorf("%q of %q is not active: %+v", c.claim.Text, c.turn, got)
		}
	}
	t.Logf("%d facts", len(all))
}

func TestAdversarialFactsAreHeld(t *testing.T) {
	cases := adversarialCases(t)
	byKind, active, total := map[string][]groundCase{}, 0, 0
	for _, c := range cases {
		byKind[c.kind] = append(byKind[c.kind], c)
	}
	for kind, cases := range byKind {
		for _, held := range []bool{false, true} {
			n, all := share(t, cases, held, false)
			t.Logf("held back %t: %s: %d of %d active", held, kind, n, all)
			if kind != "invented" { // what is only concluded is not seen
				active, total = active+n, total+all
			}
		}
	}
	if active*8 > total {
		t.Errorf("%d of %d wrong facts are active, want one of eight at most", active, total)
	}
}

// altered returns the claim with one error: a number, a date, a denial, a name; "" if it has none
// of that kind.
func altered(c groundCase, kind string) string {
	fact := c.claim.Text
	switch kind {
	case "number":
		for _, m := range regexp.MustCompile(`\b\d+\b`).FindAllStringIndex(isoDate.ReplaceAllStringFunc(fact, func(s string) string { return strings.Repeat("x", len(s)) }), -1) {
			n, _ := strconv.Atoi(fact[m[0]:m[1]])
			return fact[:m[0]] + strconv.Itoa(n+3) + fact[m[1]:]
		}
	case "date":
		if m := isoDate.FindString(fact); m != "" {
			d, _ := time.Parse(time.DateOnly, m)
			return strings.Replace(fact, m, d.AddDate(0, 0, 9).Format(time.DateOnly), 1)
		}
	case "negation":
		for _, pair := range [][2]string{{" does not ", " does "}, {" doesn't ", " does "}, {" can't ", " can "}, {" is not ", " is "}, {" has never ", " has "}, {" no longer ", " "}, {" has not ", " has "}, {" never ", " "}, {" not ", " "},
			{" is ", " is not "}, {" has ", " does not have "}, {" was ", " was not "}, {" will ", " will not "}, {" wants ", " does not want "}, {" works ", " does not work "}, {" lives ", " does not live "}, {" takes ", " does not take "}} {
			if strings.Contains(fact, pair[0]) {
				return strings.Replace(fact, pair[0], pair[1], 1)
			}
		}
	}
	return ""
}

var isoDate = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

// TestChangedFactsAreHeld changes one thing in each natural fact. Few results may be active.
func TestChangedFactsAreHeld(t *testing.T) {
	for _, kind := range []string{"number", "date", "negation"} {
		for _, held := range []bool{false, true} {
			n, all := 0, 0
			for _, c := range naturalCases(t) {
				wrong := altered(c, kind)
				if wrong == "" || c.held() != held {
					continue
				}
				right := c.claim.Text
				c.claim.Text = wrong
				all++
				if c.active() {
					n++
					if !held {
						t.Logf("active: %q for %q, quote %q", wrong, right, c.claim.Quote)
					}
				}
			}
			t.Logf("%s, held back %t: %d of %d active", kind, held, n, all)
			if n*5 > all {
				t.Errorf("%s: %d of %d changed facts are active, want one of five at most", kind, n, all)
			}
		}
	}
}

func FuzzGround(f *testing.F) {
	f.Add("My wife and I moved to Oslo in 2020, where she works", "User and User's wife moved to Oslo in 2020", "she works")
	f.Add("I'm 34 \xff and “Ünal” lives with me?", "User's brother ÜNAL is 34, and likes tea over coffee", "34")
	f.Add("Yes.", "User's flight is on 2026-01-09", "Yes")
	f.Fuzz(func(t *testing.T, message, fact, quote string) {
		turn := extract.Utterance{Turn: memory.Turn{ID: "T", Role: memory.RoleUser, Content: message, CreatedAt: saidOn("2026-01-05")}, Text: message, AnsweredMessage: quote + "? " + fact, EarlierMessages: []string{fact}}
		if g := GroundClaim(Claim{Text: fact, Quote: quote, Subject: "user"}, turn); g.Span.Start < 0 || g.Span.End > len(message) || g.Span.Start > g.Span.End {
			t.Fatalf("%q is placed at %+v of %q", fact, g.Span, message)
		}
	})
}

func TestTimesAndAcronymsAreReadAsWritten(t *testing.T) {
	for _, c := range []struct {
		message, fact string
		active        bool
	}{
		{"my train's at 8.15 tomorrow", "User's train leaves at 8:15", true},
		{"my train's at 8:15 tomorrow", "User's train leaves at 8.15", true},
		{"yoga is tuesdays 18.30 from now on", "User does yoga on Tuesdays at 18:30", true},
		{"the ferry leaves quarter to seven", "User's ferry leaves at 6:45 p.m.", true},
		{"the ferry leaves quarter to seven", "User's ferry leaves at 7:15 p.m.", false},
		{"Little Wattle can hold Ada's spot until the 21st of April", "Little Wattle can hold the spot of User's daughter Ada until 2026-04-21", true},
		{"Weil der die Hitze hält, muss ich erst um Viertel nach zwei raus", "User gets up at 2:15 a.m.", true},
		{"my train's at 8.15 tomorrow", "User's train leaves at 8:45", false},
		{"my train's at 8.15 tomorrow", "User's train leaves at 9:15", false},
		{"practice is mon/wed now btw", "User has practice on Mondays and Wednesdays", true},
		{"dolly's lot are dead", "Dolly's colony died in March 2026", true},
		{"I like JS. what framework would you pick", "User likes JavaScript", true},
		{"I like JS. what framework would you pick", "User likes TypeScript", false},
		{"I like Jo. she's fun", "User likes Josephine Baker", false},
	} {
		got := groundCase{turn: c.message, at: saidOn("2026-03-02"), claim: Claim{Text: c.fact, Quote: c.message}}.grounded()
		if is := got != nil && got.ReviewReason == ""; is != c.active {
			t.Errorf("%q of %q: active %t", c.fact, c.message, is)
		}
	}
}
