package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// drugs are medicines that people take, and words for them.
var drugs = late.Words(`antibiotics painkillers beta-blockers blockers antidepressants insulin metformin statins medication medications meds steroids warfarin lithium
	levothyroxine ibuprofen antihistamines lisinopril sertraline prozac ritalin adderall methotrexate prednisone aspirin paracetamol acetaminophen tylenol advil codeine
	oxycodone morphine tramadol diclofenac salbutamol albuterol ventolin citalopram escitalopram venlafaxine xanax zoloft lexapro lamotrigine gabapentin
	pregabalin digoxin eliquis xarelto ozempic euthyrox cortisone melatonin loratadine hydroxychloroquine tamoxifen furosemide hydrochlorothiazide allopurinol colchicine`)

// drugEnds are how the names of medicines of one kind end.
var drugEnds = []string{"pril", "sartan", "olol", "statin", "prazole", "conazole", "mycin", "cillin", "cycline", "zepam", "zolam", "xaban", "triptan", "oxetine", "dipine",
	"floxacin", "gliptin", "gliflozin", "dronate", "thyroxine", "setron", "nisolone", "parin", "lukast"}

// isDrug reports whether a word is a medicine's.
func isDrug(w string) bool {
	if drugs.Has(w) {
		return true
	}
	if len(w) < 7 {
		return false
	}
	for _, end := range drugEnds {
		if strings.HasSuffix(w, end) {
			return true
		}
	}
	return false
}

// drugIn returns the medicine among the words of what somebody takes.
func drugIn(what string) string {
	for w := range strings.FieldsSeq(lower(what)) {
		if w = strings.Trim(w, ","); isDrug(w) {
			return w
		}
	}
	return what
}

// drug accepts a medicine that somebody takes: "blood pressure medication", with its
// dose. "Meds" alone tell too little.
func drug(c *clause, i int) string {
	j := i
	if strings.ContainsAny(c.at(i), "0123456789") { // "50 mcg of levothyroxine"
		for k := i + 1; k < i+3; k++ {
			if c.at(k) == "of" && isDrug(c.at(k+1)) {
				return thirdPerson(c.text(i, max(k+2, c.trimmed(i, c.ending(i)))))
			}
		}
	}
	if k := c.doseEnd(i); k > i && isDrug(c.at(k)) { // "5 mg ramipril"
		return c.text(i, k+1)
	}
	if determiner.Has(c.at(i)) || c.at(i) == "the" || pointing.Has(c.at(i)) {
		return ""
	}
	if c.at(i) == "vitamin" && (len(c.at(i+1)) == 1 || c.at(i+1) == "b12" || c.at(i+1) == "d3") {
		return c.text(i, i+2)
	}
	for j < i+3 && c.at(j) != "" && !isDrug(c.at(j)) && c.at(j) != "thinners" && c.at(j) != "blockers" && !c.words[j].mark() && !hanging.Has(c.at(j)) {
		j++
	}
	w := c.at(j)
	if w != "thinners" && w != "blockers" && (!isDrug(w) || j == i && strings.HasPrefix(w, "med")) {
		return ""
	}
	name := thirdPerson(c.text(i, j+1))
	if k := j + 1; c.at(k) == "," || c.doseEnd(k) > k {
		if c.at(k) == "," {
			k++
		}
		if end := c.doseEnd(k); end > k {
			return name + " " + c.text(k, end)
		}
	}
	return name
}

// doseUnits are what medicines are counted in.
var doseUnits = late.Words("mg mcg µg ug ml units iu milligrams micrograms tablet tablets pill pills puffs drops")

// doseEnd returns the place after a dose: "10 mg", "5mg twice a day", i without one.
func (c *clause) doseEnd(i int) int {
	w := c.at(i)
	if w == "" || w[0] < '0' || w[0] > '9' {
		return i
	}
	j := i + 1
	if unit := strings.TrimLeft(w, "0123456789.,"); unit != "" && !doseUnits.Has(unit) {
		return i
	} else if unit == "" {
		if !doseUnits.Has(c.at(j)) {
			return i
		}
		j++
	}
	return c.timesEnd(j)
}

// timesEnd returns the place after how often something is taken: "twice a day", i without
// that.
func (c *clause) timesEnd(i int) int {
	switch w := c.at(i); {
	case w == "daily":
		return i + 1
	case w == "every" && spans.Has(c.at(i+1)):
		return i + 2
	case (w == "once" || w == "twice") && (c.at(i+1) == "a" || c.at(i+1) == "per") && spans.Has(c.at(i+2)):
		return i + 3
	}
	return i
}

// amountEnd returns the place after what is taken of a medicine that is named beside it,
// where people leave the unit out: "500 twice a day".
func (c *clause) amountEnd(i int) int {
	if end := c.doseEnd(i); end > i {
		return end
	}
	switch {
	case isDigit(c.at(i)) || countWords.Has(c.at(i)):
		return c.timesEnd(i + 1)
	case c.at(i) == "a" && c.at(i+1) == "thousand":
		return c.timesEnd(i + 2)
	}
	return i
}

// dose accepts what is taken of a medicine.
func dose(c *clause, i int) string { return c.text(i, c.amountEnd(i)) }

// drugEnd returns the place after a medicine's name.
func drugEnd(c *clause, i int) int {
	if isDrug(c.at(i)) {
		return i + 1
	}
	return i
}

// rise and change are verbs of doses that are others now.
var (
	rise   = late.Words("up down raised lowered increased reduced upped halved doubled changed")
	change = late.Words("raised lowered increased reduced upped halved doubled tripled changed cut put")
)

// redosed reads what is taken of a medicine from now on: "ramipril's gone up to 10 mg", "they
// doubled my metformin, 1000 twice a day now".
func (r *reader) redosed(c *clause, i int) bool {
	j, name, mine := i, "", c.at(i) == "my"
	if mine {
		j++
	}
	switch w := strings.TrimSuffix(strings.TrimSuffix(c.at(j), "'s"), "’s"); {
	case isDrug(w) && !strings.HasPrefix(w, "med"):
		name = w
		for j++; c.at(j) == "is" || c.at(j) == "was" || c.at(j) == "has" || c.at(j) == "gone" || c.at(j) == "went" || c.at(j) == "been"; j++ {
			mine = mine || c.at(j) == "gone" || c.at(j) == "went" // of a medicine in general it is not said so
		}
		if !mine || !rise.Has(c.at(j)) {
			return false
		}
		j++
	default:
		for k := i + 1; k+1 < len(c.words) && k < i+5; k++ {
			if change.Has(c.at(k)) && (c.at(k+1) == "my" || c.at(k+1) == "the") && isDrug(c.at(k+2)) {
				name, j = c.at(k+2), k+3
				break
			}
		}
	}
	if name == "" || c.has("not") {
		return false
	}
	for c.at(j) == "up" || c.at(j) == "down" || c.at(j) == "," || c.at(j) == "to" {
		j++
	}
	end := c.amountEnd(j)
	if end == j {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "medicine", category: "health", attribute: "medicine:" + keyOf(name), confidence: 0.85}, "User takes "+name+" "+c.text(j, end), "")
	return true
}

// reactions are what somebody gets from what they should leave alone.
var reactions = late.Words("rash hives migraine migraines eczema heartburn")

// reactionEnd returns the place after one: "a rash", "terrible hives".
func reactionEnd(c *clause, i int) int {
	for j := i; j < i+3 && j < len(c.words) && !c.words[j].mark(); j++ {
		if reactions.Has(c.at(j)) {
			return j + 1
		}
	}
	return i
}

// chronicEnd returns the place after an illness that stays with people: "asthma".
func chronicEnd(c *clause, i int) int {
	if illnesses.Has(c.at(i)) && !passingIlls.Has(c.at(i)) {
		return i + 1
	}
	return i
}

var passingIlls = late.Words("flu covid pneumonia bronchitis malaria concussion cancer")

// reacts reads what does somebody no good: "penicillin gives me a rash". j is the place of
// the verb.
func (r *reader) reacts(c *clause, i, j int) bool {
	end := reactionEnd(c, j+2)
	if end == j+2 || !c.standing(i, j) || c.vague(i) || j-i > 2 || c.at(i) == "the" || c.has("not") {
		return false
	}
	what := thirdPerson(c.text(i, j))
	if !drugs.Has(c.at(i)) && c.first && c.nameEnd(i) == i+1 {
		what = lower(what[:1]) + what[1:]
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "reaction", category: "health", attribute: "reaction:" + keyOf(what), confidence: 0.85}, "User gets "+c.text(j+2, end)+" from "+what, "")
	return true
}

// withdrawn reads what a doctor has ended: "the doc stopped my ramipril".
func (r *reader) withdrawn(c *clause, i int) bool {
	j := i
	if c.at(j) == "my" || c.at(j) == "the" {
		j++
	}
	if !doctors.Has(c.at(j)) && !(j == i && c.at(j) == "they") {
		return false
	}
	for j++; c.at(j) == "has" || c.at(j) == "have" || c.at(j) == "just" || c.at(j) == "now"; {
		j++
	}
	det := c.at(j + 1)
	if w := c.at(j); w != "stopped" && w != "discontinued" || det != "my" && det != "the" {
		return false
	}
	name := drug(c, j+2)
	if name == "" {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "medicine", category: "health", attribute: "medicine:" + keyOf(drugIn(name)), confidence: 0.85}, "User no longer takes "+name, "")
	return true
}

// doctors are those who say what the speaker takes.
var doctors = late.Words("doctor doc gp cardiologist psychiatrist neurologist consultant specialist oncologist rheumatologist dermatologist endocrinologist")
