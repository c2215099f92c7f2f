package eval

import (
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/text"
)

// slips are what fingers do to a word: two letters swapped, one left out, one typed
// twice. The first letter stays.
var slips = map[string]func(word string, at int) string{
	"swapped": func(w string, at int) string { return w[:at] + w[at+1:at+2] + w[at:at+1] + w[at+2:] },
	"dropped": func(w string, at int) string { return w[:at] + w[at+1:] },
	"doubled": func(w string, at int) string { return w[:at+1] + w[at:] },
}

var longWord = regexp.MustCompile(`[A-Za-z]{5,}`)

// misspell returns a question with one of its words that a search looks for misspelt, which one
// and where is the question's own chance. A question without such a word stays as it is.
func misspell(question, slip string) string {
	h := fnv.New64a()
	h.Write([]byte(question))
	r := rand.New(rand.NewPCG(h.Sum64(), 7))
	var words [][]int
	for _, at := range longWord.FindAllStringIndex(question, -1) {
		if text.Term(strings.ToLower(question[at[0]:at[1]])) != "" {
			words = append(words, at)
		}
	}
	if len(words) == 0 {
		return question
	}
	at := words[r.IntN(len(words))]
	word := question[at[0]:at[1]]
	from := 1 + r.IntN(len(word)-2)
	for i := range len(word) - 2 { // two letters that are the same cannot be seen to be swapped
		place := 1 + (from-1+i)%(len(word)-2)
		if wrong := slips[slip](word, place); wrong != word {
			return question[:at[0]] + wrong + question[at[1]:]
		}
	}
	return question
}

// misspelt is a data set whose questions are all misspelt.
func misspelt(set Dataset, slip string) Dataset {
	again := func(questions []Question) []Question {
		out := make([]Question, len(questions))
		for i, q := range questions {
			q.Text = misspell(q.Text, slip)
			out[i] = q
		}
		return out
	}
	out := set
	out.Conversations = make([]Conversation, len(set.Conversations))
	for i, c := range set.Conversations {
		c.Questions, c.Unanswerable = again(c.Questions), again(c.Unanswerable)
		out.Conversations[i] = c
	}
	return out
}

// TestReportMisspelt prints what is left of each set where every question has a misspelt
// word: recall@10 and MRR@20, AUC, and the shares of own and of others' questions refused.
func TestReportMisspelt(t *testing.T) {
	if !*all {
		t.Skip("prints a table for docs/ranking.md; run with -v -all")
	}
	for _, set := range devSets(t) {
		for _, slip := range []string{"", "swapped", "dropped", "doubled"} {
			asked := set
			if slip != "" {
				asked = misspelt(set, slip)
			}
			r := retrieved(t, &Direct{Embedder: embed.Lexical{}}, asked)
			t.Logf("| %s | %s | %.3f / %.3f | %.3f | %.3f | %.3f |", set.Name, slip, r.All.Recall, r.All.MRR, r.Refusal, 1-r.Answered, r.Refused)
		}
	}
}

// TestReportNames prints what is found, and how much refused, where the speaker whom a question of
// LoCoMo names is misspelt by a letter, is somebody whose name is one letter away, or
// somebody else altogether.
func TestReportNames(t *testing.T) {
	if !*all {
		t.Skip("prints figures for docs/ranking.md; run with -v -all")
	}
	set := devSets(t)[0]
	for _, names := range [][]string{
		{"Caroline", "Caroline", "Melanie", "Melanie", "Maria", "Maria"},
		{"Caroline", "Carolime", "Melanie", "Melabie"},
		{"Caroline", "Carolina", "Melanie", "Melania", "Maria", "Marian"},
		{"Caroline", "Zoe", "Melanie", "Ute", "Maria", "Zoe"},
	} {
		others, asked := strings.NewReplacer(names...), set
		asked.Conversations = slices.Clone(set.Conversations)
		for i := range asked.Conversations {
			var questions []Question
			for _, q := range asked.Conversations[i].Questions {
				if aboutThem.MatchString(q.Text) {
					q.Text = others.Replace(q.Text)
					questions = append(questions, q)
				}
			}
			asked.Conversations[i].Questions = questions
		}
		r := retrieved(t, &Direct{Embedder: embed.Lexical{}}, asked)
		t.Logf("%s: %d questions, %.3f / %.3f, %.3f refused", names[1], len(r.own), r.All.Recall, r.All.MRR, 1-r.Answered)
	}
}

var aboutThem = regexp.MustCompile(`Caroline|Melanie|Maria`)
