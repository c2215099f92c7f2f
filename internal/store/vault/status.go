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

// before is where the file of a memory was last written: amongKept, amongDeleted, or "" for nowhere.
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

// across reports whether a file was moved to deleted/ or back.
func (p place) across() bool { return p.was != "" && (p.was == amongDeleted) != p.deleted }

// status is a memory's status by its file and folder; was is its current one, "" for none. Of a
// file that was moved to deleted/ or back the folder counts, of others the key. Superseded and
// replaced count only in files that were moved to deleted/.
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

// saidStatus is the value of the key status, "" for none.
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

// constant refuses another value of a key that follows from the folder.
func (r *reader) constant(key, is string) {
	if said := r.text(key); said != "" && said != is && r.err == nil {
		r.err = fmt.Errorf("%s is %q, and %q in files of this folder: move it to where it belongs, or give a key of your own another name", key, said, is)
	}
}

// elsewhere reports whether the file brings its id from elsewhere, or belongs to a rebuild.
func (r *reader) elsewhere(known bool) bool { return !known && r.values["id"].text != "" }

// conversationOf is the conversation of a file's folder; was is the memory's current one. The key
// conversation_id only counts where the folder's name was cut.
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

// holds refuses a valid_to before valid_from that a person wrote.
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
