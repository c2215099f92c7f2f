package vault

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// mergedFile is the result of applying a person's changes in a file to Loci's current state.
type reading struct {
	says    thing
	behind  bool   // the file lacks changes that Loci made meanwhile
	earlier bool   // the file is based on a version before Loci's last write
	putBack bool   // the file is an unchanged earlier version at its old path
	later   bool   // another machine's Loci wrote the file after all versions of this machine
	clash   string // why the person's and Loci's changes cannot be combined; "" if they can
}

// readFile reads the file of a stored memory. r is the record of Loci's last write, nil for none.
// If the file equals an earlier version, a person restored it, and its whole content is applied.
func (l *loader) readFile(p place, text string, stored thing, r *record) (out reading, err error) {
	d, err := readDocument(text)
	if err != nil {
		return out, err
	}
	var last string
	var past []string
	if !r.none() && stored != (thing{}) {
		if last, past, err = l.f.index.texts(key{l.owner, r.Target}); err != nil {
			return out, err
		}
	}
	if last == "" { // without Loci's last text, the whole file is applied
		if out.says, err = p.read(d, stored, nil); err != nil {
			return out, err
		}
		out.later = d.values["id"].text != "" && l.isLater(out.says, stored, d)
		return out, nil
	}
	plain := p
	plain.plain = true
	current, err := plain.read(d, stored, nil)
	if err != nil {
		return out, err
	}
	base, earlier, err := l.basis(d, stored, r, append([]string{last}, past...))
	if err != nil {
		return out, err
	}
	wrote := wrote(text, last, past)
	later := !wrote && l.isLater(current, stored, d)
	if out.putBack = wrote && current.live() != p.deleted; !out.putBack {
		out.behind, out.clash = l.merge(&p, &d, current, base, stored)
		out.later = later && out.clash == "" && !out.behind && base.same(statementOf(stored), updatedKey)
	}
	out.earlier = earlier && !out.later
	out.says, err = p.read(d, stored, nil)
	return out, err
}

// isFromOtherMachine reports whether another machine's Loci wrote the file after all versions of this machine.
func (l *loader) isLater(says, stored thing, d document) bool {
	at := says.updatedAt()
	return at.After(stored.updatedAt()) && !at.After(l.f.s.opts.Now()) && (stored == (thing{}) || ofNow(d))
}

// hasLociTime reports whether Loci wrote a file's updated_at, which then has microseconds. Editor
// plugins write whole seconds or another time zone.
func ofNow(d document) bool {
	at, is := asLoci(d.values[updatedKey].text)
	return is && at.Nanosecond() != 0
}

// parseLociTime parses a time and reports whether it has the format that Loci writes.
func asLoci(when string) (at time.Time, is bool) {
	at, err := time.Parse(time.RFC3339Nano, when)
	return at, err == nil && quotedTime(at.UTC()) == when
}

// keyValues maps the keys of a file's front matter to values, and textKey to its text. Links are
// reduced to ids for comparison.
type statement map[string]string

// textKey is the key of the text in keyValues; no key of front matter is "".
const theWords = ""

func statementOf(t thing) statement {
	m := statement{theWords: plainWords(t.words())}
	for _, f := range t.fields(func(id string) string { return id }) {
		m[f.key] = f.value
	}
	return m
}

// equal reports whether two files have the same value for a key.
func (m statement) same(other statement, key string) bool { return m[key] == other[key] }

func (m statement) live() bool { return memory.Status(m[statusKey]).Live() }

// editBase returns the version that a person edited: Loci's last version or, if the file has an
// older updated_at, Loci's version of that time. texts are Loci's versions, latest first.
func (l *loader) basis(d document, stored thing, r *record, texts []string) (base statement, earlier bool, err error) {
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
	then, err := p.read(was, stored, nil)
	return statementOf(then), earlier, err
}

// merge applies Loci's changes since base to the document, except for keys that the person changed.
// outdated reports whether there were such changes. current is the document's own content. If both
// sides changed the same key, conflict names the key.
func (l *loader) merge(p *place, d *document, current thing, base statement, stored thing) (behind bool, clash string) {
	theirs, ours := statementOf(current), statementOf(stored)
	across := p.across()
	over := map[string]bool{}
	var both []string
	for key := range ours {
		switch {
		case key == theWords, key == statusKey && across: // the text is compared below; a moved file has its status by folder
		case ours.same(base, key) || ours.same(theirs, key):
		case key == statusKey && !stored.live() && theirs[statusKey] == string(memory.Rejected): // a rejection overrides forgetting
		case theirs.same(base, key), key == statusKey && !stored.live() && theirs[statusKey] == string(memory.Retired):
			over[key] = true
		case !ofLoci[key]:
			both = append(both, key)
		}
	}
	if theirs.same(base, conversationKey) && !ours.same(base, conversationKey) && stored.Conversation == nil {
		p.conversation = conversationFolder(stored.head().conversation)
	}
	touched := !theirs.same(base, theWords) && !ours.same(theirs, theWords)
	switch changed := !ours.same(base, theWords); {
	case touched && changed:
		both = append(both, "the text")
	case touched && !stored.live() && !p.deleted && !across && base.live():
		return false, ended(stored)
	case changed && !touched:
		over[theWords], d.words = true, stored.words()
	}
	maps.DeleteFunc(d.values, func(key string, _ scalarOrList) bool { return over[key] })
	laid := slices.DeleteFunc(stored.fields(l.link), func(f field) bool { return !over[f.key] })
	if values, _, err := readFront(frontOf(laid, "\n")); err == nil {
		maps.Copy(d.values, values)
	}
	if len(both) > 0 {
		slices.Sort(both)
		clash = "Loci meanwhile changed the same keys: " + strings.Join(both, ", ")
	}
	return len(over) > 0, clash
}

// endedReason returns why new text for an inactive memory is refused.
func ended(stored thing) string {
	if stored.Fact != nil && stored.Fact.Status == memory.Superseded {
		return "another fact has replaced it meanwhile"
	}
	return "it was forgotten meanwhile"
}

// Keys with special rules.
const (
	statusKey       = "status"
	updatedKey      = "updated_at"
	sourceKey       = "source"
	conversationKey = "conversation_id"
)

// conflictFree lists keys that never conflict: Loci maintains them, or always uses the file's value.
var ofLoci = map[string]bool{
	updatedKey: true, "source": true, "trust": true, "model": true, "superseded_by": true, "created_at": true, "observed_seq": true,
	"from_conversation": true, "from_turns": true, "quote": true, "learned_at": true, "token_count": true, conversationKey: true, sharedKey: true,
}
