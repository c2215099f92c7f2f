package recall

import (
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// hasNoStatement reports whether a turn is an assistant's, or has only orders and questions: "Please list the
// files here."
func hasNoStatement(t *memory.Turn) bool {
	if t.Role == memory.RoleAssistant {
		return true
	}
	sentences := text.Sentences(t.Content)
	for _, s := range sentences {
		if !isOrder(s.Slice(t.Content)) {
			return false
		}
	}
	return len(sentences) > 0
}

// isOrder reports whether a sentence is a question or orders a task. A lasting preference is not an order.
func isOrder(sentence string) bool {
	if english.PurposeOf(sentence) == english.MoodQuestion {
		return true
	}
	if lastingWords.MatchString(sentence) {
		return false
	}
	words := text.Words(sentence)
	for len(words) > 0 && orderPrefixes.Has(words[0]) {
		words = words[1:]
	}
	return len(words) == 0 || taskVerbs.Has(words[0]) && !strings.Contains(sentence, " because ")
}

var (
	lastingWords  = lazy.Compile(`(?i)\b(?:from (?:now|here) on|going forward|in (?:the )?future|always|never|every time|by default)\b`)
	orderPrefixes = lazy.Words(`please pls can could would will you now then next first also and so ok okay yes no great good thanks thank lets let us
		just again hey hi hello i want need like to id`)
	// taskVerbs order a task. The list omits verbs of lasting wishes: "use", "call", "keep", "prefer",
	// "avoid", "remember".
	taskVerbs = lazy.Words(`refactor fix add remove rename move write implement create update change delete run rerun test list show explain build rebuild deploy
		install uninstall make convert extract split merge commit push pull rebase revert format lint clean cleanup optimize optimise improve debug find search
		check look read open review generate document continue proceed finish complete start stop retry try do undo redo apply replace insert append print
		draft summarize summarise describe compare analyze analyse investigate inspect verify validate ensure bump upgrade downgrade migrate port wire hook
		set setup configure enable disable restore reset drop fetch download upload send reply answer tell give get put take help simplify shorten expand extend
		rewrite reorganize reorganise sort count calculate compute translate ask begin spawn work figure see go plan design prepare sketch propose suggest`)
)
