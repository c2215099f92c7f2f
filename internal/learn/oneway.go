package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

var smallNumbers = lazy.Make(func() map[string]int {
	m := map[string]int{"hundred": 100, "thousand": 1000}
	for i, w := range strings.Fields("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		m[w] = i + 2
	}
	for i, w := range strings.Fields("thirty forty fifty sixty seventy eighty ninety") {
		m[w] = 10 * (i + 3)
	}
	return m
})

// numberWord reads "twenty", "five" and "twenty-five".
func numberWord(w string) (int, bool) {
	if n, ok := smallNumbers.Get()[w]; ok {
		return n, true
	}
	tens, ones, ok := strings.Cut(w, "-")
	if !ok {
		return 0, false
	}
	a, b := smallNumbers.Get()[tens], smallNumbers.Get()[ones]
	if ones == "one" {
		b = 1
	}
	return a + b, a >= 20 && a < 100 && b > 0 && b < 10
}
