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
	key    string
	format func(linkFunc) string
	read   func(*frontReader)
}

// linkFunc returns a link to a memory's file, or the id if there is no file.
type linkFunc func(id string) string

// fields returns the front matter of a file: keys for people and other programs, and all keys that
// a rebuild needs.
func (t fileContent) fields(link linkFunc) []field {
	var fields []field
	for _, p := range t.properties() {
		fields = append(fields, field{key: p.key, value: p.format(link)})
	}
	return fields
}

// properties returns the properties in file order. Reading a property sets a field of t.
func (t *fileContent) properties() []property {
	switch {
	case t.Fact != nil:
		f := t.Fact
		return []property{
			requiredText("id", &f.ID), conversationProperty(&f.Scope.Conversation), constantProperty("role", "memory"), constantProperty("kind", "fact"),
			requiredTime("created_at", &f.CreatedAt, nil), requiredTime(updatedKey, &f.UpdatedAt, &f.CreatedAt),
			statusProperty(&f.Status, memory.Active, memory.Pending, memory.Retired, memory.Rejected, memory.Superseded),
			linkProperty("superseded_by", &f.SupersededBy), optionalText("category", &f.Category), listProperty("tags", &f.Tags), pinnedProperty(f), coreProperty(f),
			optionalText("subject", &f.Subject), optionalText("attribute", &f.Attribute), confidenceProperty(f),
			requiredTime("observed_at", &f.ObservedAt, &f.CreatedAt), optionalNumber("observed_seq", &f.ObservedSeq),
			optionalTime("valid_from", &f.ValidFrom), optionalTime("valid_to", &f.ValidTo), optionalTime("expires_at", &f.ExpiresAt),
			requiredText(sourceKey, &f.Source), trustProperty(f), optionalText("model", &f.Model),
			optionalText("project", &f.Scope.Project), optionalText("agent", &f.Scope.Agent),
			optionalText("from_conversation", &f.Provenance.Conversation), turnsProperty(f), quoteProperty(f), metadataProperty(f),
			t.relationProperty(memory.SameSubject), t.relationProperty(memory.Refines), t.relationProperty(memory.Contradicts), t.relationProperty(memory.Follows), t.recipientsProperty(),
		}
	case t.Turn != nil:
		u := t.Turn
		return []property{
			requiredText("id", &u.ID), turnConversationProperty(u), requiredText("role", &u.Role), constantProperty("kind", "turn"),
			requiredTime("created_at", &u.CreatedAt, nil), statusProperty(&u.Status, memory.Active, memory.Retired, memory.Replaced),
			requiredNumber("index", &u.Index), linkProperty("parent", &u.Parent), optionalText("name", &u.Name), optionalText("ref", &u.Ref),
			optionalText("project", &u.Project), optionalText("agent", &u.Agent),
			optionalTime("learned_at", &u.LearnedAt), boolProperty("no_learn", &u.NoLearn), boolProperty("history", &u.History), optionalText("chain", &u.Chain),
		}
	case t.Summary != nil:
		m := t.Summary
		return []property{
			requiredText("id", &m.ID), conversationProperty(&m.Scope.Conversation), constantProperty("role", "summary"), constantProperty("kind", "summary"),
			constantProperty("summary_kind", "summary"), requiredTime("created_at", &m.CreatedAt, nil), statusProperty(&m.Status, memory.Active, memory.Retired),
			requiredNumber("message_count", &m.MessageCount), optionalText("model", &m.Model),
			optionalText("project", &m.Scope.Project), optionalText("agent", &m.Scope.Agent),
		}
	case t.Profile != nil:
		e := t.Profile
		return []property{
			requiredText("id", &e.Key), constantProperty("kind", "profile"), statusProperty(&e.Status, memory.Active, memory.Retired),
			requiredTime(updatedKey, &e.UpdatedAt, nil), optionalNumber("token_count", &e.Tokens),
		}
	case t.Context != nil:
		c := t.Context
		return []property{
			requiredText("id", &c.ID), constantProperty("kind", "context"), titleProperty(c), statusProperty(&c.Status, memory.Active, memory.Retired),
			requiredTime("created_at", &c.CreatedAt, nil), requiredTime(updatedKey, &c.UpdatedAt, nil),
		}
	case t.Conversation != nil:
		c := t.Conversation
		return []property{
			requiredText("id", &c.ID), constantProperty("kind", "conversation"), optionalText("title", &c.Title), optionalText("project", &c.Project),
			optionalText("agent", &c.Agent), listProperty("contexts", &c.Contexts), requiredTime("created_at", &c.CreatedAt, nil), requiredTime(updatedKey, &c.UpdatedAt, nil),
		}
	}
	return nil
}

// scalarProperty returns a property with a scalar value. parse sets the value and reports whether it
// is valid; a missing key is passed as "".
func scalarProperty(key, expected string, format func(linkFunc) string, parse func(v string) bool) property {
	return property{key, format, func(r *frontReader) {
		if !parse(r.scalar(key, expected)) {
			r.fail(key, expected)
		}
	}}
}

// optionalText returns a text property whose key is omitted for "". A missing key sets the text to "".
func optionalText(key string, v *string) property {
	return property{key, func(linkFunc) string { return yamlOrEmpty(*v) }, func(r *frontReader) { *v = r.text(key) }}
}

// requiredText returns a text property whose key is always written. A missing key changes nothing.
func requiredText[T ~string](key string, v *T) property {
	return property{key, func(linkFunc) string { return yamlString(string(*v)) }, func(r *frontReader) { *v = cmp.Or(T(r.text(key)), *v) }}
}

// constantProperty returns a property whose only allowed value follows from the file's folder.
func constantProperty(key, allowed string) property {
	return property{key, func(linkFunc) string { return allowed }, func(r *frontReader) {
		if got := r.text(key); got != "" && got != allowed {
			r.failf("%s is %q, but must be %q in files of this folder: move the file to its folder, or use another name for a key of your own", key, got, allowed)
		}
	}}
}

func listProperty(key string, v *[]string) property {
	return property{key, func(linkFunc) string { return yamlList(*v) }, func(r *frontReader) { *v = r.list(key) }}
}

func optionalTime(key string, v *time.Time) property {
	return scalarProperty(key, expectedTime, func(linkFunc) string { return timeOrEmpty(*v) }, func(s string) (ok bool) {
		*v, ok = parseTime(s, time.Time{})
		return ok
	})
}

// requiredTime is requiredText for a time. A missing key sets a zero time to *fallback; fallback may
// be nil.
func requiredTime(key string, v, fallback *time.Time) property {
	return scalarProperty(key, expectedTime, func(linkFunc) string { return timeOrEmpty(*v) }, func(s string) (ok bool) {
		if v.IsZero() && fallback != nil {
			*v = *fallback
		}
		*v, ok = parseTime(s, *v)
		return ok
	})
}

const expectedTime = "a time like 2026-01-31T12:00:00Z or a day"

// parseTime parses a time in the forms that people write; "" returns fallback.
func parseTime(s string, fallback time.Time) (time.Time, bool) {
	if s == "" {
		return fallback, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return memory.Time(t), true
		}
	}
	return fallback, false
}

// optionalNumber returns a number property whose key is omitted for 0. A missing key sets the number to 0.
func optionalNumber[T int | int64](key string, v *T) property {
	p := requiredNumber(key, v)
	return property{key, func(linkFunc) string {
		if *v == 0 {
			return ""
		}
		return p.format(nil)
	}, func(r *frontReader) {
		*v = 0
		p.read(r)
	}}
}

func requiredNumber[T int | int64](key string, v *T) property {
	return scalarProperty(key, "a whole number", func(linkFunc) string { return strconv.FormatInt(int64(*v), 10) }, func(s string) bool {
		n, err := strconv.ParseInt(cmp.Or(s, strconv.FormatInt(int64(*v), 10)), 10, 64)
		*v = T(n)
		return err == nil
	})
}

func boolProperty(key string, v *bool) property {
	format := func(linkFunc) string {
		if *v {
			return "true"
		}
		return ""
	}
	return scalarProperty(key, "true or false", format, func(s string) bool {
		s = strings.ToLower(s)
		*v = s == "true" || s == "yes" || s == "on"
		return *v || s == "" || s == "false" || s == "no" || s == "off"
	})
}

// linkProperty returns a property whose value is a link to the memory *id.
func linkProperty(key string, id *string) property {
	format := func(link linkFunc) string {
		if *id == "" {
			return ""
		}
		return yamlString(link(*id))
	}
	return property{key, format, func(r *frontReader) { *id = idInLink(r.text(key)) }}
}

func conversationProperty(id *string) property {
	return property{conversationKey, func(linkFunc) string { return yamlString(cmp.Or(*id, globalFolder)) }, func(r *frontReader) { *id = r.conversation(*id) }}
}

// turnConversationProperty returns the property with a turn's conversation. In other folders than
// global, the folder's name determines the conversation, not the key's value.
func turnConversationProperty(u *memory.Turn) property {
	return property{conversationKey, func(linkFunc) string { return yamlString(u.Conversation) }, func(r *frontReader) {
		if r.path.conversation == globalFolder {
			u.Conversation = r.text(conversationKey)
		} else {
			u.Conversation = r.conversation(u.Conversation)
		}
	}}
}

func statusProperty(v *memory.Status, allowed ...memory.Status) property {
	return property{statusKey, func(linkFunc) string { return yamlString(string(*v)) }, func(r *frontReader) { *v = r.status(*v, allowed) }}
}

// titleProperty returns the property with a document's title. A new file's name is its default title.
func titleProperty(c *memory.Context) property {
	return property{"title", func(linkFunc) string { return yamlOrEmpty(c.Title) }, func(r *frontReader) {
		if r.isStored {
			c.Title = ""
		}
		c.Title = cmp.Or(r.text("title"), c.Title)
	}}
}

func pinnedProperty(f *memory.Fact) property {
	is := f.Pinned()
	p := boolProperty("pinned", &is)
	return property{p.key, p.format, func(r *frontReader) {
		p.read(r)
		f.Core = memory.Pin(is)
	}}
}

// coreProperty returns the property core. It is written only for never, which the key pinned cannot
// express.
func coreProperty(f *memory.Fact) property {
	format := func(linkFunc) string {
		if f.Core == memory.CoreNever {
			return string(f.Core)
		}
		return ""
	}
	return scalarProperty("core", "auto, always or never", format, func(s string) bool {
		return f.Core.UnmarshalText([]byte(cmp.Or(s, string(f.Core)))) == nil
	})
}

func confidenceProperty(f *memory.Fact) property {
	format := func(linkFunc) string { return strconv.FormatFloat(f.Confidence, 'g', -1, 64) }
	return scalarProperty("confidence", "a number from 0 to 1", format, func(s string) bool {
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

func trustProperty(f *memory.Fact) property {
	all := []memory.Trust{memory.TrustPerson, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted}
	return scalarProperty("trust", "one of person, user, assistant, untrusted", func(linkFunc) string { return yamlString(string(f.Trust)) }, func(s string) bool {
		f.Trust = cmp.Or(memory.Trust(s), f.Trust)
		return slices.Contains(all, f.Trust)
	})
}

func turnsProperty(f *memory.Fact) property {
	const key = "from_turns"
	format := func(link linkFunc) string {
		var links []string
		for _, id := range f.Provenance.Turns {
			links = append(links, link(id))
		}
		return yamlList(links)
	}
	return property{key, format, func(r *frontReader) {
		f.Provenance.Turns = nil
		for _, link := range r.list(key) {
			f.Provenance.Turns = append(f.Provenance.Turns, idInLink(link))
		}
	}}
}

// quoteProperty returns the property quote: the quoted span of a turn, written as "START-END LINK".
func quoteProperty(f *memory.Fact) property {
	format := func(link linkFunc) string {
		q := f.Provenance.Quote
		if q == nil {
			return ""
		}
		return yamlString(strconv.Itoa(q.Start) + "-" + strconv.Itoa(q.End) + " " + link(q.Turn))
	}
	return scalarProperty("quote", "two numbers and a turn, like 0-12 [[turn]]", format, func(s string) bool {
		if f.Provenance.Quote = nil; s == "" {
			return true
		}
		span, link, _ := strings.Cut(s, " ")
		from, to, _ := strings.Cut(span, "-")
		start, err1 := strconv.Atoi(from)
		end, err2 := strconv.Atoi(to)
		f.Provenance.Quote = &memory.Span{Turn: idInLink(link), Start: start, End: end}
		return err1 == nil && err2 == nil
	})
}

func metadataProperty(f *memory.Fact) property {
	return scalarProperty("metadata", "a JSON object in quotes", func(linkFunc) string { return yamlOrEmpty(string(f.Metadata)) }, func(s string) bool {
		s = strings.TrimSpace(s)
		if f.Metadata = nil; s != "" {
			f.Metadata = json.RawMessage(s)
		}
		return s == "" || json.Valid(f.Metadata) && s[0] == '{'
	})
}

func timeOrEmpty(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return rfc3339(memory.Time(t))
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339Nano) }

func yamlOrEmpty(text string) string {
	if text == "" {
		return ""
	}
	return yamlString(text)
}
