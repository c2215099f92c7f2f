package eval

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/text"
)

// TestNewerStatementsWin tells the chats of BEAM's development half and looks at the
// statements of which a later one updates or contradicts an earlier one: learned by
// the rules, by a scripted model that finds each statement and decides rightly, and
// by one that decides at random three times of ten.
func TestNewerStatementsWin(t *testing.T) {
	if testing.Short() {
		t.Skip("tells ten long chats; run without -short")
	}
	t.Parallel()
	lessons, err := OpenLearn("beam", 0, filepath.Join(shared(t), "beam", "100K-dev.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		wrong float64 // share of decisions that are wrong; below 0: by rule
		// Least of superseded and of recalled, most of the older shown alone.
		superseded, recalled, alone float64
	}{
		{"rules", -1, 0.15, 0.90, 0.10},
		{"right", 0, 0.85, 0.90, 0.05},
		{"wrong in 3 of 10", 0.3, 0.60, 0.90, 0.05},
	} {
		o := LearnOptions{}
		if c.wrong >= 0 {
			s := newScripted(lessons, c.wrong)
			o.URL, o.Model = modelServer(t, s.reply).URL+"/v1", "scripted"
		}
		report, err := Learned(t.Context(), lessons, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%s", c.name, report)
		superseded, recalled, alone := figure(t, report, "superseded"), figure(t, report, "newer recalled"), figure(t, report, "older shown alone")
		if superseded < c.superseded || recalled < c.recalled || alone > c.alone {
			t.Errorf("%s: superseded %.3f, want at least %.2f; newer recalled %.3f, want at least %.2f; older shown alone %.3f, want at most %.2f",
				c.name, superseded, c.superseded, recalled, c.recalled, alone, c.alone)
		}
	}
}

// scripted is a model that finds the gold of lessons.
type scripted struct {
	r        *rand.Rand
	wrong    float64
	quotes   map[string]string   // of gold, by what it says
	replaces map[string]string   // what gold takes the place of, by what it says
	said     map[string][]string // gold by the beginning of its quote
}

func newScripted(lessons []Lesson, wrong float64) *scripted {
	s := &scripted{r: rand.New(rand.NewPCG(3, 3)), wrong: wrong, quotes: map[string]string{}, replaces: map[string]string{}, said: map[string][]string{}}
	for _, l := range lessons {
		for _, g := range l.Gold {
			content := l.Turns[g.Turn].Content
			for _, span := range text.Sentences(content) {
				if q := asserted(span.Of(content)); q != "" && thirdPerson(q) == g.Text {
					s.quotes[g.Text] = q
					line, _, _ := strings.Cut(q, "\n")
					s.said[line] = append(s.said[line], g.Text)
				}
			}
			if g.Replaces >= 0 {
				s.replaces[g.Text] = l.Gold[g.Replaces].Text
			}
		}
	}
	return s
}

// remembered is a line of the prompt that asks for decisions.
var remembered = regexp.MustCompile(`(?m)^\[(\d+)\](?: \([^)]*\))? ?(.*)$`)

func (s *scripted) reply(promptName, _, user string) (int, string) {
	if promptName == "extract" {
		_, turns, _ := strings.Cut(user, "The turns:")
		var facts []map[string]any
		given := map[string]bool{}
		for _, line := range keys(s.said) { // in one order, so that chance falls alike each time
			for _, g := range s.said[line] {
				if strings.Contains(turns, line) && !given[g] {
					given[g] = true
					facts = append(facts, map[string]any{"text": g, "quote": s.quotes[g], "turn": "t1", "subject": "user", "confidence": 0.9})
				}
			}
		}
		return http.StatusOK, ofModel(facts...)
	}
	if promptName != "reconcile" {
		return http.StatusOK, "NOTHING"
	}
	known, fresh, _ := strings.Cut(user, "New:")
	var decisions []map[string]any
	for _, n := range remembered.FindAllStringSubmatch(fresh, -1) {
		d := map[string]any{"new": json.Number(n[1]), "event": "ADD"}
		for _, k := range remembered.FindAllStringSubmatch(known, -1) {
			if old := s.replacedBy(n[2]); old != "" && alike(k[2], old) > 0.8 { // dates were written out
				d["event"], d["id"] = "UPDATE", k[1]
			}
		}
		if s.r.Float64() < s.wrong {
			d["event"], d["id"] = []string{"ADD", "UPDATE", "DELETE", "NONE"}[s.r.IntN(4)], fmt.Sprint(s.r.IntN(6))
		}
		decisions = append(decisions, d)
	}
	data, err := json.Marshal(map[string]any{"decisions": decisions})
	if err != nil {
		panic(err)
	}
	return http.StatusOK, string(data)
}

// replacedBy returns what a line of the prompt takes the place of, "" for nothing.
func (s *scripted) replacedBy(line string) (old string) {
	most := 0.8
	for now, then := range s.replaces {
		if far := alike(line, now); far > most {
			old, most = then, far
		}
	}
	return old
}
