package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// minQuoteLength is the minimum length in bytes of a repeated part that counts as a quote.
const minQuoteLength = 16

var quotedPattern = lazy.Compile("['\"`]([^'\"`]{3,})['\"`]")

// quotesRequest reports whether a server's error message repeats a text of the request: at least
// [minQuoteLength] bytes, or a shorter part in quotation marks.
func quotesRequest(request []byte, message string) bool {
	texts := requestTexts(request)
	inRequest := func(s string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, s) })
	}
	for _, m := range quotedPattern.FindAllStringSubmatch(message, -1) {
		if inRequest(m[1]) {
			return true
		}
	}
	for i := 0; i+minQuoteLength <= len(message); i++ {
		if inRequest(message[i : i+minQuoteLength]) {
			return true
		}
	}
	return false
}

// requestTexts returns the texts in a request: its messages, or the texts to embed or rerank.
func requestTexts(request []byte) (texts []string) {
	var body any
	if json.Unmarshal(request, &body) != nil {
		return nil
	}
	var walk func(v any, text bool)
	walk = func(v any, text bool) {
		switch v := v.(type) {
		case string:
			if text {
				texts = append(texts, v)
			}
		case []any:
			for _, item := range v {
				walk(item, text)
			}
		case map[string]any:
			for key, item := range v {
				walk(item, text || slices.Contains([]string{"content", "input", "query", "documents"}, key))
			}
		}
	}
	walk(body, false)
	return texts
}
