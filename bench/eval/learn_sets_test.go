package eval

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

func TestEachSpeakerOfLoCoMoIsAUserOnce(t *testing.T) {
	lessons, err := lessonsOf("locomo", `[{"sample_id":"s","conversation":{"session_1_date_time":"1:00 pm on 3 March, 2024","session_1":[
		{"speaker":"Mira","dia_id":"D1:1","text":"I row."},{"speaker":"Tomas","dia_id":"D1:2","text":"I bake bread."}]},
		"observation":{"session_1_observation":{"Mira":[["Mira rows.","D1:1"]],"Tomas":[["Tomas bakes.",["D1:2"]],["broken"]]}},"qa":[]}]`)
	if err != nil || len(lessons) != 2 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	for i, want := range []GoldFact{
		{Text: "User rows."},
		{Text: "User bakes."},
	} {
		l := lessons[i]
		if diff := cmp.Diff([]GoldFact{want}, l.Gold); diff != "" || l.Turns[i].Role != memory.RoleUser || l.Turns[1-i].Role != memory.RoleAssistant {
			t.Errorf("%s: roles %s and %s, gold (-want +got):\n%s", l.Name, l.Turns[0].Role, l.Turns[1].Role, diff)
		}
	}
}

func TestGoldOfRealMemIsFromUserTurns(t *testing.T) {
	lessons, err := lessonsOf("realmem", `{"dialogues":[{"session_uuid":"a","current_time":"2025-12-22 (Monday)","dialogue_turns":[
		{"speaker":"User","content":"I row on Sundays."},{"speaker":"Assistant","content":"Then try the lake."}],"extracted_memory":[
		{"type":"Static","content":"【Habit】 User rows on Sundays","source_role_snapshot":"User","source_content_snapshot":"I row on Sundays."},
		{"type":"Static","content":"【Habit】 User rows on Sundays","source_role_snapshot":"User","source_content_snapshot":"I row on Sundays."},
		{"type":"Dynamic","content":"The lake was suggested","source_role_snapshot":"Assistant","source_content_snapshot":"Then try the lake."}]}]}`)
	if err != nil || len(lessons) != 1 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	l := lessons[0]
	want := []GoldFact{{Text: "User rows on Sundays"}}
	if diff := cmp.Diff(want, l.Gold); diff != "" || l.Name != "Mira" || len(l.Extra) != 1 {
		t.Errorf("%s, extra %q, gold (-want +got):\n%s", l.Name, l.Extra, diff)
	}
}
