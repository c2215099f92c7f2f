package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// claimant is whose a clause is.
type claimant uint8

const (
	unknown claimant = iota // the user's, perhaps
	users
	another
)

// claim is a clause of what a user said.
type claim struct {
	of   claimant
	mere bool // a case: "if I had a dog", "I would call him Rex"

	asked bool // it has a word of the question
	near  bool // or another word for one, or a thing of the kind that is asked for
	own   bool // and that is called the user's: "my dog"

	sentence int
	after    string // the sign or word that it begins with: ",", "and"
	subject  bool   // it has its own
	bare     bool   // it begins with what may be a verb
	theirs   bool   // "his" or "her" is in it
	name     bool   // it is a name alone
}

// claimsIn appends the clauses of a text, each with whose it is and what it has of a question:
// asks is given each word's term. What it cannot tell is unknown: a thing may be anybody's, and who
// tells leaves out "I". Without asks it says whose they are alone.
func claimsIn(out []claim, content string, asks func(term string) (asked, near bool)) []claim {
	for i := range len(content) {
		if content[i] >= utf8.RuneSelf {
			content = plainQuotes.Get().Replace(content)
			break
		}
	}
	r := claimReader{content: content, asks: asks, sayings: sayings.Get(), out: out}
	r.read()
	r.inherit()
	return r.out
}

var plainQuotes = lazy.Make(func() *strings.Replacer {
	return strings.NewReplacer("“", `"`, "”", `"`, "«", `"`, "»", `"`, "„", `"`, "’", "'", "—", "-", "–", "-")
})

// claimReader reads clauses from left to right.
type claimReader struct {
	content string
	asks    func(term string) (asked, near bool)
	sayings map[string]stance
	out     []claim

	claim
	count    int    // words of this clause
	begun    bool   // what the subject could be is past
	owned    int    // how many words more may be called the user's
	mine     int    // how many words more "my" may be of
	doubtful string // a name that may be a thing's, until something human is said of it
	human    bool   // something is
	me       bool   // the user is in it, not as its subject
	wondered bool   // the sentence has a case of the user's
	would    bool   // and what would be then

	saysWould bool     // this clause does
	saying    claimant // who says what is quoted next
	quoted    bool
	speaker   claimant // of the words in quotation marks
}

func (r *claimReader) read() {
	s := r.content
	for i := 0; i < len(s); {
		end := i
		for end < len(s) {
			c, n := utf8.DecodeRuneInString(s[end:])
			if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !(c == '\'' && end > i && end+1 < len(s) && s[end+1] >= 'a' && s[end+1] <= 'z') {
				break
			}
			end += n
		}
		if end > i {
			r.word(s[i:end])
			i = end
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		r.sign(s[i], i, i+n)
		i += n
	}
	r.close()
	r.endSentence()
}

// sign ends a clause, or a sentence.
func (r *claimReader) sign(c byte, at, next int) {
	switch c {
	case '.':
		if next < len(r.content) && r.content[next] != ' ' && r.content[next] != '\n' || titles.Has(lastWord(r.content[:at])) {
			return
		}
		fallthrough
	case '!', '?', '\n':
		r.close()
		r.endSentence()
		r.begin("")
	case ',', ';', ':', '(', ')':
		r.close()
		r.begin(string(c))
	case '-':
		if at > 0 && r.content[at-1] == ' ' {
			r.close()
			r.begin("-")
		}
	case '"':
		saying := r.saying
		r.close()
		r.begin(`"`)
		if r.quoted = !r.quoted; r.quoted {
			r.speaker = saying
		}
	}
}

// titles are written with a point that ends no sentence.
var titles = lazy.Words("dr mr mrs ms st prof")

func lastWord(s string) string {
	return strings.ToLower(s[strings.LastIndexAny(s, " \n")+1:])
}

func (r *claimReader) begin(after string) {
	r.claim = claim{sentence: r.sentence, after: after}
	r.count, r.begun, r.mine, r.doubtful, r.human, r.me = 0, false, 0, "", false, false
	r.saysWould = false
}

// close ends a clause.
func (r *claimReader) close() {
	if r.count == 0 {
		return
	}
	if r.mine > 0 && !r.begun {
		r.of, r.subject = users, true
	}
	switch {
	case r.doubtful != "" && r.human && !r.me:
		r.of = another
	case r.me && r.of == another:
		r.of = unknown
	case r.me && r.of == unknown:
		r.of = users
	}
	if r.quoted && r.speaker == another {
		r.of, r.subject = another, true
	}
	if r.of == users { // "if I had …, I would …", not "I wonder if you would …"
		r.wondered, r.would = r.wondered || r.after == "if", r.would || r.saysWould
	}
	r.name = r.doubtful != "" && r.count < 3
	r.out = append(r.out, r.claim)
}

// endSentence marks all clauses of a sentence that is a case.
func (r *claimReader) endSentence() {
	if r.wondered && r.would {
		for i := len(r.out) - 1; i >= 0 && r.out[i].sentence == r.sentence; i-- {
			r.out[i].mere = true
		}
	}
	r.sentence++
	r.wondered, r.would, r.saying = false, false, unknown
}

// inherit gives clauses without a subject that of the clause before: "Moira slipped and broke her
// wrist". After a comma that is so in a list that ends in "and", or where "his" or "her" is said.
func (r *claimReader) inherit() {
	for i := 1; i < len(r.out); i++ {
		c, before := &r.out[i], &r.out[i-1]
		if c.subject && !c.name || c.of == users || c.sentence != before.sentence {
			continue
		}
		if before.name && c.theirs && c.bare { // "Terrence, lost his licence"
			before.of = another
		}
		if before.of != another {
			continue
		}
		switch c.after {
		case "and", "then", "but":
			if c.bare {
				c.of = another
			}
		case ":", "-", "(", ")":
			c.of = another
		case ",":
			if c.name || c.bare && (c.theirs || r.listed(i)) {
				c.of = another
			}
		}
	}
}

// listed reports whether clauses without a subject go on from i to one that begins with "and".
func (r *claimReader) listed(i int) bool {
	for k := i + 1; k < len(r.out) && r.out[k].sentence == r.out[i].sentence && r.out[k].bare; k++ {
		if r.out[k].after == "and" {
			return true
		}
	}
	return false
}

// word takes a word of a clause.
func (r *claimReader) word(w string) {
	base, ending, _ := strings.Cut(strings.ToLower(w), "'")
	is := r.sayings[base]
	if is&joins != 0 && !(base == "that" && r.count < 2) {
		r.join(base)
		return
	}
	r.count++
	person := r.match(base) || is&somebody != 0
	switch {
	case base == "would" || ending == "d":
		r.saysWould = true
	case is&polite != 0:
		r.saysWould = false
	case base == "imagine" || base == "suppose" || base == "pretend" || base == "wish":
		r.wondered, r.would = true, true
	}
	r.human = r.human || is&human != 0
	if is&reports != 0 && (r.of == another || r.doubtful != "") {
		r.saying = another
	}
	switch base {
	case "me", "us", "mine", "myself", "ourselves":
		r.me = true
		return
	case "his", "her", "himself", "herself", "hers":
		r.theirs = true
	}
	if r.begun {
		r.object(base, person)
		return
	}
	r.asSubject(w, base, ending, is, person)
}

// match looks whether a word is of the question, and whether "my" stands before it. It reports
// whether the word is for somebody.
func (r *claimReader) match(base string) (person bool) {
	r.owned--
	if base == "my" || base == "our" || base == "user" {
		r.owned = ownedWithin
	}
	folded := text.Fold(base)
	if r.asks == nil {
		return text.IsPersonWord(folded)
	}
	term := text.Term(folded)
	if term == "" {
		return false
	}
	asked, near := r.asks(term)
	r.asked, r.near, r.own = r.asked || asked, r.near || near, r.own || (asked || near) && r.owned > 0
	return text.IsPerson(term)
}

// ownedWithin is how many words behind "my" something is called the user's: "my old dog".
const ownedWithin = 3

// join takes a word with which a clause begins.
func (r *claimReader) join(base string) {
	if r.count > 0 {
		r.close()
		r.begin(base)
	} else {
		r.after = base
	}
	if base == "who" {
		r.whose(another)
	}
}

// whose notes whose the subject is.
func (r *claimReader) whose(of claimant) { r.of, r.subject, r.begun = of, true, true }

// object takes a word behind the subject, where "my" tells of something of the user's unless
// it is somebody.
func (r *claimReader) object(base string, person bool) {
	switch {
	case base == "i" || base == "we":
		if r.of == another { // "the one I bought"
			r.of = unknown
		}
	case base == "my" || base == "our" || base == "user":
		r.mine, r.me = 3, true
	case r.mine > 0:
		r.mine--
		if person {
			r.me, r.mine = false, 0
		}
	}
}

// asSubject takes a word where the subject stands, or before it.
func (r *claimReader) asSubject(w, base, ending string, is stance, person bool) {
	switch {
	case base == "user" && ending != "s", base == "i", base == "we":
		r.whose(users)
	case base == "he", base == "she":
		r.whose(another)
	case base == "my", base == "our", base == "user":
		r.mine = 3
	case is&serving != 0:
		r.whose(unknown)
	case person:
		r.whose(another)
	case (r.count > 1 || r.after != "" && r.after != `"`) && capital(w) && !text.IsTime(base):
		r.whose(unknown)
		r.doubtful = w
	case r.mine > 0:
		if r.mine--; r.mine == 0 {
			r.whose(users)
		}
	case is&leading != 0 || text.IsTime(base) || text.IsNumber(base):
	default: // a thing, or a verb whose "I" is left out
		r.begun, r.bare = true, r.count == 1
		if r.bare && r.mayBeName(w) && is&pointing == 0 {
			r.doubtful, r.subject, r.bare = w, true, false
		}
	}
}

// mayBeName reports whether a word that begins a sentence may be a name.
func (r *claimReader) mayBeName(w string) bool { return r.after == "" && len(w) > 2 && capital(w) }

func capital(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(c)
}

// stance is what a word may be in a clause.
type stance uint8

const (
	joins    stance = 1 << iota // a clause begins with it
	somebody                    // it is for people besides those that text knows
	serving                     // somebody who does what is done to the user
	pointing                    // it begins a sentence and names nobody
	leading                     // it stands before a subject
	reports                     // somebody is quoted by it
	human                       // people do it, or are it
	polite                      // it makes a wish of "would"
)

// sayings are the words of each kind, in one place: a word is looked for once.
var sayings = lazy.Make(func() map[string]stance {
	all := map[string]stance{}
	for is, words := range map[stance]string{
		joins:    "and or but so because although though while when after before since until as if unless then who where that",
		somebody: "man woman guy girl boy lady kid child baby somebody someone everybody everyone nobody widow twins mum mom dad mama papa granny grandma grandpa ex",
		serving:  "doctor dr dentist nurse surgeon therapist physio vet gp midwife consultant",
		pointing: "they it this that there these those you what here everything nothing something anything",
		leading: `a an the one some another this these both two three of poor little old big young dear good also even just only now today
			yeah yes no oh ok okay well wow ah hey hi hmm lol haha anyway actually apparently maybe perhaps honestly funny sadly luckily tonight
			plus still yesterday later meanwhile last next not`,
		reports: `say says said tell tells told telling write writes wrote text texts texted texting ask asks asked shout shouts shouted goes
			announce announced announces joke jokes joked swear swears swore post posted posts claim claims claimed`,
		human: `his her himself herself hers wants want thinks loves likes hates lives works studies plays eats drinks takes took teaches learns
			smokes speaks sings swims climbs became becomes married engaged divorced pregnant allergic vegan vegetarian born retired sick ill deaf
			blind diabetic intolerant coeliac celiac failed passed allowed diagnosis diagnosed promised forgot thinking moved quit hired lost broke
			hurt slipped`,
		polite: "like love prefer appreciate rather",
	} {
		for w := range strings.FieldsSeq(words) {
			all[w] |= is
		}
	}
	return all
})
