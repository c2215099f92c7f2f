package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scriptStep is one step of a script: VERB ARGUMENTS: CLAUSE; CLAUSE => ROW, ROW. Only the verb is required.
type scriptStep struct {
	text          string
	verb          string
	args          []word
	clauses       [][]word
	expectsResult bool     // the step expects a result: the line has a =>
	want          [][]word // expected rows, after the =>
	label         string   // value of as=, by which later steps refer to the result
	hasMore       bool     // the result is a page, and more pages follow
}

// word is a plain word or KEY=VALUE. A text with spaces is quoted as in Go, and 3*"ab" is "ababab".
// isPunctuation is true for the words "=>", ":", ";" and ",".
type word struct {
	key, value    string
	isPunctuation bool
}

// parseScript parses a script: one step per line; an indented line continues the previous line; # begins a
// comment. The steps between "each $name A B" and "end" are repeated with A and with B for $name; a value
// with spaces is in single quotes.
func parseScript(script string) ([]*scriptStep, error) {
	var steps []string
	for text := range strings.Lines(script) {
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "" || trimmed[0] == '#':
		case text[0] == '\t' && len(steps) > 0:
			steps[len(steps)-1] += " " + trimmed
		default:
			steps = append(steps, trimmed)
		}
	}
	var lines []*scriptStep
	for _, text := range unrollEach(steps) {
		l, err := parseStep(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// unrollEach returns the steps with each block between "each" and "end" repeated for each value of the block.
func unrollEach(steps []string) []string {
	var out []string
	for i := 0; i < len(steps); i++ {
		rest, ok := strings.CutPrefix(steps[i], "each ")
		if !ok {
			out = append(out, steps[i])
			continue
		}
		name, values, _ := strings.Cut(rest, " ")
		end := i + slices.Index(steps[i:], "end")
		for values != "" {
			value, remaining, _ := strings.Cut(values, " ")
			if quoted, ok := strings.CutPrefix(values, "'"); ok {
				value, remaining, _ = strings.Cut(quoted, "'")
			}
			for _, step := range steps[i+1 : end] {
				out = append(out, strings.ReplaceAll(step, name, value))
			}
			values = strings.TrimSpace(remaining)
		}
		i = end
	}
	return out
}

func parseStep(text string) (*scriptStep, error) {
	words, err := parseWords(text)
	if err != nil {
		return nil, err
	}
	l := &scriptStep{text: text, verb: words[0].value}
	words = words[1:]
	if i := slices.Index(words, word{value: "=>", isPunctuation: true}); i >= 0 {
		l.expectsResult, l.want = true, splitWords(words[i+1:], ",")
		words = words[:i]
	}
	if i := slices.Index(words, word{value: ":", isPunctuation: true}); i >= 0 {
		l.clauses = splitWords(words[i+1:], ";")
		words = words[:i]
	}
	l.args = slices.DeleteFunc(words, func(w word) bool {
		if w.key == "as" {
			l.label = w.value
		}
		return w.key == "as"
	})
	return l, nil
}

// splitWords splits words at a punctuation mark.
func splitWords(words []word, punctuation string) [][]word {
	var out [][]word
	for len(words) > 0 {
		i := slices.Index(words, word{value: punctuation, isPunctuation: true})
		if i < 0 {
			return append(out, words)
		}
		out, words = append(out, words[:i]), words[i+1:]
	}
	return out
}

func parseWords(text string) ([]word, error) {
	var words []word
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return words, nil
		}
		w, rest, err := nextWord(text)
		if err != nil {
			return nil, err
		}
		words, text = append(words, w), rest
	}
}

// nextWord returns the first word of a text, and the remaining text. Punctuation ends a word only before a
// space: fact:tea is one word.
func nextWord(text string) (word, string, error) {
	for _, mark := range []string{"=>", ":", ";", ","} {
		if rest, ok := strings.CutPrefix(text, mark); ok && (rest == "" || rest[0] == ' ') {
			return word{value: mark, isPunctuation: true}, rest, nil
		}
	}
	var w word
	var value strings.Builder
	quoted := false
	for text != "" && text[0] != ' ' {
		c := text[0]
		if strings.IndexByte(":;,", c) >= 0 && (len(text) == 1 || text[1] == ' ') {
			break
		}
		switch {
		case c == '"' || c == '`':
			quote, err := strconv.QuotedPrefix(text)
			if err != nil {
				return w, "", fmt.Errorf("quote: %w", err)
			}
			plain, err := strconv.Unquote(quote)
			if err != nil {
				return w, "", fmt.Errorf("quote %s: %w", quote, err)
			}
			if times, ok := strings.CutSuffix(value.String(), "*"); ok && !quoted {
				n, err := strconv.Atoi(times)
				if err != nil {
					return w, "", fmt.Errorf("times: %w", err)
				}
				value.Reset()
				plain = strings.Repeat(plain, n)
			}
			value.WriteString(plain)
			text, quoted = text[len(quote):], true
		case c == '=' && w.key == "" && !quoted:
			w.key, text = value.String(), text[1:]
			value.Reset()
		default:
			value.WriteByte(c)
			text = text[1:]
		}
	}
	w.value = value.String()
	return w, text, nil
}
