package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestSimilarityOfStatements(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"User lives in Bergen", "User is living in Bergen with two cats", true},
		{"User lives in Bergen", "User is living in Bergen now", true},
		{"User lives in Bergen", "User lives in Oslo", false},
		{"User has a dog called Pim", "User's dog is called Pim", true},
		{"User is allergic to peanuts", "User is not allergic to peanuts", false},
		{"User runs 5 km every morning", "User runs 10 km every morning", false},
		{"User ran a marathon on 2026-05-03", "User ran a marathon last week", true},
		{"User likes tea", "User's sister likes green tea and bakes bread", true}, // the measure knows no subjects
		{"User likes tea", "User plays chess", false},
	} {
		got := alike(c.a, c.b)
		if back := alike(c.b, c.a); (got > 0) != c.want || back != got {
			t.Errorf("alike(%q, %q) = %.2f, the other way %.2f; want them alike: %v", c.a, c.b, got, back, c.want)
		}
	}
}

// miraLesson is a lesson in which a new home replaces the old one.
const miraLesson = `{"id":"mira","turns":[{"content":"I live in Oslo and I work as a nurse.","at":"2026-03-03T07:05:00Z"},{"role":"assistant","content":"Nice."},{"content":"I moved to Bergen. I like chess.","at":"2026-04-03T07:05:00Z"}],"gold":[{"text":"User lives in Oslo","turn":0},{"text":"User works as a nurse","turn":0,"category":"work"},{"text":"User lives in Bergen","turn":2,"replaces":0},{"text":"User plays the cello"}],"junk_ok":["User likes chess"]}`

// lessonsOf reads a text in a format.
func lessonsOf(format, text string) ([]Lesson, error) {
	return lessonReaders[format](strings.NewReader(text), "Mira")
}

func TestOwnLessonsAreRead(t *testing.T) {
	lessons, err := lessonsOf("jsonl", "\n"+miraLesson+"\n")
	if err != nil || len(lessons) != 1 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	l := lessons[0]
	if len(l.Turns) != 3 || l.Turns[0].Role != memory.RoleUser || l.Gold[2].Replaces == nil || *l.Gold[2].Replaces != 0 || l.Gold[1].Replaces != nil || len(l.Extra) != 1 {
		t.Errorf("read as %+v", l)
	}
	for line, want := range map[string]string{
		`{"turns":[]}`: "turns: is empty",
		`{"turns":[{"content":"a"}],"gold":[{"text":""}]}`:                            "is empty",
		`{"turns":[{"content":"a"}],"gold":[{"text":"b","replaces":0}]}`:              "replaces none that is earlier",
		`{"turns":[{"content":"a"}],"gold":[{"text":"b"},{"text":"c","replaces":1}]}`: "replaces none that is earlier",
	} {
		if _, err := lessonsOf("jsonl", line); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "value 1") {
			t.Errorf("%s: error %v, want value 1 and %q", line, err, want)
		}
	}
}

// learnOwn tells miraLesson.
func learnOwn(t *testing.T, o LearnOptions) LearnReport {
	t.Helper()
	lessons, err := lessonsOf("jsonl", miraLesson)
	if err != nil {
		t.Fatal(err)
	}
	o.Config = defaults(t)
	report, err := Learned(t.Context(), lessons, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func figure(t *testing.T, r LearnReport, metric string) float64 {
	t.Helper()
	for _, row := range r.Rows() {
		if row.Name == metric {
			return cellOf(row, "value")
		}
	}
	return math.NaN()
}

func TestRulesAreMeasuredOnOwnLessons(t *testing.T) {
	r := learnOwn(t, LearnOptions{})
	for metric, want := range map[string]float64{
		"precision": 1, "recall": 2. / 3, "superseded": 1,
		"junk per 100 turns": 0, "pending per 100 turns": 0, "duplicates": 0, "learning failed": 0,
	} {
		if got := figure(t, r, metric); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v, want %v\n%+v", metric, got, want, r.Lessons[0].Shown)
		}
	}
}

// modelServer is an OpenAI-compatible server whose model is reply: given the name
// of the prompt and the words of system and user message it returns a status and
// what it says.
func modelServer(t testing.TB, reply func(prompt, system, user string) (status int, text string)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Role, Content string } `json:"messages"`
			Format   struct {
				Schema struct {
					Name string `json:"name"`
				} `json:"json_schema"`
			} `json:"response_format"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &in) != nil {
			http.Error(w, "no JSON", http.StatusTeapot)
			return
		}
		said := map[string]string{}
		for _, m := range in.Messages {
			said[m.Role] = m.Content
		}
		name := in.Format.Schema.Name
		if name == "" { // it was asked in words instead
			name = "extract"
			if strings.Contains(said["system"], "Compare each new fact") {
				name = "reconcile"
			}
		}
		status, words := reply(name, said["system"], said["user"])
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprint(w, `{"error":{"message":"no"}}`)
			return
		}
		answer := map[string]any{
			"model": "fake", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": words}}},
			"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			return // the client disconnected
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// ofModel makes a model's reply of facts.
func ofModel(facts ...map[string]any) string {
	data, err := json.Marshal(map[string]any{"facts": append([]map[string]any{}, facts...)})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestModelIsMeasuredWithTokensAndFailures(t *testing.T) {
	answered := int64(0)
	s := modelServer(t, func(prompt, _, user string) (int, string) {
		_, turns, _ := strings.Cut(user, "The turns:")
		switch {
		case prompt != "extract":
			answered++
			return http.StatusOK, `{"decisions":[{"new":1,"event":"ADD"}]}`
		case strings.Contains(turns, "Oslo"):
			answered++
			return http.StatusOK, ofModel(
				map[string]any{"text": "User lives in Oslo", "turn": "t1", "quote": "I live in Oslo"},
				map[string]any{"text": "User owns a castle in Oslo", "turn": "t1", "quote": "I live in Oslo"})
		}
		return http.StatusUnauthorized, ""
	})
	r := learnOwn(t, LearnOptions{URL: s.URL + "/v1", Model: "fake"})
	model := r.Lessons[0].Model
	if r.By != "fake" || model.Calls != answered || model.InputTokens != 100*answered || figure(t, r, "learning failed") != 1 {
		t.Errorf("by %q, %+v of %d calls, failed %v", r.By, model, answered, figure(t, r, "learning failed"))
	}
	if got, want := figure(t, r, "tokens a turn"), float64(answered)*(100+10)/2; got != want || want == 0 {
		t.Errorf("tokens %v, want %v", got, want)
	}
	if superseded := figure(t, r, "superseded"); superseded != 0 {
		t.Errorf("superseded %v although nothing was learned of the second turn", superseded)
	}
}

func TestAWrongUpstreamIsRefused(t *testing.T) {
	lessons, err := lessonsOf("jsonl", miraLesson)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Learned(context.Background(), lessons, LearnOptions{Config: defaults(t), URL: "nonsense", Model: "m"}); !errors.Is(err, memory.Invalid) {
		t.Errorf("error %v", err)
	}
}
