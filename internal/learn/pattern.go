package learn

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed: a
// hundred of them take megabytes and milliseconds, which a server that only
// answers need not spend.
type pattern func() *regexp.Regexp

func lazily(s string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

func (p pattern) MatchString(s string) bool              { return p().MatchString(s) }
func (p pattern) FindString(s string) string             { return p().FindString(s) }
func (p pattern) FindAllIndex(s string) [][]int          { return p().FindAllStringIndex(s, -1) }
func (p pattern) FindStringIndex(s string) []int         { return p().FindStringIndex(s) }
func (p pattern) FindStringSubmatch(s string) []string   { return p().FindStringSubmatch(s) }
func (p pattern) FindAllString(s string, n int) []string { return p().FindAllString(s, n) }
func (p pattern) Split(s string, n int) []string         { return p().Split(s, n) }
func (p pattern) SubexpIndex(name string) int            { return p().SubexpIndex(name) }

func (p pattern) FindAllSubmatch(s string) [][]string    { return p().FindAllStringSubmatch(s, -1) }
func (p pattern) FindAllSubmatchIndex(s string) [][]int  { return p().FindAllStringSubmatchIndex(s, -1) }
func (p pattern) ReplaceAllString(s, with string) string { return p().ReplaceAllString(s, with) }
func (p pattern) ReplaceAllStringFunc(s string, f func(string) string) string {
	return p().ReplaceAllStringFunc(s, f)
}
