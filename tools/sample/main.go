// Command sample draws text of the project for readers who have not seen its code, and counts words
// that hide a subject.
//
//	go run ./tools/sample/main.go            300 comments, 150 identifiers, 100 texts of the program, 60 paragraphs
//	go run ./tools/sample/main.go -words     lines of Go, tests apart, with each of the words
//
// The commit at HEAD is the seed: the same commit draws the same sample. -seed TEXT draws another. "in"
// is the line with three before and after it, "at" the code that has the comment or declares the identifier.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// limits are the lines that may have each word.
var limits = map[string]int{"said": 300, "known": 300, "told": 100, "given": 150, "whom": 30, "anew": 10, "stands": 60, "beside": 80}

var (
	otherFiles = regexp.MustCompile(`(^|/)(testdata|bench|e2e|tools|contract|kernels)/`)
	statement  = regexp.MustCompile(`(?i)^\s*(select|insert|update|delete|create|with|alter) `)
	forPeople  = regexp.MustCompile(`^internal/(cli|config|httpx|doctor|assembly|backup|model|models|api|engine|store|memory)/|^memory/|^cmd/`)
)

func main() {
	log.SetFlags(0)
	words := flag.Bool("words", false, "count words instead of drawing a sample")
	seed := flag.String("seed", "", "draw by this text instead of the commit")
	flag.Parse()
	if *words {
		countWords(os.Stdout)
		return
	}
	if *seed == "" {
		*seed = run("git", "rev-parse", "HEAD")
	}
	drawn := collect()
	fmt.Printf("# Sample of %s\n", *seed)
	for _, part := range []struct {
		name string
		n    int
	}{{"comments", 300}, {"identifiers", 150}, {"texts", 100}, {"paragraphs", 60}} {
		fmt.Printf("\n## %s\n\n", part.name)
		for i, line := range draw(drawn[part.name], part.n, *seed+part.name) {
			fmt.Printf("%d. %s\n", i+1, line)
		}
	}
}

// run returns what a command prints.
func run(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// files lists the files of the main module that match a pattern, tests and test data apart.
func files(pattern string) []string {
	all := strings.Fields(run("git", "ls-files", pattern))
	return slices.DeleteFunc(all, func(f string) bool {
		return strings.HasSuffix(f, "_test.go") || otherFiles.MatchString(f)
	})
}

func read(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	return string(b)
}

func countWords(w io.Writer) {
	n, patterns := map[string]int{}, map[string]*regexp.Regexp{}
	for word := range limits {
		patterns[word] = regexp.MustCompile(`(?i)\b` + word + `\b`)
	}
	for _, name := range files("*.go") {
		for line := range strings.Lines(read(name)) {
			for word, pattern := range patterns {
				if pattern.MatchString(line) {
					n[word]++
				}
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(limits)) {
		fmt.Fprintf(w, "%-8s %5d of %d\n", word, n[word], limits[word])
	}
}

// draw returns n of the lines in a random order that the seed fixes.
func draw(lines []string, n int, seed string) []string {
	lines = slices.Compact(slices.Sorted(slices.Values(lines)))
	var key [32]byte
	copy(key[:], seed)
	rand.New(rand.NewChaCha8(key)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines[:min(n, len(lines))]
}

// collect gathers what a sample is drawn from: comment lines, declared identifiers, texts for people
// and paragraphs of the documents.
func collect() map[string][]string {
	out := map[string][]string{}
	add := func(part, text string) { out[part] = append(out[part], text) }
	for _, name := range files("*.go") {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		at := func(p token.Pos) string { return fmt.Sprintf("%s:%d", name, set.Position(p).Line) }
		source := strings.Split(read(name), "\n")
		line := func(p token.Pos) string { return strings.TrimSpace(source[set.Position(p).Line-1]) }
		for _, group := range file.Comments {
			after := source[min(set.Position(group.End()).Line, len(source)-1)]
			for i, c := range group.List {
				if text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//")); strings.Count(text, " ") > 2 && !strings.HasPrefix(c.Text, "//go:") {
					near := ast.CommentGroup{List: group.List[max(0, i-3):min(len(group.List), i+4)]}
					add("comments", fmt.Sprintf("%s: %s\n   in: %s\n   at: %s", at(c.Pos()), text, strings.Join(strings.Fields(near.Text()), " "), cmp.Or(code(line(c.Pos())), strings.TrimSpace(after))))
				}
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch v := node.(type) {
			case *ast.FuncDecl:
				add("identifiers", fmt.Sprintf("%s.%s (function, %s)\n   at: %s", file.Name.Name, v.Name.Name, at(v.Pos()), line(v.Pos())))
			case *ast.TypeSpec:
				add("identifiers", fmt.Sprintf("%s.%s (type, %s)\n   at: %s", file.Name.Name, v.Name.Name, at(v.Pos()), line(v.Pos())))
			case *ast.Field:
				for _, id := range v.Names {
					if len(id.Name) > 2 {
						add("identifiers", fmt.Sprintf("%s (parameter or field of package %s, %s)\n   at: %s", id.Name, file.Name.Name, at(id.Pos()), line(id.Pos())))
					}
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(v.Value)
				if v.Kind == token.STRING && err == nil && isForPeople(name, text) {
					add("texts", at(v.Pos())+": "+strings.ReplaceAll(text, "\n", " ⏎ "))
				}
			}
			return true
		})
	}
	for _, name := range files("*.md") {
		for paragraph := range strings.SplitSeq(read(name), "\n\n") {
			if strings.Count(paragraph, " ") > 12 && !strings.HasPrefix(paragraph, "```") && !strings.HasPrefix(paragraph, "|") {
				add("paragraphs", name+": "+strings.ReplaceAll(paragraph, "\n", " "))
			}
		}
	}
	return out
}

// code returns a line of source without its comment.
func code(line string) string {
	before, _, _ := strings.Cut(line, "//")
	return strings.TrimSpace(before)
}

// isForPeople reports whether a string of the source is an error, a help text or output of a command.
func isForPeople(name, text string) bool {
	return strings.Count(text, " ") >= 3 && !statement.MatchString(text) && forPeople.MatchString(name)
}
