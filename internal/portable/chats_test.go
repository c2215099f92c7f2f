package portable

import (
	"slices"
	"testing"
)

func TestTheMessageThatIsCurrentSaysWhichBranchWasMeant(t *testing.T) {
	list := []claudeMessage{{ID: "a", ParentID: "root"}, {ID: "b", ParentID: "a"}, {ID: "c", ParentID: "a"}, {ID: "d", ParentID: "c"}}
	for current, want := range map[string][]string{"": {"root", "a", "c", "d"}, "b": {"root", "a", "b"}, "gone": {"root", "a", "c", "d"}} {
		if got := (claudeConversation{Messages: list, LeafID: current}).chat().path(); !slices.Equal(got, want) {
			t.Errorf("to %q: %v, want %v", current, got, want)
		}
	}
	for name, c := range map[string]struct {
		list []claudeMessage
		want []string
	}{
		"a list":      {[]claudeMessage{{ID: "a"}, {}, {ID: "c"}}, []string{"a", "1", "c"}},
		"a loop":      {[]claudeMessage{{ID: "a", ParentID: "b"}, {ID: "b", ParentID: "a"}}, []string{"a", "b"}},
		"its own":     {[]claudeMessage{{ID: "x"}, {ID: "a", ParentID: "a"}}, []string{"a"}},
		"the same id": {[]claudeMessage{{ID: "a"}, {ID: "a"}}, []string{"a"}},
		"nothing":     {nil, nil},
	} {
		if got := (claudeConversation{Messages: c.list}).chat().path(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
