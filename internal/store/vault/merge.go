package vault

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// reading is what a person changed in a file, applied to what Loci knows now.
type reading struct {
	says    thing
	behind  bool   // what Loci changed meanwhile is not in the file
	earlier bool   // it was made of what Loci wrote there before what it last wrote
	putBack bool   // it is what Loci wrote there before, and lies where that lay
	later   bool   // it is what another machine's Loci wrote after all that is known here
	clash   string // why not both can be what they wrote and what Loci did; "" if they can
}

// readFile reads a file of the memory known. r is the record of what Loci last wrote, nil for
// none. A file that equals what Loci wrote earlier was put back and counts as it is.
func (l *loader) readFile(p place, text string, known thing, r *record) (out reading, err error) {
	d, err := readDocument(text)
	if err != nil {
		return out, err
	}
	var last string
	var past []string
	if !r.none() && known != (thing{}) {
		if last, past, err = l.f.index.texts(key{l.owner, r.Target}); err != nil {
			return out, err
		}
	}
	if last == "" { // there is nothing to compare with
		if out.says, err = p.read(d, known, nil); err != nil {
			return out, err
		}
		out.later = d.values["id"].text != "" && l.isLater(out.says, known, d)
		return out, nil
	}
	plain := p
	plain.plain = true
	stands, err := plain.read(d, known, nil)
	if err != nil {
		return out, err
	}
	base, earlier, err := l.basis(d, known, r, append([]string{last}, past...))
	if err != nil {
		return out, err
	}
	wrote := wrote(text, last, past)
	later := !wrote && l.isLater(stands, known, d)
	if out.putBack = wrote && stands.live() != p.deleted; !out.putBack {
		out.behind, out.clash = l.merge(&p, &d, stands, base, known)
		out.later = later && out.clash == "" && !out.behind && base.same(statementOf(known), updatedKey)
	}
	out.earlier = earlier && !out.later
	out.says, err = p.read(d, known, nil)
	return out, err
}

// isLater reports whether another machine's Loci wrote the file after all that is known here.
func (l *loader) isLater(says, known thing, d document) bool {
	at := says.updatedAt()
	return at.After(known.updatedAt()) && !at.After(l.f.s.opts.Now()) && (known == (thing{}) || ofNow(d))
}

// ofNow reports whether Loci wrote a file's updated_at, which has microseconds. Editor plugins
// write whole seconds or another zone.
func ofNow(d document) bool {
	at, is := asLoci(d.values[updatedKey].text)
	return is && at.Nanosecond() != 0
}

// asLoci parses a time and reports whether it is in the form that Loci writes.
func asLoci(when string) (at time.Time, is bool) {
	at, err := time.Parse(time.RFC3339Nano, when)
	return at, err == nil && quotedTime(at.UTC()) == when
}

// statement is what a file says, by key of front matter; its words are under theWords. Links
// count by the ids that they lead to.
type statement map[string]string

// theWords is a name that no key has.
const theWords = ""

func statementOf(t thing) statement {
	m := statement{theWords: plainWords(t.words())}
	for _, f := range t.fields(func(id string) string { return id }) {
		m[f.key] = f.value
	}
	return m
}

// same reports whether two files say the same under a key.
func (m statement) same(other statement, key string) bool { return m[key] == other[key] }

func (m statement) live() bool { return memory.Status(m[statusKey]).Live() }

// basis is what the file said before a person changed it: what Loci last wrote or, if its
// updated_at is older, what Loci wrote then. texts are what Loci wrote, the last first.
func (l *loader) basis(d document, known thing, r *record, texts []string) (base statement, earlier bool, err error) {
	when := d.values[updatedKey].text
	from := texts[0]
	if _, is := asLoci(when); is {
		since := func(text string) bool { return valueIn(text, updatedKey) == when }
		if earlier = !since(texts[0]) && len(texts) > 1; earlier {
			from = texts[max(0, slices.IndexFunc(texts, since))]
		}
	}
	was, err := readDocument(from)
	if err != nil {
		return nil, false, err
	}
	p, _ := l.f.s.placeOf(r.Path)
	p.owner, p.plain = l.owner, true
	then, err := p.read(was, known, nil)
	return statementOf(then), earlier, err
}

// merge lays what Loci changed since base over the document, where the person left it as it was, and
// reports whether that was anything. stands is what the document says by itself. It returns a
// reason if both changed the same key.
func (l *loader) merge(p *place, d *document, stands thing, base statement, known thing) (behind bool, clash string) {
	theirs, ours := statementOf(stands), statementOf(known)
	across := p.across()
	over := map[string]bool{}
	var both []string
	for key := range ours {
		switch {
		case key == theWords, key == statusKey && across: // the folder counts
		case ours.same(base, key) || ours.same(theirs, key):
		case key == statusKey && !known.live() && theirs[statusKey] == string(memory.Rejected): // more than forgotten
		case theirs.same(base, key), key == statusKey && !known.live() && theirs[statusKey] == string(memory.Retired):
			over[key] = true
		case !ofLoci[key]:
			both = append(both, key)
		}
	}
	if theirs.same(base, conversationKey) && !ours.same(base, conversationKey) && known.Conversation == nil {
		p.conversation = conversationFolder(known.head().conversation)
	}
	touched := !theirs.same(base, theWords) && !ours.same(theirs, theWords)
	switch changed := !ours.same(base, theWords); {
	case touched && changed:
		both = append(both, "the words")
	case touched && !known.live() && !p.deleted && !across && base.live():
		return false, ended(known)
	case changed && !touched:
		over[theWords], d.words = true, known.words()
	}
	maps.DeleteFunc(d.values, func(key string, _ scalarOrList) bool { return over[key] })
	laid := slices.DeleteFunc(known.fields(l.link), func(f field) bool { return !over[f.key] })
	if values, _, err := readFront(frontOf(laid, "\n")); err == nil {
		maps.Copy(d.values, values)
	}
	if len(both) > 0 {
		slices.Sort(both)
		clash = "Loci changed the same meanwhile: " + strings.Join(both, ", ")
	}
	return len(over) > 0, clash
}

// ended says why new words for a memory that is not recalled any more are refused.
func ended(known thing) string {
	if known.Fact != nil && known.Fact.Status == memory.Superseded {
		return "another fact took its place meanwhile"
	}
	return "it was forgotten meanwhile"
}

// Keys that are looked at by themselves.
const (
	statusKey       = "status"
	updatedKey      = "updated_at"
	sourceKey       = "source"
	conversationKey = "conversation_id"
)

// ofLoci are keys that never clash: Loci maintains them, or takes the file's value as it is.
var ofLoci = map[string]bool{
	updatedKey: true, "source": true, "trust": true, "model": true, "superseded_by": true, "created_at": true, "observed_seq": true,
	"from_conversation": true, "from_turns": true, "quote": true, "learned_at": true, "token_count": true, conversationKey: true, sharedKey: true,
}
