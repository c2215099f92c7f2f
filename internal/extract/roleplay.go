package extract

import (
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxRolePlayCueBytes is the number of bytes at the start of a message that may begin or end a role play.
const maxRolePlayCueBytes = 300

// rolePlayState reports whether a turn is in a role play, and whether the role play continues after the turn.
// wasActive reports whether a role play was in progress before the turn.
func rolePlayState(s *Utterance, wasActive bool) (inPlay, continues bool) {
	message := text.Clip(s.Turn.Content, maxRolePlayCueBytes) // unlike s.Text, the content has words that learn.Guard blanks: "you are my boss"
	if wasActive {
		return true, !namedPattern("play ends").MatchString(message)
	}
	inPlay = namedPattern("playing").MatchString(message) || namedPattern("acting").MatchString(s.AnsweredMessage)
	return inPlay, inPlay
}

// InRolePlay reports whether a role play is in progress after the last of a conversation's turns.
func InRolePlay(turns []memory.Turn) bool {
	active := false
	for i := range turns {
		if t := &turns[i]; t.Role == memory.RoleUser {
			_, active = rolePlayState(&Utterance{Turn: *t, Text: t.Content}, active)
		}
	}
	return active
}
