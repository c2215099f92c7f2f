package arch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHouseKeepsItsPlan is the rule for the whole repository.
func TestHouseKeepsItsPlan(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the repository's root is not at %s: %v", root, err)
	}
	broken, err := check(root, house)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}

// TestEveryBrokenRuleIsFound reads a house in which each rule is broken once.
func TestEveryBrokenRuleIsFound(t *testing.T) {
	small := house
	small.large, small.broad = nil, nil
	got, err := check(filepath.Join("testdata", "house"), small)
	if err != nil {
		t.Fatal(err)
	}
	const own = "github.com/loci-memory/loci/"
	want := []string{
		"attic/attic.go: the folder attic stands on no floor",
		"internal/api/rest/rest.go: imports example.com/unknown: no line in homes says where this library may be used",
		"internal/api/rest/rest.go: imports " + own + "internal/api/proxy: imports never go sideways on a floor",
		"internal/api/rest/rest.go: imports " + own + "internal/store/inmem: only the wiring and tests name a concrete store",
		"internal/learn/learn.go: imports " + own + "internal/recall: imports never go sideways on a floor",
		"internal/learn/learn_test.go: imports github.com/spf13/cobra: its home is internal/cli",
		"internal/learn/learn_test.go: starts a goroutine: the race detector does not watch internal/learn",
		"internal/text/text.go: imports log/slog: internal/text knows no clock, chance, log or I/O",
		"internal/text/text.go: imports modernc.org/sqlite: its home is internal/store/sqlstore",
		"internal/text/text.go: imports " + own + "internal/learn: imports go down only",
		"memory/memory.go: imports github.com/google/uuid: memory imports the standard library alone",
		"memory/memory.go: uses time.Now: time is an argument in memory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken rules (-want +got):\n%s", diff)
	}
}

// TestWhatIsTooLargeIsFound, and exceptions that nothing needs.
func TestWhatIsTooLargeIsFound(t *testing.T) {
	s := sizes{
		files:   map[string]int{"many": maxFiles + 1, "long": 1, "small": maxFiles, "known": maxFiles + 1},
		lines:   map[string]int{"many": 1, "long": maxLines + 1, "small": maxLines, "known": 1},
		methods: map[string]int{"a.Wide": maxMethods + 1, "a.Known": maxMethods + 1, "a.Narrow": maxMethods},
	}
	got := s.over(rules{
		large: map[string]string{"known": "a reason", "small": "not large any more"},
		broad: map[string]string{"a.Known": "a reason", "a.Narrow": "not broad any more"},
	})
	want := []string{
		"long: 1 files of 3501 lines, more than 25 or 3500",
		"many: 26 files of 1 lines, more than 25 or 3500",
		"small: needs no exception any more: 25 files of 3500 lines",
		"a.Narrow: needs no exception any more: 40 methods",
		"a.Wide: 41 methods, more than 40",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("too large (-want +got):\n%s", diff)
	}
}

// TestRulesNameFoldersOnFloors keeps a misspelt folder from being held to nothing.
func TestRulesNameFoldersOnFloors(t *testing.T) {
	for _, dir := range slices.Concat(house.pure, house.bare, house.serial) {
		if house.floor(dir) < 0 {
			t.Errorf("%s is on no floor", dir)
		}
	}
}
