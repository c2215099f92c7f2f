package eval

import (
	"bytes"
	"errors"
	"math"
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
			{ID: "q2", Text: "Was the tram late?", Answer: "yes", Gold: []string{"s1", "s2"}},
			{ID: "q3", Text: "What does Mira drive to the lake?", Category: "sport", Unanswerable: true},
		},
	}}}
}

// qaRows fills contexts with the words that parrots find.
func qaRows(t *testing.T, budgets ...int) []QARow {
	t.Helper()
	rows, err := Retrieve(t.Context(), qaSet(), &parrot{}, budgets)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestContextHasTheBestTurnsInOrder(t *testing.T) {
	rows := qaRows(t, 20, 100)
	const first, third = "[3 March 2024] Mira: I row on the lake every morning.\n",
		"[3 March 2024] Mira: My brother rows, too, and he rows much further than I do, all the way around the lake and back again.\n"
	for i, want := range []struct {
		context  string
		evidence float64
	}{{first, 0.5}, {first + third, 1}} {
		if got := rows[i]; got.Context != want.context || got.Evidence != want.evidence {
			t.Errorf("%d tokens: %q with %v of the evidence, want %q with %v", got.Budget, got.Context, got.Evidence, want.context, want.evidence)
		}
	}
	if got := rows[2].Evidence; got != 0.5 {
		t.Errorf("one of two sessions: %v of the evidence", got)
	}
	if !rows[4].Unanswerable || rows[4].Evidence != 0 {
		t.Errorf("unanswerable: %+v", rows[4])
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

func qaSays(prompt, text string) memtest.ScriptLine {
	return memtest.ScriptLine{Prompt: prompt, Text: text}
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

func TestEachAnswerIsJudgedAndWritten(t *testing.T) {
	down := memory.Errorf(memory.Unavailable, "the server is down")
	for _, test := range []struct {
		lines   []memtest.ScriptLine
		errs    []string // of each row
		figures map[string]float64
	}{
		{
			[]memtest.ScriptLine{
				qaSays("qa_answer", "Mira"), qaSays("qa_judge", wrong), qaSays("qa_answer", "Yes."), qaSays("qa_judge", "So be it: "+right),
				qaSays("qa_answer", "The notes do not say."), qaSays("qa_judge", refusal),
			},
			[]string{"", "", ""},
			map[string]float64{"accuracy": 0.5, "refused": 0, "unanswerable refused": 1, "failed": 0},
		},
		{
			[]memtest.ScriptLine{
				{Prompt: "qa_answer", Err: down}, qaSays("qa_answer", "Yes."), qaSays("qa_judge", `{"correct": "perhaps"}`),
				qaSays("qa_answer", "A tram."), qaSays("qa_judge", wrong),
			},
			[]string{"server is down", "judge", ""},
			map[string]float64{"unanswerable refused": 0, "failed": 2. / 3},
		},
	} {
		rows, model, out := qaRows(t, 100), memtest.NewLLM(test.lines...), &bytes.Buffer{}
		if err := (Reader{Answer: model, Judge: model, Out: out, Workers: 1}).Ask(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		for i, want := range test.errs {
			if got := rows[i].Error; !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("row %d: error %q, want %q", i, got, want)
			}
		}
		for part, want := range test.figures {
			if got := qaMeasure(rows, part); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v, want %v", part, got, want)
			}
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 3 {
			t.Errorf("%d rows were written:\n%s", n, out)
		}
	}
}

func TestWrongKeyEndsTheRun(t *testing.T) {
	model := memtest.NewLLM(memtest.ScriptLine{Err: memory.Errorf(memory.Unavailable, "it answered 401"), Reusable: true})
	var out bytes.Buffer
	err := Reader{Answer: model, Judge: model, Out: &out, Workers: 4}.Ask(t.Context(), slices.Repeat(qaRows(t, 100)[:1], 50))
	if err == nil || !strings.Contains(err.Error(), "10 questions in a row failed") || bytes.Count(out.Bytes(), []byte("\n")) > 20 {
		t.Errorf("error %v\n%s", err, &out)
	}
}

func TestQuestionsToJudgeHaveAnAnswer(t *testing.T) {
	rows := qaRows(t, 100)
	rows[1].Answer = ""
	if err := (Reader{}).Ask(t.Context(), rows); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "q2") {
		t.Errorf("error %v, want the question named", err)
	}
}

// TestPromptsOfQA renders what models are asked; a reader sees the notes, a judge the reference.
func TestPromptsOfQA(t *testing.T) {
	rows := qaRows(t, 20)
	got := rows[1].prompt("qa_answer")
	const want = "Notes:\n[3 March 2024] Mira: I row on the lake every morning.\n\nQuestion: Was the tram late?"
	if diff := cmp.Diff(want, strings.ReplaceAll(got.User, "\n\n\n", "\n\n")); diff != "" || !strings.HasPrefix(got.System, "You answer") {
		t.Errorf("question (-want +got):\n%s\nsystem %q", diff, got.System)
	}
	row := rows[2]
	row.Response, row.Context = "A car.", ""
	if got := row.prompt("qa_judge"); !strings.Contains(got.User, "There is no answer") || !strings.HasSuffix(got.User, "Response: A car.") {
		t.Errorf("verdict: %+v", got)
	}
	if empty := row.prompt("qa_answer"); !strings.Contains(empty.User, "(none)") {
		t.Errorf("without notes: %q", empty.User)
	}
}
