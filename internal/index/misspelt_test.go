package index

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// asks returns what a question finds, with the numbers by id.
func asks(t *testing.T, x memory.Searcher, question string, owners ...memory.Owner) map[string]memory.Measures {
	t.Helper()
	s := memory.Search{Text: question, Now: day}
	for _, owner := range append(owners, "user:default/ana") {
		s.Scopes = append(s.Scopes, memory.Scope{Owner: owner})
	}
	found := try(x.Search(t.Context(), s)).orFail(t)
	out := map[string]memory.Measures{}
	for _, c := range found {
		out[c.ID] = c.Measures
	}
	return out
}

// in puts a turn in a conversation of its own, so that nothing stands beside it.
func in(item memory.IndexItem) memory.IndexItem {
	item.Memory.Turn.Conversation = item.Memory.Turn.ID
	return item
}

func TestAMisspeltWordFindsWhatIsMeant(t *testing.T) {
	snap := Build([]memory.IndexItem{
		in(said("1", "Margaret was painting in Barcelona.")),
		in(said("2", "I am allergic to penicillin.")),
		in(said("3", "The sum was 2024 crowns.")),
		in(said("4", "The house is yellow.")),
	})
	for question, want := range map[string]string{
		"Margret": "1", "Barcelnoa": "1", "Barcellona": "1", "paintign": "1",
		"alergic": "2", "alergic penicilin": "2", "yelow": "4",
		"20224": "", "mouse": "", "Barclnoa": "", "rcowns": "3",
	} {
		found := asks(t, snap, question)
		if _, ok := found[want]; want == "" && len(found) > 0 || want != "" && (!ok || len(found) != 1) {
			t.Errorf("%q finds %v, want %q alone", question, found, want)
		}
	}
	right, wrong := asks(t, snap, "allergic")["2"], asks(t, snap, "alergic")["2"]
	if right != wrong {
		t.Errorf("misspelt it has %+v, and spelt rightly %+v", wrong, right)
	}
}

// A word that somebody has, or has another word for, or that is in the tables, is not taken for
// any other.
func TestAKnownWordIsTakenAsItIs(t *testing.T) {
	ben := in(said("4", "They sell barrels."))
	ben.Memory.Turn.Owner = "user:default/ben"
	snap := Build([]memory.IndexItem{in(said("1", "The barrens are far.")), in(said("2", "My job is hard.")), in(said("3", "The ocupation, and a vollin.")), ben})
	for _, c := range []struct {
		question, want string
		owners         []memory.Owner
	}{{"barrel", "1", nil}, {"barrel", "4", []memory.Owner{"user:default/ben"}}, {"occupation", "2", nil}, {"violin", "", nil}} {
		found := asks(t, snap, c.question, c.owners...)
		if _, ok := found[c.want]; len(found) > 1 || ok != (c.want != "") {
			t.Errorf("%q with %v finds %v, want %q alone", c.question, c.owners, found, c.want)
		}
	}
}

func TestASearchSaysWhatMisspeltWordsWereTakenFor(t *testing.T) {
	snap := Build([]memory.IndexItem{in(said("1", "I am allergic to painting.")), in(said("2", "My job is hard."))})
	for question, want := range map[string][]memory.Misspelt{
		"allergic jobs":     nil,
		"Alergic or hrad?":  {{Word: "alergic", Meant: []string{"allerg"}}, {Word: "hrad", Meant: []string{"hard"}}},
		"allergic paintign": {{Word: "paintign", Meant: []string{"paint"}}},
		"hard ocupation":    {{Word: "ocupation", Meant: []string{"occup"}}},
		"hard instruemnt":   {{Word: "instruemnt", Meant: []string{"instrument"}}}, // a class asked for
		"hard zyrquatsing":  nil,
	} {
		found, err := snap.Search(t.Context(), memory.Search{Scopes: []memory.Scope{{Owner: "user:default/ana"}}, Text: question, Now: day})
		if err != nil || len(found) == 0 {
			t.Fatalf("%q finds %v, %v", question, found, err)
		}
		for _, c := range found {
			if !reflect.DeepEqual(c.Misspelt, want) {
				t.Errorf("%q: %s says %v, want %v", question, c.ID, c.Misspelt, want)
			}
		}
	}
}

// What is forgotten knows no words, before compaction and after.
func TestWhatIsForgottenSpellsNothing(t *testing.T) {
	sh := newShard()
	sh.apply(in(said("1", "I sail from Lisbon.")))
	sh.apply(in(said("2", "I sail from Lisobn.")))
	snap := &Snapshot{owners: []memory.Owner{"user:default/ana"}, shards: []*shard{sh}}
	if found := asks(t, snap, "Lisobn"); len(found) != 1 || found["2"].Lexical == 0 {
		t.Fatalf("a word that is known finds %v", found)
	}
	sh.apply(memory.IndexItem{ID: "2", Removed: true})
	for range 2 {
		if found := asks(t, snap, "Lisobn"); len(found) != 1 || found["1"].Lexical == 0 {
			t.Errorf("found %v, want what is meant alone", found)
		}
		sh.compact()
	}
	sh.apply(memory.IndexItem{ID: "1", Removed: true})
	if found := asks(t, snap, "Lisobn"); len(found) != 0 {
		t.Errorf("found %v, want nothing", found)
	}
}

// A text full of words that nobody has is not looked through word by word.
func TestFewWordsOfASearchAreTried(t *testing.T) {
	snap := Build([]memory.IndexItem{in(said("1", "I sail from Lisbon."))})
	question := ""
	for i := range text.MaxCorrectedWords - 1 {
		question += fmt.Sprintf("zz%czz ", 'b'+i)
	}
	if found := asks(t, snap, question+"Lisobn"); len(found) != 1 {
		t.Errorf("after %d others found %v, want what is meant", text.MaxCorrectedWords-1, found)
	}
	if found := asks(t, snap, question+"zzyzz Lisobn"); len(found) != 0 {
		t.Errorf("after %d others found %v, want nothing", text.MaxCorrectedWords, found)
	}
}

// BenchmarkMisspelt looks one word up that is known, one that is misspelt, and one that is like
// none.
func BenchmarkMisspelt(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		src, owner := big(n, 0)
		sh := snapshotOf(src, owner).shards[0]
		sh.apply(memory.IndexItem{Memory: memory.Memory{Turn: &memory.Turn{ID: "new", Owner: owner, Conversation: "n", Content: "Barcelona was painted", CreatedAt: day}}})
		for _, word := range []string{"barcelona", "barcelnoa", "paintign", "zyrquatsing"} {
			b.Run(fmt.Sprintf("%d terms/%s", len(sh.terms), word), func(b *testing.B) {
				s := memory.Search{Text: word}
				terms := uniqueTerms(slices.Clone([]string{sharedLexicon.wordFor(word).term}))
				parts := []*segment{openSegment(&sh.contents, &s)}
				b.ReportAllocs()
				for b.Loop() {
					parts[0].findPostings(terms)
					correctMisspelt(parts, word, terms)
				}
			})
		}
	}
}
