package lazy

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first needed. One that is
// wrong panics then. Text that lacks a word which every match contains is not matched at
// all: most text lacks the words of most patterns.
type Pattern struct {
	source   string
	once     sync.Once
	compiled *regexp.Regexp
	needs    needs
}

// Compile returns the pattern of an expression as package regexp reads them.
func Compile(expression string) *Pattern { return &Pattern{source: expression} }

// Regexp returns the pattern, compiled.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(p.compile)
	return p.compiled
}

func (p *Pattern) compile() { p.compiled, p.needs = regexp.MustCompile(p.source), required(p.source) }

// in returns the pattern, compiled, nil if it has no match in s for lack of a word.
func (p *Pattern) in(s string) *regexp.Regexp {
	if re := p.Regexp(); p.needs.in(s) {
		return re
	}
	return nil
}

// Match is [regexp.Regexp.Match].
func (p *Pattern) Match(b []byte) bool { return p.Regexp().Match(b) }

// MatchString is [regexp.Regexp.MatchString].
func (p *Pattern) MatchString(s string) bool {
	re := p.in(s)
	return re != nil && re.MatchString(s)
}

// FindIndex is [regexp.Regexp.FindIndex].
func (p *Pattern) FindIndex(b []byte) []int { return p.Regexp().FindIndex(b) }

// FindAllIndex is [regexp.Regexp.FindAllIndex].
func (p *Pattern) FindAllIndex(b []byte, n int) [][]int { return p.Regexp().FindAllIndex(b, n) }

// FindString is [regexp.Regexp.FindString].
func (p *Pattern) FindString(s string) string {
	if re := p.in(s); re != nil {
		return re.FindString(s)
	}
	return ""
}

// FindStringIndex is [regexp.Regexp.FindStringIndex].
func (p *Pattern) FindStringIndex(s string) []int {
	if re := p.in(s); re != nil {
		return re.FindStringIndex(s)
	}
	return nil
}

// FindStringSubmatch is [regexp.Regexp.FindStringSubmatch].
func (p *Pattern) FindStringSubmatch(s string) []string {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatch(s)
	}
	return nil
}

// FindStringSubmatchIndex is [regexp.Regexp.FindStringSubmatchIndex].
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatchIndex(s)
	}
	return nil
}

// FindAllString is [regexp.Regexp.FindAllString].
func (p *Pattern) FindAllString(s string, n int) []string {
	if re := p.in(s); re != nil {
		return re.FindAllString(s, n)
	}
	return nil
}

// FindAllStringIndex is [regexp.Regexp.FindAllStringIndex].
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	if re := p.in(s); re != nil {
		return re.FindAllStringIndex(s, n)
	}
	return nil
}

// FindAllStringSubmatch is [regexp.Regexp.FindAllStringSubmatch].
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	if re := p.in(s); re != nil {
		return re.FindAllStringSubmatch(s, n)
	}
	return nil
}

// FindAllStringSubmatchIndex is [regexp.Regexp.FindAllStringSubmatchIndex].
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if re := p.in(s); re != nil {
		return re.FindAllStringSubmatchIndex(s, n)
	}
	return nil
}

// ReplaceAllString is [regexp.Regexp.ReplaceAllString].
func (p *Pattern) ReplaceAllString(s, with string) string {
	if re := p.in(s); re != nil {
		return re.ReplaceAllString(s, with)
	}
	return s
}

// ReplaceAllStringFunc is [regexp.Regexp.ReplaceAllStringFunc].
func (p *Pattern) ReplaceAllStringFunc(s string, f func(string) string) string {
	if re := p.in(s); re != nil {
		return re.ReplaceAllStringFunc(s, f)
	}
	return s
}

// Split is [regexp.Regexp.Split].
func (p *Pattern) Split(s string, n int) []string { return p.Regexp().Split(s, n) }

// SubexpIndex is [regexp.Regexp.SubexpIndex].
func (p *Pattern) SubexpIndex(name string) int { return p.Regexp().SubexpIndex(name) }
