package bench

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

const tinyLoCoMo = `[{"sample_id": "one", "conversation": {"speaker_a": "Mira", "speaker_b": "Tomas",
	"session_1_date_time": "7:05 am on 3 March, 2024",
	"session_1": [{"speaker": "Mira", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kayak"}, {"speaker": "Tomas", "dia_id": "D1:2", "text": "Nice."}]},
	"qa": [{"question": "What did Mira show?", "evidence": ["D1:1; D9:9", "D1:1"], "category": 4},
		{"question": "No evidence?", "evidence": [], "category": 1}, {"question": "Adversarial?", "evidence": ["D1:1"], "category": 5}]}]`

func TestLoCoMoIsRead(t *testing.T) {
	set, err := parseLoCoMo([]byte(tinyLoCoMo))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 3, 3, 7, 5, 0, 0, time.UTC)
	want := Conversation{Name: "one", Turns: []Turn{
		{Ref: "D1:1", Session: "session_1", Role: memory.RoleUser, Name: "Mira", Content: "Look! [a red kayak]", At: at},
		{Ref: "D1:2", Session: "session_1", Role: memory.RoleUser, Name: "Tomas", Content: "Nice.", At: at.Add(time.Second)},
	}, Questions: []Question{{Text: "What did Mira show?", Category: "4 single-hop", Gold: []string{"D1:1"}}}}
	if len(set.Conversations) != 1 || !reflect.DeepEqual(set.Conversations[0], want) {
		t.Errorf("got %+v, want %+v", set.Conversations, want)
	}
}

const tinyBEAM = `{"chat_id": 7, "chat": [{"batch_number": 1, "turns": [[
	{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan a trip ->-> 1,1"}, {"role": "assistant", "id": 1, "content": "Sure."}]]}],
	"probing_questions": {"update": [{"question": "Which trip?", "source_chat_ids": {"first": [0], "second": [1, 0]}}], "abstention": [{"question": "Unknown?"}]}}
`

func TestBEAMIsRead(t *testing.T) {
	set, err := parseBEAM([]byte(strings.ReplaceAll(tinyBEAM, "\n", " ")))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC)
	want := Conversation{Name: "7", Turns: []Turn{
		{Ref: "0", Session: "1.0", Role: memory.RoleUser, Content: "Plan a trip", At: at},
		{Ref: "1", Session: "1.0", Role: memory.RoleAssistant, Content: "Sure.", At: at},
	}, Questions: []Question{{Text: "Which trip?", Category: "update", Gold: []string{"0", "1"}}}}
	if len(set.Conversations) != 1 || !reflect.DeepEqual(set.Conversations[0], want) {
		t.Errorf("got %+v, want %+v", set.Conversations, want)
	}
}

const tinyRealMem = `{"dialogues": [
	{"session_uuid": "s1", "current_time": "2025-12-22 (Monday)", "dialogue_turns": [{"speaker": "User", "content": "I row."}]},
	{"session_uuid": "s2", "current_time": "2025-12-23 (Tuesday)", "dialogue_turns": [
		{"speaker": "User", "content": "What do I do?", "is_query": true}, {"speaker": "Assistant", "content": "You row.", "memory_session_uuids": ["s1"]}]}]}`

func TestRealMemAsksBeforeItsOwnSession(t *testing.T) {
	c, err := parseRealMem([]byte(tinyRealMem))
	if err != nil {
		t.Fatal(err)
	}
	want := []Question{{Text: "What do I do?", Category: "query", Gold: []string{"s1"}, Before: 1}}
	if len(c.Turns) != 3 || !reflect.DeepEqual(c.Questions, want) || !c.Sessions {
		t.Errorf("got %+v, want questions %+v", c, want)
	}
}

func FuzzDatasets(f *testing.F) {
	for _, s := range []string{tinyLoCoMo, tinyBEAM, tinyRealMem, `[{"conversation": {"session_1": 1}}]`, "{", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data := []byte(s)
		if set, err := parseLoCoMo(data); err == nil {
			for _, c := range set.Conversations {
				for _, q := range c.Questions {
					if len(q.Gold) == 0 {
						t.Fatalf("question without gold: %+v", q)
					}
				}
			}
		}
		_, _ = parseBEAM(data)
		_, _ = parseRealMem(data)
	})
}
