package recall

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Questions about the user's people match in any wording.
func TestQuestionsAboutThoseOfTheUsers(t *testing.T) {
	for question, want := range map[string]bool{
		"do I have brothers?": true, "what's my boss like?": true, "is our dog old?": true,
		"where do I live?": false, "what is my job?": false,
	} {
		if got := NewQuery(question, time.Time{}, QueryOptions{}).isAboutPeople; got != want {
			t.Errorf("%q asks about somebody of the user's: %v, want %v", question, got, want)
		}
	}
}

// A fact that answers comes before turns with the same words.
func TestAFactComesBeforeTalkOfTheSameWords(t *testing.T) {
	found := memory.Measures{Lexical: 0.8, Own: 0.8, Known: 1}
	talk := found
	talk.Session, talk.Peak = 0.3, 0.8
	kept, _ := Rank(NewQuery("where do I work?", time.Time{}, QueryOptions{}), []memory.Candidate{
		{ID: "a", Kind: memory.KindTurn, Role: memory.RoleUser, Confidence: 1, Measures: talk},
		{ID: "b", Kind: memory.KindFact, Role: memory.RoleUser, Speaker: "user", Confidence: 0.9, Measures: found},
	}, RankOptions{}, time.Time{})
	if len(kept) != 2 || kept[0].ID != "b" {
		t.Errorf("got %v, want the fact first", ids(kept))
	}
}

func TestCarriedTextIsNotTheUsersOwn(t *testing.T) {
	turn := func(id, content string, score float64) memory.Hit {
		return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Role: memory.RoleUser, Content: content}}, Score: score}
	}
	hits := []memory.Hit{
		turn("mail", "Please sum up this mail:\nFrom: Hetty\nI have three brothers and a dog.", 0.7),
		turn("quote", `She read out "I have a dozen brothers and no sisters at all" to us.`, 0.6),
		turn("own", "my brothers are in Perth", 0.5),
	}
	order := func(budget int) (out []string) {
		kept, _ := Fit(hits, FitOptions{Question: "who has brothers?", Budget: budget})
		for _, h := range kept {
			out = append(out, h.Memory.ID())
		}
		return out
	}
	if got := order(500); !slices.Equal(got, []string{"own"}) {
		t.Errorf("a block has %v", got)
	}
	if got := order(math.MaxInt); !slices.Equal(got, []string{"mail", "quote", "own"}) {
		t.Errorf("a search finds %v, want all", got)
	}
}
