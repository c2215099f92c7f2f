package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const (
	right   = `{"correct": true, "refused": false}`
	wrong   = `{"correct": false, "refused": false}`
	refusal = `{"correct": false, "refused": true}`
)

func qaSet() Dataset {
	at := time.Date(2024, 3, 3, 7, 5, 0, 0, time.UTC)
	turn := func(ref, session, content string) Turn {
		return Turn{Ref: ref, Session: session, Role: memory.RoleUser, Name: "Mira", Content: content, At: at}
	}
	return Dataset{Name: "jsonl", Conversations: []Conversation{{
		Name: "c1",
		Turns: []Turn{
			turn("t1", "s1", "I row on the lake\nevery morning."), turn("t2", "s1", "The tram was late."),
			turn("t3", "s2", "My brother rows, too, and he rows much further than I do, all the way around the lake and back again."),
		},
		Questions: []Question{
			{ID: "q1", Text: "Who rows on the lake?", Category: "sport", Answer: "Mira and her brother", Gold: []string{"t1", "t3"}},
			{ID: "q2", Text: "Was the tram late?", Answer: "yes", Sessions: []string{"s1", "s2"}, At: at},
		},
		Unanswerable: []Question{{ID: "q3", Text: "What does Mira drive to the lake?", Category: "sport"}},
	}}}
}

func qaTasks(t *testing.T, o QAOptions) []QATask {
	t.Helper()
	tasks, err := Retrieve(t.Context(), qaSet(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func byBM25(budgets ...int) QAOptions {
	return QAOptions{Budgets: budgets, Targets: map[string]Target{QABM25: &Rival{}}}
}

func TestContextHoldsTheBestThatFitsInTheOrderItWasSaid(t *testing.T) {
	tasks := qaTasks(t, byBM25(20, 100))
	const first, third = "[3 March 2024] Mira: I row on the lake every morning.\n",
		"[3 March 2024] Mira: My brother rows, too, and he rows much further than I do, all the way around the lake and back again.\n"
	for i, want := range []struct {
		context  string
		evidence float64
	}{{first, 0.5}, {first + third, 1}} { // the better one is too long for 20 tokens
		if got := tasks[i]; got.Context != want.context || got.Row.Evidence != want.evidence || got.Row.ContextTokens > got.Row.Budget {
			t.Errorf("%d tokens: %q with %v of the evidence in %d tokens, want %q with %v",
				got.Row.Budget, got.Context, got.Row.Evidence, got.Row.ContextTokens, want.context, want.evidence)
		}
	}
	if got := tasks[2].Row.Evidence; got != 0.5 {
		t.Errorf("one of two sessions: %v of the evidence", got)
	}
	if !tasks[4].Row.Unanswerable || tasks[4].Row.Evidence != 0 {
		t.Errorf("unanswerable: %+v", tasks[4].Row)
	}
}

func TestSystemsAreMeasuredSideBySide(t *testing.T) {
	tasks := qaTasks(t, QAOptions{Budgets: []int{30, 100}, Targets: map[string]Target{
		QACosine: &Rival{Embedder: &memtest.Embedder{}}, QALoci: &Direct{}, QABM25: &Rival{},
	}})
	report := QAReport{Dataset: "own <set>"}
	for _, task := range tasks {
		report.Rows = append(report.Rows, task.Row)
	}
	got := map[string]float64{}
	for _, f := range report.Figures() {
		if f.Metric != "evidence" || f.Category == "" && f.N != 2 || f.Category == "sport" && f.N != 1 {
			t.Errorf("figure %+v", f)
		}
		if f.Category == "" && f.Budget == 100 {
			got[f.System] = f.Value
		}
	}
	if want := map[string]float64{QALoci: 0.75, QABM25: 0.75, QACosine: 1}; !cmp.Equal(want, got) {
		t.Errorf("evidence within 100 tokens: %v, want %v", got, want)
	}
	if table := report.String(); !strings.Contains(table, "no model was asked") || !strings.Contains(table, "bm25  sport") {
		t.Errorf("table:\n%s", table)
	}
}

func TestOnlyOneHalfOfLoCoMoIsAsked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "locomo.json")
	sample := func(id string) string {
		return `{"sample_id":"` + id + `","conversation":{"session_1":[{"speaker":"A","dia_id":"D1:1","text":"Hi"}],"session_1_date_time":"1:56 pm on 8 May, 2023"},
			"qa":[{"question":"When?","answer":2022,"evidence":["D1:1"],"category":2}]}`
	}
	if err := os.WriteFile(file, []byte("["+sample("conv-26")+","+sample("conv-30")+","+sample("conv-41")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		heldBack bool
		limit    int
		names    []string
	}{{false, 0, []string{"conv-26", "conv-41"}}, {false, 1, []string{"conv-26"}}, {true, 2, []string{"conv-30"}}} {
		set, err := OpenQA("locomo", want.heldBack, want.limit, file)
		var names []string
		for _, c := range set.Conversations {
			names = append(names, c.Name)
		}
		if err != nil || !slices.Equal(names, want.names) || set.Conversations[0].Questions[0].Answer != "2022" {
			t.Errorf("held back %v, limit %d: %v %v, want %v", want.heldBack, want.limit, names, err, want.names)
		}
	}
	if err := os.WriteFile(file, []byte("["+sample("conv-26")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{"locomo": "no conversation of this half", "jsonl": "only locomo"} {
		if _, err := OpenQA(format, true, 0, file); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s held back: %v, want %q", format, err, want)
		}
	}
}

// qaAsked runs the tasks with a file of rows, as the command does.
func qaAsked(t *testing.T, ctx context.Context, path string, model memory.LLM) ([]QARow, error) {
	t.Helper()
	tasks := qaTasks(t, byBM25(100))
	file, have, err := OpenQARows(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := AskOptions{
		Answer: model, Judge: model, AnswerModel: "reader", JudgeModel: "judge", Prices: Prices{Input: 1e6, Output: 1e6},
		Workers: 1, Have: have, Keep: file.Add,
	}
	rows, open, err := o.Prepared(tasks)
	if err != nil {
		t.Fatal(err)
	}
	return rows, Ask(ctx, tasks, rows, open, o)
}

func qaSays(prompt, text string) memtest.Line { return memtest.Line{Prompt: prompt, Text: text} }

// killer is a model whose user ends the program when it has nothing left to say.
type killer struct {
	*memtest.LLM
	kill func()
}

func (k killer) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	if len(k.Left()) == 0 {
		k.kill()
	}
	return k.LLM.Complete(ctx, p)
}

func TestRunGoesOnWhereItEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	ctx, kill := context.WithCancel(t.Context())
	killing := killer{memtest.NewLLM(qaSays("qa_answer", "Mira"), qaSays("qa_judge", wrong)), kill}
	if _, err := qaAsked(t, ctx, path, killing); !errors.Is(err, context.Canceled) {
		t.Fatalf("killed: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n != 1 {
		t.Fatalf("%d rows, want the one that was judged:\n%s", n, data)
	}
	if err := os.WriteFile(path, append(data, data[:len(data)/2]...), 0o600); err != nil { // the next was cut off
		t.Fatal(err)
	}
	model := memtest.NewLLM(qaSays("qa_answer", "Yes."), qaSays("qa_judge", right), qaSays("qa_answer", "The notes do not say."), qaSays("qa_judge", refusal))
	rows, err := qaAsked(t, t.Context(), path, model)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []QARow{{Response: "Mira"}, {Response: "Yes.", Score: 1}, {Response: "The notes do not say.", Score: 1, Refused: true}} {
		if got := rows[i]; got.Response != want.Response || got.Score != want.Score || got.Refused != want.Refused || got.Error != "" ||
			got.Cost != float64(got.InputTokens+got.OutputTokens+got.JudgeInputTokens+got.JudgeOutputTokens) || got.InputTokens == 0 {
			t.Errorf("row %d: %+v, want %+v and its cost", i, got, want)
		}
	}
	model = memtest.NewLLM()
	again, err := qaAsked(t, t.Context(), path, model)
	if err != nil || len(model.Prompts()) > 0 || !cmp.Equal(rows, again) {
		t.Errorf("all are there: %v, %d calls\n%s", err, len(model.Prompts()), cmp.Diff(rows, again))
	}
	report := QAReport{Dataset: "jsonl", Rows: rows, AnswerModel: "reader", JudgeModel: "judge"}
	got := map[string]float64{}
	for _, f := range report.Figures() {
		if f.Category == "" {
			got[f.Metric] = f.Value
		}
	}
	if got["accuracy"] != 0.5 || got["refused"] != 0 || got["unanswerable refused"] != 1 || got["failed"] != 0 {
		t.Errorf("figures: %v", got)
	}
}

func TestFailedQuestionIsARowAndAskedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	down := memory.Errorf(memory.Unavailable, "the server is down")
	model := memtest.NewLLM(
		memtest.Line{Prompt: "qa_answer", Err: down},
		qaSays("qa_answer", "Yes."), qaSays("qa_judge", memtest.Garbage), qaSays("qa_judge", `{"correct": "perhaps"}`),
		qaSays("qa_answer", "A tram."), qaSays("qa_judge", `{"correct": true}`), qaSays("qa_judge", "So be it: "+wrong),
	)
	rows, err := qaAsked(t, t.Context(), path, model)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rows[0].Error, "server is down") || !strings.Contains(rows[1].Error, "judge") || rows[2].Error != "" || rows[2].Score != 0 {
		t.Errorf("rows: %+v", rows)
	}
	if repair := model.Prompts()[3].User; !strings.Contains(repair, "not usable") {
		t.Errorf("the judge was asked again by %q", repair)
	}
	report := QAReport{Rows: rows, AnswerModel: "reader"}
	for _, f := range report.Figures() {
		if f.Metric == "accuracy" || f.Metric == "failed" && f.Value != 2.0/3 {
			t.Errorf("without a verdict: %+v", f)
		}
	}
	model = memtest.NewLLM(qaSays("qa_answer", "Mira and her brother"), qaSays("qa_judge", right), qaSays("qa_judge", right))
	if rows, err = qaAsked(t, t.Context(), path, model); err != nil || len(model.Left()) > 0 {
		t.Fatalf("%v, %v was not asked", err, model.Left())
	}
	for i, score := range []int{1, 1, 0} {
		if rows[i].Error != "" || rows[i].Score != score {
			t.Errorf("row %d: %+v, want score %d", i, rows[i], score)
		}
	}
}

func TestWrongKeyEndsTheRun(t *testing.T) {
	tasks := slices.Repeat(qaTasks(t, byBM25(100))[:1], 50)
	model := memtest.NewLLM(memtest.Line{Err: memory.Errorf(memory.Unavailable, "it answered 401"), Always: true})
	kept := 0
	o := AskOptions{Answer: model, Judge: model, AnswerModel: "m", JudgeModel: "m", Keep: func(QARow) error { kept++; return nil }}
	rows, open, err := o.Prepared(tasks)
	if err != nil {
		t.Fatal(err)
	}
	if err := Ask(t.Context(), tasks, rows, open, o); err == nil || !strings.Contains(err.Error(), "10 questions in a row failed") || kept > 20 {
		t.Errorf("%d rows, error %v", kept, err)
	}
}

func TestQuestionsToJudgeHaveAnAnswer(t *testing.T) {
	tasks := qaTasks(t, byBM25(100))
	tasks[1].Row.Answer = ""
	if _, _, err := (AskOptions{}).Prepared(tasks); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "q2") {
		t.Errorf("error %v, want the question named", err)
	}
}

func TestOtherFilesAreNotTakenForRows(t *testing.T) {
	for _, text := range []string{"my notes", "my notes\n", `{"a":1}` + "\n", `{"set":"x","question_id":"1","answer_model":"m"}` + "\nrest"} {
		path := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := OpenQARows(path)
		if after, _ := os.ReadFile(path); !errors.Is(err, memory.Invalid) || string(after) != text {
			t.Errorf("%q: error %v, then it is %q", text, err, after)
		}
	}
}

// TestPromptsOfQA renders what models are asked; a reader sees the notes, a judge the reference.
func TestPromptsOfQA(t *testing.T) {
	tasks := qaTasks(t, byBM25(20))
	got := tasks[1].question()
	const want = "Today is 3 March 2024.\n\nNotes:\n[3 March 2024] Mira: The tram was late.\n\nQuestion: Was the tram late?"
	if diff := cmp.Diff(want, strings.ReplaceAll(got.User, "\n\n\n", "\n\n")); diff != "" || !strings.HasPrefix(got.System, "You answer") {
		t.Errorf("question (-want +got):\n%s\nsystem %q", diff, got.System)
	}
	row := tasks[2].Row
	row.Response = "A car."
	if got := row.verdict(); !strings.Contains(got.User, noAnswer) || !strings.HasSuffix(got.User, "Response: A car.") || got.Schema == nil {
		t.Errorf("verdict: %+v", got)
	}
	empty := QATask{Row: row}.question()
	if !strings.Contains(empty.User, "(none)") || strings.Contains(empty.User, "Today") {
		t.Errorf("without notes: %q", empty.User)
	}
}

// TestAnswersAreComparedQuestionByQuestion has one of four answered right that was wrong, one that
// another model judged, and one that failed then.
func TestAnswersAreComparedQuestionByQuestion(t *testing.T) {
	row := func(i, score int, evidence float64) QARow {
		return QARow{
			Set: "own", Conversation: "a", ID: fmt.Sprint(i), System: QALoci, Budget: 700, Evidence: evidence,
			Models: Models{Embedder: fmt.Sprint("e", score)}, AnswerModel: fmt.Sprint("reader", score), JudgeModel: "judge", Score: score,
		}
	}
	now := QAReport{Dataset: "own", AnswerModel: "reader1", JudgeModel: "judge", Version: "v"}
	var before []QARow
	for i := range 4 {
		now.Rows, before = append(now.Rows, row(i, 1, 1)), append(before, row(i, 0, 1))
	}
	before[1].Score, before[2].JudgeModel, before[3].Error = 1, "other", "no verdict"
	before[3].Evidence = 0.5
	before = append([]QARow{row(0, 1, 0)}, before...) // asked twice: the last counts
	list, err := now.Compare(before, "before")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]QADifference{}
	for _, d := range list {
		got[d.Metric] = d
	}
	if e := got["evidence"]; len(list) != 2 || e.Value != 0.125 || e.N != 4 || e.Better != 1 || e.Worse != 0 || e.Run != "before" {
		t.Errorf("evidence: %v of %v", e, list)
	}
	if a := got["accuracy"]; a.Value != 0.5 || a.N != 2 || a.Better != 1 || a.Low > 0.5 || a.High < 0.5 {
		t.Errorf("accuracy: %v", a)
	}
	before = before[:1]
	before[0].Answer = "another" // the data set was repaired since
	if _, err := now.Compare(before, "before"); !errors.Is(err, memory.Invalid) {
		t.Errorf("nothing to compare gives %v", err)
	}
}
