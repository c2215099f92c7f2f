package vault

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// mergedFile is the result of applying a person's changes in a file to Loci's current state.
type mergedFile struct {
	content          fileContent
	outdated         bool   // the file lacks changes that Loci made meanwhile
	fromEarlier      bool   // the file is based on a version before Loci's last write
	restored         bool   // the file is an unchanged earlier version, in the folder that its status requires
	fromOtherMachine bool   // another machine's Loci wrote the file, later than this machine's last version
	conflict         string // why the person's changes cannot be combined with Loci's changes; "" if they can
}

// readFile reads the file of a stored memory. r is the record of Loci's last write, nil for none.
// If the file equals an earlier version, a person restored it, and its whole content is applied.
func (l *loader) readFile(p parsedPath, text string, stored fileContent, r *record) (out mergedFile, err error) {
	d, err := readDocument(text)
	if err != nil {
		return out, err
	}
	var last string
	var past []string
	if !r.isUnwritten() && stored != (fileContent{}) {
		if last, past, err = l.f.records.writtenTexts(key{l.owner, r.Target}); err != nil {
			return out, err
		}
	}
	if last == "" { // without Loci's last text, the whole file is applied
		if out.content, err = p.interpret(d, stored, nil); err != nil {
			return out, err
		}
		out.fromOtherMachine = d.values["id"].text != "" && l.isFromOtherMachine(out.content, stored, d)
		return out, nil
	}
	plain := p
	plain.unchecked = true
	current, err := plain.interpret(d, stored, nil)
	if err != nil {
		return out, err
	}
	base, earlier, err := l.editBase(d, stored, r, append([]string{last}, past...))
	if err != nil {
		return out, err
	}
	wrote := isEarlierText(text, last, past)
	later := !wrote && l.isFromOtherMachine(current, stored, d)
	if out.restored = wrote && current.isLive() != p.deleted; !out.restored {
		out.outdated, out.conflict = l.merge(&p, &d, current, base, stored)
		out.fromOtherMachine = later && out.conflict == "" && !out.outdated && base.equal(keyValuesOf(stored), updatedKey)
	}
	out.fromEarlier = earlier && !out.fromOtherMachine
	out.content, err = p.interpret(d, stored, nil)
	return out, err
}

// isFromOtherMachine reports whether another machine's Loci wrote the file, later than this machine's
// last version.
func (l *loader) isFromOtherMachine(content, stored fileContent, d document) bool {
	at := content.updatedAt()
	return at.After(stored.updatedAt()) && !at.After(l.f.s.opts.Now()) && (stored == (fileContent{}) || hasLociTime(d))
}

// hasLociTime reports whether Loci wrote a file's updated_at, which then has microseconds. Editor
// plugins write whole seconds or another time zone.
func hasLociTime(d document) bool {
	at, is := parseLociTime(d.values[updatedKey].text)
	return is && at.Nanosecond() != 0
}

// parseLociTime parses a time and reports whether it has the format that Loci writes.
func parseLociTime(value string) (at time.Time, hasLociFormat bool) {
	at, err := time.Parse(time.RFC3339Nano, value)
	return at, err == nil && rfc3339(at.UTC()) == value
}

// keyValues maps the keys of a file's front matter to values, and textKey to its text. Links are
// reduced to ids for comparison.
type keyValues map[string]string

// textKey is the key of the text in keyValues; no key of front matter is "".
const textKey = ""

func keyValuesOf(t fileContent) keyValues {
	m := keyValues{textKey: normalText(t.text())}
	for _, f := range t.fields(func(id string) string { return id }) {
		m[f.key] = f.value
	}
	return m
}

// equal reports whether two files have the same value for a key.
func (m keyValues) equal(other keyValues, key string) bool { return m[key] == other[key] }

func (m keyValues) isLive() bool { return memory.Status(m[statusKey]).Live() }

// editBase returns the version that a person edited: Loci's last version or, if the file has an older
// updated_at (fromEarlier), Loci's version with that time. texts are Loci's versions, latest first.
func (l *loader) editBase(d document, stored fileContent, r *record, texts []string) (base keyValues, fromEarlier bool, err error) {
	when := d.values[updatedKey].text
	from := texts[0]
	if _, is := parseLociTime(when); is {
		since := func(text string) bool { return frontValue(text, updatedKey) == when }
		if fromEarlier = !since(texts[0]) && len(texts) > 1; fromEarlier {
			from = texts[max(0, slices.IndexFunc(texts, since))]
		}
	}
	doc, err := readDocument(from)
	if err != nil {
		return nil, false, err
	}
	p, _ := l.f.s.parsePath(r.Path)
	p.owner, p.unchecked = l.owner, true
	content, err := p.interpret(doc, stored, nil)
	return keyValuesOf(content), fromEarlier, err
}

// merge applies Loci's changes since base to the document d, except for keys that the person changed.
// outdated reports whether it applied a change. current is the content of d before the merge. conflict is
// the reason why the person's and Loci's changes cannot be combined; "" if they can.
func (l *loader) merge(p *parsedPath, d *document, current fileContent, base keyValues, stored fileContent) (outdated bool, conflict string) {
	theirs, ours := keyValuesOf(current), keyValuesOf(stored)
	across := p.movedAcross()
	applied := map[string]bool{}
	var both []string
	for key := range ours {
		switch {
		case key == textKey, key == statusKey && across: // the text is compared below; a moved file's status follows from its folder
		case ours.equal(base, key) || ours.equal(theirs, key):
		case key == statusKey && !stored.isLive() && theirs[statusKey] == string(memory.Rejected): // a person's rejection also applies to a memory that Loci forgot
		case theirs.equal(base, key), key == statusKey && !stored.isLive() && theirs[statusKey] == string(memory.Retired):
			applied[key] = true
		case !conflictFree[key]:
			both = append(both, key)
		}
	}
	if theirs.equal(base, conversationKey) && !ours.equal(base, conversationKey) && stored.Conversation == nil {
		p.conversation = conversationFolder(stored.common().conversation)
	}
	textEdited := !theirs.equal(base, textKey) && !ours.equal(theirs, textKey)
	switch textChanged := !ours.equal(base, textKey); {
	case textEdited && textChanged:
		both = append(both, "the text")
	case textEdited && !stored.isLive() && !p.deleted && !across && base.isLive():
		return false, inactiveReason(stored)
	case textChanged && !textEdited:
		applied[textKey], d.text = true, stored.text()
	}
	maps.DeleteFunc(d.values, func(key string, _ scalarOrList) bool { return applied[key] })
	fields := slices.DeleteFunc(stored.fields(l.link), func(f field) bool { return !applied[f.key] })
	if values, _, err := parseFront(formatFields(fields, "\n")); err == nil {
		maps.Copy(d.values, values)
	}
	if len(both) > 0 {
		slices.Sort(both)
		conflict = "Loci meanwhile changed the same keys: " + strings.Join(both, ", ")
	}
	return len(applied) > 0, conflict
}

// inactiveReason returns why new text for an inactive memory is refused.
func inactiveReason(stored fileContent) string {
	if stored.Fact != nil && stored.Fact.Status == memory.Superseded {
		return "another fact has replaced this fact meanwhile"
	}
	return "the memory was forgotten meanwhile"
}

// Keys with special rules.
const (
	statusKey       = "status"
	updatedKey      = "updated_at"
	sourceKey       = "source"
	conversationKey = "conversation_id"
)

// conflictFree lists keys that never conflict: Loci maintains them, or always uses the file's value.
var conflictFree = map[string]bool{
	updatedKey: true, "source": true, "trust": true, "model": true, "superseded_by": true, "created_at": true, "observed_seq": true,
	"from_conversation": true, "from_turns": true, "quote": true, "learned_at": true, "token_count": true, conversationKey: true, recipientsKey: true,
}
