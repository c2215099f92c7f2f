package vault

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Where Loci last wrote a memory's file, as [place] has it.
const (
	amongKept    = "entries"
	amongDeleted = "deleted"
)

// before is where Loci last wrote the file of a memory, "" for nowhere, or if it only noted it.
func (f *files) before(k key) string {
	r := f.index.targets[k]
	if r == nil || r.SHA == "" {
		return ""
	}
	if p, ok := f.s.placeOf(r.Path); ok && p.deleted {
		return amongDeleted
	}
	return amongKept
}

// across reports whether a file lies among what is deleted and lay among what holds, or the other
// way round.
func (p place) across() bool { return p.was != "" && (p.was == amongDeleted) != p.deleted }

// status is where something stands by what its file and its folder say; was is what Loci
// has, "" for nothing. A person who moves a file to what is deleted, or back, means it; of a
// file that stays, the word counts. A file of which nothing is noted is read as if it was
// moved to what is deleted, but as it is written where it holds. What Loci alone makes of
// a memory is no word for a person to write, but comes with a file that is moved to what is
// deleted, as git does it: such a fact ends by itself, whatever taught it.
func (r *reader) status(p place, was memory.Status, allowed ...memory.Status) memory.Status {
	said := r.saidStatus(allowed)
	alone := (said == memory.Superseded || said == memory.Replaced) && said != was
	moved := p.across()
	switch {
	case p.plain:
		return cmp.Or(said, was, memory.Active)
	case moved && !p.deleted:
		if said.Live() {
			return said
		}
		return memory.Active
	case p.deleted && (moved || p.was == "") && (said == "" || said.Live() || moved && alone):
		switch {
		case was != "" && !was.Live():
			return was
		case moved && alone:
			return said
		}
		return memory.Retired
	case said == "":
		return cmp.Or(was, memory.Active)
	case alone && (p.was != "" || !p.deleted) && r.err == nil:
		r.err = fmt.Errorf("status is %s, which only Loci makes it when something takes its place: write retired to forget it, or other words to replace what it says", said)
		return was
	}
	return said
}

// saidStatus is the word that the file has, "" for none.
func (r *reader) saidStatus(allowed []memory.Status) memory.Status {
	want := "one of"
	for i, s := range allowed {
		if i > 0 {
			want += ","
		}
		want += " " + string(s)
	}
	said := memory.Status(r.one("status", want))
	if said != "" && !slices.Contains(allowed, said) {
		r.fail("status", want)
		return ""
	}
	return said
}

// constant is a key whose value follows from the folder: another one is no way to make
// something else of the file, and would be written over.
func (r *reader) constant(key, is string) {
	if said := r.text(key); said != "" && said != is && r.err == nil {
		r.err = fmt.Errorf("%s is %q, and %q in files of this folder: move it to where it belongs, or give a key of your own another name", key, said, is)
	}
}

// elsewhere reports whether the file brings its id from elsewhere, or is read where there
// is nothing but files: what else it says is then what Loci wrote.
func (r *reader) elsewhere(known bool) bool { return !known && r.values["id"].text != "" }

// conversationOf is whose conversation a file's folder is. Where the folder's name cannot be
// read back the key says it. was is the conversation that Loci has, if the memory is known.
// The key follows the folder: one that names neither where the file lies nor where it
// lay is a wish that nobody fulfils.
func (r *reader) conversationOf(p place, known bool, was string) string {
	said := r.text("conversation_id")
	id, ok := "", p.conversation == globalFolder
	if !ok {
		id, ok = unescape(p.conversation)
	}
	if !ok {
		for _, one := range []string{said, was} {
			if one != "" && escape(one) == p.conversation {
				return one
			}
		}
		if r.err == nil {
			r.err = fmt.Errorf("no chat has a folder called %q: facts of a chat called so lie in entries/%s/facts, facts of no chat in entries/%s/facts",
				p.conversation, escape(p.conversation), globalFolder)
		}
		return was
	}
	named := func(conversation string) string { return cmp.Or(conversation, globalFolder) }
	if said != "" && said != named(id) && (!known || said != named(was)) && !r.elsewhere(known) && r.err == nil {
		folder := globalFolder
		if said != globalFolder {
			folder = escape(said)
		}
		r.err = fmt.Errorf("conversation_id is %q, but the folder says where a file belongs: move it to entries/%s/%s, or take the line out", said, folder, p.folder)
	}
	return id
}

// holds refuses a time until when a fact holds that is not after the one from when, if a
// person wrote one of them.
func (r *reader) holds(base *memory.Fact, f memory.Fact) {
	if f.ValidFrom.IsZero() || f.ValidTo.IsZero() || !f.ValidTo.Before(f.ValidFrom) || r.elsewhere(base != nil) {
		return
	}
	if base != nil && base.ValidFrom.Equal(f.ValidFrom) && base.ValidTo.Equal(f.ValidTo) {
		return
	}
	if r.err == nil {
		r.err = fmt.Errorf("valid_to is before valid_from: it would hold at no time")
	}
}
