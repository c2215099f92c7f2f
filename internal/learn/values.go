package learn

import (
	"regexp"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

// values says of each kind of group what it accepts: it returns the piece of raw
// that the group names, in the third person, or "" if it names nothing.
var values = map[string]func(raw string, said time.Time) string{
	"name":     properName,
	"called":   called,
	"place":    place,
	"company":  company,
	"firm":     firm,
	"role":     role,
	"language": language,
	"thing":    thing,
	"general":  general,
	"food":     thing,
	"field":    thing,
	"kids":     phrase,
	"pets":     phrase,
	"how":      phrase,
	"owned":    phrase,
	"degree":   phrase,
	"illness":  phrase,
	"school":   school,
	"day":      withDate,
	"when":     withDate,
	"plan":     planned,
	"later":    plannedLater,
	"did":      plainly,
	"doing":    plainly,
	"does":     plainly,
	"goal":     plainly,
	"size":     phrase,
	"rest":     rest,
	"age":      age,
	"nation":   nation,
	"tool":     tool,
	"old":      tool,
}

var (
	properRun = regexp.MustCompile(`^\p{Lu}[\p{L}'’.-]*(?: (?:(?:de|da|di|van|von|der|la|le|el|bin|al) )*\p{Lu}[\p{L}'’.-]*){0,3}`)
	placeRun  = regexp.MustCompile(`^(?:the )?\p{Lu}[\p{L}'’.-]*(?:(?:,? |-)(?:(?:de|da|do|del|of|the|la|le|los|las|upon|am|an|der|and the) )*\p{Lu}[\p{L}'’.-]*)*`)
	companies = regexp.MustCompile(`(?i)^(?:an?|the|my|our) (?:[\p{L}-]+ ){0,4}(?:company|startup|start-up|bank|hospital|school|university|college|clinic|firm|agency|hotel|restaurant|bakery|café|cafe|shop|store|library|museum|lab|laboratory|factory|farm|studio|bookstore|bookshop|pharmacy|nonprofit|non-profit|ngo|charity|council|government|ministry|airport|airline|garage|gym|salon|office|warehouse|theatre|theater|zoo|nursery|kindergarten|business)\b`)
	settled   = regexp.MustCompile(`(?i)^(?:an?|the) (?:[\p{L}-]+ ){0,4}(?:city|town|village|country|countryside|suburbs?|coast|farm|apartment|flat|house|cottage|cabin|boat|van|island|mountains|dorm|neighbou?rhood|area|condo|studio|bungalow|mansion|townhouse|houseboat)\b(?: (?:in|near|of|outside|by) (?:the )?\p{Lu}[\p{L}'’.-]*(?:,? \p{Lu}[\p{L}'’.-]*)*)?`)

	// notPlace are words that follow "live in" and name no place.
	notPlace = table("fear peace harmony hope constant it this that my his her their our your a an the one two sin luxury poverty pain denial chaos darkness isolation different another which where what i we you he she they there here case time work school office bed person terms")
	// notName are capitalised words that follow "I'm" or begin a clause and name nobody.
	notName = table("he she it they we you this that there here who what today yesterday tomorrow i the a an my our his her their so sorry not just happy sad tired fine ok okay good great sure glad excited busy back new single married divorced engaged vegan vegetarian done ready late sick home german french dutch greek swiss thai czech welsh scots danish swedish norwegian finnish turkish catholic christian muslim jewish hindu buddhist atheist protestant mormon sikh arab latino latina hispanic asian black white gay bi trans queer lesbian straight lgbtq adhd also really still one both everyone nobody someone god yes no well actually")
	demonym = regexp.MustCompile(`(?i)(?:ish|ese|[^v]ian|[^e]ean|ican|ing|ed)$`)
	// vague begins what says nothing outside of its conversation.
	vague   = regexp.MustCompile(`(?i)^(?:it|its|it['’]s|this|that|these|those|them|him|her|he|she|they|you|your|yours|how|when|what|where|why|who|which|whatever|everything|anything|something|nothing|all (?:of )?(?:this|that|it|these|the)|both|either|neither|some|any|one|ones|such|so|there|being able|me|us|i|user|each other|one another|myself|ourselves|the (?:way|idea|fact|thought|sound|look|same|one|ones|other|first|second|last|rest|concept|suggestions?|options?|question)|to (?:see|know|think|hear|say|add|thank|ask|hear|talk about|focus|ensure|make sure)|seeing|hearing|knowing|hanging|your)\b`)
	conj    = regexp.MustCompile(`(?i)(?:\s*[,;:(–—]\s*(?:and |but |so |which |who |because |especially |though |although |as |where |when |while |since |then |or |it|that|too|not )?| - |\s+(?:but|because|so that|so|since|which|who|whom|when|whenever|while|although|though|whereas|as|after|before|until|unless|where|even though|that|too|as well|these days|nowadays|lately|anymore|any more|right now|at the moment|and (?:i|i'm|we|it|my|that|am|was|have|has|is|so|then|now|just|it's|they|he|she)))(?:\s|$)`)
	endings = regexp.MustCompile(`(?i)[\s,;:.!–—-]+(?:and|or|but|so|too|also|as well|though|now|currently|anymore|any more|actually|honestly|again|already|haha|lol|please|thanks|i guess|i think|you know|these days|right now|in general|lately|together lately|recently|today|a lot|so much|very much|for a)?$`)
)

// cutAt returns s up to where something else begins.
func cutAt(s string) string {
	if m := conj.FindStringIndex(s); m != nil && m[0] > 0 {
		s = s[:m[0]]
	}
	for {
		short := endings.ReplaceAllString(s, "")
		if short == s {
			return s
		}
		s = short
	}
}

// undatedEnd returns s without a date phrase at its end.
func undatedEnd(s string, said time.Time) string {
	dates := text.Resolve(s, said)
	if len(dates) == 0 {
		return s
	}
	last := dates[len(dates)-1]
	if strings.Trim(s[last.End:], " .,!;") != "" || last.Start == 0 {
		return s
	}
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s[:last.Start], " ,"), " since"), " ,")
}

func properName(raw string, _ time.Time) string {
	name := strings.TrimRight(properRun.FindString(raw), ".'’-")
	if name == "" {
		return ""
	}
	after := strings.TrimSpace(raw[len(name):])
	first, _, _ := strings.Cut(name, " ")
	switch {
	case notName[strings.ToLower(first)] || len(name) < 2 || name == strings.ToUpper(name) && len(name) < 4 && len(name) != 2:
		return ""
	case after == "" || strings.IndexByte(",.;:!(-", after[0]) >= 0:
		return name
	}
	switch word, _, _ := strings.Cut(strings.ToLower(after), " "); word {
	case "and", "but", "by", "from", "who", "he", "she", "i", "because", "after", "since", "or", "—", "–", "too", "now", "here", "speaking",
		"yesterday", "today", "last", "this", "in", "on", "when", "as", "is", "turned", "lives", "works", "has", "loves", "likes", "just", "was":
		return name
	}
	return ""
}

// called accepts a name in small letters too: "my name is ana".
func called(raw string, said time.Time) string {
	if lowerName.MatchString(raw) && !notName[raw] && !demonym.MatchString(raw) {
		raw = strings.ToUpper(raw[:1]) + raw[1:]
	}
	return properName(raw, said)
}

var lowerName = regexp.MustCompile(`^[a-z]{3,}$`)

func place(raw string, said time.Time) string {
	raw = strings.TrimSpace(raw)
	if m := settled.FindString(raw); m != "" {
		return m
	}
	if run := placeRun.FindString(raw); run != "" {
		return strings.TrimRight(undatedEnd(run, said), ".,'’- ")
	}
	s := undatedEnd(cutAt(raw), said)
	words := strings.Fields(s)
	if s != strings.ToLower(s) || len(words) == 0 {
		return ""
	}
	for i, w := range words { // "lisbon with my wife": a preposition ends it
		switch w {
		case "in", "on", "at", "for", "with", "and", "from", "to", "near", "by", "about", "now", "of", "last", "next", "this":
			words = words[:i]
		default:
			continue
		}
		break
	}
	if len(words) == 0 || len(words) > 3 || notPlace[words[0]] || strings.Trim(strings.Join(words, ""), "abcdefghijklmnopqrstuvwxyzàáâãäåçèéêëìíîïñòóôõöøùúûüß'-") != "" {
		return ""
	}
	return strings.Join(words, " ")
}

func company(raw string, said time.Time) string {
	if m := companies.FindString(raw); m != "" {
		return thirdPerson(m)
	}
	run := placeRun.FindString(raw)
	return strings.TrimRight(undatedEnd(run, said), ".,'’- ")
}

// firm accepts a company by name alone: people join gyms too.
func firm(raw string, said time.Time) string {
	if properRun.MatchString(raw) {
		return company(raw, said)
	}
	return ""
}

// role accepts a phrase whose head is an occupation.
func role(raw string, said time.Time) string {
	s := undatedEnd(cutAt(raw), said)
	head := s
	if m := roleEnd.FindStringIndex(s); m != nil {
		head = s[:m[0]]
	}
	words := strings.Fields(strings.ToLower(head))
	if len(words) == 0 || len(words) > 7 {
		return ""
	}
	last := words[len(words)-1]
	if !occupations[last] && !occupations[strings.TrimSuffix(last, "s")] {
		return ""
	}
	return thirdPerson(s)
}

var roleEnd = regexp.MustCompile(`(?i)\s(?:at|for|in|with|of|and|who|on|from|by|specializing|specialising|specialized|working|based|here|to)\s`)

func language(raw string, _ time.Time) string {
	var out []string
	for _, w := range strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(" ,.;!", r) }) {
		low := strings.ToLower(w)
		switch {
		case languages[low]:
			out = append(out, strings.ToUpper(low[:1])+low[1:])
		case low == "and" || low == "fluently" || low == "both" || low == "fluent" || low == "some":
		case len(out) > 0:
			return strings.Join(out, " and ")
		default:
			return ""
		}
	}
	return strings.Join(out, " and ")
}

// thing accepts what means the same outside of the conversation.
func thing(raw string, said time.Time) string {
	s := undatedEnd(cutAt(raw), said)
	if s == "" || vague.MatchString(s) || dangling.MatchString(s) || halved(s, raw[len(s):]) || len(strings.Fields(s)) > 10 || refers(s, said) {
		return ""
	}
	return thirdPerson(s)
}

// general accepts a thing in general: "I like the second one" is about what is at
// hand.
func general(raw string, said time.Time) string {
	if low := strings.ToLower(raw); strings.HasPrefix(low, "the ") && properRun.FindString(raw[4:]) == "" {
		return ""
	}
	return thing(raw, said)
}

// halved reports whether a comma between adjectives cut s short: "a safe, inviting
// place".
func halved(s, after string) bool {
	return strings.HasPrefix(after, ", ") && !strings.HasPrefix(after, ", and ") && adjectiveEnd.MatchString(s)
}

var adjectiveEnd = regexp.MustCompile(`(?i)\b(?:an?|my|our|some) [a-z-]+$`)

// dangling is where a cut took away what a phrase needs.
var dangling = regexp.MustCompile(`(?i)\b(?:to|for|in|on|of|at|with|about|into|from|the|an?|and|or|my|than|like)$`)

var pointing = regexp.MustCompile(`(?i)\b(?:it|this|that|these|those|them|him|her|there|you|your|yours)\b`)

// refers reports whether s points at something said elsewhere, dates aside.
func refers(s string, said time.Time) bool {
	last := 0
	for _, d := range text.Resolve(s, said) {
		if pointing.MatchString(s[last:d.Start]) {
			return true
		}
		last = d.End
	}
	return pointing.MatchString(s[last:])
}

func phrase(raw string, said time.Time) string {
	return thirdPerson(undatedEnd(cutAt(raw), said))
}

func school(raw string, said time.Time) string {
	s := company(raw, said)
	if !schools.MatchString(s) {
		return ""
	}
	return s
}

var schools = regexp.MustCompile(`(?i)\b(?:university|college|school|academy|institute|polytechnic|mit|ucla|eth|harvard|stanford|oxford|cambridge|yale|princeton|berkeley)\b`)

func withDate(raw string, said time.Time) string {
	dates := text.Resolve(raw, said)
	if len(dates) == 0 {
		return ""
	}
	return strings.TrimSpace(raw[:dates[len(dates)-1].End])
}

// planned accepts what is to happen on a day or in a time that has a date.
func planned(raw string, said time.Time) string { return plannedFrom(raw, said, midnight(said)) }

// plannedLater leaves out what is done with the day: "I'll try it tonight".
func plannedLater(raw string, said time.Time) string {
	return plannedFrom(raw, said, midnight(said).AddDate(0, 0, 1))
}

func plannedFrom(raw string, said, from time.Time) string {
	for _, d := range text.Resolve(raw, said) {
		if !d.To.After(from) {
			continue
		}
		s := strings.TrimRight(raw[:max(d.End, len(cutAt(raw)))], " ,")
		if len(strings.Fields(s)) > 20 || refers(s, said) {
			return ""
		}
		return thirdPerson(filler.ReplaceAllString(s, ""))
	}
	return ""
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// plainly accepts a statement that stands by itself.
func plainly(raw string, said time.Time) string {
	s := filler.ReplaceAllString(cutAt(raw), "")
	if n := len(strings.Fields(s)); n < 2 || n > 20 || dangling.MatchString(s) || refers(s, said) {
		return ""
	}
	return thirdPerson(s)
}

// filler is what a statement loses nothing by.
var filler = regexp.MustCompile(`(?i)^(?:(?:just|actually|also|definitely|really|totally|basically|literally|honestly|recently|finally|even) )+`)

// rest is what is said of somebody else.
func rest(raw string, said time.Time) string {
	s := cutAt(strings.TrimSpace(raw))
	verb, what, _ := strings.Cut(s, " ")
	if n := len(strings.Fields(what)); n < 1 || n > 14 || vague.MatchString(what) || refers(what, said) || (verb == "is" || verb == "has") && passingState.MatchString(what) {
		return ""
	}
	return " " + thirdPerson(s)
}

// passingState is how somebody is for a day.
var passingState = regexp.MustCompile(`(?i)^(?:so |very |really |a bit |quite |not |too |pretty )*(?:here|there|tired|happy|sad|angry|mad|upset|sick|busy|late|right|wrong|fine|ok|okay|good|great|sure|ready|asking|saying|calling|coming|going|trying|being|getting|making|doing|amazing|awesome|funny|annoying|cute|sweet|nice|worried|excited|over|back|out|home|asleep|hungry|driving|\w+ing|finally|still|now|just|already)\b`)

func age(raw string, _ time.Time) string {
	if len(raw) > 3 || len(raw) == 3 && raw > "120" || raw < "3" && len(raw) == 1 {
		return ""
	}
	return raw
}

func nation(raw string, _ time.Time) string {
	if !nationals[strings.ToLower(raw)] {
		return ""
	}
	return strings.ToUpper(raw[:1]) + raw[1:]
}

// tool accepts what has a name of its own.
func tool(raw string, said time.Time) string {
	if !properRun.MatchString(raw) {
		return ""
	}
	s := thing(raw, said)
	if len(strings.Fields(s)) > 5 {
		return ""
	}
	return s
}
