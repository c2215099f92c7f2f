package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Limits of a summary.
const (
	summaryBullets     = 6
	summaryTokens      = 120
	summaryTemperature = 0.2
)

// AskSummary returns the prompt that asks a model to continue a summary.
func AskSummary(utterances []extract.Utterance, previousSummary string, p *prompt.Set) (memory.Prompt, error) {
	d := prompt.Summarize{Previous: previousSummary}
	for i, s := range utterances {
		d.Turns = append(d.Turns, prompt.Turn{ID: shortTurnID(i), Role: string(s.Turn.Role), At: s.Turn.CreatedAt, Text: s.Text})
	}
	ask, err := p.Fill(d)
	ask.Temperature = summaryTemperature
	return ask, err
}

// ParseSummary returns the bullets of a model's reply, up to the size limit of a summary. A reply without
// bullets is [memory.Invalid].
func ParseSummary(reply string) (string, error) {
	var list []string
	remaining := summaryTokens
	for line := range strings.Lines(withoutThinking(reply)) {
		body, isBullet := trimBullet(strings.TrimSpace(line))
		body = Redact(tidyFact(body), false)
		switch n := text.EstimateTokens(body); {
		case !isBullet || body == "" || saysNoFacts(body) || extract.IsInstruction(body) || len(list) == summaryBullets || n > remaining:
		default:
			remaining -= n
			list = append(list, body)
		}
	}
	if len(list) == 0 {
		return "", memory.Errorf(memory.Invalid, "the reply has no bullets")
	}
	return formatBullets(list), nil
}

// formatBullets returns a list as the text of a summary, "" for an empty list.
func formatBullets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "- " + strings.Join(list, "\n- ")
}

// Summarize continues a summary without a model. It keeps the most important of previousSummary's bullets and of the
// new sentences, in their order, and returns "" if there are none.
func Summarize(utterances []extract.Utterance, previousSummary string) string {
	var points []summaryPoint
	for line := range strings.Lines(previousSummary) {
		if body, isBullet := trimBullet(strings.TrimSpace(line)); isBullet {
			points = append(points, summaryPoint{body, sentenceWeight(body) + previousPenalty, len(points)})
		}
	}
	question := ""
	for _, s := range utterances {
		_, forgetCommands := extract.MemoryCommands([]extract.Utterance{s})
		for _, span := range text.Sentences(s.Text) {
			sentence := strings.Join(strings.Fields(span.Slice(s.Text)), " ")
			isUser := s.Turn.Role == memory.RoleUser
			switch {
			case slices.ContainsFunc(forgetCommands, func(w extract.ForgetCommand) bool { return w.Span.Start < span.End && span.Start < w.Span.End }):
				// Requests to forget do not belong in a summary.
			case extract.IsInstruction(sentence) || strings.Contains(sentence, "***"):
			case text.EndsInQuestionMark(sentence):
				if isUser {
					question = sentence
				}
			case isUser:
				points = append(points, summaryPoint{inThirdPerson(sentence, s.Turn.CreatedAt), sentenceWeight(sentence), len(points)})
			case question != "" && sentenceWeight(sentence) > 0: // the answer begins with its result
				points = append(points, summaryPoint{clipWords(question, 16) + " " + clipWords(sentence, 20), answerWeight, len(points)})
				question = ""
			}
		}
	}
	return formatBullets(selectPoints(points))
}

// BlankSentences blanks the sentences of an utterance that contain one of the given spans of its turn.
func BlankSentences(s extract.Utterance, spans []memory.Span) extract.Utterance {
	blank := []byte(s.Text)
	for _, sentence := range text.Sentences(s.Turn.Content) {
		if slices.ContainsFunc(spans, func(q memory.Span) bool { return q.Start < sentence.End && sentence.Start < q.End }) {
			for i := sentence.Start; i < min(sentence.End, len(blank)); i++ {
				blank[i] = ' '
			}
		}
	}
	s.Text = string(blank)
	return s
}

// summaryPoint is a candidate for a line of the summary.
type summaryPoint struct {
	text     string
	weight   float64
	position int
}

// Weights of points: previousPenalty is added to a bullet of the previous summary, and answerWeight is the weight of
// an answer, about that of a statement with a name.
const (
	previousPenalty = -0.5
	answerWeight    = 1.5
)

// importantWords match words of important sentences: tasks, decisions, preferences, constraints.
var importantWords = lazy.Compile(`(?i)\b(?:decid\w+|chose|choose|chosen|agreed|plan\w*|going to|will|need\w*|must|have to|want\w*|prefer\w*|like\w*|love\w*|hate\w*|avoid\w*|never|always|only|at most|at least|no more than|budget|deadline|due|by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next)|allerg\w*|finished|done|booked|bought|moved|started|works?|lives?|todo|task|goal|instead)\b`)

// sentenceWeight returns the importance of a sentence, from 0 (small talk) to 3.
func sentenceWeight(s string) float64 {
	words := len(text.Words(s))
	if words < 4 || words > 60 {
		return 0
	}
	w := 0.0
	if importantWords.MatchString(s) {
		w++
	}
	return w + min(1, 0.5*float64(len(text.Names(s)))) + min(1, 0.5*float64(len(text.Numbers(s))))
}

// inThirdPerson returns a user's sentence in the third person with absolute dates.
func inThirdPerson(sentence string, at time.Time) string {
	s := tidyFact(clipWords(text.WithAbsoluteDates(english.ToThirdPerson(sentence), at), 30))
	if isFirstPerson(s) {
		s = clipWords(sentence, 30)
	}
	return s
}

func clipWords(s string, n int) string {
	words := strings.Fields(s)
	if len(words) <= n {
		return s
	}
	return strings.Join(words[:n], " ") + " …"
}

// selectPoints returns the texts of the points with the highest weight in their original order, without duplicates.
func selectPoints(points []summaryPoint) []string {
	byWeight := slices.Clone(points)
	slices.SortStableFunc(byWeight, func(a, b summaryPoint) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.position, a.position)) // newer first
	})
	var picked []summaryPoint
	remaining := summaryTokens
	for _, p := range byWeight {
		n := text.EstimateTokens(p.text)
		repeats := slices.ContainsFunc(picked, func(q summaryPoint) bool {
			return extract.CoveredShare(extract.TermSet(p.text), extract.TermSet(q.text)) >= 0.8
		})
		if p.weight > 0 && len(picked) < summaryBullets && n <= remaining && !repeats {
			remaining -= n
			picked = append(picked, p)
		}
	}
	slices.SortFunc(picked, func(a, b summaryPoint) int { return cmp.Compare(a.position, b.position) })
	out := make([]string, len(picked))
	for i, p := range picked {
		out[i] = p.text
	}
	return out
}
