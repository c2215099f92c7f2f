package extract

import (
	_ "embed"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

//go:embed tables/occupations.txt
var occupationTable string

//go:embed tables/languages.txt
var languageTable string

//go:embed tables/nationalities.txt
var nationalTable string

var (
	occupations = lazy.SetOf(occupationTable, lowered)
	languages   = lazy.SetOf(languageTable, lowered)
	nationals   = lazy.SetOf(nationalTable, lowered)
)

func lowered(names string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(names) {
		set[strings.ToLower(w)] = true
	}
	return set
}

// now is every tense that tells of how things are.
const now = present | progressive | continued

// families are tried in order for each verb; the first that takes a clause speaks
// for it. The confidence is the share of a family's facts that agree with gold
// facts where both speak of a turn (docs/learning.md, "Rules"), or our judgement
// where they are few.
var families = []family{
	// who somebody is
	{"name", "personal", "name", 0.9, "be", present, "called|named <name>", 0, "'s name is <name>"},
	{"age", "personal", "age", 0.95, "be", present, "~ <age> years|year|yrs|yr|yo|y/o", 0, "be <age> years old"},
	{"age", "personal", "age", 0.85, "be", present, "~ <age> now|already|today? $", 0, "be <age> years old"},
	{"age", "personal", "age", 0.9, "turn", simplePast | perfect, "<age>", 0, "@is <age> years old"},
	{"birthday", "personal", "birthday", 0.95, "be", simplePast, "born on <when:day>", 0, "be born on <when>"},
	{"birthday", "personal", "birthday", 0.95, "be", simplePast, "born in <place:city> on <day>", 0, "be born in <place> on <day>"},
	{"birthplace", "personal", "birthplace", 0.9, "be", simplePast, "born in <place>", 0, "be born in <place>"},
	{"hometown", "personal", "hometown", 0.9, "be", present | simplePast, "born? and? raised in <place>", 0, "@grew up in <place>"},
	{"hometown", "personal", "hometown", 0.9, "be", present, "from <place>", 0, "be from <place>"},
	{"hometown", "personal", "hometown", 0.9, "come hail", present, "from <place>", 0, "come from <place>"},
	{"hometown", "personal", "hometown", 0.9, "grow", simplePast, "up in|near|on <place>", 0, "@grew up in <place>"},

	{"hometown", "personal", "hometown", 0.9, "raise", simplePast, "in <place:city>", 0, "@grew up in <place>"},
	{"name", "personal", "name", 0.9, "go", present, "by <name>", 0, "'s name is <name>"},
	{"native language", "personal", "native language", 0.9, "be", present, "a|an? native <language>", 0, "'s native language is <language>"},

	// where
	{"home", "home", "home", 0.95, "live reside", now, "~ <prep:where> <place>", present, "live <prep> <place>"},
	{"home", "home", "home", 0.95, "be", now | perfect, "~ based|located <prep:where> <place>", present, "live <prep> <place>"},
	{"home since", "home", "home", 0.85, "be", perfect, "in <place:city> since|for", 0, "@lives in <place>"},
	{"moved", "home", "home", 0.95, "move relocate immigrate emigrate", simplePast | perfect, "~ from >to <place>", present, "live in <place>"},
	{"moved", "home", "home", 0.95, "move relocate immigrate emigrate", simplePast | perfect, "~ to <place>", present, "live in <place>"},
	{"home long", "home", "home", 0.9, "live reside", perfect, "~ <prep:where> <place:city> for|since", present, "live <prep> <place>"},
	{"past home", "home", "past home:<place>", 0.9, "live reside", usedTo | simplePast | perfect, "~ <prep:where> <place>", usedTo, "live <prep> <place>"},
	{"household", "family", "household", 0.85, "live", now, "alone", present, "live alone"},
	{"household", "family", "household", 0.85, "move", simplePast | perfect, "back? in with <how:phrase>", present, "live with <how>"},
	{"household", "family", "household", 0.85, "live", now, "by|on|with <how:phrase>", present, ""},

	{"person", "family", "", 0.85, "be", present | perfect, "<thing:sort>", 0, ""},
	{"person", "family", "", 0.85, "become", simplePast | perfect, "<thing:sort>", present, "be <thing>"},

	// work
	{"work", "work", "occupation", 0.95, "work start freelance", now | simplePast | perfect, "~ <manner:manner> as <role>", present, "work as <role>"},
	{"work", "work", "occupation", 0.95, "work start freelance", now | simplePast | perfect, "~ as <role>", present, "work as <role>"},
	{"past work", "work", "past employer:<company>", 0.9, "work", usedTo | simplePast, "~ <prep:atfor> <company>", usedTo, "work <prep> <company>"},
	{"work", "work", "employer", 0.9, "work", now | perfect, "~ <manner:manner> <prep:atfor> <company>", present, "work <prep> <company>"},
	{"work", "work", "employer", 0.9, "work", now | perfect, "~ <prep:atfor> <company>", present, "work <prep> <company>"},
	{"work", "work", "employer", 0.9, "start", simplePast | perfect | progressive, "working|a|my new? job? <prep:atfor> <company>", present, "work <prep> <company>"},
	{"work", "work", "employer", 0.9, "get find land accept", simplePast | perfect, "a|the|my new? job <prep:atfor> <company>", present, "work <prep> <company>"},
	{"work", "work", "employer", 0.9, "join", simplePast | perfect, "<firm>", present, "work at <firm>"},
	{"work", "work", "occupation", 0.9, "get", simplePast | perfect, "a|the new? job as <role>", present, "work as <role>"},
	{"work", "work", "occupation", 0.9, "be", simplePast | perfect, "promoted to <role>", present, "work as <role>"},
	{"work", "work", "occupation", 0.9, "become", simplePast | perfect, "<role>", present, "be <role>"},
	{"work", "work", "occupation", 0.9, "be", present, "<role>", 0, "be <role>"},
	{"work", "work", "occupation", 0.9, "be", perfect, "<role>", 0, "be <role>"},
	{"past work", "work", "past occupation:<role>", 0.85, "be", usedTo | simplePast, "<role>", 0, ""},
	{"shifts", "work", "", 0.85, "work", present, "the? night|early|late|day|morning|weekend|rotating|long shifts|shift|nights|hours", 0, ""},
	{"shifts", "work", "", 0.85, "work", now, "from home", 0, ""},
	{"shifts", "work", "", 0.85, "work", present, "remotely|nights", 0, ""},
	{"shifts", "work", "working time", 0.85, "work", present, "part-time|full-time|part|full time?", 0, ""},
	{"field", "work", "field", 0.85, "work", now, "~ in <field:thing>", present, "work in <field>"},
	{"work", "work", "occupation", 0.9, "be", present, "~ <state:jobless>", 0, "be <state>"},
	{"work", "work", "occupation", 0.9, "be", present, "~ self employed", 0, "@is self-employed"},
	{"work", "work", "employer", 0.9, "be", present, "~ <state:workless>", 0, "be <state>"},
	{"work", "work", "employer", 0.85, "be", present, "between jobs $", 0, "@is between jobs"},
	{"manager", "work", "relative:boss", 0.85, "report", present, "~ to <name>", 0, "'s manager is named <name>"},
	{"leave", "work", "leave", 0.85, "be", present, "back at|to work", 0, "@is back at work"},
	{"left", "work", "occupation", 0.9, "quit leave resign", simplePast | perfect, "my old|current? job|position|role as <role>", 0, "@no longer works as <role>"},
	{"left", "work", "left:<company>", 0.9, "quit leave resign", simplePast | perfect, "my old|current? job|position|role at|with <company>", 0, "@no longer works at <company>"},
	{"left", "work", "left:<company>", 0.9, "be get", simplePast | perfect, "laid|fired|let off|go? from|by <company>", 0, "@no longer works at <company>"},
	{"left", "work", "left:<company>", 0.85, "quit leave resign", simplePast | perfect, "from? <company:firm>", 0, "@no longer works at <company>"},
	{"lost job", "work", "employer", 0.85, "quit leave lose", simplePast | perfect, "my|his|her|their job", 0, ""},
	{"lost job", "work", "employer", 0.85, "be get", simplePast | perfect, "laid|fired off?", 0, ""},
	{"lost job", "work", "employer", 0.85, "be get", simplePast | perfect, "let go", 0, ""},
	{"lost job", "work", "occupation", 0.85, "retire", simplePast | perfect, "", 0, ""},
	{"business", "work", "business", 0.85, "run own found co-found start open launch", now | simplePast | perfect, "<thing:venture>", present, "run <thing>"},
	{"responsible", "work", "", 0.8, "be", present, "responsible|in for|charge of? <thing>", 0, ""},

	// family
	{"marriage", "family", "marital status", 0.9, "be", present, "<state:marital> to <name>", 0, "be <state> to <name>"},
	{"marriage", "family", "marital status", 0.9, "be", present, "<state:marital> again|now? $", 0, "be <state>"},
	{"marriage", "family", "marital status", 0.9, "be", perfect, "~ <state:marital> for|since", 0, "@is <state>"},
	{"marriage", "family", "marital status", 0.9, "get", simplePast | perfect, "<state:marital> to <name>", 0, "@is <state> to <name>"},
	{"marriage", "family", "marital status", 0.9, "get", simplePast | perfect, "<state:marital>", 0, "@is <state>"},
	{"has kin", "family", "", 0.9, "have", present, "<kids>", 0, ""},
	{"dating", "family", "marital status", 0.8, "see date", progressive, "someone|somebody new? $", 0, ""},
	{"dating", "family", "partner", 0.85, "date", progressive | continued, "<who:name>", 0, "@is dating <who>"},
	{"expecting", "family", "pregnancy", 0.9, "be", present, "pregnant|expecting", 0, ""},
	{"birth", "family", "pregnancy", 0.85, "give", simplePast | perfect, "birth to <what:exact>", 0, "@gave birth to <what>"},
	{"birth", "family", "pregnancy", 0.85, "give", simplePast | perfect, "birth", 0, "@gave birth"},
	{"birth", "family", "pregnancy", 0.85, "have suffer", simplePast | perfect, "a|another miscarriage|stillbirth", 0, ""},
	{"birth", "family", "pregnancy", 0.85, "lose", simplePast | perfect, "the|our|my baby|pregnancy", 0, ""},
	{"birth", "family", "pregnancy", 0.85, "have", simplePast, "a|our|the|my baby|son|daughter|twins", 0, ""},
	{"expecting", "family", "pregnancy", 0.9, "expect", progressive, "a|our|my|twins|another <thing:all>", 0, ""},

	// pets
	{"pet", "family", "pet:<name>", 0.95, "have own adopt rescue buy get", present | simplePast | perfect, "<n:count> <pet> named|called <name>", present, "have a <pet> named <name>"},
	{"pet", "family", "", 0.9, "have own adopt rescue buy get", present | simplePast | perfect, "<pets>", present, "have <pets>"},

	// health and diet
	{"allergy", "health", "allergy:<food>", 0.95, "be", present, "~ allergic to <food:thing>", 0, "be allergic to <food>"},
	{"allergy", "health", "allergy:<food>", 0.95, "have", present, "a|an? severe|bad|mild|serious? allergy to <food:thing>", present, "be allergic to <food>"},
	{"allergy", "health", "allergy:<food>", 0.95, "have", present, "<food:allergen>", 0, "have a <food> allergy"},
	{"condition", "health", "condition:<state>", 0.9, "be", present, "~ <state:ailing>", 0, "be <state>"},
	{"condition", "health", "condition:<illness>", 0.9, "have", present | perfect, "<illness>", present, "have <illness>"},
	{"condition", "health", "condition:<illness>", 0.85, "suffer", now, "from <illness:thing>", present, "have <illness>"},
	{"condition", "health", "condition:<illness>", 0.9, "be get", simplePast | perfect, "diagnosed with <illness:diagnosis>", present, "have <illness>"},
	{"diet", "health", "diet", 0.95, "be", present, "<diet>", 0, "be <diet>"},
	{"diet", "health", "diet", 0.9, "be", perfect, "<diet>", present, "be <diet>"},
	{"diet", "health", "", 0.85, "keep eat", present, "strictly? <what:law>", 0, ""},
	{"diet", "health", "diet", 0.9, "be", present, "off the|my? <what:dieting>", 0, "@is no longer on the <what>"},
	{"got over", "health", "condition:<illness>", 0.85, "be get", present | simplePast | perfect, "over my? <illness>", 0, "@is over <illness>"},
	{"condition", "health", "", 0.85, "have", present, "trouble|difficulty sleeping|hearing|walking|breathing|concentrating|swallowing|seeing", 0, ""},
	{"diet", "health", "diet", 0.9, "go become turn", simplePast | perfect, "<diet>", present, "be <diet>"},
	{"diet", "health", "eats:<food>", 0.9, "eat drink", present | ability, "<food:refused>", 0, ""},
	{"stopped", "habit", "habit:<habit>", 0.85, "quit stop give", simplePast | perfect, "up? <habit>", 0, "@quit <habit>"},
	{"stopped", "habit", "habit:<habit>", 0.9, "smoke vape drink", present | usedTo, "$", 0, ""},

	// tastes
	{"dislike", "preference", "taste:<thing>", 0.9, "hate dislike detest despise loathe", present, "<thing>", 0, "@dislikes <thing>"},
	{"dislike", "preference", "taste:<thing>", 0.9, "stand", ability, "<thing>", 0, "@dislikes <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "love enjoy adore cherish value treasure", present | usedTo, "both? <thing:general>", 0, "= <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "love enjoy", progressive, "<thing:general>", 0, ""},
	{"like", "preference", "taste:<thing>", 0.8, "like", present | usedTo, "<thing:general>", 0, "= <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "come grow learn", simplePast | perfect, "to like|love|enjoy|appreciate <thing:general>", 0, "@likes <thing>"},
	{"went off", "preference", "taste:<thing>", 0.8, "go", simplePast | perfect, "off <thing:general>", 0, "@no longer likes <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "love like enjoy adore", perfect, "<thing>", present, "= <thing>"},
	{"prefer", "preference", "", 0.8, "prefer", present | wish, "<thing:preferred>", 0, ""},
	{"like", "preference", "taste:<thing>", 0.8, "be", present, "~ a|an? <n:big> fan|lover|believer of|in <thing:general>", present, "like <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "be", present, "~ a|an? fan|lover|believer of|in <thing:general>", present, "like <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "be", present, "~ into <thing:general>", present, "like <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "be", present, "~ fond|obsessed|passionate|crazy|keen|interested|hooked of|with|about|on|in <thing:general>", present, "like <thing>"},
	{"like", "preference", "taste:<thing>", 0.8, "have", present | perfect, "~ a love|passion|fondness for|of <thing:general>", present, "have a love for <thing>"},
	{"fear", "preference", "fear:<thing>", 0.9, "be", present, "~ afraid|scared|terrified of <thing>", 0, "be afraid of <thing>"},
	{"uses", "preference", "uses:<tool>", 0.8, "use", present | continued, "<tool>", present, "use <tool>"},
	{"custom", "preference", "uses:<thing>", 0.85, "use", present, "<thing>", 0, ""},
	{"deploys", "preference", "tool:deploy", 0.8, "deploy", present | continued, "to|on|with|via <tool>", 0, ""},
	{"tests", "preference", "tool:test", 0.8, "test", present | continued, "with|on|in <tool>", 0, ""},
	{"switched", "preference", "uses:<tool>", 0.85, "switch migrate change", simplePast | perfect, "~ from <old:oldtool> to <tool>", present, "use <tool>"},
	{"switched", "preference", "uses:<tool>", 0.85, "switch migrate", simplePast | perfect, "~ to <tool>", present, "use <tool>"},
	{"called", "", "name:<what>", 0.85, "rename", simplePast | perfect, "my|our <what:titled> to <name:title>", 0, "'s <what> is named <name>"},
	{"decision", "project", "", 0.8, "decide", simplePast | perfect, "to|on|against|not <did:exact>", 0, ""},
	{"decision", "project", "", 0.8, "choose pick select settle confirm finalize finalise lock", simplePast | perfect, "on|in? <did:chosen>", 0, ""},
	{"decision", "project", "", 0.8, "go", progressive | goingTo | future, "with <did:chosen>", 0, ""},
	{"decision", "project", "", 0.8, "stick", progressive | goingTo | future, "with|to <did:chosen>", 0, ""},
	{"member", "personal", "", 0.8, "be", present | simplePast | perfect, "a? part|member of <thing:general>", 0, ""},
	{"does", "habit", "", 0.8, "do", now, "<thing:sport>", 0, ""},
	{"person", "personal", "", 0.75, "be", present, "~ <thing:trade>", 0, ""},
	{"activity", "habit", "", 0.75, "try", progressive | continued, "out <thing>", 0, ""},
	{"skill", "personal", "", 0.75, "be", present, "~ good|great|bad|terrible|awful|decent|hopeless|rubbish|useless|brilliant|skilled|experienced at|in|with <thing>", 0, ""},

	// things
	{"owns", "possession", "", 0.9, "own drive ride", present, "<thing:owned>", 0, ""},
	{"rents", "possession", "", 0.85, "rent", present, "<thing:device>", 0, "rent <thing>"},
	{"owns", "possession", "", 0.85, "have buy get purchase order", present | simplePast | perfect, "<thing:device>", present, "have <thing>"},
	{"has", "possession", "", 0.8, "have", present, "<thing:holding>", 0, ""},

	// learning
	{"dropped out", "education", "", 0.85, "drop", simplePast | perfect, "out of <thing>", 0, ""},
	{"studies", "education", "", 0.9, "study major", now, "in? <thing>", present, "study <thing>"},
	{"studies", "education", "", 0.9, "do", progressive, "<thing:degree>", 0, ""},
	{"degree", "education", "", 0.9, "graduate", simplePast | perfect, "from|in|with <how:exact>", 0, ""},
	{"degree", "education", "", 0.9, "have get earn", present | simplePast | perfect, "<thing:degree>", 0, ""},
	{"language", "personal", "language:<language>", 0.95, "speak", present | ability, "fluent|some|a? little? bit? of? <language>", present, "speak <language>"},
	{"language", "personal", "language:<language>", 0.9, "speak", present, "a word of <language>", present, "speak <language>"},
	{"language", "personal", "language:<language>", 0.95, "be", present, "~ fluent in <language>", present, "speak <language>"},
	{"language", "education", "learning:<language>", 0.9, "learn study", now, "<language>", progressive, "@is learning <language>"},
	{"learning", "education", "", 0.75, "learn", progressive | continued, "how? to? <thing>", 0, ""},

	// habits
	{"plays", "habit", "plays:<thing>", 0.9, "play", present, "<thing:played>", 0, "play <thing>"},

	// plans and goals
	{"plan", "plan", "", 0.85, "have", present, "<plan:appointment>", 0, ""},
	{"goal", "goal", "", 0.7, "want hope plan intend aim wish dream love like try", present | progressive | wish | continued, "to <aim>", 0, ""},
	{"need", "goal", "", 0.55, "need", present | continued, "to <aim:duty>", 0, ""},
	{"need", "goal", "", 0.55, "have to", present, "to <aim:duty>", 0, ""},
	{"goal", "goal", "", 0.7, "dream plan think", present | progressive | continued, "of|on|about <aim:doing>", 0, ""},
	{"goal", "goal", "", 0.7, "consider", progressive | continued, "<aim:doing>", 0, ""},
	{"goal", "goal", "", 0.7, "try look aim work train prepare", progressive | continued, "to <aim>", 0, ""},
	{"goal", "goal", "", 0.7, "aim", present | progressive | continued, "for <thing:chosen>", 0, ""},
	{"goal", "goal", "", 0.7, "target", progressive | continued, "<thing:chosen>", 0, ""},
	{"goal", "goal", "", 0.7, "be", present, "~ excited|thrilled|stoked|nervous about|for <thing:awaited>", 0, ""},
	{"limit", "project", "", 0.75, "have", present, "~ <thing:amount>", 0, ""},
	{"goal", "goal", "", 0.7, "look", progressive, "forward to <aim:awaited>", 0, ""},
	{"goal", "goal", "", 0.7, "look", progressive | continued, "into <thing>", 0, ""},
	{"goal", "goal", "", 0.7, "wait", ability, "to <aim>", 0, "@cannot wait to <aim>"},
	{"goal", "goal", "", 0.7, "be", present, "~ excited|thrilled|stoked|keen|eager|determined|committed to <aim>", 0, ""},
	{"goal", "goal", "", 0.7, "save", progressive | continued, "up? for|to <thing>", 0, ""},
	{"plan", "plan", "", 0.8, "plan organize organise", progressive | continued, "<thing:project>", 0, ""},

	{"whereabouts", "personal", "whereabouts", 0.65, "be", present, "~ in <place:whereabouts>", 0, "be in <place>"},
}

// mine are the forms of what is said of something of the speaker's, after "my".
var mine = []family{
	{"called", "", "name:<what>", 0.85, "", 0, "<what:titled> is|are now? called|named <name:title>", 0, "'s <what> is named <name>"},
	{"name", "personal", "name", 0.95, "", 0, "first|full|real|given? name is <called>", 0, "'s name is <called>"},
	{"birthday", "personal", "birthday", 0.95, "", 0, "birthday|dob is on? <day>", 0, "'s birthday is <day>"},
	{"birthday", "personal", "birthday", 0.95, "", 0, "date of birth is on? <day>", 0, "'s birthday is <day>"},
	{"home", "home", "home", 0.9, "", 0, "home|house|apartment|flat|place is <prep:where> <place>", present, "live <prep> <place>"},
	{"hometown", "personal", "hometown", 0.9, "", 0, "home? hometown|town is <place>", present, "be from <place>"},
	{"nationality", "personal", "nationality", 0.85, "", 0, "nationality is <thing>", 0, "'s nationality is <thing>"},
	{"timezone", "personal", "timezone", 0.9, "", 0, "time? timezone|zone is <thing>", 0, "'s timezone is <thing>"},
	{"pronouns", "personal", "pronouns", 0.9, "", 0, "pronouns are <thing:phrase>", 0, "'s pronouns are <thing>"},
	{"work", "work", "occupation", 0.9, "", 0, "current? job|profession|occupation|role is being? <role>", present, "work as <role>"},
	{"native language", "personal", "native language", 0.95, "", 0, "native|first language is <language>", 0, "'s native language is <language>"},
	{"native language", "personal", "native language", 0.95, "", 0, "mother tongue is <language>", 0, "'s native language is <language>"},
	{"favourite", "preference", "favourite:<kind>", 0.95, "", 0, "all-time|absolute? favorite|favourite|fave|fav <kind> these? days|nowadays|currently|lately|now? is|are|has|was always|to? been|be? <thing:all>", 0, "'s favourite <kind> is <thing>"},
	{"hobby", "preference", "hobby", 0.9, "", 0, "main|biggest|favorite|favourite? hobby|hobbies|passion|passions|pastime|pastimes is|are|include|includes <thing>", 0, "'s hobby is <thing>"},
	{"goal", "goal", "", 0.85, "", 0, "<what:aimed> for? this|next? year|season|week|month|trip|term? is|was <thing:goal>", 0, "'s <what> is <thing>"},
	{"plan", "plan", "", 0.85, "", 0, "<what:occasion> is|starts|begins|ends|expires|takes <plan:upcoming>", 0, "'s"},
	{"deploys", "preference", "tool:deploy", 0.85, "", 0, "deploys|deployments|releases go|run to|on|via <tool>", 0, "'s"},
	{"stack", "preference", "stack:<what>", 0.85, "", 0, "<what:stack> is|are now? <tool>", 0, "'s <what> is <tool>"},
	{"matter", "personal", "<what>", 0.85, "", 0, "<what:matter> ~ is|are|was|includes|include now|currently? <thing:matters>", 0, "'s"},
}
