package memory

import (
	"errors"
	"slices"
	"testing"
)

// TestPagesReadOnlyWhatIsWanted: each page once, none after the last that is needed, and an error once.
func TestPagesReadOnlyWhatIsWanted(t *testing.T) {
	broken := errors.New("broken")
	var asked []string
	list := Pages(func(cursor string) ([]int, string, error) {
		asked = append(asked, cursor)
		switch cursor {
		case "":
			return []int{1, 2}, "b", nil
		case "b":
			return nil, "c", nil
		case "c":
			return []int{3}, "d", nil
		}
		return []int{9}, "e", broken
	})
	for one, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		if one == 2 {
			break
		}
	}
	if want := []string{""}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	asked = nil
	var got []int
	failures := 0
	for one, err := range list {
		if err != nil {
			failures++
			if one != 0 || !errors.Is(err, broken) {
				t.Errorf("got %d, %v", one, err)
			}
			continue
		}
		got = append(got, one)
	}
	if want := []int{1, 2, 3}; failures != 1 || !slices.Equal(got, want) {
		t.Errorf("got %v and %d errors, want %v and one", got, failures, want)
	}
	if want := []string{"", "b", "c", "d"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if got, err := Collect(list); got != nil || !errors.Is(err, broken) {
		t.Errorf("got %v, %v, want the error alone", got, err)
	}
}
