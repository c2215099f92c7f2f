package text

import (
	"slices"
	"testing"
)

func TestFoldMeetsAccentsAndCase(t *testing.T) {
	for in, want := range map[string]string{
		"Café": "cafe", "STRASSE": "strasse", "Straße": "strasse", "Łódź": "lodz", "ＡＢＣ１": "abc1",
		"e\u0301": "e", "naïve — it’s": "naive - it's", "東京": "東京", "Ωmega": "ωmega",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWordsAreFoldedAndCut(t *testing.T) {
	for in, want := range map[string][]string{
		"Ana's dog isn't big.":      {"ana", "dog", "is", "not", "big"},
		"I can't, won't, shan't":    {"i", "can", "not", "will", "not", "shall", "not"},
		"I'm we'll they've o'clock": {"i", "we", "they", "o", "clock"},
		"paid 1,250.50 for 3 bikes": {"paid", "1250.50", "for", "3", "bikes"},
		"東京に住む":                     {"東京", "京に", "に住", "住", "住む"},
		"猫":                         {"猫"},
		"":                          {},
		"…—?!":                      {},
		"snake_case camelCase":      {"snake", "case", "camelcase"},
	} {
		if got := Words(in); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTermsMeetAcrossForms(t *testing.T) {
	for _, pair := range [][2]string{
		{"She went hiking", "go hikes"}, {"children running", "child ran"}, {"Which cities?", "city"}, {"my wives' knives", "wife knife"},
	} {
		if a, b := Terms(pair[0]), Terms(pair[1]); !slices.Equal(a, b) {
			t.Errorf("Terms(%q) = %q, Terms(%q) = %q, want the same", pair[0], a, pair[1], b)
		}
	}
}

func TestHashIsOfTheNormalisedWords(t *testing.T) {
	if Hash("User  lives in Lisbon. ") != Hash("user lives in LISBON") {
		t.Error("hashes differ by case, space and full stop")
	}
	if Hash("User lives in Lisbon") == Hash("User lives in London") {
		t.Error("hashes of different words are equal")
	}
	if got := len(Hash("")); got != 32 {
		t.Errorf("hash has %d digits, want 32", got)
	}
}

func TestSentencesAreSpansOfTheText(t *testing.T) {
	s := "Hi there!  I moved. \nWhat about you?\n"
	var got []string
	for _, span := range Sentences(s) {
		got = append(got, span.Slice(s))
	}
	if want := []string{"Hi there!", "I moved.", "What about you?"}; !slices.Equal(got, want) {
		t.Errorf("Sentences(%q) = %q, want %q", s, got, want)
	}
}

func TestNumbersAreRead(t *testing.T) {
	got := Numbers("Two cats, 1,000 books, the 3rd of 12 and 4.5 stars; one knows")
	if want := []string{"2", "1000", "3", "12", "4.5"}; !slices.Equal(got, want) {
		t.Errorf("Numbers = %q, want %q", got, want)
	}
}

func TestNegated(t *testing.T) {
	for in, want := range map[string]bool{
		"I don't eat meat": true, "I’m not allergic": true, "I no longer smoke": true, "never again": true,
		"I eat meat": false, "not only meat but fish": false, "notable knots": false,
	} {
		if got := HasNegation(in); got != want {
			t.Errorf("Negated(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestNamesAreCapitalisedInside(t *testing.T) {
	for in, want := range map[string][]string{
		"I met Ana in New York on Monday.":      {"Ana", "New York"},
		"Yesterday was fine. The dog is happy.": nil,
		"Maria Lopez called.":                   {"Maria Lopez"},
		"Rex barks. I love Rex!":                {"Rex"},
		"We saw Ana, Bob and José's cat":        {"Ana", "Bob", "José"},
	} {
		if got := Names(in); !slices.Equal(got, want) {
			t.Errorf("Names(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAsks(t *testing.T) {
	for in, want := range map[string]bool{"Where?": true, "“Where?” ": true, "ok. why? because": false, "何？": true, "": false} {
		if got := EndsInQuestionMark(in); got != want {
			t.Errorf("Asks(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"Ana's isn't 3.5", "東京", "\xff\xfe", "'t", "n't", "1,2,3", "e\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range Words(s) {
			if w == "" || len(w) > maxWordBytes {
				t.Fatalf("Words(%q) has %q", s, w)
			}
		}
		Terms(s)
		Names(s)
		EstimateTokens(s)
		for _, p := range Sentences(s) {
			if p.Start >= p.End || p.End > len(s) {
				t.Fatalf("Sentences(%q) has %v", s, p)
			}
		}
	})
}
