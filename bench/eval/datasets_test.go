package eval

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

const tinyLoCoMo = `[{"sample_id": "one", "conversation": {"speaker_a": "Mira", "speaker_b": "Tomas",
	"session_1_date_time": "7:05 am on 3 March, 2024",
	"session_1": [{"speaker": "Mira", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kayak"}, {"speaker": "Tomas", "dia_id": "D1:2", "text": "Nice."}],
	"session_2_date_time": "8:00 am on 4 March, 2024"},
	"qa": [{"question": "What did Mira show?", "answer": 7, "evidence": ["D1:1; D9:9", "D1:1"], "category": 4},
		{"question": "No evidence?", "evidence": [], "category": 1}, {"question": "None at all?", "category": 3},
		{"question": "Adversarial?", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "no"}]}]`

// parsed parses a text in a format.
func parsed(format, text string) ([]Conversation, error) {
	return readers[format](strings.NewReader(text), "me")
}

func TestLoCoMoIsRead(t *testing.T) {
	got, err := parsed("locomo", tinyLoCoMo)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 3, 3, 7, 5, 0, 0, time.UTC)
	want := []Conversation{{
		Name: "one",
		Turns: []Turn{
			{Ref: "D1:1", Session: "session_1", Role: memory.RoleUser, Name: "Mira", Content: "Look! [a red kayak]", At: at},
			{Ref: "D1:2", Session: "session_1", Role: memory.RoleUser, Name: "Tomas", Content: "Nice.", At: at.Add(time.Second)},
		},
		Questions: []Question{
			{ID: "one:0", Text: "What did Mira show?", Category: "4 single-hop", Answer: "7", Gold: []string{"D1:1"}},
			{ID: "one:3", Text: "Adversarial?", Category: "5 adversarial", Unanswerable: true},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnambiguousEvidenceIsRepaired(t *testing.T) {
	for _, test := range []struct{ named, gold []string }{
		{[]string{"D1:1", "D9:17"}, []string{"D1:1", "D9:17"}},
		{[]string{"D8:6; D9:17"}, []string{"D8:6", "D9:17"}},
		{[]string{"D8:6 D9:17,D1:1"}, []string{"D8:6", "D9:17", "D1:1"}},
		{[]string{"D:11:26"}, []string{"D11:26"}},
		{[]string{"D30:05"}, []string{"D30:5"}},
		{[]string{"D4:36", "D1:1"}, []string{"D1:1"}},
		{[]string{"D", "D:1", "1:1", "D1:1:1", ""}, nil},
		{[]string{"D1:1", "D01:1"}, []string{"D1:1"}},
		{nil, nil},
	} {
		c := Conversation{Turns: []Turn{{Ref: "D8:6"}, {Ref: "D9:17"}, {Ref: "D11:26"}, {Ref: "D30:5"}, {Ref: "D1:1"}}}
		c.ask(Question{Gold: c.evidence(test.named)}, c.has)
		if len(c.Questions) == 0 != (len(test.gold) == 0) || len(c.Questions) > 0 && !reflect.DeepEqual(c.Questions[0].Gold, test.gold) {
			t.Errorf("evidence(%q) asks %+v, want gold %q", test.named, c.Questions, test.gold)
		}
	}
}

const tinyBEAM = `{"chat_id": 7, "chat": [{"batch_number": 1, "turns": [[
	{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan a trip ->-> 1,1"}, {"role": "assistant", "id": 1, "content": "Sure."}]]}],
	"probing_questions": {"update": [{"question": "Which trip?", "source_chat_ids": {"first": [0], "second": [1, 0, 99]}}, {"question": "Lost?", "source_chat_ids": []}], "abstention": [{"question": "Unknown?"}]}}
`

func TestBEAMIsRead(t *testing.T) {
	got, err := parsed("beam", tinyBEAM)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC)
	want := []Conversation{{
		Name: "7",
		Turns: []Turn{
			{Ref: "0", Session: "1.0", Role: memory.RoleUser, Content: "Plan a trip", At: at},
			{Ref: "1", Session: "1.0", Role: memory.RoleAssistant, Content: "Sure.", At: at},
		},
		Questions: []Question{
			{ID: "7:abstention:0", Text: "Unknown?", Category: "abstention", Unanswerable: true},
			{ID: "7:update:0", Text: "Which trip?", Category: "update", Gold: []string{"0", "1"}},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

const tinyRealMem = `{"dialogues": [
	{"session_uuid": "s1", "current_time": "2025-12-22 (Monday)", "dialogue_turns": [{"speaker": "User", "content": "I row."}]},
	{"session_uuid": "s2", "current_time": "2025-12-23 (Tuesday)", "dialogue_turns": [
		{"speaker": "User", "content": "What do I do?", "is_query": true}, {"speaker": "Assistant", "content": "You row.", "memory_session_uuids": ["s1", "s2"]},
		{"speaker": "User", "content": "And here?", "is_query": true}, {"speaker": "Assistant", "content": "You ask.", "memory_session_uuids": ["s2"]}]}]}`

func TestRealMemAsksBeforeItsOwnSession(t *testing.T) {
	read, err := parsed("realmem", tinyRealMem)
	if err != nil {
		t.Fatal(err)
	}
	c, want := read[0], []Question{{ID: "me:2", Text: "What do I do?", Category: "query", Gold: []string{"s1"}, Before: 1}}
	if len(c.Turns) != 5 || !reflect.DeepEqual(c.Questions, want) || !c.Sessions {
		t.Errorf("got %+v, want questions %+v", c, want)
	}
}

const tinyJSONL = `
{"id":"b","turns":[{"session":"s1","id":"t1","name":"Mira","content":"I row.","at":"2024-03-03T07:05:00Z"},
	{"session":"s2","id":"t2","role":"assistant","content":"Where?"}],
 "questions":[{"question":"What does Mira drive?","unanswerable":true},
	{"id":"q1","question":"What does Mira do?","category":"hobbies","answer":"She rows.","gold":["t1","t9"],"before":"t2"},{"question":"And?"}]}

{"turns":[{"id":"t1","content":"Another talk."}]}`

func TestOwnTalkIsRead(t *testing.T) {
	got, err := parsed("jsonl", tinyJSONL)
	if err != nil {
		t.Fatal(err)
	}
	want := []Conversation{
		{
			Name: "b",
			Turns: []Turn{
				{Ref: "t1", Session: "s1", Role: memory.RoleUser, Name: "Mira", Content: "I row.", At: time.Date(2024, 3, 3, 7, 5, 0, 0, time.UTC)},
				{Ref: "t2", Session: "s2", Role: memory.RoleAssistant, Content: "Where?"},
			},
			Questions: []Question{
				{ID: "b:1", Text: "What does Mira drive?", Unanswerable: true},
				{ID: "q1", Text: "What does Mira do?", Category: "hobbies", Answer: "She rows.", Gold: []string{"t1"}, Before: 1},
			},
		},
		{Turns: []Turn{{Ref: "t1", Session: "1", Role: memory.RoleUser, Content: "Another talk."}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestInvalidDataSetIsRefusedWithItsPlace(t *testing.T) {
	for _, test := range []struct{ format, in, says string }{
		{"jsonl", `{"turns":[{"id":"a","content":"x"}]}{"turns":[{"id":"b"}]}`, "value 2"},
		{"jsonl", `{"turns":[{"id":"a","content":"x","at":"yesterday"}]}`, "value 1"},
		{"jsonl", `{"turns":[{"id":"a","content":"x"},{"id":"a","content":"y"}]}`, `"a"`},
		{"jsonl", `{"turns":[{"id":"a","content":"x"}],"questions":[{"question":"x","before":"nowhere"}]}`, "nowhere"},
		{"jsonl", `{"turns":[{"id":"a","content":"x"}],"questions":[{"question":"x","before":"a"}]}`, `"a"`},
		{"locomo", `[{"sample_id": "one", "conv`, "value 1"},
		{"locomo", `[{"sample_id": "one", "conversation": {}}]`, "one"},
		{"locomo", `[{"sample_id": "one", "conversation": {"session_1": [], "session_1_date_time": "May"}}]`, "session_1"},
		{"beam", "{}\n{", "value 2"},
	} {
		if _, err := parsed(test.format, test.in); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s\nis answered by %v, want something about %s", test.in, err, test.says)
		}
	}
}

func TestOpenTellsFormatsApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.jsonl")
	if err := os.WriteFile(path, []byte(tinyJSONL), 0o600); err != nil {
		t.Fatal(err)
	}
	if set, err := Open("jsonl", 0, path, path); err != nil || len(set.Conversations) != 4 || set.Name != "jsonl" {
		t.Errorf("two files of two conversations give %d, %v", len(set.Conversations), err)
	}
	if set, err := Open("jsonl", 1, path, path); err != nil || len(set.Conversations) != 1 {
		t.Errorf("limit 1 gives %d, %v", len(set.Conversations), err)
	}
	if _, err := Open("squad", 0, path); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "realmem") {
		t.Errorf("an unknown format is answered by %v", err)
	}
}

func FuzzDatasets(f *testing.F) {
	for _, s := range []string{tinyLoCoMo, tinyBEAM, tinyRealMem, tinyJSONL, `[{"conversation": {"session_1": 1}}]`, "{", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for format := range readers {
			conversations, err := parsed(format, s)
			for _, c := range conversations {
				for _, q := range c.Questions {
					if err == nil && (len(q.Gold) == 0 && !q.Unanswerable || q.Before > len(c.Turns)) {
						t.Fatalf("question that cannot be asked: %+v", q)
					}
				}
			}
		}
	})
}
