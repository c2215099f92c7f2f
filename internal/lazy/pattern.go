package lazy

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. Its first use compiles it, and panics if it is invalid.
type Pattern struct {
	Regexp func() *regexp.Regexp
}

// Compile returns a Pattern for an expression in the syntax of package regexp.
func Compile(expression string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// Match is like [regexp.Regexp.Match].
func (p *Pattern) Match(b []byte) bool { return p.Regexp().Match(b) }

// MatchString is like [regexp.Regexp.MatchString].
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// FindString is like [regexp.Regexp.FindString].
func (p *Pattern) FindString(s string) string { return p.Regexp().FindString(s) }

// FindStringIndex is like [regexp.Regexp.FindStringIndex].
func (p *Pattern) FindStringIndex(s string) []int { return p.Regexp().FindStringIndex(s) }

// FindStringSubmatch is like [regexp.Regexp.FindStringSubmatch].
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex is like [regexp.Regexp.FindStringSubmatchIndex].
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.Regexp().FindStringSubmatchIndex(s)
}

// FindAllStringIndex is like [regexp.Regexp.FindAllStringIndex].
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is like [regexp.Regexp.FindAllStringSubmatch].
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.Regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is like [regexp.Regexp.FindAllStringSubmatchIndex].
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is like [regexp.Regexp.ReplaceAllString].
func (p *Pattern) ReplaceAllString(s, replacement string) string {
	return p.Regexp().ReplaceAllString(s, replacement)
}

// ReplaceAllStringFunc is like [regexp.Regexp.ReplaceAllStringFunc].
func (p *Pattern) ReplaceAllStringFunc(s string, replace func(string) string) string {
	return p.Regexp().ReplaceAllStringFunc(s, replace)
}

// Split is like [regexp.Regexp.Split].
func (p *Pattern) Split(s string, n int) []string { return p.Regexp().Split(s, n) }
