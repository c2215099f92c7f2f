package learn

import (
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// free are terms of a claim that need not be found: a model's way of saying that
// something was said, and what evidence is asked for below.
var free = late.SetOf(`named called name person someone current currently now also really very much mention mentions mentioned express expressed expresses
	state states stated describe describes share shared shares report reported reports feel feels felt has have own owns owned like likes love loves
	enjoy enjoys enjoyed live lives lived reside resides living based located work works worked working employed job use uses used using plan plans
	planned planning intend intends want wants wanted wish wishes hope hopes hoping prefer prefers preferred consider considering considers go goes went
	going attend attends take takes took make makes made get gets got thing things kind type way lot bit time recently past future long still
	interest interested interesting become became being individual say says said tell told known know knows first last full real
	identify identifies upcoming previously formerly used former regularly usually often sometimes typically occasionally personally speaker
	old age aged years year since about around approximately roughly least born keep keeps keeping dislike dislikes hate hates dislike avoid avoids longer
	stop stopped quit quits experience experiences experienced need needs needed think thinks thought believe believes find finds found try tries trying tried
	start starts started begin began begins look looking looks give gives gave come comes came fan favorite favourite both together own self married
	cannot able unable desire aim aims goal seek seeks seeking thank thankful grateful appreciate appreciates value values suffers suffer relationship home where
	oneself himself herself themselves while including includes due particularly especially significant significantly various toward towards through other
	others acknowledge acknowledges emphasize emphasizes emphasise encourage encourages encouraged suggest suggests suggested recommend recommends importance
	important advise advises advised conversation discuss discusses discussed involve involved involves focus focused focuses participate participated
	engage engaged engages willing willingness especially commend commends congratulate congratulates offer offers offered receive received admire admires admired admiration gratitude agree agrees during along help helps helping bring brings show shows
	showed continue continues`, termsOf)

// evidence says what must have been said for the free words of a claim: nobody has
// a dog because they saw one.
var evidence = []struct{ claim, said *late.Pattern }{
	{late.Compile(`\b(?:user|he|she|who|\w+) (?:also |currently |now |still )*(?:has|owns?|keeps?)\b (?:a|an|two|three|four|five|\d+|his|her|their|many|several|some|no|pets?|children|kids)\b`),
		late.Compile(`\b(?:have|has|had|having|own|owns|owned|got|get|getting|gets|my|our|mine|ours|'ve|bought|buy|adopt(?:ed|ing)?|adopt|inherited|received|given|gave me|built|raise|with (?:a|an|my|our|two|three|\d+)|suffer\w*|diagnosed|keep|keeps|run|runs|drive|drives|mom of|dad of|mother of|father of|parent of|there(?:'s| is| are)|want|need|as an?|i'm an?|born|am an?|plays?|play)\b|'ve|^(?:a|an|two|three|\d+) `)},
	{late.Compile(`\b(?:lives?|resides?|living|residing|based|located|home (?:is )?in)\b`),
		late.Compile(`\b(?:live|lives|lived|living|reside|resides|home|house|flat|apartment|move|moved|moving|relocat\w+|based|settled|rent|renting|stay|staying|here in|located|place in|out of|share an?|room(?:mate|mates)?|neighbou?rhood|resident)\b|^(?:here )?in `)},
	{late.Compile(`\b(?:works?|working|employed|employ|job|occupation|profession|employer)\b`),
		late.Compile(`\b(?:work|works|worked|working|job|employ\w*|hire|hired|join|joined|joining|position|role|for a living|career|profession|started at|start at|shift|boss|manager|office|company|firm|i'm an?|im an?|am an?|i've been an?|as an?|teach|run|running|build|intern\w*|freelanc\w*|project|projects|doing|business|do|laid off|let go|fired)\b`)},
	{late.Compile(`\b(?:likes?|loves?|enjoys?|enjoyed|fond|fan|prefers?|adores?|passionate|interested)\b`),
		late.Compile(`\b(?:like|likes|liked|love|loves|loved|loving|enjoy\w*|ador\w+|prefer\w*|fan|favou?rite|into|passion\w*|obsess\w*|fond|great|best|fun|crav\w+|addict\w*|interest\w*|apprecia\w+|cool|amazing|awesome|happy|hobby|hobbies|thing|hate|hates|dislike\w*|detest\w*|despise\w*|can't stand|cannot stand|stand|sucker|joy|relax\w*|keen|excited|beautiful|always|usually|please|rather|instead|want|would like|'d like|wonderful|fantastic|incredible|thrill\w*|delicious|yummy|hooked|nothing beats|can't get enough|mind|over|don't|better|keep it|as opposed|brings? me|helps? me|therapeutic|free time|weekends?|blast|fulfilling|rewarding|satisfying|soothing|peaceful|soft spot|sweet tooth|my go-to|go-to|calls? me \w{3,}|go by)\b`)},
	{late.Compile(`\b(?:dislikes?|hates?|detests?)\b`),
		late.Compile(`\b(?:hate\w*|dislike\w*|detest\w*|despis\w*|loath\w*|can't stand|cannot stand|can't bear|don't|not|gross|awful|terrible|worst|disgust\w*|boring|annoy\w*|never|sick of|tired of|stand)\b`)},
	{late.Compile(`\b(?:prefers?|preferred|favou?rite)\b`),
		late.Compile(`\b(?:prefer\w*|rather|favou?rite|like|love|better|over|instead|please|always|best|want|only|keep|don't|more|most|top|never|enjoy|use|go with|go-to|should|calls? me \w{3,}|go by)\b`)},
	{late.Compile(`\b(?:uses?|using)\b`),
		late.Compile(`\b(?:us(?:e|es|ed|ing)|with|on|in|my|our|switch\w*|migrat\w*|have|run|running|code|coding|write|writing|work\w*|built|build\w*|via|through|rely|prefer|drive|take|play|have|got|bought)\b`)},
	{late.Compile(`\bmarried\b`), late.Compile(`\b(?:married|marry|marriage|wife|husband|wedding|spouse|wed|anniversary|hubby|newlywed\w*)\b`)},
	{late.Compile(`\b(?:dating|relationship|partner|girlfriend|boyfriend)\b`), late.Compile(`\b(?:dating|date|relationship|partner|girlfriend|boyfriend|gf|bf|seeing|together|single|breakup|broke up)\b`)},
	{late.Compile(`^(?:the )?user (?:was )?born\b|\bbirthday\b`), late.Compile(`\b(?:born|birthday|bday|birth|turn(?:ed|ing|s)?)\b`)},
	{late.Compile(`\byears old\b|\baged\b|\bage\b`), late.Compile(`\b(?:years? old|i'm|im|i am|turn(?:ed|ing|s)?|age|aged|yo|y/o|is|he's|she's|birthday|-year-old)\b|year-old`)},
	{late.Compile(`^(?:the )?user (?:is|was) (?:also |now |currently |not |no longer )*(?:an?|the) `),
		late.Compile(`\b(?:i'm|im|i am|i've been|have been an?|we're|we are|was|were|be|become|became|becoming|being|as an?|as the|myself|for a living|work(?:s|ing)? as|call me|is my|am|turned|my (?:job|work|role|profession|day job|title|career|business)|identify|i (?:also )?(?:teach|study|run|lead|write|code|play|sell|cook|manage|freelance|volunteer)|fan|love|lover|parent|mother of|father of|my (?:kid|son|daughter|child|wife|husband)\w*)\b|^(?:an?|the) `)},
	{late.Compile(`^(?:the )?user is (?:also |now |currently |not |no longer |an? )*(?:vegan|vegetarian|pescatarian|single|divorced|widowed|pregnant|retired|unemployed|homeless|diabetic|autistic|deaf|blind|gay|lesbian|bisexual|trans|muslim|christian|jewish|catholic|hindu|buddhist|atheist|religious|disabled)\b`),
		late.Compile(`\b(?:i'm|im|i am|i've|i have been|we're|we are|was|were|became|become|turned|been|being|going|gone|went|as an?|diet|don't eat|identify|my)\b`)},
	{late.Compile(`\b(?:wants?|hopes?|plans?|intends?|goal|aims?|wishes|considering|considers)\b`), late.Compile(intentWords + `|\b(?:if|maybe|would|could|might|wish|idea|someday|one day|eventually|let's|ready to|time to|excited|can't wait|working (?:on|towards?)|by|saving|save|sign(?:ed)? up|booked|scheduled|organi[sz]ing|set(?:ting)? up|i'm \w+ing)\b`)},
	{late.Compile(`\b(?:visited|travell?ed|went)\b`), late.Compile(`\b(?:visit\w*|went|go|going|gone|been|travel\w*|trip|back from|came|flew|vacation|holiday|toured|saw|spent|drove|took|stopped by|checked out|in|at)\b`)},
	{late.Compile(`\b(?:stopped|quit|no longer)\b`), late.Compile(denialWords)},
}

// bridges maps terms of claims to words that say the same or more. They go one way:
// who has a son has a child.
var bridges = sync.OnceValue(func() map[string]*late.Pattern {
	m := map[string]*late.Pattern{}
	for line := range strings.Lines(bridgeTable) {
		claims, said, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		form := late.Compile(`\b(?:` + said + `)\b`)
		for w := range strings.FieldsSeq(claims) {
			if t := text.Term(w); t != "" {
				m[t] = form
			}
		}
	}
	return m
})

// bridged reports whether words say what a term of a claim does.
func bridged(term, folded string) bool {
	form := bridges()[term]
	return form != nil && form.MatchString(folded)
}

const bridgeTable = `
child children kid kids: son|daughter|sons|daughters|twins|baby|toddler|kids?|child|children|boys|girls|mom of|dad of|mother of|father of|parent
parents: mom|mum|mother|dad|father|folks
spouse partner: wife|husband|girlfriend|boyfriend|fiancee?|partner|spouse|hubby|married to
died die death: died|dies|die|death|lost (?:my|his|her|our|their) \w+(?:$| (?:in \d{4}|last|to|when|this|\d+ |a few)\b)
lost lose: lost|lose|losing|laid off|fired|let go|made redundant
hometown: hometown|grew up|raised|born in|originally from|i'm from|hail from
diet: diet|eat|eats|ate|eating|food|meals?|cook\w*|vegan|vegetarian|pescatarian|keto
follow follows following: follow\w*|vegan|vegetarian|pescatarian|keto|diet
sibling siblings: brothers?|sisters?
pet pets: dogs?|cats?|puppy|puppies|kittens?|hamsters?|rabbits?|parrots?|goldfish|pets?
car vehicle: car|truck|suv|tesla|toyota|honda|ford|bmw|audi|sedan|van
bicycle bike: bikes?|bicycles?|cycling|cycle
buy bought purchase purchased: buy|buying|bought|got|purchase|purchased|ordered|picked up|getting
daily everyday: every (?:single )?day|daily|each day|every morning|every night|every evening|everyday
weekly: every week|weekly|once a week|every (?:mon|tues|wednes|thurs|fri|satur|sun)day|each week|(?:mon|tues|wednes|thurs|fri|satur|sun)days
morning mornings: morning|mornings|a\.m|am|breakfast
mother: mom|mum|mother|mama
father: dad|father|papa
vegetarian: vegetarian|don't eat (?:any )?meat|no meat|meat-?free|veggie
vegan: vegan|plant[- ]based
smoke smoker smokes smoking: smok\w+|cigarettes?|cigs?
eat eats eating food: eat|eats|ate|eating|food|meals?|diet|cook\w*|have
drink drinks drinking beverage: drinks?|drank|drinking|have|coffee|tea|wine|beer|alcohol|water
meat: meat|beef|pork|chicken|steak|vegetarian|vegan
developer programmer: develop\w*|program\w*|coder|code|coding|software engineer|engineer
engineer: engineer\w*
software: software|program\w*|cod(?:e|ing)|app|apps|developer
teacher teaches taught: teach\w*|taught|teacher
nurse: nurse|nursing
doctor physician: doctor|physician|gp|dr
student study studies studied studying: stud\w+|student|major\w*|degree|enrolled|class|classes|course|school|university|college|phd|master'?s|bachelor'?s|learn\w*
learn learning learns: learn\w*|stud\w+|lessons?|classes|course|practi[cs]\w+|teaching myself
university college: university|college|uni|campus
graduate graduated: graduat\w+|degree|finished (?:school|college|university|uni)
spoke speak speaks speaking: speak\w*|spoke|fluent\w*|native|bilingual|language
fluent: fluent\w*|native|bilingual
trip travel travels travelled traveled traveling vacation visit visited: trip|travel\w*|visit\w*|went|going|been|flew|fly\w*|vacation|holiday|toured|journey|back from
move moved relocated relocate moving: mov(?:e|ed|ing)|relocat\w+|new (?:place|flat|apartment|house)|settled
run runs running runner: run|runs|running|ran|runner|jog\w*|marathons?
jog jogs jogging: jog\w*
hike hikes hiking: hik\w+|trek\w*|trails?
swim swims swimming: swim\w*|swam|pool
cook cooks cooking: cook\w*|recipes?|kitchen|bak\w+
read reads reading: read\w*|books?|novels?
watch watches watching watched: watch\w*|binge\w*|saw|seen
movie film films movies: movies?|films?|cinema
play plays played playing: play\w*|game|games|practi[cs]\w+
exercise exercises workout: exercis\w+|work(?:ing)? out|workouts?|gym|run\w*|train\w*|fitness
allergic allergy allergies: allerg\w*|anaphyla\w*
intolerant intolerance: intoleran\w*
diagnosed diagnosis condition suffers: diagnos\w+|have|has|suffer\w*|got
happy glad pleased excited thrilled: happy|glad|pleased|excit\w+|thrill\w+|can't wait|joy|delighted|stoked|pumped|love
dislike hate: hat(?:e|es|ed)|dislik\w*|detest\w*|can't stand|despise|loathe
married marriage: married|wife|husband|wedding|marriage|hubby
wedding: wedding|married|marry|marri\w+
engaged: engaged|fiancee?|proposed|proposal
wife: wife|missus
husband: husband|hubby
concise brief short: concise|brief|short|shorter|to the point|succinct
detailed: detail\w*|in[- ]depth|thorough|long
answers answer responses response replies reply: answers?|respon\w+|repl\w+|explanations?|messages|it|me
company business startup firm: company|business|startup|start-up|firm|shop|store|agency
founded founder found co-founded: found\w*|started|co-?found\w*|launched
manager manages manage lead leads: manag\w+|lead\w*|led|head|in charge|run
remote remotely: remote\w*|from home|wfh
birthday: birthday|bday|born
born: born|birthday
apartment flat: apartment|flat|studio|condo
house: house|home|place
sister: sister|sis
brother: brother|bro
volunteer volunteers volunteered volunteering: volunteer\w*|help(?:ed|ing)? out
job position role: job|position|role|work\w*|hired|gig
hobby hobbies: hobb\w+|free time|spare time|for fun|love|enjoy|weekends?|lately
coffee: coffee|espresso|latte|cappuccino
tea: tea|matcha|chai
weekend weekends: weekends?|saturdays?|sundays?
friend friends: friends?|buddy|buddies|pals?|bestie|mates?
photograph photography photo photos: photo\w*|pictures?|pics?|camera
paint painting paintings: paint\w*
write writes writing writer: writ\w+|wrote|blog\w*|novel|journal\w*
music musical: music\w*|songs?|band|concerts?|guitar|piano|violin|sing\w*|jazz|rock
guitar: guitar\w*
piano: piano\w*|keyboard
instrument: guitar|piano|violin|drums|cello|flute|ukulele|instruments?|clarinet
sing sings singer: sing\w*|sang|choir|vocals
dance dances dancer dancing: danc\w+
sick ill: sick|ill|flu|cold|unwell
program programs programming code codes coding: cod(?:e|ed|ing|er)|program\w*|develop\w*
colour color: colou?rs?
mountain mountains: mountains?|hills?|peaks?
beach: beach|coast|seaside
autumn: autumn|fall
cat cats: cats?|kittens?|kitty
dog dogs: dogs?|pupp\w+|pup|pups|retriever|poodle|labrador|beagle
rent rents: rent\w*
meeting: meeting|meet|meetup
attend attends attended attending: attend\w*|went|go|going|at|join\w*
adopt adopted: adopt\w*|rescued?
inspire inspired inspiring: inspir\w+
important importance: important|importance|matters?|means a lot|crucial
help helps helped helping: help\w*|support\w*|assist\w*
support supportive supports supported: support\w*|help\w*|encourag\w+
create creates created creating creative: creat\w+|ma[dk]e|making|built|design\w*
join joined joining joins: join\w*|signed up|sign up|became (?:a )?(?:part|member)
win won: w[io]n|winning|first place|champion\w*
family: we|our|us|family|relatives|kids|children|parents|wife|husband|fam
city town: city|town
country: country|nation
girlfriend: girlfriend|gf|girl
boyfriend: boyfriend|bf
practice practices practise practises: practi[cs]\w+|do|train\w*
weight: weigh\w*|kilos?|kg|pounds|lbs
tall height: tall|height|cm|feet|foot
`
