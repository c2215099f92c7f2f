package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// What the comparison of facts knows of English: whom a fact is about, what denies it,
// and what makes it a wish or a thing of the past.

var (
	isUser    = lazy.Compile(`^(?:the )?user\b`)
	toYou     = lazy.Compile(`\b(?:you|your|yours|you're|you've)\b`)
	addressed = lazy.Compile(`^(?:you|your|you're|you've|yours)\b`)
)

// without returns s less its dates: they may be worked out from words such as
// "yesterday" and are compared as dates.
func without(s string, dates []text.Date) string {
	var b strings.Builder
	last := 0
	for _, d := range dates {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}

// verbish ends a noun phrase.
var verbish = lazy.Words(`is was are were has have had will would can could does did do am be been lives live works work likes loves hates told says said
	thinks wants moved went got gave made taught asked owns plays plans speaks studies helped and in on at of with from to for who that which`)

func atoi(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}
