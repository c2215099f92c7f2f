package arch

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHouseKeepsItsPlan checks the whole repository.
func TestHouseKeepsItsPlan(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the repository's root is not at %s: %v", root, err)
	}
	broken, _, err := checkModule(root, lociRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}

var update = flag.Bool("update", false, "write budget.txt, unless the total rises")

// TestBudget keeps the code from growing.
func TestBudget(t *testing.T) {
	text, err := os.ReadFile("budget.txt")
	if err != nil {
		t.Fatal(err)
	}
	may, err := readBudget(text)
	if err != nil {
		t.Fatal(err)
	}
	_, is, err := checkModule(filepath.Join("..", ".."), lociRules)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if may, err = may.lowered(is); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("budget.txt", []byte(may.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range may.violations(is) {
		t.Error(line)
	}
}

// TestBudgetFindsGrowthAndSlack covers each difference between sizes and budget.
func TestBudgetFindsGrowthAndSlack(t *testing.T) {
	may, err := readBudget([]byte("# a comment\ntotal 10000 50000\na 5000 25000\nb 4000 20000\nc 960 4500\ngone 40 500\ntype:a.Wide 64 42\ntype:a.Was 41 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]size{"a": {5001, 24990}, "b": {3900, 20000}, "c": {941, 4499}, "new": {10, 100}}
	types := map[string]typeShape{"a.Wide": {methods: 65, fields: 42}, "a.Deep": {methods: 3, fields: 26}}
	want := []string{
		"a: 5001 lines, 24990 tokens; its budget is 5000, 25000",
		"b: 3900 lines, 20000 tokens; lower its budget of 4000, 20000",
		"gone: 0 lines, 0 tokens; lower its budget of 40, 500",
		"new: 10 lines, 100 tokens; its budget is 0, 0",
		"total: 9852 lines, 49589 tokens; lower its budget of 10000, 50000",
		"type:a.Deep: 3 methods, 26 fields; its budget is 0, 0",
		"type:a.Was: 0 methods, 0 fields; lower its budget of 41, 3",
		"type:a.Wide: 65 methods, 42 fields; its budget is 64, 42",
	}
	if diff := cmp.Diff(want, may.violations(newBudget(packages, types))); diff != "" {
		t.Errorf("broken (-want +got):\n%s", diff)
	}
	if _, err := may.lowered(newBudget(map[string]size{"a": {10001, 1}}, nil)); err == nil {
		t.Error("a total that rises was written")
	}
	lower, err := may.lowered(newBudget(packages, types))
	if err != nil {
		t.Fatal(err)
	}
	again, err := readBudget([]byte(lower.String()))
	if diff := cmp.Diff(newBudget(packages, types), again, cmp.AllowUnexported(size{})); diff != "" || err != nil {
		t.Errorf("read again (-want +got), error %v:\n%s", err, diff)
	}
	if got := measureFile([]byte("package a // here\n\nfunc f() { g(1); h() }\n")); got != (size{3, 16}) {
		t.Errorf("measured %v", got)
	}
}

// TestEveryBrokenRuleIsFound checks a module that breaks each rule once.
func TestEveryBrokenRuleIsFound(t *testing.T) {
	small := lociRules
	got, _, err := checkModule(filepath.Join("testdata", "house"), small)
	if err != nil {
		t.Fatal(err)
	}
	const own = "github.com/loci-memory/loci/"
	want := []string{
		"attic/attic.go: the folder attic is on no floor",
		"internal/api/rest/rest.go: imports example.com/unknown: importers has no entry for this library",
		"internal/api/rest/rest.go: imports " + own + "internal/api/proxy: packages on the same floor must not import each other",
		"internal/api/rest/rest.go: imports " + own + "internal/store/inmem: only the wiring and tests may import a concrete store",
		"internal/learn/learn.go: imports " + own + "internal/recall: packages on the same floor must not import each other",
		"internal/learn/learn_test.go: imports github.com/spf13/cobra: only internal/cli may import it",
		"internal/learn/learn_test.go: starts a goroutine: internal/learn is tested without the race detector",
		"internal/text/text.go: imports log/slog: internal/text uses no clock, randomness, log or I/O",
		"internal/text/text.go: imports modernc.org/sqlite: only internal/store/* may import it",
		"internal/text/text.go: imports " + own + "internal/learn: packages may import only lower floors",
		"memory/memory.go: imports github.com/google/uuid: memory imports only the standard library",
		"memory/memory.go: uses time.Now: time is an argument in memory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken rules (-want +got):\n%s", diff)
	}
}

// TestViewsOfATypeCountAsThatType checks a struct whose methods are spread over several types.
func TestViewsOfATypeCountAsThatType(t *testing.T) {
	s := sizes{types: map[string]typeShape{
		"a.Exchange": {methods: 35, fields: 26}, "a.placer": {methods: 20, embeddedType: "a.Exchange"}, "a.inner": {methods: 1, fields: 2, embeddedType: "a.placer"},
		"a.Wire": {fields: 99, isEncoded: true}, "a.Store": {methods: 99}, "a.Small": {methods: maxMethods, fields: maxFields},
	}}
	got := s.largeTypes(map[string]string{"a.Store": "a contract"})
	want := map[string]typeShape{"a.Exchange": {methods: 56, fields: 28}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(typeShape{})); diff != "" {
		t.Errorf("large (-want +got):\n%s", diff)
	}
}

// TestRulesNameFoldersOnFloors finds misspelled folders in the rules.
func TestRulesNameFoldersOnFloors(t *testing.T) {
	for _, dir := range slices.Concat(lociRules.withoutIO, lociRules.stdlibOnly, lociRules.withoutGoroutines) {
		if lociRules.floor(dir) < 0 {
			t.Errorf("%s is on no floor", dir)
		}
	}
}
