package eval

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// QATask is one question within one budget, and the context that was found for it.
type QATask struct {
	Row     QARow
	Context string
	today   string // when it is asked; "": not known
}

// QARow is what came of a question: its evidence in the context and, where a model was asked, its
// answer. Rows are kept as JSON lines.
type QARow struct {
	QAKey
	Category     string  `json:"category,omitempty"`
	Unanswerable bool    `json:"unanswerable,omitempty"`
	Evidence     float64 `json:"evidence"` // share of the gold in the context; 0 for unanswerable

	Response     string  `json:"response"`
	Refused      bool    `json:"refused"`       // the response says that it does not know
	Score        int     `json:"score"`         // 1: right
	InputTokens  int     `json:"input_tokens"`  // of both models, estimated where a server does not count
	OutputTokens int     `json:"output_tokens"` // of both models
	Cost         float64 `json:"cost"`
	Error        string  `json:"error,omitempty"` // no score: why
}

// QAKey is what a row is the answer to: what was asked, from which context, and whom.
type QAKey struct {
	Set          string `json:"set"`
	Conversation string `json:"conversation"`
	ID           string `json:"question_id"`
	Question     string `json:"question"`
	Answer       string `json:"answer"` // the data set's
	Budget       int    `json:"budget"` // tokens of context
	Embedder     string `json:"embedder"`
	Reranker     string `json:"reranker"`
	AnswerModel  string `json:"answer_model"`
	JudgeModel   string `json:"judge_model"`
}

// heldBackLoCoMo are the conversations of LoCoMo that nothing is tuned on.
var heldBackLoCoMo = []string{"conv-30", "conv-42", "conv-44", "conv-48", "conv-50"}

// Half returns the first limit conversations (0: all) of one half of LoCoMo: the development half or
// the one held back. Other data sets are whole.
func (d Dataset) Half(heldBack bool, limit int) (Dataset, error) {
	d.Conversations = slices.DeleteFunc(slices.Clone(d.Conversations), func(c Conversation) bool {
		return slices.Contains(heldBackLoCoMo, c.Name) != heldBack
	})
	d.Conversations = first(limit, d.Conversations)
	if len(d.Conversations) == 0 {
		return d, memory.Errorf(memory.Invalid, "%s has no such half; only locomo has one held back", d.Name)
	}
	return d, nil
}

// Retrieve has a target find what it can for each question, and fills a context with it for each budget
// in tokens. A context is lines of turns, each with its date and speaker: the best first as long as a
// line fits, then in the order in which they were said. key says by which models.
func Retrieve(ctx context.Context, set Dataset, target Target, key QAKey, budgets []int) (tasks []QATask, err error) {
	r := &retrieval{target: target, set: set, workers: 2 * runtime.GOMAXPROCS(0)}
	if err := r.own(ctx, false); err != nil {
		return nil, err
	}
	for _, p := range r.probes {
		c := set.Conversations[p.conversation]
		row := QARow{QAKey: key, Category: p.Category, Unanswerable: p.Unanswerable}
		row.Set, row.Conversation, row.ID, row.Question, row.Answer = set.Name, c.Name, p.ID, p.Text, p.Answer
		for _, row.Budget = range budgets {
			t := QATask{Row: row}
			if !p.At.IsZero() {
				t.today = p.At.Format(qaDate)
			}
			t.Context, t.Row.Evidence = c.fill(p.Question, p.found, row.Budget)
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

const qaDate = "2 January 2006"

// said is a turn on one line, with who said it.
func (t Turn) said() string {
	who := t.Name
	if who == "" {
		who = string(t.Role)
	}
	return who + ": " + strings.Join(strings.Fields(t.Content), " ")
}

// fill returns a context of what was found and fits into a budget, and the share of a question's gold
// in it. What does not fit gives way to shorter turns after it.
func (c Conversation) fill(q Question, found []Found, budget int) (context string, evidence float64) {
	lines, there := map[int]string{}, map[string]bool{}
	for _, f := range found {
		i := slices.IndexFunc(c.Turns, func(t Turn) bool { return t.Ref == f.Ref })
		if i < 0 {
			continue
		}
		line := c.Turns[i].said() + "\n"
		if at := c.Turns[i].At; !at.IsZero() {
			line = "[" + at.Format(qaDate) + "] " + line
		}
		if tokens := text.Tokens(line); tokens <= budget {
			budget -= tokens
			lines[i], there[f.Ref], there[c.Turns[i].Session] = line, true, true
		}
	}
	for i := range c.Turns {
		context += lines[i]
	}
	gold, n := q.Gold, 0
	if len(gold) == 0 {
		gold = q.Sessions
	}
	for _, g := range gold {
		n += count(there[g])
	}
	return context, quotient(n, len(gold))
}

// qaPrompts are what models are asked: a system message and, below the mark, the user's.
//
//go:embed prompts
var qaPrompts embed.FS

func qaPrompt(name string, values map[string]string) memory.Prompt {
	var b strings.Builder
	t := template.Must(template.ParseFS(qaPrompts, "prompts/"+name+".md"))
	if err := t.Execute(&b, values); err != nil {
		panic(err) // the embedded file is broken; a test would have said so
	}
	system, user, _ := strings.Cut(b.String(), "<!-- user -->\n")
	return memory.Prompt{Name: name, System: strings.TrimSpace(system), User: strings.TrimSpace(user)}
}

func (t QATask) question() memory.Prompt {
	return qaPrompt("qa_answer", map[string]string{"Today": t.today, "Notes": t.Context, "Question": t.Row.Question})
}

func (r QARow) verdict() memory.Prompt {
	reference := r.Answer
	if r.Unanswerable {
		reference = "There is no answer: the conversations do not say it."
	}
	p := qaPrompt("qa_judge", map[string]string{"Question": r.Question, "Reference": reference, "Response": r.Response})
	p.Schema = json.RawMessage(`{"type":"object","properties":{"correct":{"type":"boolean"},"refused":{"type":"boolean"}},` +
		`"required":["correct","refused"],"additionalProperties":false}`)
	return p
}

// Reader has a model answer questions from contexts, and another judge the answers.
type Reader struct {
	Answer, Judge memory.LLM
	Prices        Prices
	Out           string // file of rows: what is there is not asked again unless it failed
	Workers       int    // questions at once
}

// answerTokens is about what a model writes for a question and its verdict, in tokens.
const answerTokens = 45

// Estimate returns about what it takes to ask tasks.
func (r Reader) Estimate(tasks []QATask) (u Usage) {
	for _, t := range tasks {
		for _, p := range []memory.Prompt{t.question(), t.Row.verdict()} {
			u.add(Usage{Calls: 1, Input: text.Tokens(p.System + p.User), Output: answerTokens / 2})
		}
	}
	return u
}

// Have returns the rows of an earlier run that need not be asked again, and the tasks that are left.
// What is not a file of rows is [memory.Invalid] and stays as it is.
func (r Reader) Have(tasks []QATask) (rows []QARow, left []QATask, err error) {
	data, err := os.ReadFile(r.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	have := map[QAKey]QARow{} // the last of a question counts
	for line := range bytes.Lines(data) {
		var row QARow
		if !bytes.HasSuffix(line, []byte("\n")) && bytes.HasPrefix(line, []byte(`{"set":`)) {
			break // the end of a run cut it off
		}
		if err := json.Unmarshal(line, &row); err != nil || row.ID == "" || row.Budget == 0 {
			return nil, nil, memory.Errorf(memory.Invalid, "%s is no file of rows; name another", r.Out)
		}
		have[row.QAKey] = row
	}
	for _, t := range tasks {
		if t.Row.Answer == "" && !t.Row.Unanswerable {
			return nil, nil, memory.Errorf(memory.Invalid, "question %s has no answer to judge by", t.Row.ID)
		}
		if row, ok := have[t.Row.QAKey]; ok && row.Error == "" {
			rows = append(rows, row)
		} else {
			left = append(left, t)
		}
	}
	return rows, left, nil
}

// tooManyFailures in a row end a run: a wrong key or name fails every question.
const tooManyFailures = 10

// Ask has tasks answered and judged, and keeps each row at once. A question that fails is a row with an
// error. What is under way when ctx ends is not kept.
func (r Reader) Ask(ctx context.Context, tasks []QATask) (rows []QARow, err error) {
	f, err := os.OpenFile(r.Out, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Truncate(int64(bytes.LastIndexByte(data, '\n')+1))); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var mu sync.Mutex // guards rows, f and failed
	failed := 0
	err = parallel(ctx, len(tasks), r.Workers, func(ctx context.Context, i int) error {
		row, err := r.ask(ctx, tasks[i])
		if ctx.Err() != nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		failed++
		if err == nil {
			failed = 0
		} else if row.Error = err.Error(); failed >= tooManyFailures {
			return fmt.Errorf("%d questions in a row failed, the last of them: %w", failed, err)
		}
		rows = append(rows, row)
		return json.NewEncoder(f).Encode(row)
	})
	return rows, err
}

// ask has one question answered and judged.
func (r Reader) ask(ctx context.Context, t QATask) (row QARow, err error) {
	row = t.Row
	reply, err := r.complete(ctx, r.Answer, t.question(), &row)
	if row.Response = reply; err != nil || reply == "" {
		return row, fmt.Errorf("answer %q: %w", reply, err)
	}
	p := row.verdict()
	for range 2 {
		if reply, err = r.complete(ctx, r.Judge, p, &row); err != nil {
			break
		}
		if err = row.judged(reply); err == nil {
			return row, nil
		}
		p.User += "\n\nYour reply was not usable (" + err.Error() +
			`). Reply with JSON only: {"correct": true or false, "refused": true or false}`
	}
	return row, fmt.Errorf("judge: %w", err)
}

// complete asks a model, and adds to the row what that took.
func (r Reader) complete(ctx context.Context, model memory.LLM, p memory.Prompt, row *QARow) (string, error) {
	reply, err := model.Complete(ctx, p)
	if err != nil {
		return "", err
	}
	u := Usage{Input: reply.InputTokens, Output: reply.OutputTokens}
	if u.Input == 0 {
		u = Usage{Input: text.Tokens(p.System + p.User), Output: text.Tokens(reply.Text)}
	}
	row.InputTokens, row.OutputTokens = row.InputTokens+u.Input, row.OutputTokens+u.Output
	row.Cost += r.Prices.Cost(u)
	return reply.Text, nil
}

// judged reads a verdict. What cannot be answered is right if it is not; anything else is right if it
// is answered right.
func (r *QARow) judged(said string) error {
	var v struct{ Correct, Refused *bool }
	start, end := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if start < 0 || end < start {
		return errors.New("it has no JSON object")
	}
	if err := json.Unmarshal([]byte(said[start:end+1]), &v); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if v.Correct == nil || v.Refused == nil {
		return errors.New("correct and refused are needed")
	}
	r.Refused, r.Score = *v.Refused, count(*v.Correct && !*v.Refused)
	if r.Unanswerable {
		r.Score = count(*v.Refused)
	}
	return nil
}

// qaMetrics are the measures of rows, evidence first, which needs no model.
var qaMetrics = []struct {
	name  string
	of    func(QARow) bool // of which rows
	value func(QARow) float64
}{
	{"evidence", func(r QARow) bool { return !r.Unanswerable }, func(r QARow) float64 { return r.Evidence }},
	{"accuracy", func(r QARow) bool { return r.Error == "" && !r.Unanswerable }, func(r QARow) float64 { return float64(r.Score) }},
	{"refused", func(r QARow) bool { return r.Error == "" && !r.Unanswerable }, func(r QARow) float64 { return float64(count(r.Refused)) }},
	{"unanswerable refused", func(r QARow) bool { return r.Error == "" && r.Unanswerable }, func(r QARow) float64 { return float64(r.Score) }},
	{"failed", func(QARow) bool { return true }, func(r QARow) float64 { return float64(count(r.Error != "")) }},
}

// QARows are the measures of rows: by metric and category, a column for each budget.
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
					if r.Budget == budget && (category == "" || r.Category == category) && m.of(r) {
						values, of = append(values, m.value(r)), append(of, place[r.Conversation])
					}
				}
				row.N = len(values)
				row.Cells = append(row.Cells, report.Share(fmt.Sprint(budget, " tokens"), report.DrawsOf(of).Mean(values)))
			}
			if row.N > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
