package transfer

import (
	"bytes"
	"cmp"
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

// idPattern matches ids that Loci or clients choose.
var idPattern = lazy.Compile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

func checkIDs(field string, ids ...string) error {
	for _, id := range ids {
		if !idPattern.MatchString(id) || strings.Contains(id, "..") {
			return memory.Errorf(memory.Invalid, "%s: %.40q is not a valid Loci id", field, id)
		}
	}
	return nil
}

const (
	maxImportName  = 512 // bytes of a project's or category's name
	maxImportTitle = 4096
)

// checkNames checks values; its arguments are alternately field names and values.
func checkNames(fieldsAndValues ...string) error {
	for pair := range slices.Chunk(fieldsAndValues, 2) {
		if s := pair[1]; len(s) > maxImportName || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return memory.Errorf(memory.Invalid, "%s: %.40q is not a valid name of at most %d bytes", pair[0], s, maxImportName)
		}
	}
	return nil
}

func checkOneOf[T ~string](field string, value T, valid ...T) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return memory.Errorf(memory.Invalid, "%s: invalid value %.40q (valid: %v)", field, value, valid)
}

func require(condition bool, field, problem string) error {
	if condition {
		return nil
	}
	return memory.Errorf(memory.Invalid, "%s: %s", field, problem)
}

// normalizeRecord converts a record to a form that stores accept, or returns an error.
func (i *importer) normalizeRecord(r *portable.Record) error {
	switch {
	case r.Conversation != nil:
		return i.normalizeConversation(r.Conversation)
	case r.Turn != nil:
		return i.normalizeTurn(r.Turn)
	case r.Fact != nil:
		return i.normalizeFact(r.Fact, r.Foreign)
	case r.Summary != nil:
		s := r.Summary
		s.CreatedAt, s.Text = memory.Time(s.CreatedAt), i.redact(s.Text)
		return cmp.Or(
			require(strings.TrimSpace(s.Text) != "", "text", "is empty"), checkIDs("id", s.ID),
			checkNames("conversation", s.Scope.Conversation, "project", s.Scope.Project, "agent", s.Scope.Agent, "model", s.Model),
		)
	case r.Profile != nil:
		p := r.Profile
		p.UpdatedAt, p.Value = memory.Time(p.UpdatedAt), i.redact(p.Value)
		return cmp.Or(
			require(p.Key != "", "key", "is empty"), checkNames("key", p.Key),
			require(!strings.HasPrefix(p.Key, core.ReservedPrefix), "key", "is reserved for Loci's settings"),
		)
	case r.Context != nil:
		return i.normalizeContext(r.Context)
	}
	x := r.Relation
	x.CreatedAt = memory.Time(x.CreatedAt)
	return cmp.Or(checkOneOf("kind", x.Kind, memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows), checkIDs("from", x.From), checkIDs("to", x.To))
}

// normalizeContext does not redact a context's text, because a person wrote it.
func (i *importer) normalizeContext(c *memory.Context) error {
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	c.Title, c.Status = core.Clip(c.Title, maxImportTitle), cmp.Or(c.Status, memory.Active)
	_, err := i.transfer.CheckText("content", c.Content)
	return cmp.Or(err, checkOneOf("status", c.Status, memory.Active), require(!c.CreatedAt.IsZero(), "created_at", "is required"), checkIDs("id", c.ID))
}

func (i *importer) normalizeConversation(c *memory.Conversation) error {
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	c.Title = core.Clip(i.redact(c.Title), maxImportTitle)
	c.Status = cmp.Or(c.Status, memory.Active) // other formats have no status
	switch {
	case len(c.Contexts) > chats.MaxAttached:
		return memory.Errorf(memory.Invalid, "contexts: there are %d, more than the limit of %d", len(c.Contexts), chats.MaxAttached)
	case len(c.Rules) > i.transfer.Opts.MaxTextBytes:
		return memory.Errorf(memory.TooLarge, "rules: has %d bytes, more than the %d of limits.text", len(c.Rules), i.transfer.Opts.MaxTextBytes)
	}
	return cmp.Or(
		require(c.ID != "", "id", "is empty"), checkOneOf("status", c.Status, memory.Active, memory.Retired),
		checkIDs("contexts", c.Contexts...), checkNames("id", c.ID, "project", c.Project, "agent", c.Agent),
	)
}

func (i *importer) normalizeTurn(t *memory.Turn) error {
	t.CreatedAt, t.LearnedAt = memory.Time(t.CreatedAt), memory.Time(t.LearnedAt)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = i.transfer.Time()
	}
	mark := i.transfer.CutMark(t.Content)
	if t.Content = i.redact(t.Content); mark != "" {
		t.Content = i.transfer.StoredText(t.Content, mark)
	}
	if !i.Learn && t.LearnedAt.IsZero() && t.Role == memory.RoleUser {
		t.NoLearn = true
	}
	return cmp.Or(
		checkOneOf("role", t.Role, memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleTool),
		checkOneOf("status", t.Status, memory.Active, memory.Replaced, memory.Retired),
		require(t.Conversation != "", "conversation", "is required"), require(t.Index >= 0, "index", "is less than 0"), checkIDs("id", t.ID),
		checkNames("conversation", t.Conversation, "project", t.Project, "agent", t.Agent, "name", t.Name, "ref", t.Ref, "parent", t.Parent, "chain", t.Chain),
	)
}

func (i *importer) normalizeFact(f *memory.Fact, isForeign bool) error {
	if isForeign {
		i.setDefaults(f)
	}
	if f.Trust != memory.TrustPerson || isForeign {
		f.Content = i.redact(f.Content)
	}
	content, err := i.transfer.CheckText("content", f.Content)
	if err != nil {
		return err
	}
	if isForeign {
		f.Content = content
		f.ID = core.DerivedID(i.owner, importRunKind, f.Scope.Project, text.Hash(content))
		f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
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
	return cmp.Or(
		checkOneOf("status", f.Status, memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected),
		checkOneOf("source", f.Source, memory.Extracted, memory.Manual, memory.Imported, memory.FromFile),
		checkOneOf("trust", f.Trust, memory.TrustPerson, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted),
		require(!f.CreatedAt.IsZero() && !f.ObservedAt.IsZero(), "created_at and observed_at", "are required"),
		require(len(f.Tags) <= 64 && len(f.Provenance.Turns) <= 10_000, "tags and turns", "exceed the limits of a fact"),
		checkNames("category", f.Category, "project", f.Scope.Project, "agent", f.Scope.Agent, "conversation", f.Scope.Conversation,
			"subject", f.Subject, "attribute", f.Attribute, "model", f.Model, "tags", strings.Join(f.Tags, " ")),
		checkIDs("id", f.ID), checkIDs("superseded_by", cmp.Or(f.SupersededBy, f.ID)), curate.CheckFact(*f),
	)
}

// setDefaults sets the fields that a fact of another format lacks.
func (i *importer) setDefaults(f *memory.Fact) {
	f.Scope.Owner, f.Source, f.Confidence, f.Status = i.owner, memory.Imported, 1, memory.Active
	f.Category, f.Tags = core.Clip(strings.TrimSpace(f.Category), maxImportName), curate.NormalizeTags(f.Tags)
	f.CreatedAt = cmp.Or(f.CreatedAt, i.transfer.Time())
	f.UpdatedAt = cmp.Or(f.UpdatedAt, f.CreatedAt)
	f.ObservedAt = f.CreatedAt
}

func (i *importer) redact(s string) string {
	clean := learn.Redact(s, i.transfer.Opts.Learn.RedactPersonal)
	if clean != s {
		i.report.Redacted++
	}
	return clean
}
