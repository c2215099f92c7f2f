package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

var (
	joking     = lazy.Compile(`(?i)\b(?:just kidding|only kidding|i'?m kidding|jk|kidding aside|as a joke|joking)\b`)
	pretending = lazy.Compile(`(?i)\b(?:role-?play|pretend (?:that|to|you|i|we)|imagine (?:that|you|i|we|a)|let['’]s (?:say|imagine|pretend|suppose)|act as (?:if|though|an?|my)|my character|hypothetical|for the sake of argument|^say (?:i['’]?m|i am|i have|that i|we) )`)
	// mocking says that a turn means the opposite of its words.
	mocking = lazy.Compile(`(?i)(?:^|\s)/s\s*$|[.!?]\s+not!\s*$`)

	// playing begins a play that goes on in the turns after it, playEnding is its end.
	// Who only tells the model whom to play speaks for themselves.
	playing    = lazy.Compile(`(?i)^role[- ]?play|\b(?:let['’]?s|can we|could we|shall we|want to|wanna|like to|start|begin|do|for) (?:[\w'’]+ ){0,3}role[- ]?play(?:ing)?\b|\bpretend (?:that )?(?:i|we|you(?:['’]re| are) (?:my|our))\b|\blet['’]?s play (?:a game|that|pretend|make-believe)|^(?:ok,? )?you (?:be|play) the\b|\bact (?:like|as if|as though) (?:i|we)\b`)
	playEnding = lazy.Compile(`(?i)\b(?:end|stop|quit|exit|finish|done with|enough of|out of|no more)(?: of)?(?: the| this| our)? (?:role[- ]?play(?:ing)?|character|game|playing|pretending)\b|\bback to (?:reality|normal|real life)\b|\b(?:in real life|for real now|seriously now|jokes aside|\(?ooc\b)`)
	// acting is how somebody in a play begins: with what they do.
	acting = lazy.Compile(`^\s*\*[a-z]+s\b[^*\n]{0,80}\*`)
)

// notMeant reports whether a turn as a whole is a joke or a play.
func notMeant(s string) bool {
	return holds(s, "kidding", "joke", "joking", "jk") && joking.MatchString(s) ||
		holds(s, "play", "pretend", "imagine", "let's", "let’s", "act as", "character", "hypothetical", "sake of", "say ") && pretending.MatchString(s) ||
		strings.Contains(s, "*") && acting.MatchString(s) || (strings.Contains(s, "/s") || holds(s, "not!")) && mocking.MatchString(s)
}

// shortWish is how long a message may be to be looked at whole, with what Guard blanked
// in it: longer ones carry what others wrote.
const shortWish = 300

// plays reports whether a turn belongs to a play, and whether those after it do. before
// says whether the turn before it left a play going.
func plays(s *Utterance, before bool) (this, after bool) {
	said := s.Text
	if len(s.Turn.Content) < shortWish { // "you are my boss" may be blanked
		said = s.Turn.Content
	}
	switch {
	case before:
		return true, !playEnding.MatchString(said)
	case holds(said, "roleplay", "role-play", "role play", "pretend", "let's play", "let’s play", "lets play", "you be", "you play", "act like", "act as") && playing.MatchString(said):
		return true, true
	case strings.Contains(s.Before, "*") && acting.MatchString(s.Before):
		return true, true
	}
	return false, false
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

// holds reports whether s has one of the words: in small letters, with a capital or
// in capitals. It is much faster than the forms that it spares.
func holds(s string, words ...string) bool { return text.Holds(s, words...) }
