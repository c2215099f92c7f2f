package learn

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// sharedData returns the development data, or skips.
func sharedData(t *testing.T, path string) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("LOCI_SHARED"), "../../shared", "../../../shared", "../../../../shared"} {
		if dir != "" {
			if found, _ := filepath.Glob(filepath.Join(dir, path)); len(found) > 0 {
				return filepath.Join(dir, path)
			}
		}
	}
	t.Skipf("no development data %s; set LOCI_SHARED to the folder that holds data/", path)
	return ""
}

func readGzip(t *testing.T, file string, into any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// score counts how rules do against gold facts that name the turn they are from.
type score struct {
	turns, found, waiting, onGoldTurn, agreed int // of the rules' facts
	gold, covered                             int // of the gold facts
	rules                                     map[string][2]int
}

// add compares what the rules read in one turn with the gold of that turn. A fact
// and a gold fact agree if half of the content words of the shorter stand in the
// other: names, numbers and things, not the verb alone.
func (s *score) add(said []Said, gold []string) []Candidate {
	s.turns++
	s.gold += len(gold)
	cands, _ := Filter(Rules(said), said)
	if s.rules == nil {
		s.rules = map[string][2]int{}
	}
	hit := make([]bool, len(gold))
	for _, c := range cands {
		if c.Waits != "" {
			s.waiting++
			continue
		}
		s.found++
		if len(gold) > 0 {
			s.onGoldTurn++
		}
		agreed := false
		for i, g := range gold {
			a, b := termSet(c.Text), termSet(g)
			if max(covered(a, b), covered(b, a)) >= 0.5 {
				agreed, hit[i] = true, true
			}
		}
		n := s.rules[c.Model]
		n[0]++
		if agreed {
			s.agreed++
			n[1]++
		}
		s.rules[c.Model] = n
		if os.Getenv("LOCI_SHOW") != "" {
			fmt.Printf("%v\t%s\t%s\t<- %s\n", agreed, c.Model, c.Text, strings.ReplaceAll(c.Quote, "\n", " "))
		}
	}
	for _, h := range hit {
		if h {
			s.covered++
		}
	}
	return cands
}

func (s *score) report(t *testing.T, name string) {
	t.Helper()
	share := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
	t.Logf("%s: %d turns, %d facts by rule (%.1f per 100 turns, %d waiting); of those on turns with gold %.1f %% agree with it; %d gold facts, %.1f %% found",
		name, s.turns, s.found, share(s.found, s.turns), s.waiting, share(s.agreed, s.onGoldTurn), s.gold, share(s.covered, s.gold))
	var rules []string
	for r, n := range s.rules {
		rules = append(rules, fmt.Sprintf("%s %d/%d", strings.TrimPrefix(r, "rule:"), n[1], n[0]))
	}
	sort.Strings(rules)
	t.Logf("%s, agreed/found by rule: %s", name, strings.Join(rules, ", "))
	if s.found == 0 || s.turns == 0 {
		t.Errorf("%s: the rules found nothing in %d turns", name, s.turns)
	}
}

func userTurn(id string, index int, content string, at time.Time) []Said {
	return Guard([]memory.Turn{{ID: id, Index: index, Role: memory.RoleUser, Content: content, CreatedAt: at}}, GuardOptions{})
}

func TestMeasureRulesOnLoCoMo(t *testing.T) {
	file := sharedData(t, "data/locomo/locomo-dev.json.gz")
	var data []struct {
		Conversation map[string]json.RawMessage                `json:"conversation"`
		Observation  map[string]map[string][][]json.RawMessage `json:"observation"`
	}
	readGzip(t, file, &data)
	var s score
	for _, c := range data {
		gold := map[string][]string{}
		for _, bySpeaker := range c.Observation {
			for speaker, facts := range bySpeaker {
				for _, f := range facts {
					var words string
					var one string
					var many []string
					if len(f) < 2 || json.Unmarshal(f[0], &words) != nil {
						continue
					}
					if json.Unmarshal(f[1], &one) == nil {
						many = []string{one}
					} else if json.Unmarshal(f[1], &many) != nil {
						continue
					}
					for _, id := range many {
						gold[id] = append(gold[id], strings.ReplaceAll(words, speaker, "User"))
					}
				}
			}
		}
		for i := 1; ; i++ {
			raw, ok := c.Conversation[fmt.Sprintf("session_%d", i)]
			if !ok {
				break
			}
			var stamp string
			if err := json.Unmarshal(c.Conversation[fmt.Sprintf("session_%d_date_time", i)], &stamp); err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse("3:04 pm on 2 January, 2006", stamp)
			if err != nil {
				t.Fatal(err)
			}
			var turns []struct {
				ID   string `json:"dia_id"`
				Text string `json:"text"`
			}
			if err := json.Unmarshal(raw, &turns); err != nil {
				t.Fatal(err)
			}
			for n, turn := range turns {
				s.add(userTurn(turn.ID, n, turn.Text, at), gold[turn.ID])
			}
		}
	}
	s.report(t, "LoCoMo observations")
}

func TestMeasureRulesOnRealMem(t *testing.T) {
	pattern := sharedData(t, "data/realmem/*.json.gz")
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var s score
	for _, file := range files {
		var data struct {
			Dialogues []struct {
				Time   string `json:"current_time"`
				Memory []struct {
					Content string `json:"content"`
					Turn    int    `json:"source_turn"`
					Role    string `json:"source_role_snapshot"`
					Source  string `json:"source_content_snapshot"`
				} `json:"extracted_memory"`
				Turns []struct {
					Speaker string `json:"speaker"`
					Content string `json:"content"`
				} `json:"dialogue_turns"`
			} `json:"dialogues"`
		}
		readGzip(t, file, &data)
		for d, dialogue := range data.Dialogues {
			stamp, _, _ := strings.Cut(dialogue.Time, " ")
			at, err := time.Parse(time.DateOnly, stamp)
			if err != nil {
				t.Fatal(err)
			}
			gold := map[string][]string{}
			for _, m := range dialogue.Memory {
				if m.Role == "User" {
					gold[m.Source] = append(gold[m.Source], m.Content)
				}
			}
			for n, turn := range dialogue.Turns {
				if turn.Speaker == "User" {
					s.add(userTurn(fmt.Sprintf("%d-%d", d, n), n, turn.Content, at), gold[turn.Content])
				}
			}
		}
	}
	s.report(t, "RealMem extracted memories")
}
