package extract_test

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

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
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
	turns, waiting          int
	found, agreed           int // of all facts: those that agree with some gold fact of their session
	onGoldTurn, agreedThere int // of the facts on turns with gold: those that agree with it
	gold, covered           int // of the gold facts: those that a fact of their turn agrees with
	rules                   map[string][2]int
}

// agrees reports whether a fact and a gold fact share half of the content words of
// the shorter: names, numbers and things, not the verb alone.
func agrees(fact, gold map[string]bool) bool {
	return max(extract.CoveredShare(fact, gold), extract.CoveredShare(gold, fact)) >= 0.5
}

// add compares what the rules read in one turn with the gold of that turn and with
// that of its session.
func (s *score) add(utterances []extract.Utterance, gold, session []string) {
	s.turns++
	s.gold += len(gold)
	cands := reading(utterances)
	if s.rules == nil {
		s.rules = map[string][2]int{}
	}
	golden := make([]map[string]bool, len(gold))
	for i, g := range gold {
		golden[i] = extract.TermSet(g)
	}
	hit := make([]bool, len(gold))
	for _, c := range cands {
		if c.ReviewReason != "" {
			s.waiting++
			continue
		}
		s.found++
		words := extract.TermSet(c.Text)
		there, somewhere := false, false
		for i, g := range golden {
			if agrees(words, g) {
				there, hit[i] = true, true
			}
		}
		for _, g := range session {
			somewhere = somewhere || agrees(words, extract.TermSet(g))
		}
		if somewhere {
			s.agreed++
		}
		if len(gold) > 0 {
			s.onGoldTurn++
			n := s.rules[c.Model]
			n[1]++
			if there {
				s.agreedThere++
				n[0]++
			}
			s.rules[c.Model] = n
		}
		show("%s\t%s\t%s\t<- %s\n", map[[2]bool]string{{true, true}: "agrees", {true, false}: "differs", {false, false}: "no gold"}[[2]bool{len(gold) > 0, there}], c.Model, c.Text, c.Quote)
	}
	for i, h := range hit {
		if h {
			s.covered++
		} else if len(utterances) > 0 {
			show("missed\t\t%s\t<- %s\n", gold[i], utterances[0].Text)
		}
	}
}

// show prints what is measured, where LOCI_SHOW asks for it.
func show(form string, args ...any) {
	if os.Getenv("LOCI_SHOW") != "" {
		line := fmt.Sprintf(form, args...)
		fmt.Println(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\n", " "))
	}
}

func (s *score) report(t *testing.T, name string) {
	t.Helper()
	share := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
	t.Logf("%s: %d turns, %d facts (%.1f per 100 turns, %d waiting); on turns with gold %d, of which %.1f %% agree with it; of all %.1f %% agree with gold of their session; %d gold facts, %.1f %% found",
		name, s.turns, s.found, share(s.found, s.turns), s.waiting, s.onGoldTurn, share(s.agreedThere, s.onGoldTurn), share(s.agreed, s.found), s.gold, share(s.covered, s.gold))
	var rules []string
	for r, n := range s.rules {
		rules = append(rules, fmt.Sprintf("%s %d/%d", strings.TrimPrefix(r, "rule:"), n[0], n[1]))
	}
	sort.Strings(rules)
	t.Logf("%s, agreed/found by rule on turns with gold: %s", name, strings.Join(rules, ", "))
	if s.found == 0 || s.turns == 0 {
		t.Errorf("%s: the rules found nothing in %d turns", name, s.turns)
	}
}

// halves keeps apart what rules were written by from what they are tried on: the
// conversations with an even number and those with an odd one.
type halves [2]score

func (h *halves) report(t *testing.T, name string) {
	t.Helper()
	h[0].report(t, name+", even")
	h[1].report(t, name+", odd")
	var all score
	for _, s := range h {
		all.turns, all.waiting, all.found, all.agreed = all.turns+s.turns, all.waiting+s.waiting, all.found+s.found, all.agreed+s.agreed
		all.onGoldTurn, all.agreedThere, all.gold, all.covered = all.onGoldTurn+s.onGoldTurn, all.agreedThere+s.agreedThere, all.gold+s.gold, all.covered+s.covered
	}
	all.report(t, name+", both")
}

func userTurn(id string, index int, content string, at time.Time) []extract.Utterance {
	return learn.Guard([]memory.Turn{{ID: id, Index: index, Role: memory.RoleUser, Content: content, CreatedAt: at}}, learn.GuardOptions{})
}

func TestMeasureRulesOnLoCoMo(t *testing.T) {
	file := sharedData(t, "data/locomo/locomo-dev.json.gz")
	var data []struct {
		Conversation map[string]json.RawMessage                `json:"conversation"`
		Observation  map[string]map[string][][]json.RawMessage `json:"observation"`
	}
	readGzip(t, file, &data)
	var h halves
	for n, c := range data {
		s := &h[n%2]
		gold, sessions := map[string][]string{}, map[string][]string{}
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
						fact := strings.ReplaceAll(words, speaker, "User")
						session, _, _ := strings.Cut(id, ":")
						gold[id], sessions[session] = append(gold[id], fact), append(sessions[session], fact)
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
				s.add(userTurn(turn.ID, n, turn.Text, at), gold[turn.ID], sessions[fmt.Sprintf("D%d", i)])
			}
		}
	}
	h.report(t, "LoCoMo observations")
}

func TestMeasureRulesOnRealMem(t *testing.T) {
	pattern := sharedData(t, "data/realmem/*.json.gz")
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var h halves
	for n, file := range files {
		s := &h[n%2]
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
			var session []string
			for _, m := range dialogue.Memory {
				session = append(session, m.Content)
				if m.Role == "User" {
					gold[m.Source] = append(gold[m.Source], m.Content)
				}
			}
			for n, turn := range dialogue.Turns {
				if turn.Speaker == "User" {
					s.add(userTurn(fmt.Sprintf("%d-%d", d, n), n, turn.Content, at), gold[turn.Content], session)
				}
			}
		}
	}
	h.report(t, "RealMem extracted memories")
}
