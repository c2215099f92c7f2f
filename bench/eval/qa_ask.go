package eval

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// qaPrompts are what models are asked: a system message and, below the mark, the user's.
//
//go:embed prompts
var qaPrompts embed.FS

var (
	qaAnswer = sync.OnceValue(func() *template.Template { return qaPrompt("qa_answer") })
	qaJudge  = sync.OnceValue(func() *template.Template { return qaPrompt("qa_judge") })
)

func qaPrompt(name string) *template.Template {
	return template.Must(template.ParseFS(qaPrompts, "prompts/"+name+".md"))
}

// qaVerdict is the schema of what a judge says.
const qaVerdict = `{"type":"object","properties":{"correct":{"type":"boolean"},"refused":{"type":"boolean"}},"required":["correct","refused"],"additionalProperties":false}`

// noAnswer is the reference of a question that cannot be answered.
const noAnswer = "There is no answer: the conversations do not say it."

func fillPrompt(t *template.Template, values map[string]string) memory.Prompt {
	var b strings.Builder
	if err := t.Execute(&b, values); err != nil {
		panic(err) // the embedded file is broken; a test would have said so
	}
	system, user, _ := strings.Cut(b.String(), "<!-- user -->\n")
	return memory.Prompt{Name: strings.TrimSuffix(t.Name(), ".md"), System: strings.TrimSpace(system), User: strings.TrimSpace(user)}
}

func (t QATask) question() memory.Prompt {
	return fillPrompt(qaAnswer(), map[string]string{"Today": t.today, "Notes": t.Context, "Question": t.Row.Question})
}

func (r QARow) verdict() memory.Prompt {
	reference := r.Answer
	if r.Unanswerable {
		reference = noAnswer
	}
	p := fillPrompt(qaJudge(), map[string]string{"Question": r.Question, "Reference": reference, "Response": r.Response})
	p.Schema = json.RawMessage(qaVerdict)
	return p
}

// AskOptions say who answers and judges.
type AskOptions struct {
	Answer, Judge           memory.LLM
	AnswerModel, JudgeModel string
	Prices                  Prices // of either
	Models                  Models // by which the context was found
	Version                 string
	Workers                 int               // questions at once; 0: 4
	Have                    []QARow           // rows of an earlier run, which are not asked again unless they failed
	Keep                    func(QARow) error // keeps a row before the next is asked
}

// Evidence returns the rows of tasks without asking a model, and keeps them.
func (o AskOptions) Evidence(tasks []QATask) (rows []QARow, err error) {
	for _, t := range tasks {
		row := t.Row
		row.Models, row.Version = o.Models, o.Version
		if o.Keep != nil && err == nil {
			err = o.Keep(row)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// Prepared returns tasks with the models that they are put to, and those rows of an earlier run
// that need not be asked again, by the place of their task.
func (o AskOptions) Prepared(tasks []QATask) (rows []QARow, open []int, err error) {
	have := map[QARow]QARow{} // by key
	for _, row := range o.Have {
		have[row.key()] = row // the last of a question counts
	}
	for i, t := range tasks {
		row := t.Row
		row.Models, row.AnswerModel, row.JudgeModel, row.Version = o.Models, o.AnswerModel, o.JudgeModel, o.Version
		if row.Answer == "" && !row.Unanswerable {
			return nil, nil, memory.Errorf(memory.Invalid, "question %s has no answer to judge by; give it one, or leave out --answer-model", row.ID)
		}
		was, ok := have[row.key()]
		if was.Response != "" { // at least the answer is there
			row = was
			row.Error = ""
		}
		if !ok || was.Error != "" {
			open = append(open, i)
		}
		rows = append(rows, row)
	}
	return rows, open, nil
}

// What models are expected to write, in tokens.
const (
	qaAnswerTokens  = 30
	qaVerdictTokens = 15
)

// Estimate returns about what it takes to ask the open tasks.
func (o AskOptions) Estimate(tasks []QATask, open []int) (u Usage, cost float64) {
	for _, i := range open {
		answer, judge := tasks[i].question(), tasks[i].Row.verdict()
		u = u.plus(Usage{Calls: 2, Input: tokensOf(answer) + tokensOf(judge) + qaAnswerTokens, Output: qaAnswerTokens + qaVerdictTokens})
	}
	return u, o.Prices.Cost(u)
}

func tokensOf(p memory.Prompt) int { return text.Tokens(p.System) + text.Tokens(p.User) }

// tooManyFailures in a row end a run: a wrong key or name fails every question.
const tooManyFailures = 10

// Ask has the open tasks answered and judged, into their rows. A question that fails is a row with
// an error; ten in a row end the run. What is under way when ctx ends is not kept.
func Ask(ctx context.Context, tasks []QATask, rows []QARow, open []int, o AskOptions) error {
	var mu sync.Mutex // guards rows, what follows, and Keep
	failed := 0
	return parallel(ctx, len(open), cmp.Or(o.Workers, 4), func(ctx context.Context, n int) error {
		row := rows[open[n]]
		err := o.ask(ctx, tasks[open[n]], &row)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			row.Error = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		if err := o.Keep(row); err != nil {
			return err
		}
		rows[open[n]] = row
		failed++
		if err == nil {
			failed = 0
		}
		if failed >= tooManyFailures {
			return fmt.Errorf("%d questions in a row failed, the last of them: %w", failed, err)
		}
		return nil
	})
}

// ask has one question answered, unless there is a response, and judged.
func (o AskOptions) ask(ctx context.Context, t QATask, row *QARow) error {
	if row.Response == "" {
		began := time.Now()
		reply, err := o.Answer.Complete(ctx, t.question())
		row.Latency = time.Since(began).Seconds()
		if err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		used := row.count(t.question(), &reply)
		row.InputTokens, row.OutputTokens, row.Response = used.Input, used.Output, reply.Text
		row.Cost += o.Prices.Cost(used)
		if reply.Text == "" {
			return errors.New("answer: the model said nothing")
		}
	}
	p := row.verdict()
	for try := 0; ; try++ {
		reply, err := o.Judge.Complete(ctx, p)
		if err != nil {
			return fmt.Errorf("judge: %w", err)
		}
		used := row.count(p, &reply)
		row.JudgeInputTokens += used.Input
		row.JudgeOutputTokens += used.Output
		row.Cost += o.Prices.Cost(used)
		err = row.judged(reply.Text)
		if err == nil {
			return nil
		}
		if try == 1 {
			return fmt.Errorf("judge: %w", err)
		}
		p.User += "\n\nYour reply was not usable (" + err.Error() + `). Reply with JSON only: {"correct": true or false, "refused": true or false}`
	}
}

// count returns the tokens of a call, estimated where the server did not count them.
func (r *QARow) count(p memory.Prompt, reply *memory.Reply) Usage {
	if reply.InputTokens > 0 {
		return Usage{Input: reply.InputTokens, Output: reply.OutputTokens}
	}
	r.Estimated = true
	return Usage{Input: tokensOf(p), Output: text.Tokens(reply.Text)}
}

// judged reads a verdict. What cannot be answered is right if it is not; anything else is right
// if it is answered right.
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
	r.Refused = *v.Refused
	r.Score = count(*v.Correct && !*v.Refused)
	if r.Unanswerable {
		r.Score = count(*v.Refused)
	}
	return nil
}
