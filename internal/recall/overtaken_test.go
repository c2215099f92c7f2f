package recall

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestOvertakenTurnsStandBehindWhatHoldsNow(t *testing.T) {
	lisbon := memory.Fact{ID: "lisbon", Content: "User lives in Lisbon", ObservedAt: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)}
	turn := func(id string, now ...memory.Fact) memory.Hit {
		return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Role: memory.RoleUser, Content: "I live in Berlin"}}, Now: now}
	}
	hits := []memory.Hit{turn("old", lisbon), turn("older", lisbon), turn("other"), {Memory: memory.Memory{Fact: &lisbon}}, turn("elsewhere", memory.Fact{ID: "no hit"})}
	var got []string
	for _, h := range Overtaken(hits) {
		got = append(got, h.Memory.ID())
	}
	if want := "lisbon old older other elsewhere"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
	block := Render(Core{}, []memory.Hit{turn("old", lisbon)}, RenderOptions{}).Text
	if want := "I live in Berlin [no longer so, since 2026-05-03: User lives in Lisbon]"; !strings.Contains(block, want) {
		t.Errorf("block %q lacks %q", block, want)
	}
}
