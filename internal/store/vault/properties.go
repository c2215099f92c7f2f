package vault

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// property is a key of front matter, with functions to format and read its value. A formatted value
// is YAML on one line; "" omits the key.
type property struct {
	key  string
	show func(names) string
	read func(*reader)
}

// linkFunc returns a link to a memory's file, or the id if there is no file.
type names func(id string) string

// fields returns the front matter of a file: keys for people and other programs, and all keys that
// a rebuild needs.
func (t thing) fields(link names) []field {
	var fields []field
	for _, p := range t.properties() {
		fields = append(fields, field{key: p.key, value: p.show(link)})
	}
	return fields
}

// properties returns the properties in file order. Reading a property sets a field of t.
func (t *thing) properties() []property {
	switch {
	case t.Fact != nil:
		f := t.Fact
		return []property{
			keptText("id", &f.ID), conversation(&f.Scope.Conversation), constant("role", "memory"), constant("kind", "fact"),
			keptTime("created_at", &f.CreatedAt, nil), keptTime(updatedKey, &f.UpdatedAt, &f.CreatedAt),
			status(&f.Status, memory.Active, memory.Pending, memory.Retired, memory.Rejected, memory.Superseded),
			link("superseded_by", &f.SupersededBy), plainText("category", &f.Category), texts("tags", &f.Tags), pinned(f), core(f),
			plainText("subject", &f.Subject), plainText("attribute", &f.Attribute), confidence(f),
			keptTime("observed_at", &f.ObservedAt, &f.CreatedAt), number("observed_seq", &f.ObservedSeq),
			moment("valid_from", &f.ValidFrom), moment("valid_to", &f.ValidTo), moment("expires_at", &f.ExpiresAt),
			keptText(sourceKey, &f.Source), trust(f), plainText("model", &f.Model),
			plainText("project", &f.Scope.Project), plainText("agent", &f.Scope.Agent),
			plainText("from_conversation", &f.Provenance.Conversation), turns(f), quote(f), metadata(f),
			t.relation(memory.SameSubject), t.relation(memory.Refines), t.relation(memory.Contradicts), t.relation(memory.Follows), t.sharedWith(),
		}
	case t.Turn != nil:
		u := t.Turn
		return []property{
			keptText("id", &u.ID), conversationOfTurn(u), keptText("role", &u.Role), constant("kind", "turn"),
			keptTime("created_at", &u.CreatedAt, nil), status(&u.Status, memory.Active, memory.Retired, memory.Replaced),
			keptNumber("index", &u.Index), link("parent", &u.Parent), plainText("name", &u.Name), plainText("ref", &u.Ref),
			plainText("project", &u.Project), plainText("agent", &u.Agent),
			moment("learned_at", &u.LearnedAt), flag("no_learn", &u.NoLearn), flag("history", &u.History), plainText("chain", &u.Chain),
		}
	case t.Summary != nil:
		m := t.Summary
		return []property{
			keptText("id", &m.ID), conversation(&m.Scope.Conversation), constant("role", "summary"), constant("kind", "summary"),
			constant("summary_kind", "summary"), keptTime("created_at", &m.CreatedAt, nil), status(&m.Status, memory.Active, memory.Retired),
			keptNumber("message_count", &m.MessageCount), plainText("model", &m.Model),
			plainText("project", &m.Scope.Project), plainText("agent", &m.Scope.Agent),
		}
	case t.Profile != nil:
		e := t.Profile
		return []property{
			keptText("id", &e.Key), constant("kind", "profile"), status(&e.Status, memory.Active, memory.Retired),
			keptTime(updatedKey, &e.UpdatedAt, nil), number("token_count", &e.Tokens),
		}
	case t.Context != nil:
		c := t.Context
		return []property{
			keptText("id", &c.ID), constant("kind", "context"), title(c), status(&c.Status, memory.Active, memory.Retired),
			keptTime("created_at", &c.CreatedAt, nil), keptTime(updatedKey, &c.UpdatedAt, nil),
		}
	case t.Conversation != nil:
		c := t.Conversation
		return []property{
			keptText("id", &c.ID), constant("kind", "conversation"), plainText("title", &c.Title), plainText("project", &c.Project),
			plainText("agent", &c.Agent), texts("contexts", &c.Contexts), keptTime("created_at", &c.CreatedAt, nil), keptTime(updatedKey, &c.UpdatedAt, nil),
		}
	}
	return nil
}

// scalarProperty returns a property with a scalar value. parse sets the value and reports whether it
// is valid; a missing key is passed as "".
func value(key, want string, show func(names) string, parse func(v string) bool) property {
	return property{key, show, func(r *reader) {
		if !parse(r.one(key, want)) {
			r.fail(key, want)
		}
	}}
}

// optionalText returns a text property that is omitted if empty. A missing key sets the text to "".
func plainText(key string, v *string) property {
	return property{key, func(names) string { return optional(*v) }, func(r *reader) { *v = r.text(key) }}
}

// requiredText returns a text property that is always written. A missing key changes nothing.
func keptText[T ~string](key string, v *T) property {
	return property{key, func(names) string { return quoted(string(*v)) }, func(r *reader) { *v = cmp.Or(T(r.text(key)), *v) }}
}

// constant returns a property whose value the folder determines. Other values are an error.
func constant(key, is string) property {
	return property{key, func(names) string { return is }, func(r *reader) {
		if got := r.text(key); got != "" && got != is {
			r.failf("%s is %q, but must be %q in files of this folder: move the file to its folder, or use another name for a key of your own", key, got, is)
		}
	}}
}

func texts(key string, v *[]string) property {
	return property{key, func(names) string { return listed(*v) }, func(r *reader) { *v = r.list(key) }}
}

func moment(key string, v *time.Time) property {
	return value(key, aTime, func(names) string { return at(*v) }, func(s string) (ok bool) {
		*v, ok = parseTime(s, time.Time{})
		return ok
	})
}

// requiredTime is requiredText for a time. If the time is zero, a missing key sets it to *fallback;
// fallback may be nil.
func keptTime(key string, v, like *time.Time) property {
	return value(key, aTime, func(names) string { return at(*v) }, func(s string) (ok bool) {
		if v.IsZero() && like != nil {
			*v = *like
		}
		*v, ok = parseTime(s, *v)
		return ok
	})
}

const aTime = "a time like 2026-01-31T12:00:00Z or a day"

// parseTime parses a time in the forms that people write; "" returns fallback.
func parseTime(s string, base time.Time) (time.Time, bool) {
	if s == "" {
		return base, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return memory.Time(t), true
		}
	}
	return base, false
}

// optionalNumber returns a number property that is omitted if 0. A missing key sets it to 0.
func number[T int | int64](key string, v *T) property {
	p := keptNumber(key, v)
	return property{key, func(names) string {
		if *v == 0 {
			return ""
		}
		return p.show(nil)
	}, func(r *reader) {
		*v = 0
		p.read(r)
	}}
}

func keptNumber[T int | int64](key string, v *T) property {
	return value(key, "a whole number", func(names) string { return strconv.FormatInt(int64(*v), 10) }, func(s string) bool {
		n, err := strconv.ParseInt(cmp.Or(s, strconv.FormatInt(int64(*v), 10)), 10, 64)
		*v = T(n)
		return err == nil
	})
}

func flag(key string, v *bool) property {
	show := func(names) string {
		if *v {
			return "true"
		}
		return ""
	}
	return value(key, "true or false", show, func(s string) bool {
		s = strings.ToLower(s)
		*v = s == "true" || s == "yes" || s == "on"
		return *v || s == "" || s == "false" || s == "no" || s == "off"
	})
}

// memoryLink returns a property whose value links to a memory by id.
func link(key string, id *string) property {
	show := func(link names) string {
		if *id == "" {
			return ""
		}
		return quoted(link(*id))
	}
	return property{key, show, func(r *reader) { *id = idOfLink(r.text(key)) }}
}

func conversation(id *string) property {
	return property{conversationKey, func(names) string { return quoted(cmp.Or(*id, globalFolder)) }, func(r *reader) { *id = r.conversation(*id) }}
}

// conversationOfTurn returns the conversation key of a turn. The key is read only in the global
// folder, whose name does not determine the conversation.
func conversationOfTurn(u *memory.Turn) property {
	return property{conversationKey, func(names) string { return quoted(u.Conversation) }, func(r *reader) {
		if r.p.conversation == globalFolder {
			u.Conversation = r.text(conversationKey)
		} else {
			u.Conversation = r.conversation(u.Conversation)
		}
	}}
}

func status(v *memory.Status, allowed ...memory.Status) property {
	return property{statusKey, func(names) string { return quoted(string(*v)) }, func(r *reader) { *v = r.status(*v, allowed) }}
}

// title returns the title of a document. A new document without the key has the file's name.
func title(c *memory.Context) property {
	return property{"title", func(names) string { return optional(c.Title) }, func(r *reader) {
		if r.stored {
			c.Title = ""
		}
		c.Title = cmp.Or(r.text("title"), c.Title)
	}}
}

func pinned(f *memory.Fact) property {
	is := f.Pinned()
	p := flag("pinned", &is)
	return property{p.key, p.show, func(r *reader) {
		p.read(r)
		f.Core = memory.Pin(is)
	}}
}

// core returns the property core, which is written only if the key pinned cannot express the value.
func core(f *memory.Fact) property {
	show := func(names) string {
		if f.Core == memory.CoreNever {
			return string(f.Core)
		}
		return ""
	}
	return value("core", "auto, always or never", show, func(s string) bool {
		return f.Core.UnmarshalText([]byte(cmp.Or(s, string(f.Core)))) == nil
	})
}

func confidence(f *memory.Fact) property {
	show := func(names) string { return strconv.FormatFloat(f.Confidence, 'g', -1, 64) }
	return value("confidence", "a number from 0 to 1", show, func(s string) bool {
		if s == "" {
			return true
		}
		c, err := strconv.ParseFloat(s, 64)
		if err != nil || !(c >= 0 && c <= 1) {
			return false
		}
		f.Confidence = c
		return true
	})
}

func trust(f *memory.Fact) property {
	all := []memory.Trust{memory.TrustPerson, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted}
	return value("trust", "one of person, user, assistant, untrusted", func(names) string { return quoted(string(f.Trust)) }, func(s string) bool {
		f.Trust = cmp.Or(memory.Trust(s), f.Trust)
		return slices.Contains(all, f.Trust)
	})
}

func turns(f *memory.Fact) property {
	const key = "from_turns"
	show := func(link names) string {
		var all []string
		for _, id := range f.Provenance.Turns {
			all = append(all, link(id))
		}
		return listed(all)
	}
	return property{key, show, func(r *reader) {
		f.Provenance.Turns = nil
		for _, link := range r.list(key) {
			f.Provenance.Turns = append(f.Provenance.Turns, idOfLink(link))
		}
	}}
}

// quote returns the property quote, which is written as "START-END LINK".
func quote(f *memory.Fact) property {
	show := func(link names) string {
		q := f.Provenance.Quote
		if q == nil {
			return ""
		}
		return quoted(strconv.Itoa(q.Start) + "-" + strconv.Itoa(q.End) + " " + link(q.Turn))
	}
	return value("quote", "two numbers and a turn, like 0-12 [[turn]]", show, func(s string) bool {
		if f.Provenance.Quote = nil; s == "" {
			return true
		}
		span, link, _ := strings.Cut(s, " ")
		from, to, _ := strings.Cut(span, "-")
		start, err1 := strconv.Atoi(from)
		end, err2 := strconv.Atoi(to)
		f.Provenance.Quote = &memory.Span{Turn: idOfLink(link), Start: start, End: end}
		return err1 == nil && err2 == nil
	})
}

func metadata(f *memory.Fact) property {
	return value("metadata", "a JSON object in quotes", func(names) string { return optional(string(f.Metadata)) }, func(s string) bool {
		s = strings.TrimSpace(s)
		if f.Metadata = nil; s != "" {
			f.Metadata = json.RawMessage(s)
		}
		return s == "" || json.Valid(f.Metadata) && s[0] == '{'
	})
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return quotedTime(memory.Time(t))
}

// rfc3339 formats a time for people and Obsidian.
func quotedTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

func optional(text string) string {
	if text == "" {
		return ""
	}
	return quoted(text)
}
