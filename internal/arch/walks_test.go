package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	walkStep = regexp.MustCompile(`(?m)^\| \d+ \| ([^|]*)`)
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// TestWalksNameFilesAndFunctions reads docs/design/walks.md. A function behind a file is in that file, any other
// somewhere in internal.
func TestWalksNameFilesAndFunctions(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/walks.md")
	if err != nil {
		t.Fatal(err)
	}
	all, steps := sources(t, ".."), walkStep.FindAllStringSubmatch(string(page), -1)
	if len(steps) < 20 {
		t.Fatalf("got %d steps", len(steps))
	}
	for _, step := range steps {
		in := all
		for _, span := range codeSpan.FindAllStringSubmatch(step[1], -1) {
			name := span[1]
			if strings.HasSuffix(name, ".go") {
				text, err := os.ReadFile(filepath.Join("../engine", name))
				if err != nil {
					t.Error(err)
				}
				in = string(text)
				continue
			}
			where := in
			if at := strings.LastIndexByte(name, '.'); at >= 0 {
				name, where = name[at+1:], all
			}
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[\[(]`).MatchString(where) {
				t.Errorf("no function %s: %s", span[1], step[0])
			}
		}
	}
}

// sources returns the Go files of a folder, tests apart, as one text.
func sources(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
