package text

import "strings"

// Holds reports whether s has one of the words: in small letters, with a capital or
// in capitals. It is much faster than the forms that it spares.
func Holds(s string, words ...string) bool {
	loud := shouts(s)
	for _, w := range words {
		for rest := s; ; {
			i := strings.Index(rest, w[1:])
			if i < 0 {
				break
			}
			if i > 0 && rest[i-1]|0x20 == w[0]|0x20 {
				return true
			}
			rest = rest[i+1:]
		}
		if loud && strings.Contains(s, strings.ToUpper(w)) {
			return true
		}
	}
	return false
}

// shouts reports whether two letters next to each other are capitals.
func shouts(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'A' && s[i-1] <= 'Z' {
			return true
		}
	}
	return false
}
