package learn

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed tables/occupations.txt
var occupationTable string

//go:embed tables/languages.txt
var languageTable string

//go:embed tables/nationalities.txt
var nationalTable string

var (
	occupations = table(occupationTable)
	languages   = table(languageTable)
	nationals   = table(nationalTable)
)

// family is one form in which people state one kind of thing about themselves.
// form matches a clause from its start; say is the fact, with ${groups} of form
// in the third person. Groups are cut to what they name, see [values]; a group that
// its kind does not accept means no match.
type family struct {
	rule       string
	category   string
	attribute  string // may have ${groups}: what they say becomes a key
	confidence float64
	form       func() *regexp.Regexp
	say        string
}

// macros stand for what most forms share.
var macros = strings.NewReplacer(
	"{I}", `(?:i|we)`,
	"{I'm}", `(?:i['’]?m|i am|we['’]re|we are)`,
	"{I've}", `(?:i['’]?ve|i have|we['’]ve|we have|i|we)`,
	"{ADV}", `(?:(?:`+adverbs+`)\s+)*`,
	"{KIN}", `(?P<kin>(?:(?:older|younger|elder|little|big|twin|baby|oldest|youngest|eldest|best|late|step|new|ex)[ -])?(?:step|grand|god)?-?(?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[ée]e?|mother|father|mom|mum|dad|sister|brother|son|daughter|child|kid|baby|uncle|aunt|cousin|niece|nephew|friend|roommate|flatmate|boss|manager|colleague|coworker|neighbou?r|grandma|grandpa|therapist|doctor|teacher|coach))`,
	"{PET}", `(?P<pet>(?:[a-z-]+ ){0,3}?(?:dog|cat|puppy|kitten|rabbit|bunny|parrot|hamster|guinea pig|horse|pony|turtle|tortoise|snake|lizard|goldfish|fish|ferret|bird|canary|chicken|goat|retriever|labrador|poodle|beagle|husky|corgi|terrier|shepherd|dachshund|bulldog|collie|spaniel|tabby))`,
	"{N}", `(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)`,
)

func form(s string) func() *regexp.Regexp { return late(`(?i)^(?:` + macros.Replace(s) + `)`) }

// late returns what compiles a regular expression when it is first asked for. A
// hundred of them take megabytes and milliseconds, which a server that only
// answers need not spend.
func late(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// families are tried in order; the first that matches a clause speaks for it.
// The confidence is our judgement of how often the form misleads.
var families = []family{
	// name
	{"name", "personal", "name", 0.95, form(`my (?:first |full |real |given )?name(?:['’]s| is) (?P<called>.+)`), "User's name is ${called}"},
	{"name", "personal", "name", 0.95, form(`(?:you can |please |just |everyone |everybody |people |friends |my friends |they )*calls? me (?P<name>.+)`), "User's name is ${name}"},
	{"name", "personal", "name", 0.9, form(`{I'm} (?:called|named) (?P<name>.+)`), "User's name is ${name}"},
	{"name", "personal", "name", 0.9, form(`(?:this is|it['’]s) (?P<name>.+?) (?:here|speaking)$`), "User's name is ${name}"},
	{"greeting", "personal", "name", 0.85, form(`i['’]?(?:m| am) (?P<name>.+)`), "User's name is ${name}"},

	// age and birthday
	{"age", "personal", "age", 0.95, form(`{I'm} {ADV}(?P<age>\d{1,3})(?: years? old| yrs? old| yo\b|y/o\b)`), "User is ${age} years old"},
	{"age", "personal", "age", 0.85, form(`{I'm} {ADV}(?P<age>\d{2})$`), "User is ${age} years old"},
	{"age", "personal", "age", 0.9, form(`i {ADV}turned (?P<age>\d{1,3})\b`), "User is ${age} years old"},
	{"birthday", "personal", "birthday", 0.95, form(`my (?:birthday|birth date|date of birth)(?:['’]s| is)(?: on)? (?P<day>.+)`), "User's birthday is ${day}"},
	{"birthday", "personal", "birthday", 0.95, form(`i was born (?P<when>(?:on|in (?:19|20)\d\d|in (?:january|february|march|april|may|june|july|august|september|october|november|december)) ?.*)`), "User was born ${when}"},

	// home and origin
	{"home", "home", "home", 0.95, form(`(?:{I} {ADV}(?:live|reside)|{I'm} {ADV}(?:living|residing|based|located)|{I've} been (?:living|based)) (?:out |over |up |down |back |here |right |together )?(?P<prep>in|near|at|outside|by|close to) (?P<place>.+)`), "User lives ${prep} ${place}"},
	{"home", "home", "home", 0.9, form(`{I} (?:do not|don['’]t) {ADV}live (?P<prep>in|near|at) (?P<place>.+)`), "User no longer lives ${prep} ${place}"},
	{"home", "home", "home", 0.9, form(`{I} no longer live (?P<prep>in|near|at) (?P<place>.+)`), "User no longer lives ${prep} ${place}"},
	{"home", "home", "home", 0.9, form(`my (?:home|house|apartment|flat|place) is (?P<prep>in|near|at) (?P<place>.+)`), "User lives ${prep} ${place}"},
	{"moved", "home", "home", 0.95, form(`(?:{I've} {ADV}(?:moved|relocated)|{I've} {ADV}(?:finished|completed) (?:the|our|my) move)(?: away| back| over| here| house| out)*(?: from [^,;]+?)? to (?P<place>.+)`), "User lives in ${place}"},
	{"past home", "home", "past home:${place}", 0.9, form(`{I} (?:used to live|lived|previously lived|once lived) (?P<prep>in|near|at) (?P<place>.+)`), "User used to live ${prep} ${place}"},
	{"household", "family", "household", 0.85, form(`{I} {ADV}live (?P<how>alone|by myself|on my own|with (?:my|two|three|a|an|our) .+)`), "User lives ${how}"},
	{"hometown", "personal", "hometown", 0.9, form(`(?:{I'm} (?:originally )?from|{I} {ADV}(?:come|came|hail) from|my home ?town is) (?P<place>.+)`), "User is from ${place}"},
	{"hometown", "personal", "hometown", 0.9, form(`i (?:grew up|was raised|was born and raised) in (?P<place>.+)`), "User grew up in ${place}"},
	{"birthday", "personal", "birthday", 0.95, form(`i was born in (?P<place>[^,;\d]+?),? on (?P<day>.+)`), "User was born in ${place} on ${day}"},
	{"birthplace", "personal", "birthplace", 0.9, form(`i was born in (?P<place>.+)`), "User was born in ${place}"},
	{"nationality", "personal", "nationality", 0.9, form(`{I'm} (?P<nation>[a-z]+)$`), "User is ${nation}"},
	{"nationality", "personal", "nationality", 0.85, form(`(?:my nationality is|i['’]?m a citizen of) (?P<thing>.+)`), "User's nationality is ${thing}"},
	{"timezone", "personal", "timezone", 0.9, form(`my time ?zone is (?P<thing>.+)`), "User's timezone is ${thing}"},

	// work
	{"work", "work", "employer", 0.9, form(`{I} (?:no longer|don['’]t|do not) work (?P<prep>at|for) (?P<company>.+)`), "User no longer works ${prep} ${company}"},
	{"work", "work", "occupation", 0.95, form(`(?:{I} {ADV}work|{I'm} {ADV}working|{I've} been working|i {ADV}started working|i {ADV}started)(?: \w+ly| full[- ]time| part[- ]time| from home)* as (?P<role>.+)`), "User works as ${role}"},
	{"work", "work", "employer", 0.9, form(`(?:{I} {ADV}work|{I'm} {ADV}working|{I've} been working|i {ADV}started (?:working|a new job|my new job|a job)|{I've} {ADV}got(?:ten)? (?:a|the|my) (?:new )?job)(?: \w+ly| full[- ]time| part[- ]time| from home)* (?P<prep>at|for) (?P<company>.+)`), "User works ${prep} ${company}"},
	{"work", "work", "employer", 0.9, form(`i(?:['’]ve| have)? {ADV}joined (?P<firm>.+?)(?: as .+)?$`), "User works at ${firm}"},
	{"past work", "work", "past employer:${company}", 0.9, form(`{I} (?:used to work|previously worked|formerly worked) (?P<prep>at|for) (?P<company>.+)`), "User used to work ${prep} ${company}"},
	{"work", "work", "occupation", 0.9, form(`{I've} been (?P<role>an? .+)`), "User has been ${role}"},
	{"work", "work", "occupation", 0.9, form(`{I'm} now (?P<role>.+)`), "User is ${role}"},
	{"field", "work", "field", 0.85, form(`(?:{I} {ADV}work|{I'm} {ADV}working) in (?P<field>.+)`), "User works in ${field}"},
	{"work", "work", "occupation", 0.9, form(`{I'm} {ADV}(?P<role>(?:an?|the) .+)`), "User is ${role}"},
	{"work", "work", "occupation", 0.9, form(`(?:my (?:job|profession|occupation|current role|role) is|i(?:['’]ve been| was| got) promoted to|i {ADV}got (?:a|the) (?:new )?job as) (?:being )?(?P<role>.+)`), "User works as ${role}"},
	{"work", "work", "occupation", 0.9, form(`{I'm} {ADV}(?P<state>retired|unemployed|self-employed|between jobs|freelancing|on parental leave|on maternity leave|on sabbatical)\b`), "User is ${state}"},
	{"left", "work", "left:${company}", 0.9, form(`i(?:['’]ve| have)? {ADV}(?:quit|left|resigned from|was laid off from|got laid off from|was fired from|got fired from) (?:my (?:old |current )?(?:job|position|role) (?:at|with) )?(?P<company>.+)`), "User no longer works at ${company}"},
	{"lost job", "work", "occupation", 0.85, form(`i(?:['’]ve| have)? {ADV}(?P<how>quit my job|left my job|lost my job|got laid off|was laid off|got fired|was fired|retired)\b`), "User ${how}"},
	{"business", "work", "business", 0.85, form(`(?:{I} {ADV}(?:run|own|founded|co-founded|started)|{I'm} running|{I've} {ADV}(?:opened|founded)) (?P<thing>(?:a|an|my own|our own|my|our) (?:[a-z-]+ ){0,3}(?:business|company|startup|start-up|shop|store|restaurant|cafe|café|bakery|studio|agency|farm|gym|salon|practice|clinic|consultancy|non-?profit|podcast|blog|channel|newsletter)\b.*)`), "User runs ${thing}"},

	// family, partner, people
	{"partner", "family", "marital status", 0.9, form(`{I'm} {ADV}(?P<state>single|divorced|widowed|separated)$`), "User is ${state}"},
	{"partner", "family", "marital status", 0.9, form(`(?:{I'm} {ADV}|{I} {ADV}(?:just )?got )(?P<state>married|engaged|divorced)(?: to (?P<name>[^,;]+))?`), "User is ${state}${to:name}"},
	{"kin named", "family", "${kin} name", 0.95, form(`(?:my|our) {KIN}(?:['’]s (?:first )?name is| is called| is named|, whose name is) (?P<name>.+)`), "User's ${kin} is named ${name}"},
	{"kin named", "family", "${kin} name", 0.85, form(`(?:my|our) {KIN} is (?P<name>.+)`), "User's ${kin} is named ${name}"},
	{"kin named", "family", "${kin} name", 0.9, form(`(?:my|our) {KIN},? (?P<name>(?-i:[A-Z])[\p{L}'’-]+(?: (?-i:[A-Z])[\p{L}'’-]+)?)(?:,| (?:is|was|and|has|lives|works|loves|likes|just|turned)\b|$)`), "User's ${kin} is named ${name}"},
	{"kin named", "family", "${kin} name", 0.85, form(`(?P<name>.+?) is (?:my|our) {KIN}$`), "User's ${kin} is named ${name}"},
	{"has kin", "family", "", 0.9, form(`{I}(?:['’]ve| have) (?:got )?(?P<kids>(?:an? |{N} )(?:[a-z-]+ ){0,2}(?:kids?|child|children|sons?|daughters?|brothers?|sisters?|siblings?|twins|grandchildren|grandsons?|granddaughters?|wife|husband|girlfriend|boyfriend|partner|roommates?|nieces?|nephews?|cousins?)\b.*)`), "User has ${kids}"},
	{"has kin", "family", "", 0.9, form(`{I} (?:do not|don['’]t) have (?:any )?(?P<kids>kids|children|siblings|a partner|brothers|sisters|pets)\b`), "User does not have ${kids}"},
	{"broke up", "family", "partner", 0.85, form(`{I}(?:['’]ve| have)? {ADV}(?P<did>(?:broke up|broken up|split up|separated) with .+)`), "User ${did}"},
	{"kin's", "family", "${kin}'s ${what}", 0.9, form(`(?:my|our) {KIN}['’]s (?P<what>birthday|anniversary|address|phone number|email|job|favou?rite [a-z]+) is (?P<thing>.+)`), "User's ${kin}'s ${what} is ${thing}"},
	{"expecting", "family", "pregnancy", 0.9, form(`(?:my (?:wife|partner|girlfriend|fianc[ée]e) and i|we) are {ADV}(?P<state>expecting (?:a|our|twins|another) ?.*)`), "User is ${state}"},
	{"expecting", "family", "pregnancy", 0.9, form(`{I'm} {ADV}(?P<state>pregnant|expecting (?:a|our|my) .+)`), "User is ${state}"},

	// pets
	{"pet", "family", "pet:${name}", 0.95, form(`(?:{I}(?:['’]ve| have)? {ADV}(?:got|have|had|own|adopted|rescued|bought) |{I}(?:['’]ve| have) )(?:an? |our |my |{N} )?(?:new )?{PET}s? (?:named|called) (?P<name>.+)`), "User has a ${pet} named ${name}"},
	{"pet", "family", "pet:${name}", 0.95, form(`(?:my|our) {PET}(?:['’]s name is| is called| is named|['’]s called|['’]s named) (?P<name>.+)`), "User has a ${pet} named ${name}"},
	{"pet", "family", "pet:${name}", 0.9, form(`(?:my|our) {PET},? (?P<name>(?-i:[A-Z])[\p{L}'’-]+)\b(?: |,|$)`), "User has a ${pet} named ${name}"},
	{"pet", "family", "", 0.9, form(`(?:{I}(?:['’]ve| have)? {ADV}(?:got|adopted|rescued|bought|own|have)|{I}(?:['’]ve| have) (?:got )?) ?(?P<pets>(?:an? |{N} )(?:[a-z-]+ ){0,3}?(?:dog|cat|puppy|puppies|kitten|rabbit|parrot|hamster|horse|turtle|snake|bird|fish|retriever|labrador|poodle|husky|beagle|corgi)s?\b)`), "User has ${pets}"},

	// health and diet
	{"allergy", "health", "allergy:${food}", 0.95, form(`{I'm} {ADV}(?:severely |highly |deathly |very |quite |mildly )?allergic to (?P<food>.+)`), "User is allergic to ${food}"},
	{"allergy", "health", "allergy:${food}", 0.95, form(`{I'm} (?:not|no longer|not actually) allergic to (?P<food>.+)`), "User is not allergic to ${food}"},
	{"allergy", "health", "allergy:${food}", 0.95, form(`i(?:['’]ve| have)(?: got)? (?:an? )?(?:severe |bad |mild |serious )?(?P<food>[a-z]+(?: [a-z]+)?) allerg(?:y|ies)`), "User has a ${food} allergy"},
	{"allergy", "health", "allergy:${food}", 0.95, form(`i(?:['’]ve| have)(?: got)? (?:an? )?(?:severe |bad |mild |serious )?allergy to (?P<food>.+)`), "User is allergic to ${food}"},
	{"condition", "health", "condition:${state}", 0.9, form(`{I'm} {ADV}(?P<state>(?:lactose|gluten|fructose)[ -]intolerant|intolerant to .+|coeliac|celiac|diabetic|asthmatic|dyslexic|colou?r-?blind|deaf|blind|left-handed|epileptic|an? (?:recovering )?alcoholic|autistic|anemic|anaemic)\b`), "User is ${state}"},
	{"condition", "health", "condition:${illness}", 0.9, form(`(?:i have|i['’]ve got|i suffer from|i['’]ve been diagnosed with|i was diagnosed with|i got diagnosed with) (?:an? )?(?P<illness>(?:[a-z0-9]+ ){0,2}(?:diabetes|asthma|adhd|add|arthritis|migraines?|epilepsy|anxiety|depression|insomnia|ibs|celiac|coeliac|cancer|hypertension|high blood pressure|dyslexia|autism|ocd|ptsd|eczema|lactose intolerance|gluten intolerance|back pain|hay fever)\b)`), "User has ${illness}"},
	{"diet", "health", "diet", 0.95, form(`{I'm} {ADV}(?P<diet>(?:an? )?(?:strict )?(?:vegan|vegetarian|pescatarian|pescetarian|carnivore|flexitarian)|on (?:an? )?[a-z-]+ diet)\b`), "User is ${diet}"},
	{"diet", "health", "diet", 0.95, form(`{I'm} (?:no longer|not) (?P<diet>(?:an? )?(?:strict )?(?:vegan|vegetarian|pescatarian|pescetarian|carnivore|flexitarian))\b`), "User is no longer ${diet}"},
	{"diet", "health", "diet", 0.9, form(`i(?:['’]ve| have)? {ADV}(?:went|gone|became|become|turned) (?P<diet>vegan|vegetarian|pescatarian)\b`), "User is ${diet}"},
	{"diet", "health", "eats:${food}", 0.9, form(`{I} {ADV}(?:do not|don['’]t|never|can['’]t|cannot|no longer|can no longer) (?P<eat>eat|drink) (?P<food>.+)`), "User does not ${eat} ${food}"},
	{"stopped", "habit", "habit:${habit}", 0.9, form(`i(?:['’]ve| have)? {ADV}(?:quit|stopped|gave up|given up) (?P<habit>smoking|drinking(?: alcohol| coffee)?|eating [a-z ]+|vaping|caffeine|alcohol|coffee|sugar|meat|gluten|dairy|gambling)\b`), "User quit ${habit}"},
	{"stopped", "habit", "habit:${habit}", 0.9, form(`{I} (?:do not|don['’]t|no longer|never) (?P<habit>smoke|vape)\b`), "User does not ${habit}"},
	{"contact", "personal", "${what}", 0.95, form(`my (?P<what>e-?mail|phone|mobile|github|website|home|postal)(?: (?:address|number|handle|page))? is (?P<size>\S*[\d@./]\S*(?: [\d()-]+)*)`), "User's ${what} is ${size}"},
	{"body", "health", "${what}", 0.9, form(`my (?P<what>blood type|height|weight|shoe size|clothing size|resting heart rate) is (?P<size>.+)`), "User's ${what} is ${size}"},
	{"body", "health", "height", 0.9, form(`{I'm} (?P<size>\d[\d.,'’′"]* ?(?:cm|m|ft|feet|foot)?(?: ?\d+)?(?: ?(?:in|inches|"))?) tall`), "User is ${size} tall"},
	{"body", "health", "weight", 0.9, form(`i weigh (?:about |around )?(?P<size>\d[\d.,]* ?(?:kg|kilos?|pounds|lbs?|stone))`), "User weighs ${size}"},

	// likes, dislikes, favourites
	{"favourite", "preference", "favourite:${kind}", 0.95, form(`my (?:all-time |absolute )?favou?rite (?P<kind>[a-z][a-z -]{1,30}?)(?: of all time| ever)? (?:is|are|has always been|has to be) (?P<thing>.+)`), "User's favourite ${kind} is ${thing}"},
	{"favourite", "preference", "favourite:${kind}", 0.9, form(`(?P<thing>[^,;]+?) (?:is|are) my (?:all-time |absolute )?favou?rite (?P<kind>[a-z][a-z -]{1,30})$`), "User's favourite ${kind} is ${thing}"},
	{"dislike", "preference", "taste:${thing}", 0.9, form(`{I} {ADV}(?:do not|don['’]t|no longer) {ADV}(?:like|love|enjoy|care for) (?P<thing>.+)`), "User does not like ${thing}"},
	{"dislike", "preference", "taste:${thing}", 0.9, form(`{I} {ADV}(?:used to) (?:like|love|enjoy) (?P<thing>.+)`), "User used to like ${thing}"},
	{"dislike", "preference", "taste:${thing}", 0.9, form(`{I} {ADV}(?P<verb>hate|dislike|detest|despise|can['’]t stand|cannot stand|loathe) (?P<thing>.+)`), "User dislikes ${thing}"},
	{"dislike", "preference", "taste:${thing}", 0.85, form(`{I'm} (?:not|not really|no longer) (?:a (?:big |huge )?fan of|into|fond of|keen on) (?P<thing>.+)`), "User does not like ${thing}"},
	{"like", "preference", "taste:${thing}", 0.85, form(`{I} {ADV}(?:both )?(?P<verb>love|enjoy|adore) (?P<thing>.+)`), "User ${verbs} ${thing}"},
	{"like", "preference", "taste:${general}", 0.85, form(`{I} {ADV}(?P<verb>like) (?P<general>.+)`), "User ${verbs} ${general}"},
	{"like", "preference", "taste:${thing}", 0.85, form(`{I've} (?:always|long) (?P<verb>liked|loved|enjoyed) (?P<thing>.+)`), "User ${likes} ${thing}"},
	{"prefer", "preference", "", 0.9, form(`{I} {ADV}prefer (?P<thing>.+)`), "User prefers ${thing}"},
	{"like", "preference", "taste:${general}", 0.85, form(`{I'm} {ADV}(?:an? (?:big |huge |massive |die-hard |avid )*(?:fan of|lover of|believer in)|fond of|into|obsessed with|passionate about|crazy about|keen on) (?P<general>.+)`), "User likes ${general}"},
	{"fear", "preference", "fear:${thing}", 0.9, form(`{I'm} {ADV}(?:very |really |so )?(?:afraid|scared|terrified) of (?P<thing>.+)`), "User is afraid of ${thing}"},
	{"cannot", "personal", "skill:${skill}", 0.85, form(`i (?:can['’]t|cannot|don['’]t know how to|never learned to) (?P<skill>swim|drive|cook|sing|dance|whistle|ride a bike|ski|read music|type|skate)$`), "User cannot ${skill}"},
	{"uses", "preference", "uses:${tool}", 0.8, form(`{I} {ADV}use (?P<tool>.+)`), "User uses ${tool}"},
	{"switched", "preference", "uses:${tool}", 0.85, form(`{I've} {ADV}(?:switched|migrated|changed)(?: over)?(?: from (?P<old>.+?))? to (?P<tool>.+)`), "User uses ${tool}"},
	{"decision", "project", "", 0.85, form(`{I}(?:['’]ve| have)? {ADV}(?P<did>decided (?:to|on|against|not to) .+)`), "User ${did}"},
	{"hobby", "preference", "hobby", 0.9, form(`(?:one of )?my (?:main |biggest |favou?rite )?(?:hobby|hobbies|passion|passions|pastime|pastimes) (?:is|are|include|includes) (?P<thing>.+)`), "User's hobby is ${thing}"},

	// possessions
	{"owns", "possession", "", 0.9, form(`{I} {ADV}(?P<verb>own|drive|ride) (?P<owned>(?:an?|my own|{N}) .+)`), "User ${verbs} ${owned}"},
	{"owns", "possession", "${own}", 0.85, form(`my (?P<own>car|bike|bicycle|motorcycle|motorbike|phone|laptop|computer|guitar|camera|truck|van|boat|tablet|console) is (?P<owned>(?:an?|the) .+)`), "User's ${own} is ${owned}"},
	{"owns", "possession", "", 0.85, form(`(?:{I}(?:['’]ve| have)? {ADV}(?:bought|got|purchased|ordered)|{I}(?:['’]ve| have) (?:got )?)(?: myself)? (?P<owned>(?:an?|{N}) (?:[\p{L}\d-]+ ){0,3}?(?:car|bike|bicycle|motorcycle|motorbike|phone|laptop|computer|guitar|piano|violin|camera|truck|van|boat|house|apartment|flat|cottage|cabin|garden|tablet|console|printer|telescope|kayak|surfboard|drone|kindle|macbook|iphone|thinkpad|tesla|toyota|honda|ford|bmw)\b)`), "User has ${owned}"},

	// studies, languages, skills
	{"studies", "education", "", 0.9, form(`(?:{I'm} {ADV}(?:studying|majoring in|doing an? (?:degree|masters?|master['’]s|phd|bachelor['’]?s?) in)|{I} {ADV}(?:study|major in)) (?P<thing>.+)`), "User studies ${thing}"},
	{"studies", "education", "", 0.9, form(`(?:{I} {ADV}(?:go to|attend)|{I'm} (?:a student at|studying at|enrolled at)) (?P<school>.+)`), "User studies at ${school}"},
	{"degree", "education", "", 0.9, form(`{I've} {ADV}(?:graduated|got my degree|got my diploma) (?P<how>(?:from|in|with) .+)`), "User graduated ${how}"},
	{"degree", "education", "", 0.9, form(`{I} have (?P<degree>(?:an? )?(?:phd|ph\.d\.?|doctorate|degree|master['’]?s?(?: degree)?|bachelor['’]?s?(?: degree)?|mba|diploma|certificate) in .+)`), "User has ${degree}"},
	{"language", "personal", "language:${language}", 0.95, form(`(?:{I} {ADV}speak(?: fluent| some| a little| a bit of)?|{I'm} {ADV}fluent in) (?P<language>.+)`), "User speaks ${language}"},
	{"language", "personal", "native language", 0.95, form(`my (?:native language|mother tongue|first language) is (?P<language>.+)`), "User's native language is ${language}"},
	{"language", "education", "learning:${language}", 0.9, form(`{I'm} {ADV}(?:learning|studying|taking lessons in|taking classes in) (?P<language>.+)`), "User is learning ${language}"},
	{"learning", "education", "", 0.85, form(`{I'm} {ADV}(?:learning|teaching myself)(?: how)? (?P<thing>(?:to )?.+)`), "User is learning ${thing}"},
	{"since", "habit", "", 0.8, form(`{I}(?:['’]ve| have) {ADV}been (?P<doing>[a-z]+ing\b.*\b(?:for (?:about |around |over |almost |nearly |more than |just |at least |the (?:last|past) )*(?:an? |many |several |some |a few |a couple of |{N} )?(?:years?|months?|weeks?|decades?)|since (?:\d{4}|i was|last|january|february|march|april|may|june|july|august|september|october|november|december|childhood|college|school|high school)).*)`), "User has been ${doing}"},

	// plans with dates, goals
	{"plan", "plan", "", 0.85, form(`{I'm} {ADV}(?P<plan>(?:going to|planning to|planning on|planning (?:an?|our|my|the)|organi[sz]ing (?:an?|our|my|the)|training for|hoping to|about to|flying|travell?ing|visiting|moving|getting|starting|taking|attending|running|having|seeing|meeting|leaving|heading|hosting|driving|doing|graduating|retiring|throwing|presenting|speaking|competing) .+)`), "User is ${plan}"},
	{"plan", "plan", "", 0.8, form(`{I}(?:['’]ll| will| plan to| intend to| hope to| have to| need to| want to) (?P<later>.+)`), "User plans to ${later}"},
	{"plan", "plan", "", 0.85, form(`{I}(?:['’]ve| have) (?:got )?(?P<plan>(?:an?|my|our) (?:[a-z'’-]+ ){0,4}(?:appointment|interview|exam|meeting|flight|wedding|surgery|operation|test|deadline|conference|trip|concert|presentation|party|reunion|race|marathon|tournament|recital|vacation|holiday|checkup|check-up|class|date|audition|gig|hearing|booking|reservation)\b.*)`), "User has ${plan}"},
	{"plan", "plan", "", 0.85, form(`(?:my|our) (?P<plan>(?:[a-z'’-]+ ){0,3}(?:appointment|interview|exam|flight|wedding|surgery|operation|deadline|conference|trip|concert|presentation|party|reunion|race|marathon|anniversary|graduation|vacation|holiday|due date|lease|visa) (?:is|starts|ends|expires|takes place) .+)`), "User's ${plan}"},
	{"goal", "goal", "", 0.85, form(`my (?:main |biggest |long-term |ultimate |new )?(?P<what>goal|dream|ambition|new year['’]s resolution|resolution) (?:is|for this year is|this year is) (?P<thing>.+)`), "User's ${what} is ${thing}"},
	{"goal", "goal", "", 0.8, form(`{I}(?:['’]d| would)? {ADV}(?:want|hope|plan|intend|aim|like|love|am trying|am working|dream)(?: of| on)? to (?P<goal>(?:learn|become|visit|travel|move|retire|start (?:a|my)|open (?:a|my)|climb|master|run a|lose weight|save|adopt|write a (?:book|novel)|quit|buy a (?:house|home|car)|get (?:fit|a job|married|my)) ?.*)`), "User wants to ${goal}"},

	// habits and events
	{"goal", "goal", "", 0.85, form(`{I'm} {ADV}(?P<goal>(?:trying to (?:lose|quit|eat|get fit|get in shape|get pregnant|learn|save|cut|reduce|stop|gain|sleep|drink less|read more)|saving (?:up )?for|saving up to|training for|training to)\b.*)`), "User is ${goal}"},
	{"habit", "habit", "", 0.8, form(`{I} (?P<does>(?:always|usually|normally|typically|generally|often|rarely|never) (?:wake|get up|go|eat|have|drink|work|sleep|walk|run|cook|take|start|spend|read|listen|watch|wear|travel|commute|study|train|exercise|skip|meditate|bike|cycle|drive) .+)`), "User ${does:verb}"},
	{"habit", "habit", "", 0.85, form(`{I} (?P<does>(?:(?:` + adverbs + `)\s+)*[a-z]+ .*\b(?:every|each) (?:other |single |second )?(?:day|night|morning|evening|afternoon|week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday|summer|winter|spring|autumn)s?\b.*|(?:(?:` + adverbs + `)\s+)*[a-z]+ .*\b(?:once|twice|three times|{N} times) an? (?:day|week|month|year)\b.*)`), "User ${does:verb}"},
	{"plays", "habit", "plays:${thing}", 0.9, form(`{I} {ADV}play (?P<thing>(?:the )?(?:guitar|piano|violin|cello|drums|bass|flute|saxophone|trumpet|clarinet|ukulele|harp|tennis|football|soccer|basketball|chess|golf|rugby|hockey|volleyball|badminton|cricket|squash|padel|poker|video games|board games)\b)`), "User plays ${thing}"},
	{"event", "event", "", 0.8, form(`{I}(?:['’]ve| have)? (?P<did>{ADV}[a-z]+ .+)`), "User ${did:verb}"},

	// people and things of the user's, said of them
	{"kin does", "family", "", 0.85, form(`(?:my|our) {KIN}(?P<rest> (?:lives|works|is|has|loves|likes|hates|studies|speaks|plays|moved|was born|turned|died|passed away|teaches|owns|runs|retired) .+)`), "User's ${kin}${rest}"},
}
