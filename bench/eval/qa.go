package eval

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// QARow is a question with a budget: its context, the evidence in it and, if a model answered, the answer.
type QARow struct {
	Conversation string  `json:"conversation"`
	ID           string  `json:"question_id"`
	Question     string  `json:"question"`
	Answer       string  `json:"answer"` // from the data set
	Category     string  `json:"category,omitempty"`
	Unanswerable bool    `json:"unanswerable,omitempty"`
	Budget       int     `json:"budget"` // tokens of context
	Context      string  `json:"-"`
	Evidence     float64 `json:"evidence"` // share of the gold in the context, 0 if unanswerable

	Response     string `json:"response"`
	Refused      bool   `json:"refused"`       // the model answered that it does not know
	Score        int    `json:"score"`         // 1: right
	InputTokens  int    `json:"input_tokens"`  // of both models, 0 if the server does not count them
	OutputTokens int    `json:"output_tokens"` // of both models
	Error        string `json:"error,omitempty"`
}

// heldBackLoCoMo are the conversations of LoCoMo that are not used for tuning.
var heldBackLoCoMo = []string{"conv-30", "conv-42", "conv-44", "conv-48", "conv-50"}

// Half returns the first limit conversations (0: all) of the development or held-back half of LoCoMo. Other data sets
// have no halves.
func (d Dataset) Half(heldBack bool, limit int) (Dataset, error) {
	d.Conversations = slices.DeleteFunc(slices.Clone(d.Conversations), func(c Conversation) bool {
		return slices.Contains(heldBackLoCoMo, c.Name) != heldBack
	})
	d.Conversations = first(limit, d.Conversations)
	if len(d.Conversations) == 0 {
		return d, memory.Errorf(memory.Invalid, "%s has no held-back half; only locomo has one", d.Name)
	}
	return d, nil
}

// Retrieve searches each question and builds a context per budget in tokens. A context has the best turns that fit, in
// chronological order, each as a line with date and speaker.
func Retrieve(ctx context.Context, set Dataset, target Target, budgets []int) (rows []QARow, err error) {
	r := &retrieval{target: target, set: set, workers: Workers}
	if err := r.own(ctx, false); err != nil {
		return nil, err
	}
	for _, p := range r.probes {
		c := set.Conversations[p.conversation]
		row := QARow{
			Conversation: c.Name, ID: p.ID, Question: p.Text, Answer: p.Answer,
			Category: p.Category, Unanswerable: p.Unanswerable,
		}
		for _, row.Budget = range budgets {
			row.Context, row.Evidence = c.fill(p.Question, p.found, row.Budget)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// line returns a turn with its date and speaker.
func (t Turn) line() string {
	line := cmp.Or(t.Name, string(t.Role)) + ": " + strings.Join(strings.Fields(t.Content), " ") + "\n"
	if t.At.IsZero() {
		return line
	}
	return t.At.Format("[2 January 2006] ") + line
}

// fill returns a context of the found turns that fit into a budget, and the share of the question's gold in it. A turn
// that does not fit is skipped.
func (c Conversation) fill(q Question, found []Found, budget int) (context string, evidence float64) {
	lines, there := map[int]string{}, map[string]bool{}
	for _, f := range found {
		i := slices.IndexFunc(c.Turns, func(t Turn) bool { return t.Ref == f.Ref })
		if i < 0 {
			continue
		}
		line := c.Turns[i].line()
		if tokens := text.EstimateTokens(line); tokens <= budget {
			budget -= tokens
			lines[i], there[f.Ref], there[c.Turns[i].Session] = line, true, true
		}
	}
	for i := range c.Turns {
		context += lines[i]
	}
	n := 0
	for _, g := range q.Gold {
		n += count(there[g])
	}
	return context, quotient(n, len(q.Gold))
}

// qaPrompts are the prompts of the models: a system message and, below the mark, the user message.
//
//go:embed prompts
var qaPrompts embed.FS

func (r QARow) prompt(name string) memory.Prompt {
	var b strings.Builder
	t := template.Must(template.ParseFS(qaPrompts, "prompts/"+name+".md"))
	if err := t.Execute(&b, r); err != nil {
		panic(err) // a test parses the embedded file
	}
	system, user, _ := strings.Cut(b.String(), "<!-- user -->\n")
	return memory.Prompt{Name: name, System: strings.TrimSpace(system), User: strings.TrimSpace(user)}
}

// verdictSchema is the JSON schema of a judge's reply.
const verdictSchema = `{"type":"object","properties":{"correct":{"type":"boolean"},"refused":{"type":"boolean"}},
	"required":["correct","refused"],"additionalProperties":false}`

// Reader lets a model answer questions from contexts, and another one judge the answers.
type Reader struct {
	Answer, Judge memory.LLM
	Out           io.Writer // gets each row as a JSON line
	Workers       int       // number of concurrent questions
}

// tooManyFailures is how many failures in a row end a run, such as those of a wrong key.
const tooManyFailures = 10

// Ask answers and judges rows, and writes each at once. A failed question is a row with an error.
func (r Reader) Ask(ctx context.Context, rows []QARow) error {
	for _, row := range rows {
		if row.Answer == "" && !row.Unanswerable {
			return memory.Errorf(memory.Invalid, "question %s has no answer to judge by", row.ID)
		}
	}
	var mu sync.Mutex // guards Out and failed
	failed := 0
	return parallel(ctx, len(rows), r.Workers, func(ctx context.Context, i int) error {
		err := r.ask(ctx, &rows[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			failed = 0
		} else if rows[i].Error, failed = err.Error(), failed+1; failed >= tooManyFailures {
			return fmt.Errorf("%d questions in a row failed, the last of them: %w", failed, err)
		}
		return json.NewEncoder(r.Out).Encode(rows[i])
	})
}

// ask answers and judges one question.
func (r Reader) ask(ctx context.Context, row *QARow) (err error) {
	row.Response, err = row.complete(ctx, r.Answer, row.prompt("qa_answer"))
	if err != nil || row.Response == "" {
		return fmt.Errorf("answer %q: %w", row.Response, err)
	}
	p := row.prompt("qa_judge")
	p.Schema = json.RawMessage(verdictSchema)
	verdict, err := row.complete(ctx, r.Judge, p)
	if err == nil {
		err = row.judged(verdict)
	}
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

// complete asks a model, and adds its usage to the row.
func (r *QARow) complete(ctx context.Context, model memory.LLM, p memory.Prompt) (string, error) {
	reply, err := model.Complete(ctx, p)
	r.InputTokens, r.OutputTokens = r.InputTokens+reply.InputTokens, r.OutputTokens+reply.OutputTokens
	return reply.Text, err
}

// judged parses a verdict. The right answer to an unanswerable question is a refusal.
func (r *QARow) judged(reply string) error {
	var v struct{ Correct, Refused *bool }
	start, end := strings.Index(reply, "{"), strings.LastIndex(reply, "}")
	if start < 0 || end < start || json.Unmarshal([]byte(reply[start:end+1]), &v) != nil {
		return errors.New("the reply has no JSON object")
	}
	if v.Correct == nil || v.Refused == nil {
		return errors.New("the reply must have correct and refused")
	}
	r.Refused, r.Score = *v.Refused, count(*v.Correct && !*v.Refused)
	if r.Unanswerable {
		r.Score = count(*v.Refused)
	}
	return nil
}

// qaMetrics are the measures of a row, NaN if the row does not count. The first, evidence, needs no model.
var qaMetrics = []struct {
	name string
	of   func(QARow) float64
}{
	{"evidence", func(r QARow) float64 { return when(!r.Unanswerable, r.Evidence) }},
	{"accuracy", func(r QARow) float64 { return when(r.Error == "" && !r.Unanswerable, float64(r.Score)) }},
	{"refused", func(r QARow) float64 { return when(r.Error == "" && !r.Unanswerable, float64(count(r.Refused))) }},
	{"unanswerable refused", func(r QARow) float64 { return when(r.Error == "" && r.Unanswerable, float64(r.Score)) }},
	{"failed", func(r QARow) float64 { return float64(count(r.Error != "")) }},
}

// when returns x, or NaN.
func when(is bool, x float64) float64 {
	if is {
		return x
	}
	return math.NaN()
}

// QARows returns the measures of rows by metric and category, with a column per budget.
func QARows(all []QARow, asked bool, budgets []int) (rows []report.Row) {
	categories, place := map[string]bool{"": true}, map[string]int{} // of conversations
	for _, r := range all {
		categories[r.Category] = true
		if _, ok := place[r.Conversation]; !ok {
			place[r.Conversation] = len(place)
		}
	}
	for _, m := range qaMetrics {
		if !asked && m.name != "evidence" {
			break
		}
		for _, category := range sortedKeys(categories) {
			row := report.Row{Part: m.name, Name: cmp.Or(category, "all")}
			for _, budget := range budgets {
				var values []float64
				var of []int
				for _, r := range all {
					value := m.of(r)
					if r.Budget == budget && (category == "" || r.Category == category) && !math.IsNaN(value) {
						values, of = append(values, value), append(of, place[r.Conversation])
					}
				}
				row.N = len(values)
				mean := report.DrawsOf(of).Mean(values)
				row.Cells = append(row.Cells, report.Share(fmt.Sprint(budget, " tokens"), mean))
			}
			if row.N > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
