package learn

import (
	"strings"

	"github.com/loci-memory/loci/memory"
)

// maxShownReply is the maximum number of bytes of an unreadable reply in the repair prompt.
const maxShownReply = 4 << 10

// AskRepair returns the prompt that shows a model its unreadable reply and asks once more.
func AskRepair(firstPrompt memory.Prompt, reply string, cause error) memory.Prompt {
	if len(reply) > maxShownReply {
		reply = strings.ToValidUTF8(reply[:maxShownReply], "") + " …"
	}
	firstPrompt.User += "\n\nYou replied to this before:\n\n    " + strings.ReplaceAll(strings.TrimSpace(reply), "\n", "\n    ") +
		"\n\nThat could not be read: " + cause.Error() + ". Reply again, in the form that is asked for and nothing else."
	return firstPrompt
}
