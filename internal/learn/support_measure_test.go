package learn

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

// observed is a fact of LoCoMo's observations with the turns that it names.
type observed struct {
	fact  string
	turns []Said
}

// observations returns facts that a large model wrote about what it was shown,
// with the speaker as the user: right paraphrases, most of them.
func observations(t *testing.T) []observed {
	t.Helper()
	var data []struct {
		Conversation map[string]json.RawMessage                `json:"conversation"`
		Observation  map[string]map[string][][]json.RawMessage `json:"observation"`
	}
	readGzip(t, sharedData(t, "data/locomo/locomo-dev.json.gz"), &data)
	var out []observed
	for _, c := range data {
		turns, speaker := map[string]Said{}, map[string]string{}
		for i := 1; ; i++ {
			raw, ok := c.Conversation[fmt.Sprintf("session_%d", i)]
			if !ok {
				break
			}
			var stamp string
			_ = json.Unmarshal(c.Conversation[fmt.Sprintf("session_%d_date_time", i)], &stamp)
			at, _ := time.Parse("3:04 pm on 2 January, 2006", stamp)
			var said []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
			}
			if err := json.Unmarshal(raw, &said); err != nil {
				t.Fatal(err)
			}
			for n, s := range said {
				if read := userTurn(s.ID, n, s.Text, at); len(read) > 0 {
					turns[s.ID], speaker[s.ID] = read[0], s.Speaker
					if os.Getenv("LOCI_SHOW") == "blanked" && strings.Join(strings.Fields(read[0].Text), " ") != strings.Join(strings.Fields(s.Text), " ") {
						fmt.Printf("%s\n   -> %s\n", s.Text, read[0].Text)
					}
				}
			}
		}
		for _, bySpeaker := range c.Observation {
			for name, facts := range bySpeaker {
				for _, f := range facts {
					var words, one string
					var ids []string
					if len(f) < 2 || json.Unmarshal(f[0], &words) != nil {
						continue
					}
					if json.Unmarshal(f[1], &one) == nil {
						ids = []string{one}
					} else if json.Unmarshal(f[1], &ids) != nil {
						continue
					}
					o := observed{fact: strings.ReplaceAll(words, name, "User")}
					for _, id := range ids {
						if s, ok := turns[id]; ok && speaker[id] == name {
							o.turns = append(o.turns, s)
						}
					}
					if len(o.turns) > 0 {
						out = append(out, o)
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b observed) int { return strings.Compare(a.fact, b.fact) })
	return out
}

// accepted reports whether a fact that a model names no quote for would be active.
func accepted(fact string, said []Said) bool {
	kept, _ := Filter([]Candidate{{Text: fact, Confidence: 1}}, said)
	return len(kept) == 1 && kept[0].Waits == ""
}

func TestMeasureSupportOnLoCoMo(t *testing.T) {
	all := observations(t)
	if os.Getenv("LOCI_ALL") == "" { // a fifth is enough to see it move
		for i := range len(all) / 5 {
			all[i] = all[5*i]
		}
		all = all[:len(all)/5]
	}
	r := rand.New(rand.NewPCG(1, 2))
	right, foreign, denied, swapped, swappable := 0, 0, 0, 0, 0
	show := func(kind, fact string, turns []Said) {
		if os.Getenv("LOCI_SHOW") == kind {
			fmt.Printf("%s\n   <- %s\n", fact, strings.ReplaceAll(turns[0].Text, "\n", " "))
		}
	}
	for i, o := range all {
		if accepted(o.fact, o.turns) {
			right++
		} else {
			show("right", o.fact, o.turns)
		}
		other := all[(i+1+r.IntN(len(all)-1))%len(all)]
		if accepted(o.fact, other.turns) {
			foreign++
			show("wrong", o.fact, other.turns)
		}
		if rest, ok := strings.CutPrefix(o.fact, "User "); ok && accepted("User does not "+rest, o.turns) {
			denied++
			show("wrong", "not "+o.fact, o.turns)
		}
		if said, changed := swapNumber(o.fact); changed {
			swappable++
			if accepted(said, o.turns) {
				swapped++
			}
		}
	}
	n := len(all)
	t.Logf("%d observations: %.1f %% accepted of their own turns; wrong ones accepted: of another turn %d, with a negation added %d, with another number %d of %d",
		n, 100*float64(right)/float64(n), foreign, denied, swapped, swappable)
	if swapped > 0 || foreign*100 > n || denied*50 > n {
		t.Errorf("too many wrong ones are accepted")
	}
	if right*100 < 45*n {
		t.Errorf("too many right ones wait")
	}
}

func swapNumber(s string) (string, bool) {
	for _, n := range text.Numbers(s) {
		if strings.Contains(s, n) {
			return strings.Replace(s, n, n+"7", 1), true
		}
	}
	return s, false
}
