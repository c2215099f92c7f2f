package eval

import (
	"bytes"
	"context"
	"errors"
	"math"
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
			{ID: "q3", Text: "What does Mira drive to the lake?", Category: "sport", Unanswerable: true},
		},
	}}}
}

// qaTasks fills contexts with the words that parrots find.
func qaTasks(t *testing.T, budgets ...int) []QATask {
	t.Helper()
	tasks, err := Retrieve(t.Context(), qaSet(), &parrot{}, QAKey{AnswerModel: "reader", JudgeModel: "judge"}, budgets)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestContextHoldsTheBestThatFitsInTheOrderItWasSaid(t *testing.T) {
	tasks := qaTasks(t, 20, 100)
	const first, third = "[3 March 2024] Mira: I row on the lake every morning.\n",
		"[3 March 2024] Mira: My brother rows, too, and he rows much further than I do, all the way around the lake and back again.\n"
	for i, want := range []struct {
		context  string
		evidence float64
	}{{first, 0.5}, {first + third, 1}} {
		if got := tasks[i]; got.Context != want.context || got.Row.Evidence != want.evidence {
			t.Errorf("%d tokens: %q with %v of the evidence, want %q with %v", got.Row.Budget, got.Context, got.Row.Evidence, want.context, want.evidence)
		}
	}
	if got := tasks[2].Row.Evidence; got != 0.5 {
		t.Errorf("one of two sessions: %v of the evidence", got)
	}
	if !tasks[4].Row.Unanswerable || tasks[4].Row.Evidence != 0 {
		t.Errorf("unanswerable: %+v", tasks[4].Row)
	}
}

func TestOnlyOneHalfOfLoCoMoIsAsked(t *testing.T) {
	set := Dataset{Name: "locomo", Conversations: []Conversation{{Name: "conv-26"}, {Name: "conv-30"}, {Name: "conv-41"}}}
	for _, want := range []struct {
		heldBack bool
		limit    int
		names    string
	}{{false, 0, "conv-26 conv-41 "}, {false, 1, "conv-26 "}, {true, 2, "conv-30 "}} {
		half, err := set.Half(want.heldBack, want.limit)
		names := ""
		for _, c := range half.Conversations {
			names += c.Name + " "
		}
		if err != nil || names != want.names {
			t.Errorf("held back %v, limit %d: %q %v, want %q", want.heldBack, want.limit, names, err, want.names)
		}
	}
	if _, err := qaSet().Half(true, 0); !errors.Is(err, memory.Invalid) {
		t.Errorf("another data set's half: %v", err)
	}
}

// qaAsked runs the tasks with a file of rows, as the command does.
func qaAsked(t *testing.T, ctx context.Context, path string, model memory.LLM) ([]QARow, error) {
	t.Helper()
	r := Reader{Answer: model, Judge: model, Prices: Prices{Input: 1e6, Output: 1e6}, Out: path, Workers: 1}
	rows, left, err := r.Have(qaTasks(t, 100))
	if err != nil {
		return nil, err
	}
	more, err := r.Ask(ctx, left)
	return append(rows, more...), err
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
			got.Cost != float64(got.InputTokens+got.OutputTokens) || got.InputTokens == 0 {
			t.Errorf("row %d: %+v, want %+v and its cost", i, got, want)
		}
	}
	model = memtest.NewLLM()
	again, err := qaAsked(t, t.Context(), path, model)
	if err != nil || len(model.Prompts()) > 0 || !cmp.Equal(rows, again) {
		t.Errorf("all are there: %v, %d calls\n%s", err, len(model.Prompts()), cmp.Diff(rows, again))
	}
	for part, want := range map[string]float64{"accuracy": 0.5, "refused": 0, "unanswerable refused": 1, "failed": 0} {
		if got := qaMeasure(rows, part); got != want {
			t.Errorf("%s: %v, want %v", part, got, want)
		}
	}
}

// qaMeasure returns a measure of all rows.
func qaMeasure(rows []QARow, part string) float64 {
	for _, row := range QARows(rows, true, []int{100}) {
		if row.Part == part && row.Name == "all" {
			return row.Cells[0].Value
		}
	}
	return math.NaN()
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
	if got := qaMeasure(rows, "failed"); math.Abs(got-2./3) > 1e-9 {
		t.Errorf("failed: %v", got)
	}
	model = memtest.NewLLM(qaSays("qa_answer", "Mira and her brother"), qaSays("qa_judge", right), qaSays("qa_answer", "Yes."), qaSays("qa_judge", right))
	if rows, err = qaAsked(t, t.Context(), path, model); err != nil || len(model.Left()) > 0 {
		t.Fatalf("%v, %v was not asked", err, model.Left())
	}
	for _, row := range rows {
		if row.Error != "" || row.Unanswerable == (row.Score == 1) {
			t.Errorf("row: %+v", row)
		}
	}
}

func TestWrongKeyEndsTheRun(t *testing.T) {
	model := memtest.NewLLM(memtest.Line{Err: memory.Errorf(memory.Unavailable, "it answered 401"), Always: true})
	r := Reader{Answer: model, Judge: model, Out: filepath.Join(t.TempDir(), "rows.jsonl"), Workers: 4}
	rows, err := r.Ask(t.Context(), slices.Repeat(qaTasks(t, 100)[:1], 50))
	if err == nil || !strings.Contains(err.Error(), "10 questions in a row failed") || len(rows) > 20 {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
}

func TestQuestionsToJudgeHaveAnAnswer(t *testing.T) {
	tasks := qaTasks(t, 100)
	tasks[1].Row.Answer = ""
	if _, _, err := (Reader{Out: filepath.Join(t.TempDir(), "rows")}).Have(tasks); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "q2") {
		t.Errorf("error %v, want the question named", err)
	}
}

func TestOtherFilesAreNotTakenForRows(t *testing.T) {
	for _, text := range []string{"my notes", "my notes\n", `{"a":1}` + "\n", `{"set":"x","question_id":"1"}` + "\nrest"} {
		path := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := qaAsked(t, t.Context(), path, memtest.NewLLM())
		if after, _ := os.ReadFile(path); !errors.Is(err, memory.Invalid) || string(after) != text {
			t.Errorf("%q: error %v, then it is %q", text, err, after)
		}
	}
}

// TestPromptsOfQA renders what models are asked; a reader sees the notes, a judge the reference.
func TestPromptsOfQA(t *testing.T) {
	tasks := qaTasks(t, 20)
	got := tasks[1].question()
	const want = "Today is 3 March 2024.\n\nNotes:\n[3 March 2024] Mira: I row on the lake every morning.\n\nQuestion: Was the tram late?"
	if diff := cmp.Diff(want, strings.ReplaceAll(got.User, "\n\n\n", "\n\n")); diff != "" || !strings.HasPrefix(got.System, "You answer") {
		t.Errorf("question (-want +got):\n%s\nsystem %q", diff, got.System)
	}
	row := tasks[2].Row
	row.Response = "A car."
	if got := row.verdict(); !strings.Contains(got.User, "There is no answer") || !strings.HasSuffix(got.User, "Response: A car.") || got.Schema == nil {
		t.Errorf("verdict: %+v", got)
	}
	empty := QATask{Row: row}.question()
	if !strings.Contains(empty.User, "(none)") || strings.Contains(empty.User, "Today") {
		t.Errorf("without notes: %q", empty.User)
	}
}
