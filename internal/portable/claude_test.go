package portable

import (
	"slices"
	"testing"
)

func TestTheMessageThatIsCurrentSaysWhichBranchWasMeant(t *testing.T) {
	list := []claudeMessage{{ID: "a", Parent: "root"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "a"}, {ID: "d", Parent: "c"}}
	for current, want := range map[string][]int{"": {0, 2, 3}, "b": {0, 1}, "gone": {0, 2, 3}} {
		if got := claudePath(list, current); !slices.Equal(got, want) {
			t.Errorf("to %q: %v, want %v", current, got, want)
		}
	}
	for name, list := range map[string][]claudeMessage{
		"a loop":      {{ID: "a", Parent: "b"}, {ID: "b", Parent: "a"}},
		"its own":     {{ID: "x"}, {ID: "a", Parent: "a"}},
		"the same id": {{ID: "a"}, {ID: "a"}},
	} {
		if got := claudePath(list, ""); len(got) == 0 || len(got) > 2 || got[len(got)-1] != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := claudePath(nil, ""); got != nil {
		t.Errorf("nothing: %v", got)
	}
}
