package transfer

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Ids as Loci makes them, and names of conversations, which clients choose.
var idForm = lazy.Compile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

func checkID(name, id string) error {
	if !idForm.MatchString(id) || strings.Contains(id, "..") {
		return memory.Errorf(memory.Invalid, "%s: %.40q is not a valid id of Loci's", name, id)
	}
	return nil
}

func checkName(name, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return memory.Errorf(memory.Invalid, "%s: %.40q is not a name of at most %d bytes", name, s, most)
	}
	return nil
}

const (
	maxImportName  = 512 // of what only names something: projects, categories
	maxImportTitle = 4096
)

func checkNames(pairs ...string) error {
	for n := 0; n+1 < len(pairs); n += 2 {
		if err := checkName(pairs[n], pairs[n+1], maxImportName); err != nil {
			return err
		}
	}
	return nil
}

// fit makes a record one that stores take, or says why it is none.
func (i *importer) fit(r *portable.Record) error {
	switch {
	case r.Conversation != nil:
		return i.fitConversation(r)
	case r.Turn != nil:
		return i.fitTurn(r)
	case r.Fact != nil:
		return i.fitFact(r)
	case r.Summary != nil:
		s := r.Summary
		s.CreatedAt = memory.Time(s.CreatedAt)
		s.Text = i.redact(s.Text)
		if strings.TrimSpace(s.Text) == "" {
			return memory.Errorf(memory.Invalid, "text: is empty")
		}
		if err := checkNames("conversation", s.Scope.Conversation, "project", s.Scope.Project, "agent", s.Scope.Agent, "model", s.Model); err != nil {
			return err
		}
		return checkID("id", s.ID)
	case r.Profile != nil:
		p := r.Profile
		p.UpdatedAt, p.Value = memory.Time(p.UpdatedAt), i.redact(p.Value)
		if strings.HasPrefix(p.Key, core.OwnKeys) {
			return memory.Errorf(memory.Invalid, "key: %.40q is a setting of Loci's own", p.Key)
		}
		if p.Key == "" {
			return memory.Errorf(memory.Invalid, "key: is empty")
		}
		return checkName("key", p.Key, maxImportName)
	}
	if r.Context != nil {
		return i.fitContext(r)
	}
	x := r.Relation
	x.CreatedAt = memory.Time(x.CreatedAt)
	if !slices.Contains([]memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}, x.Kind) {
		return memory.Errorf(memory.Invalid, "kind: %.40q is not a valid kind of relation", x.Kind)
	}
	return errors.Join(checkID("from", x.From), checkID("to", x.To))
}

// fitContext keeps a context's words as they are: a person wrote them.
func (i *importer) fitContext(r *portable.Record) error {
	c := r.Context
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	c.Title, c.Status = core.Clip(c.Title, maxImportTitle), cmp.Or(c.Status, memory.Active)
	if _, err := i.e.CheckText("content", c.Content); err != nil {
		return err
	}
	switch {
	case c.Status != memory.Active:
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a context that is exported", c.Status)
	case c.CreatedAt.IsZero():
		return memory.Errorf(memory.Invalid, "created_at: a context has it")
	}
	return checkID("id", c.ID)
}

func (i *importer) fitConversation(r *portable.Record) error {
	c := r.Conversation
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	c.Title = core.Clip(i.redact(c.Title), maxImportTitle)
	c.Status = cmp.Or(c.Status, memory.Active) // others' formats say none
	switch {
	case c.ID == "":
		return memory.Errorf(memory.Invalid, "id: is empty")
	case c.Status != memory.Active && c.Status != memory.Retired:
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a conversation", c.Status)
	case len(c.Contexts) > chats.MaxAttached:
		return memory.Errorf(memory.Invalid, "contexts: are %d, more than %d", len(c.Contexts), chats.MaxAttached)
	case len(c.Rules) > i.e.Opts.MaxText:
		return memory.Errorf(memory.TooLarge, "rules: has %d bytes, more than the %d of limits.text", len(c.Rules), i.e.Opts.MaxText)
	}
	for _, id := range c.Contexts {
		if err := checkID("contexts", id); err != nil {
			return err
		}
	}
	return checkNames("id", c.ID, "project", c.Project, "agent", c.Agent)
}

func (i *importer) fitTurn(r *portable.Record) error {
	t := r.Turn
	if !slices.Contains([]memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleTool}, t.Role) {
		return memory.Errorf(memory.Invalid, "role: %.40q is none of user, assistant, system and tool", t.Role)
	}
	if !slices.Contains([]memory.Status{memory.Active, memory.Replaced, memory.Retired}, t.Status) {
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a turn", t.Status)
	}
	if t.Conversation == "" || t.Index < 0 {
		return memory.Errorf(memory.Invalid, "a turn needs a conversation and an index of 0 or more")
	}
	t.CreatedAt, t.LearnedAt = memory.Time(t.CreatedAt), memory.Time(t.LearnedAt)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = i.e.Time()
	}
	mark := i.e.CutMark(t.Content)
	t.Content = i.redact(t.Content)
	if mark != "" {
		t.Content = i.e.Stored(t.Content, mark)
	}
	if !i.Learn && t.LearnedAt.IsZero() && t.Role == memory.RoleUser {
		t.NoLearn = true
	}
	if err := checkNames("conversation", t.Conversation, "project", t.Project, "agent", t.Agent, "name", t.Name, "ref", t.Ref, "parent", t.Parent, "chain", t.Chain); err != nil {
		return err
	}
	return checkID("id", t.ID)
}

func (i *importer) fitFact(r *portable.Record) error {
	f := r.Fact
	if r.Made {
		i.make(f)
	}
	if f.Trust != memory.TrustPerson || r.Made {
		f.Content = i.redact(f.Content)
	}
	content, err := i.e.CheckText("content", f.Content)
	if err != nil {
		return err
	}
	if r.Made {
		f.Content = content
		f.ID = core.DerivedID(i.owner, imports, f.Scope.Project, text.Hash(content))
		f.Subject, f.Attribute = extract.Classify(content)
		if learn.ReadsLikeInstruction(content) {
			f.Status = memory.Pending
		}
	}
	f.Hash = text.Hash(f.Content)
	for _, t := range []*time.Time{&f.ObservedAt, &f.ValidFrom, &f.ValidTo, &f.CreatedAt, &f.UpdatedAt, &f.ExpiresAt} {
		*t = memory.Time(*t)
	}
	if bytes.Equal(bytes.TrimSpace(f.Metadata), []byte("null")) {
		f.Metadata = nil
	}
	switch {
	case !slices.Contains([]memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected}, f.Status):
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a fact", f.Status)
	case !slices.Contains([]memory.FactSource{memory.Extracted, memory.Manual, memory.Imported, memory.FromFile}, f.Source):
		return memory.Errorf(memory.Invalid, "source: %.40q is none of extracted, manual, imported and file", f.Source)
	case !slices.Contains([]memory.Trust{memory.TrustPerson, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted}, f.Trust):
		return memory.Errorf(memory.Invalid, "trust: %.40q is none of person, user, assistant and untrusted", f.Trust)
	case f.CreatedAt.IsZero(), f.ObservedAt.IsZero():
		return memory.Errorf(memory.Invalid, "created_at and observed_at: a fact has both")
	case len(f.Tags) > 64 || len(f.Provenance.Turns) > 10_000:
		return memory.Errorf(memory.Invalid, "more tags or turns than a fact has")
	}
	if err := checkNames("category", f.Category, "project", f.Scope.Project, "agent", f.Scope.Agent, "conversation", f.Scope.Conversation,
		"subject", f.Subject, "attribute", f.Attribute, "model", f.Model, "tags", strings.Join(f.Tags, " ")); err != nil {
		return err
	}
	if f.SupersededBy != "" {
		if err := checkID("superseded_by", f.SupersededBy); err != nil {
			return err
		}
	}
	return errors.Join(checkID("id", f.ID), curate.CheckFact(*f))
}

// make gives a fact of others' words what they do not say.
func (i *importer) make(f *memory.Fact) {
	now := i.e.Time()
	f.Scope.Owner, f.Source, f.Confidence, f.Status = i.owner, memory.Imported, 1, memory.Active
	f.Category, f.Tags = core.Clip(strings.TrimSpace(f.Category), maxImportName), curate.Tags(f.Tags)
	if f.CreatedAt.IsZero() {
		f.CreatedAt = now
	}
	if f.UpdatedAt.IsZero() {
		f.UpdatedAt = f.CreatedAt
	}
	f.ObservedAt = f.CreatedAt
}

func (i *importer) redact(s string) string {
	clean := learn.Redact(s, i.e.Opts.Learn.Personal)
	if clean != s {
		i.out.Redacted++
	}
	return clean
}
