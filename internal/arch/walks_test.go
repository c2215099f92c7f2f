package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	walkStep = regexp.MustCompile(`(?m)^\| \d+ \| ([^|]*)\| ([^|]*)`)
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// TestWalksNameFilesAndFunctions reads docs/design/walks.md. A name with a package is in that package, a name after
// a file in that file, and a name after another one in the same place. The last column names types.
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
			name, receiver := span[1], `(\([^)]*\) )?`
			if strings.HasSuffix(name, ".go") {
				text, err := os.ReadFile(filepath.Join("../engine", name))
				if err != nil {
					t.Error(err)
				}
				in = string(text)
				continue
			}
			if parts := strings.Split(name, "."); len(parts) > 1 {
				in, name = packageSource(t, parts[0]), parts[len(parts)-1]
				if len(parts) == 3 {
					receiver = `\(\w* ?\*?` + parts[1] + `\) `
				}
			}
			if !regexp.MustCompile(`(?m)^func ` + receiver + name + `[\[(]`).MatchString(in) {
				t.Errorf("no function %s: %s", span[1], step[0])
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(step[2], -1) {
			where, name := all, span[1]
			if pkg, member, ok := strings.Cut(name, "."); ok && pkg[0] >= 'a' && member[0] < 'a' {
				where, name = packageSource(t, pkg), member
			}
			if !strings.Contains(name, ".") && !regexp.MustCompile(`(?m)^(type|func) `+name+`\b`).MatchString(where) {
				t.Errorf("no type %s: %s", span[1], step[0])
			}
		}
	}
}

// packageSource returns the Go files of a package by its name, tests apart, as one text.
func packageSource(t *testing.T, name string) string {
	t.Helper()
	var text strings.Builder
	for _, dir := range []string{"../", "../*/", "../*/*/", "../../"} {
		files, err := filepath.Glob(dir + name + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
	}
	if text.Len() == 0 {
		t.Fatalf("no package %s", name)
	}
	return text.String()
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
