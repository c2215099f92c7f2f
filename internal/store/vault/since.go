package vault

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// reading is what a person changed in a file, applied to what Loci knows now.
type reading struct {
	says    thing
	text    string   // the file as if what they changed had been written over what Loci knows now
	lost    []string // as loader.resolve has it
	kept    bool     // relations of which it says nothing stay
	earlier bool     // it was made of what Loci wrote there before what it last wrote
	putBack bool     // it is what Loci wrote there before, and lies where that lay
	later   bool     // it is what another machine's Loci wrote after all that is known here
	clash   string   // why not both can be what they wrote and what Loci did; "" if they can
}

// unfit is an error of the file's content, not of reading it.
type unfit struct{ error }

// readFile reads a file of the memory known. r is the record of what Loci last wrote, nil for
// none. A file that equals what Loci wrote earlier was put back and counts as it is.
func (l *loader) readFile(ctx context.Context, p place, text string, known thing, r *record) (reading, error) {
	if r.none() || known == (thing{}) {
		out, err := l.readAs(ctx, p, text, known, r)
		out.later = err == nil && valueIn(text, "id") != "" && l.f.isLater(out.says, known, text)
		return out, err
	}
	plain := p
	plain.plain = true
	stands, err := l.readAs(ctx, plain, text, known, r)
	if err != nil {
		return stands, err
	}
	base, earlier, err := l.basis(ctx, text, r, known)
	if err != nil {
		return stands, err
	}
	later := !r.wrote(text) && l.f.isLater(stands.says, known, text)
	clash := ""
	putBack := r.wrote(text) && stands.says.live() != p.deleted
	if !putBack {
		was := text
		p, text, clash = l.since(p, text, stands, base, known)
		later = later && clash == "" && text == was && base.same(statementOf(known), updatedKey)
	}
	out, err := l.readAs(ctx, p, text, known, r)
	out.earlier, out.putBack, out.clash, out.later = earlier && !later, putBack, clash, later
	return out, err
}

// isLater reports whether another machine's Loci wrote the file after all that is known here.
func (f *files) isLater(says, known thing, text string) bool {
	at := says.updatedAt()
	return at.After(known.updatedAt()) && !at.After(f.s.opts.Now()) && (known == (thing{}) || ofNow(text))
}

// ofNow reports whether Loci wrote a file's updated_at, which has microseconds. Editor plugins
// write whole seconds or another zone.
func ofNow(text string) bool {
	at, is := asLoci(valueIn(text, updatedKey))
	return is && at.Nanosecond() != 0
}

// asLoci parses a time and reports whether it is in the form that Loci writes.
func asLoci(when string) (at time.Time, is bool) {
	at, err := time.Parse(time.RFC3339Nano, when)
	return at, err == nil && quotedTime(at.UTC()) == when
}

// readAs reads a text as it is, without comparing it with what Loci wrote.
func (l *loader) readAs(ctx context.Context, p place, text string, known thing, r *record) (reading, error) {
	says, err := p.parse(text, known)
	if err != nil {
		return reading{}, unfit{err}
	}
	keep := r.none() // what was written before relations were in files ends none by not having their key
	if !r.own(hashOf(text)) {
		r = nil
	}
	lost, kept, err := l.resolve(ctx, text, &says, known, r, keep)
	return reading{says: says, text: text, lost: lost, kept: kept}, err
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

// basis is what the file said before a person changed it: what Loci last wrote or, if its
// updated_at is older, the memory as of that time. Relations and sharing are always the last ones.
func (l *loader) basis(ctx context.Context, text string, r *record, known thing) (base statement, earlier bool, err error) {
	last, err := l.at(ctx, r, known)
	if err != nil {
		return nil, false, err
	}
	written := func(t thing) statement {
		m := statementOf(t)
		for _, key := range tiedKeys {
			m[key] = r.Ties[key]
		}
		return m
	}
	base = written(last)
	when := valueIn(text, updatedKey)
	if _, is := asLoci(when); !is || base[updatedKey] == when || len(r.Past) == 0 {
		return base, false, nil
	}
	page, err := l.f.s.Changes(ctx, l.owner, memory.ChangeQuery{Target: r.Target, Limit: maxRun})
	if err != nil {
		return nil, false, err
	}
	for _, c := range page.Changes {
		if then := written(known.with(c.After)); then[updatedKey] == when {
			return then, true, nil
		}
	}
	return base, true, nil
}

// at returns what a memory was when its file was written.
func (l *loader) at(ctx context.Context, r *record, known thing) (thing, error) {
	if known.version() == r.Version {
		return known, nil
	}
	for c, err := range memory.AllChanges(ctx, l.f.s.Changes, l.owner, memory.ChangeQuery{Target: r.Target}) {
		if err != nil {
			return thing{}, err
		}
		if c.Version <= r.Version {
			break
		}
		known = known.with(c.Before)
	}
	return known, nil
}

// with returns the thing as an image of a change shows it.
func (t thing) with(i memory.Image) thing {
	switch {
	case t.fact != nil && i.Fact != nil:
		t.fact = i.Fact
	case t.profile != nil && i.Profile != nil:
		t.profile = i.Profile
	case t.context != nil && i.Context != nil:
		t.context = i.Context
	case t.summary != nil && i.Summary != nil:
		t.summary = i.Summary
	case t.turn != nil && i.Turn != nil:
		turn := *t.turn
		turn.Status = i.Turn.Status
		t.turn = &turn
	case t.conversation != nil && i.Conversation != nil:
		c := *t.conversation
		c.Title, c.Contexts, c.Rules, c.Status = i.Conversation.Title, i.Conversation.Contexts, i.Conversation.Rules, i.Conversation.Status
		t.conversation = &c
	}
	return t
}

// since merges what a person changed in a text, compared with base, with what Loci knows. It
// returns a reason if both changed the same key.
func (l *loader) since(p place, text string, stands reading, base statement, known thing) (place, string, string) {
	theirs, ours := statementOf(stands.says), statementOf(known)
	fields, _ := l.asWritten(known.fields(l.link), text, known, stands.lost)
	across := p.across()
	var over []field
	var both []string
	for _, f := range fields {
		switch {
		case f.key == statusKey && across: // the folder counts
		case ours.same(base, f.key) || ours.same(theirs, f.key):
		case f.key == statusKey && !known.live() && theirs[statusKey] == string(memory.Rejected): // more than forgotten
		case theirs.same(base, f.key), f.key == statusKey && !known.live() && theirs[statusKey] == string(memory.Retired):
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
	laid, ok := split(text).with(over, words)
	if !ok {
		return p, text, "Loci changed it meanwhile, and its front matter cannot be laid over that: write it in plain lines"
	}
	return p, laid.String(), clashOf(both)
}

// clashOf names what both sides changed.
func clashOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "Loci changed the same meanwhile: " + strings.Join(keys, ", ")
}

// ended says why new words for a memory that is not recalled any more are refused.
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

// ofLoci are keys that never clash: Loci maintains them, or takes the file's value as it is.
var ofLoci = map[string]bool{
	updatedKey: true, "source": true, "trust": true, "model": true, "superseded_by": true, "created_at": true, "observed_seq": true,
	"from_conversation": true, "from_turns": true, "quote": true, "learned_at": true, "token_count": true, conversationKey: true, sharedKey: true,
}

func standsLive(m statement) bool { return memory.Status(m[statusKey]).Live() }

// conversationFolder is the name of the folder of the conversation that a thing is in.
func conversationFolder(t thing) string {
	if id := t.head().conversation; id != "" {
		return escape(id)
	}
	return globalFolder
}

// isUnfit reports whether an error is of the file, not of reading.
func isUnfit(err error) bool { return errors.As(err, new(unfit)) }
