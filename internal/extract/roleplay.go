package extract

import (
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// longestCue is how much of a message may begin or end a role play: longer text is quoted.
const longestCue = 300

// inRolePlay reports whether a turn belongs to a role play, and whether the turns after it do. before
// says whether the previous turn left one going.
func inRolePlay(s *Utterance, before bool) (this, after bool) {
	message := text.Clip(s.Turn.Content, longestCue) // includes text that Guard may have blanked: "you are my boss"
	if before {
		return true, !pattern("play ends").MatchString(message)
	}
	this = pattern("playing").MatchString(message) || pattern("acting").MatchString(s.Before)
	return this, this
}

// Playing reports whether a conversation's turns leave a role play going, to which the user's next
// message belongs.
func Playing(turns []memory.Turn) bool {
	going := false
	for i := range turns {
		if t := &turns[i]; t.Role == memory.RoleUser {
			_, going = inRolePlay(&Utterance{Turn: *t, Text: t.Content}, going)
		}
	}
	return going
}
