package recall

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// DefaultContextBudget is the default token budget for contexts in a prompt: about ten pages.
const DefaultContextBudget = 8000

// AttachedHeading introduces contexts in a block.
const AttachedHeading = "Documents that the user attached to this chat:"

// WithContexts puts a conversation's contexts before a block, or into a new block if block is "". To fit
// budget tokens (0 means the default) it cuts contexts at the end of a line, with a note. Equal contexts give
// equal bytes, so that the provider's prompt cache stays valid.
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

// ContextText returns a context as text for a block and subtracts its tokens from the budget.
func ContextText(c memory.Context, budget *int) string {
	name := toOneLine(c.Title)
	if name == "" {
		name = "untitled"
	}
	return "\n\n## " + name + "\n" + joinWithinBudget(visibleLines(c.Content), budget)
}

// WithDocuments puts documents (joined results of [ContextText]) before a block.
func WithDocuments(block, documents string) string {
	if documents == "" {
		return block
	}
	documents = AttachedHeading + documents
	if block == "" {
		return wrapInFence(Preamble + "\n" + documents)
	}
	rest := strings.TrimSuffix(strings.TrimPrefix(block, FenceOpen+"\n"), "\n"+FenceClose)
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, Preamble+"\n"), LaterPreamble+"\n")
	return wrapInFence(Preamble + "\n" + documents + "\n\n" + rest)
}

// visibleLines returns the lines of a text without invisible characters.
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

// joinWithinBudget joins the lines that fit the token budget, and subtracts their tokens from the budget.
func joinWithinBudget(lines []string, budget *int) string {
	var b strings.Builder
	for i, line := range lines {
		tokens := text.EstimateTokens(line) + 1
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
