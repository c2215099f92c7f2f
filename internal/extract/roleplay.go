package extract

import (
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// longestCue is how much of a message may begin or end a play: what follows is what others wrote.
const longestCue = 300

// plays reports whether a turn belongs to a play, and whether those after it do. before
// says whether the turn before it left a play going.
func plays(s *Utterance, before bool) (this, after bool) {
	said := text.Clip(s.Turn.Content, longestCue) // also what Guard may have blanked: "you are my boss"
	if before {
		return true, !pattern("play ends").MatchString(said)
	}
	this = pattern("playing").MatchString(said) || pattern("acting").MatchString(s.Before)
	return this, this
}

// Playing reports whether a conversation's turns, in their order, leave a role play
// going: what the user says next is then said in it.
func Playing(turns []memory.Turn) bool {
	going := false
	for i := range turns {
		if t := &turns[i]; t.Role == memory.RoleUser {
			_, going = plays(&Utterance{Turn: *t, Text: t.Content}, going)
		}
	}
	return going
}
