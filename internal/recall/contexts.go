package recall

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// DefaultContextBudget is how many tokens of contexts are in a prompt, unless set
// otherwise: some ten pages.
const DefaultContextBudget = 8000

// Attached stands before contexts in a block.
const Attached = "Documents that the user attached to this chat:"

// WithContexts puts the contexts of a conversation, in their order, before what a block
// says; without a block they are one. budget is how many tokens of them there is room
// for, 0 for the default: what is longer is cut off at the end of a line, which says so.
// Equal contexts give equal bytes, whatever memory adds behind them.
func WithContexts(block string, contexts []memory.Context, budget int) string {
	if budget == 0 {
		budget = DefaultContextBudget
	}
	var documents string
	for _, c := range contexts {
		documents += ContextText(c, &budget)
	}
	return WithDocuments(block, documents)
}

// ContextText is how a context stands in a block. It takes the tokens that it needs from the
// budget.
func ContextText(c memory.Context, budget *int) string {
	name := oneLine(c.Title)
	if name == "" {
		name = "untitled"
	}
	return "\n\n## " + name + "\n" + fitted(visibleLines(c.Content), budget)
}

// WithDocuments puts contexts, as [ContextText] wrote them, before what a block says.
func WithDocuments(block, documents string) string {
	if documents == "" {
		return block
	}
	documents = Attached + documents
	if block == "" {
		return fenced(Preamble + "\n" + documents)
	}
	rest := strings.TrimSuffix(strings.TrimPrefix(block, FenceOpen+"\n"), "\n"+FenceClose)
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, Preamble+"\n"), Later+"\n")
	return fenced(Preamble + "\n" + documents + "\n\n" + rest)
}

// visibleLines returns the lines of a text without what nobody sees.
func visibleLines(s string) []string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.Map(func(r rune) rune {
			if r != '\t' && (unicode.Is(unicode.Cf, r) || unicode.IsControl(r)) {
				return -1
			}
			return r
		}, line), " \t")
	}
	return lines
}

// fitted joins the lines that there is room for, and takes what they need.
func fitted(lines []string, budget *int) string {
	var b strings.Builder
	for i, line := range lines {
		tokens := text.Tokens(line) + 1
		if tokens > *budget {
			*budget = 0
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("[cut off here: " + strconv.Itoa(len(lines)-i) + " more lines do not fit]")
			return b.String()
		}
		*budget -= tokens
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}
