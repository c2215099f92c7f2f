package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	runFlag  = regexp.MustCompile(`\s-(run|bench)\s+('[^']*'|[^\s` + "`" + `]+)`)
	testName = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
)

// TestPagesNameRealTests reads the commands of the pages: each pattern of -run and -bench finds a test or benchmark.
func TestPagesNameRealTests(t *testing.T) {
	pages, names := map[string]string{}, map[string][]string{} // names by the kind of flag
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "tmp" || d.Name() == "shared" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md") || strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if strings.HasSuffix(path, ".md") {
				pages[path] = string(text)
				return err
			}
			for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
				kind := "run"
				if strings.HasPrefix(m[1], "Benchmark") {
					kind = "bench"
				}
				names[kind] = append(names[kind], m[1])
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for page, text := range pages {
		for _, m := range runFlag.FindAllStringSubmatch(text, -1) {
			pattern, _, _ := strings.Cut(strings.Trim(m[2], "'`"), "/")
			for one := range strings.SplitSeq(strings.Trim(pattern, "()"), "|") {
				if one == "^$" || one == "-" || one == "." || one == "xxx" {
					continue // none, or all
				}
				found++
				if !matchesAny(regexp.MustCompile(strings.TrimSuffix(one, `\`)), names[m[1]]) {
					t.Errorf("%s: -%s %s finds nothing", page, m[1], m[2])
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d patterns, want more", found)
	}
}

func matchesAny(pattern *regexp.Regexp, names []string) bool {
	for _, name := range names {
		if pattern.MatchString(strings.TrimPrefix(name, "Benchmark")) || pattern.MatchString(name) {
			return true
		}
	}
	return false
}
