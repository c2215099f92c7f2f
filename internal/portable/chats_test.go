package portable

import (
	"slices"
	"testing"
)

func TestTheMessageThatIsCurrentSaysWhichBranchWasMeant(t *testing.T) {
	list := []claudeMessage{{ID: "a", Parent: "root"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "a"}, {ID: "d", Parent: "c"}}
	for current, want := range map[string][]string{"": {"root", "a", "c", "d"}, "b": {"root", "a", "b"}, "gone": {"root", "a", "c", "d"}} {
		if got := (claudeConversation{Messages: list, Leaf: current}).chat().path(); !slices.Equal(got, want) {
			t.Errorf("to %q: %v, want %v", current, got, want)
		}
	}
	for name, c := range map[string]struct {
		list []claudeMessage
		want []string
	}{
		"a list":      {[]claudeMessage{{ID: "a"}, {}, {ID: "c"}}, []string{"a", "1", "c"}},
		"a loop":      {[]claudeMessage{{ID: "a", Parent: "b"}, {ID: "b", Parent: "a"}}, []string{"a", "b"}},
		"its own":     {[]claudeMessage{{ID: "x"}, {ID: "a", Parent: "a"}}, []string{"a"}},
		"the same id": {[]claudeMessage{{ID: "a"}, {ID: "a"}}, []string{"a"}},
		"nothing":     {nil, nil},
	} {
		if got := (claudeConversation{Messages: c.list}).chat().path(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
