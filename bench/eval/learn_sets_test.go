package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

func TestEachSpeakerOfLoCoMoIsAUserOnce(t *testing.T) {
	lessons, err := learnLoCoMo([]byte(`[{"sample_id":"s","conversation":{"session_1_date_time":"1:00 pm on 3 March, 2024","session_1":[
		{"speaker":"Mira","dia_id":"D1:1","text":"I row."},{"speaker":"Tomas","dia_id":"D1:2","text":"I bake bread."}]},
		"observation":{"session_1_observation":{"Mira":[["Mira rows.","D1:1"]],"Tomas":[["Tomas bakes.",["D1:2"]],["broken"]]}},"qa":[]}]`), "")
	if err != nil || len(lessons) != 2 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	for i, want := range []GoldFact{
		{Text: "User rows.", Turn: 0, Replaces: -1, Category: "observation"},
		{Text: "User bakes.", Turn: 1, Replaces: -1, Category: "observation"},
	} {
		l := lessons[i]
		if diff := cmp.Diff([]GoldFact{want}, l.Gold); diff != "" || l.Turns[i].Role != memory.RoleUser || l.Turns[1-i].Role != memory.RoleAssistant {
			t.Errorf("%s: roles %s and %s, gold (-want +got):\n%s", l.Name, l.Turns[0].Role, l.Turns[1].Role, diff)
		}
	}
}

func TestGoldOfRealMemIsWhatTheUserSaid(t *testing.T) {
	lessons, err := learnRealMem([]byte(`{"dialogues":[{"session_uuid":"a","current_time":"2025-12-22 (Monday)","dialogue_turns":[
		{"speaker":"User","content":"I row on Sundays."},{"speaker":"Assistant","content":"Then try the lake."}],"extracted_memory":[
		{"type":"Static","content":"【Habit】 User rows on Sundays","source_role_snapshot":"User","source_content_snapshot":"I row on Sundays."},
		{"type":"Static","content":"【Habit】 User rows on Sundays","source_role_snapshot":"User","source_content_snapshot":"I row on Sundays."},
		{"type":"Dynamic","content":"The lake was suggested","source_role_snapshot":"Assistant","source_content_snapshot":"Then try the lake."}]}]}`), "Mira.json.gz")
	if err != nil || len(lessons) != 1 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	l := lessons[0]
	want := []GoldFact{{Text: "User rows on Sundays", Turn: 0, Replaces: -1, Category: "Static"}}
	if diff := cmp.Diff(want, l.Gold); diff != "" || l.Name != "Mira" || len(l.Extra) != 1 {
		t.Errorf("%s, extra %q, gold (-want +got):\n%s", l.Name, l.Extra, diff)
	}
}

func TestPairsOfBEAMAreStatementsInOrder(t *testing.T) {
	lessons, err := learnBEAM([]byte(strings.ReplaceAll(`{"chat_id":"1","chat":[{"batch_number":1,"turns":[[
		{"role":"user","id":1,"content":"Hello. I've sewn 10 coats, can you help me?"},{"role":"user","id":2,"content":"I'm tired. I have now sewn 12 coats."},{"role":"user","id":3,"content":"I've never sewn coats."}]]}],
		"probing_questions":{"knowledge_update":[
			{"question":"How many coats were sewn?","answer":"12","source_chat_ids":{"original_info":[1],"updated_info":[2]}},
			{"question":"How many coats were sewn?","answer":"10","source_chat_ids":{"original_info":[2],"updated_info":[1]}}],
		"contradiction_resolution":[
			{"question":"Have coats been sewn?","ideal_answer":"","source_chat_ids":{"first_statement":[3],"second_statement":[2]}},
			{"question":"Have coats been sewn?","ideal_answer":"","source_chat_ids":{"first_statement":[3],"second_statement":[3]}}]}}`, "\n", "")), "")
	if err != nil || len(lessons) != 1 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	want := []GoldFact{
		{Text: "User has sewn 10 coats", Turn: 0, Replaces: -1, Category: "knowledge_update"},
		{Text: "User has now sewn 12 coats.", Turn: 1, Replaces: 0, Category: "knowledge_update", Question: "How many coats were sewn?"},
		{Text: "User has now sewn 12 coats.", Turn: 1, Replaces: -1, Category: "contradiction_resolution"},
		{Text: "User has never sewn coats.", Turn: 2, Replaces: 2, Category: "contradiction_resolution", Question: "Have coats been sewn?"},
	}
	if diff := cmp.Diff(want, lessons[0].Gold); diff != "" || !lessons[0].Partial {
		t.Errorf("gold (-want +got):\n%s", diff)
	}
}
