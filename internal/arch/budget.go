package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// totalRow is the name of the row with the sum of all packages.
const totalRow = "total"

// size is the size of a package without tests: its lines, and its Go tokens without comments.
type size struct{ lines, tokens int }

func (a size) add(b size) size { return size{a.lines + b.lines, a.tokens + b.tokens} }

// measureFile counts the lines and tokens of a Go file.
func measureFile(text []byte) size {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	tokens := 0
	for _, tok, lit := s.Scan(); tok != token.EOF; _, tok, lit = s.Scan() {
		if tok != token.SEMICOLON || lit == ";" {
			tokens++
		}
	}
	return size{bytes.Count(text, []byte("\n")), tokens}
}

// budget has the rows of budget.txt by name: the total, the packages, and the types over a limit. For a type,
// lines is the number of methods and tokens the number of fields.
type budget map[string]size

// typeRowPrefix is the prefix of the names of rows for types.
const typeRowPrefix = "type:"

// newBudget returns a budget with the sizes of packages and large types.
func newBudget(packages map[string]size, types map[string]typeShape) budget {
	b := maps.Clone(packages)
	for _, s := range packages {
		b[totalRow] = b[totalRow].add(s)
	}
	for name, t := range types {
		b[typeRowPrefix+name] = size{t.methods, t.fields}
	}
	return b
}

func readBudget(text []byte) (budget, error) {
	b := budget{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var name string
		var s size
		if _, err := fmt.Sscan(line, &name, &s.lines, &s.tokens); err != nil {
			return nil, fmt.Errorf("read %q: %w", line, err)
		}
		b[name] = s
	}
	return b, nil
}

func (b budget) String() string {
	var text strings.Builder
	text.WriteString(`# Lines and tokens of Go without tests that each package may have. A package may grow if another
# shrinks; the total may only fall. A type with more than 40 methods or 25 fields has a row with both.
# Lower the numbers in the commit that removes code:
#   go test ./internal/arch -run Budget -update
`)
	names := slices.Sorted(maps.Keys(b))
	for _, name := range append([]string{totalRow}, slices.DeleteFunc(names, func(name string) bool { return name == totalRow })...) {
		fmt.Fprintf(&text, "%-44s %7d %8d\n", name, b[name].lines, b[name].tokens)
	}
	return text.String()
}

// violations lists the rows of current that exceed the budget, or are so far below it that the budget must be
// lowered: a package by more than 1 % (at least 20 lines or 150 tokens), the total by more than 1 %.
func (b budget) violations(current budget) (violations []string) {
	names := maps.Clone(b)
	maps.Copy(names, current)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		actual, allowed := current[name], b[name]
		slack, form := size{allowed.lines / 100, allowed.tokens / 100}, "%s: %d lines, %d tokens; %s %d, %d"
		switch {
		case strings.HasPrefix(name, typeRowPrefix):
			slack, form = size{}, "%s: %d methods, %d fields; %s %d, %d"
		case name != totalRow:
			slack = size{max(slack.lines, 20), max(slack.tokens, 150)}
		}
		switch {
		case actual.lines > allowed.lines || actual.tokens > allowed.tokens:
			violations = append(violations, fmt.Sprintf(form, name, actual.lines, actual.tokens, "its budget is", allowed.lines, allowed.tokens))
		case actual == size{} || actual.lines < allowed.lines-slack.lines || actual.tokens < allowed.tokens-slack.tokens:
			violations = append(violations, fmt.Sprintf(form, name, actual.lines, actual.tokens, "lower its budget of", allowed.lines, allowed.tokens))
		}
	}
	return violations
}

// lowered returns current as the new budget, or an error if the total of current exceeds the total of b.
func (b budget) lowered(current budget) (budget, error) {
	actual, allowed := current[totalRow], b[totalRow]
	if actual.lines > allowed.lines || actual.tokens > allowed.tokens {
		return nil, errors.New("the total may only fall: remove code first, or raise the row total of budget.txt by hand")
	}
	return current, nil
}
