package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

var (
	unmeant = lazy.Compile(`(?i)\b(?:(?:just|only|i'?m) kidding|jk|kidding aside|as a joke|joking|role-?play|hypothetical|my character` +
		`|for the sake of argument|pretend (?:that|to|you|i|we)|imagine (?:that|you|i|we|a)|act as (?:if|though|an?|my)` +
		`|let['’]s (?:say|imagine|pretend|suppose))|^say (?:i['’]?m|i am|i have|that i|we) ` +
		`|(?:^|\s)/s\s*$|[.!?]\s+not!\s*$|^\s*\*[a-z]+s\b[^*\n]{0,80}\*`)
	// playing begins a play that goes on in the turns after it, playEnding is its end.
	// Who only tells the model whom to play speaks for themselves.
	playing    = lazy.Compile(`(?i)^role[- ]?play|\b(?:let['’]?s|can we|could we|shall we|want to|wanna|like to|start|begin|do|for) (?:[\w'’]+ ){0,3}role[- ]?play(?:ing)?\b|\bpretend (?:that )?(?:i|we|you(?:['’]re| are) (?:my|our))\b|\blet['’]?s play (?:a game|that|pretend|make-believe)|^(?:ok,? )?you (?:be|play) the\b|\bact (?:like|as if|as though) (?:i|we)\b`)
	playEnding = lazy.Compile(`(?i)\b(?:end|stop|quit|exit|finish|done with|enough of|out of|no more)(?: of)?(?: the| this| our)? (?:role[- ]?play(?:ing)?|character|game|playing|pretending)\b|\bback to (?:reality|normal|real life)\b|\b(?:in real life|for real now|seriously now|jokes aside|\(?ooc\b)`)
	// acting is how somebody in a play begins: with what they do.
	acting = lazy.Compile(`^\s*\*[a-z]+s\b[^*\n]{0,80}\*`)
)

// longestCue is how much of a message may begin or end a play: what follows is what others wrote.
const longestCue = 300

// cues are words of which a joke or a play has one: they are found much faster than the forms.
var cues = []string{"kidding", "jok", "jk", "play", "pretend", "imagine", "let's", "let’s", "act ", "character", "hypothetical", "sake of", "say ", "you be", "/s", "not!"}

// notMeant reports whether a turn as a whole is a joke, irony, a play or made up.
func notMeant(s string) bool {
	return (text.Holds(s, cues...) || strings.Contains(s, "*")) && unmeant.MatchString(s)
}

// plays reports whether a turn belongs to a play, and whether those after it do. before
// says whether the turn before it left a play going.
func plays(s *Utterance, before bool) (this, after bool) {
	said := text.Clip(s.Turn.Content, longestCue) // also what Guard may have blanked: "you are my boss"
	if before {
		return true, !playEnding.MatchString(said)
	}
	this = text.Holds(said, cues...) && playing.MatchString(said) || acting.MatchString(s.Before)
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
