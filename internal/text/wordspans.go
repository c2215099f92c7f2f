package text

// WordSpans returns where the words of s stand, as written. An apostrophe inside a word
// ends it, so that what follows ("'s") is a word of its own.
func WordSpans(s string) []Span { return spans(s) }
