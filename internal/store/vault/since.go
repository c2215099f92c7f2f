package vault

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// reading is what a person means by a file: what Loci last wrote there, and what they left as
// it was, is no word of theirs. Loci may have changed the memory since, before it wrote the
// file anew, or while they had it open.
type reading struct {
	says    thing
	text    string   // the file as if what they changed had been written over what Loci knows now
	lost    []string // as loader.resolve has it
	kept    bool     // relations of which it says nothing stay
	imprint imprint  // of the file as it stands
	earlier bool     // it was made of what Loci wrote there before what it last wrote
	putBack bool     // it is what Loci wrote there before, and lies where that lay
	later   bool     // it is what another machine's Loci wrote after all that is known here
	clash   string   // why not both can be what they wrote and what Loci did; "" if they can
}

// unfit is of a file that cannot be read as what it is.
type unfit struct{ error }

// readFile reads a file of a memory that Loci knows as known. r is what it last wrote of it, nil
// for nothing. A file that is byte for byte what Loci wrote earlier was put back, out of a bin
// or out of git: it counts as it stands.
func (l *loader) readFile(ctx context.Context, p place, text string, known thing, r *record) (reading, error) {
	if r == nil || r.Imprint == "" || known == (thing{}) {
		out, err := l.readAs(ctx, p, text, known, r)
		if err == nil {
			out.imprint = imprintOf(out.says)
			out.imprint.set(statusKey, statusLine(split(text).front))
			out.later = known == (thing{}) && namesItself(text) && !l.f.isToCome(out.says.updatedAt())
		}
		return out, err
	}
	plain := p
	plain.plain = true
	stands, err := l.readAs(ctx, plain, text, known, r)
	if err != nil {
		return stands, err
	}
	stands.imprint = imprintOf(stands.says)
	base, earlier, err := l.basis(ctx, text, r)
	at := stands.says.updatedAt()
	later := !r.wrote(text) && at.After(known.updatedAt()) && !l.f.isToCome(at) && ofNow(text)
	if err != nil {
		return stands, err
	}
	clash := ""
	putBack := r.wrote(text) && stands.says.live() != p.deleted
	if !putBack {
		was := text
		p, text, clash = l.since(p, text, stands, base, known)
		later = later && clash == "" && text == was && base.same(imprintOf(known), updatedKey)
	}
	out, err := l.readAs(ctx, p, text, known, r)
	out.imprint, out.earlier, out.putBack, out.clash = stands.imprint, earlier && !later, putBack, clash
	out.later = later
	return out, err
}

// isToCome reports whether a time is one at which no machine wrote anything yet.
func (f *files) isToCome(at time.Time) bool { return at.After(f.s.clock.now()) }

// ofNow reports whether a file's time of writing is one at which a Loci wrote: theirs are to
// the microsecond, of which one in a million is a whole second. Plugins of editors note no more
// than seconds of when a file was saved, or write it otherwise.
func ofNow(text string) bool {
	values, err := readFront(split(text).front)
	if err != nil {
		return false
	}
	at, is := asLoci(values[updatedKey].text)
	return is && at.Nanosecond() != 0
}

// asLoci reads a time that is written as Loci writes one, and reports whether it is.
func asLoci(when string) (at time.Time, is bool) {
	at, err := time.Parse(time.RFC3339Nano, when)
	return at, err == nil && quotedTime(at.UTC()) == when
}

// namesItself reports whether a file has the id and the time of writing that Loci gives one.
func namesItself(text string) bool {
	values, err := readFront(split(text).front)
	return err == nil && values["id"].text != "" && values[updatedKey].text != ""
}

// readAs reads a text as it stands, beside what Loci knows.
func (l *loader) readAs(ctx context.Context, p place, text string, known thing, r *record) (reading, error) {
	says, err := p.parse(text, known)
	if err != nil {
		return reading{}, unfit{err}
	}
	// What was written before relations stood in files, or when they were others, ends none
	// by not having their key.
	keep := r == nil || r.Imprint == "" && r.State != stateOf(r.Path, known.fields(l.link), known.words())
	if r != nil && !r.own(hashOf(text)) {
		r = nil
	}
	lost, kept, err := l.resolve(ctx, text, &says, known, r, keep)
	return reading{says: says, text: text, lost: lost, kept: kept}, err
}

// basis is what the text was that a person changed: what Loci last wrote or, if the time in it
// is another one, what the memory was at that time. Of links and sharing only the last is known.
func (l *loader) basis(ctx context.Context, text string, r *record) (base imprint, earlier bool, err error) {
	base = readImprint(r.Imprint)
	values, err := readFront(split(text).front)
	if err != nil {
		return nil, false, unfit{err}
	}
	when := values[updatedKey].text
	if when == "" || base.says(updatedKey, when) || len(r.Past) == 0 { // or the index is newer than the file, and all in it counts
		return base, false, nil
	}
	if _, is := asLoci(when); !is {
		return base, false, nil
	}
	page, err := l.f.s.Changes(ctx, l.owner, memory.ChangeQuery{Target: r.Target})
	if err != nil {
		return nil, false, err
	}
	for _, c := range page.Changes {
		then := thing{fact: c.After.Fact, profile: c.After.Profile, context: c.After.Context}
		if then == (thing{}) {
			continue
		}
		if was := imprintOf(then); was.says(updatedKey, when) {
			was.with(base, elsewhereKept...)
			return was, true, nil
		}
	}
	return base, true, nil
}

// since lays what a person changed in a text, compared with base, over what Loci knows. Where
// both changed the same to something else it says so.
func (l *loader) since(p place, text string, stands reading, base imprint, known thing) (place, string, string) {
	theirs, ours := stands.imprint, imprintOf(known)
	fields, _ := l.asWritten(known.fields(l.link), text, known, stands.lost)
	across := p.across()
	var over []field
	var both []string
	for _, f := range fields {
		switch {
		case f.key == statusKey && across: // the folder counts
		case ours.same(base, f.key) || ours.same(theirs, f.key):
		case f.key == statusKey && !known.live() && theirs.says(statusKey, string(memory.Rejected)): // more than forgotten
		case theirs.same(base, f.key), f.key == statusKey && !known.live() && theirs.says(statusKey, string(memory.Retired)):
			over = append(over, f)
		case !ofLoci[f.key]:
			both = append(both, f.key)
		}
	}
	if theirs.same(base, conversationKey) && !ours.same(base, conversationKey) && known.conversation == nil {
		p.conversation = conversationFolder(known)
	}
	words := split(text).words()
	touched := !theirs.same(base, theWords) && !ours.same(theirs, theWords)
	switch changed := !ours.same(base, theWords); {
	case touched && changed:
		both = append(both, "the words")
	case touched && !known.live() && !p.deleted && !across && standsLive(base):
		return p, text, ended(known)
	case changed && !touched:
		words = known.words()
	case len(over) == 0:
		return p, text, clashOf(both)
	}
	laid, ok := split(text).rewritten(over, words)
	if !ok {
		return p, text, "Loci changed it meanwhile, and its front matter cannot be laid over that: write it in plain lines"
	}
	return p, laid.String(), clashOf(both)
}

// clashOf says what both sides changed.
func clashOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "Loci changed the same meanwhile: " + strings.Join(keys, ", ")
}

// ended says why words are not taken over of what is not recalled any more.
func ended(known thing) string {
	if known.fact != nil && known.fact.Status == memory.Superseded {
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

// elsewhereKept are keys of what is no part of a memory's own image.
var elsewhereKept = func() []string {
	keys := []string{sharedKey}
	for _, kind := range relationKinds {
		keys = append(keys, string(kind))
	}
	return keys
}()

// ofLoci are keys that both may change: Loci writes what it keeps count of, where a file belongs
// follows from its folder, and a list of names is taken as it stands, so that nobody is left in it.
var ofLoci = map[string]bool{
	updatedKey: true, "source": true, "trust": true, "model": true, "superseded_by": true, "created_at": true, "observed_seq": true,
	"from_conversation": true, "from_turns": true, "quote": true, "learned_at": true, "token_count": true, conversationKey: true, sharedKey: true,
}

// live reports whether a thing is not among what is deleted.
func (t thing) live() bool {
	if t.conversation != nil {
		return t.conversation.Status != memory.Retired
	}
	return t.status().Live()
}

func (t thing) status() memory.Status {
	switch {
	case t.fact != nil:
		return t.fact.Status
	case t.turn != nil:
		return t.turn.Status
	case t.summary != nil:
		return t.summary.Status
	case t.profile != nil:
		return t.profile.Status
	case t.context != nil:
		return t.context.Status
	}
	return ""
}

// statusLine is the word for where a memory stands as front matter has it, "" for none.
func statusLine(front string) string {
	for line := range strings.Lines(front) {
		if value, ok := strings.CutPrefix(line, statusKey+":"); ok {
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(value, " \t\r\n\"'")
		}
	}
	return ""
}

func standsLive(m imprint) bool {
	return m.says(statusKey, string(memory.Active)) || m.says(statusKey, string(memory.Pending))
}

// conversationFolder is the name of the folder of the conversation that a thing is in.
func conversationFolder(t thing) string {
	id := ""
	switch {
	case t.fact != nil:
		id = t.fact.Scope.Conversation
	case t.summary != nil:
		id = t.summary.Scope.Conversation
	case t.turn != nil:
		id = t.turn.Conversation
	}
	if id == "" {
		return globalFolder
	}
	return escape(id)
}

// isUnfit reports whether an error is of the file, not of reading.
func isUnfit(err error) bool { return errors.As(err, new(unfit)) }
