package extract

import (
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// longestCue is the maximum length in bytes of words that begin or end a role play. A longer text is quoted.
const longestCue = 300

// inRolePlay reports whether a turn belongs to a role play (this), and whether the next turn does (after).
// before reports whether a role play was in progress before the turn.
func inRolePlay(s *Utterance, before bool) (this, after bool) {
	message := text.Clip(s.Turn.Content, longestCue) // unlike s.Text, the content has words that learn.Guard blanks: "you are my boss"
	if before {
		return true, !pattern("play ends").MatchString(message)
	}
	this = pattern("playing").MatchString(message) || pattern("acting").MatchString(s.Before)
	return this, this
}

// Playing reports whether a role play is in progress after the last of a conversation's turns.
func Playing(turns []memory.Turn) bool {
	going := false
	for i := range turns {
		if t := &turns[i]; t.Role == memory.RoleUser {
			_, going = inRolePlay(&Utterance{Turn: *t, Text: t.Content}, going)
		}
	}
	return going
}
