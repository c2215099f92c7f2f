// Package prompt contains Loci's prompts for models. Each prompt is an embedded Markdown file, and a file in the
// user's folder may replace it. The package neither calls models nor reads their replies.
//
// A file begins with a comment, <!-- … -->, that states the purpose of the prompt and is not sent. The system
// message follows and, below a line <!-- user -->, the user message. A file is a template of text/template, with
// placeholders for data such as {{TURNS}}. NAME.schema.json is the optional JSON schema of the reply. Users
// cannot replace a schema, because the parsers of replies depend on it.
package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"

	"github.com/loci-memory/loci/memory"
)

//go:embed templates
var embedded embed.FS

const userMessageLine = "<!-- user -->"

// Data is the data for a prompt. Its type selects the prompt.
type Data interface {
	promptName() string
	placeholderValues() map[string]string
}

// Set contains all prompts. The prompts that extract and reconcile facts ask for the same form of reply.
type Set struct {
	form    Form
	current *atomic.Pointer[promptFiles] // shared by all sets that [Set.WithForm] derives
}

// promptFiles has the prompts by name, and the variants for certain models.
type promptFiles struct {
	prompts  map[string]*prompt
	variants []variant
}

// ReplaceWith replaces the prompts of s, and of all sets that [Set.WithForm] derived from s, with the prompts
// of source.
func (s *Set) ReplaceWith(source *Set) { s.current.Store(source.current.Load()) }

func newSet(form Form, f promptFiles) *Set {
	s := &Set{form: form, current: new(atomic.Pointer[promptFiles])}
	s.current.Store(&f)
	return s
}

// variant is a prompt for models whose names begin with modelPrefix.
type variant struct {
	name, modelPrefix string
	prompt            *prompt
}

type prompt struct {
	file     string
	source   string
	hash     string
	schema   json.RawMessage
	isCustom bool                     // whether the file is from the user's folder
	parse    func() (messages, error) // parses the file at the first call
}

// messages are the system and the user message of a prompt.
type messages struct{ system, user *template.Template }

// Default returns the embedded prompts.
func Default() *Set {
	s, err := Open(nil)
	if err != nil {
		panic(err) // an embedded file is invalid, which a test finds
	}
	return s
}

// Open returns the embedded prompts, except those that files of overlay replace; overlay may be nil. Open
// parses every file of overlay and fills it once with sample data; embedded files are parsed on first use. For
// an invalid file, a missing placeholder or an unknown name it returns [memory.Invalid] with file and line.
func Open(overlay fs.FS) (*Set, error) {
	errs := []error{checkFileNames(overlay)}
	s := promptFiles{prompts: map[string]*prompt{}}
	for _, sample := range sampleData {
		p, err := loadPrompt(overlay, sample, sample.promptName()+".md")
		s.prompts[sample.promptName()] = p
		models, err2 := variantsOf(overlay, sample.promptName())
		errs = append(errs, err, err2)
		for _, model := range models {
			p, err := loadPrompt(overlay, sample, sample.promptName()+"@"+model+".md")
			errs = append(errs, err)
			s.variants = append(s.variants, variant{sample.promptName(), model, p})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return newSet("", s), nil
}

// variantsOf returns the sorted model prefixes of a prompt's variants.
func variantsOf(overlay fs.FS, name string) ([]string, error) {
	own, err := fs.Glob(embedded, "templates/"+name+"@*.md")
	if err != nil {
		return nil, fmt.Errorf("list prompts: %w", err)
	}
	if overlay != nil {
		custom, err := fs.Glob(overlay, name+"@*.md")
		if err != nil {
			return nil, fmt.Errorf("list prompts: %w", err)
		}
		own = append(own, custom...)
	}
	for i, file := range own {
		_, model, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".md"), "@")
		own[i] = model
	}
	slices.Sort(own)
	return slices.Compact(own), nil
}

// ForModel returns the set for a model: for each prompt the variant with the longest prefix of the model's name.
// Names are compared in lower case, without the part up to the last "/", and with "-" for characters that file
// names must not contain: extract@qwen2.5-7b.md is for qwen/qwen2.5:7b.
func (s *Set) ForModel(model string) *Set { return s.ForModels(Models{model, model, model}) }

// Models names the models that receive the prompts for learning, for POST /query and for chats; "" if unknown.
type Models struct{ Learn, Query, Chats string }

func (m Models) modelFor(name string) string {
	switch name {
	case Write{}.promptName(), Describe{}.promptName():
		return m.Query
	case System{}.promptName():
		return m.Chats
	}
	return m.Learn
}

// ForModels is like ForModel, with a model for each purpose.
func (s *Set) ForModels(models Models) *Set {
	all := s.current.Load()
	if len(all.variants) == 0 {
		return s
	}
	chosen := promptFiles{maps.Clone(all.prompts), all.variants}
	longest := map[string]int{}
	for _, v := range all.variants {
		model, prefix := modelFileName(models.modelFor(v.name)), modelFileName(v.modelPrefix)
		if strings.HasPrefix(model, prefix) && len(prefix) > longest[v.name] {
			chosen.prompts[v.name], longest[v.name] = v.prompt, len(prefix)
		}
	}
	return newSet(s.form, chosen)
}

// modelFileName returns a model's name as file names of variants contain it.
func modelFileName(model string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(model[strings.LastIndexByte(model, '/')+1:]))
}

// Names returns the names of all prompts, sorted.
func Names() []string {
	var names []string
	for _, sample := range sampleData {
		names = append(names, sample.promptName())
	}
	slices.Sort(names)
	return names
}

// File describes a prompt in use.
type File struct {
	Name         string   `json:"name"`
	Hash         string   `json:"hash"`               // hash of the file; stored in facts that a model extracted
	Path         string   `json:"file,omitempty"`     // path of the file in the user's folder
	Purpose      string   `json:"purpose"`            // the first sentence of the file's comment
	Placeholders []string `json:"placeholders"`       // required placeholders in order: "{{TURNS}}"
	Variants     []string `json:"variants,omitempty"` // model prefixes of all variants
	Source       string   `json:"source,omitempty"`
	Variant      string   `json:"-"` // model prefix of the variant in use; "" for none
}

// Files returns all prompts, ordered by name. folder is the path of the user's folder.
func (s *Set) Files(folder string) []File {
	var out []File
	for _, sample := range sampleData {
		p := s.current.Load().prompts[sample.promptName()]
		f := File{Name: sample.promptName(), Hash: p.hash, Source: p.source, Purpose: p.purpose(), Placeholders: placeholderNames(sample)}
		_, f.Variant, _ = strings.Cut(strings.TrimSuffix(p.file, ".md"), "@")
		if p.isCustom {
			f.Path = filepath.Join(folder, p.file)
		}
		for _, v := range s.current.Load().variants {
			if v.name == f.Name {
				f.Variants = append(f.Variants, v.modelPrefix)
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// File returns the prompt with this name, or the zero File.
func (s *Set) File(name string) File {
	for _, f := range s.Files("") {
		if f.Name == name {
			return f
		}
	}
	return File{}
}

func (p *prompt) purpose() string {
	head, _, _ := strings.Cut(strings.TrimPrefix(p.source, "<!--"), "-->")
	first, _, _ := strings.Cut(strings.Join(strings.Fields(head), " "), ". ")
	first, _, _ = strings.Cut(first, " Sent as:")
	return strings.TrimSuffix(strings.TrimPrefix(first, "What it is for: "), ".")
}

// Sample returns a prompt filled with sample data; its text is empty if the name is unknown.
func (s *Set) Sample(name string) (memory.Prompt, error) {
	for _, sample := range sampleData {
		if sample.promptName() == name {
			return s.fill(sample)
		}
	}
	return memory.Prompt{Name: name}, nil
}

// Fill returns the prompt for the data, with placeholders replaced.
func (s *Set) Fill(data Data) (memory.Prompt, error) { return s.fill(s.dataForForm(data)) }

func (s *Set) fill(data Data) (memory.Prompt, error) {
	p := s.current.Load().prompts[data.promptName()]
	m, err := p.parse()
	if err != nil {
		return memory.Prompt{}, err
	}
	system, user, err := m.fill(data)
	if err != nil {
		return memory.Prompt{}, err
	}
	return memory.Prompt{Name: data.promptName(), Hash: p.hash, System: system, User: user, Schema: p.schema}, nil
}

func checkFileNames(overlay fs.FS) error {
	if overlay == nil {
		return nil
	}
	files, err := fs.Glob(overlay, "*.md")
	if err != nil {
		return fmt.Errorf("list prompts: %w", err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(file, ".md"), "@")
		if name != "README" && !slices.Contains(Names(), name) {
			return memory.Errorf(memory.Invalid, "%s: no prompt has this name; there are %s", file, strings.Join(Names(), ", "))
		}
	}
	return nil
}

func loadPrompt(overlay fs.FS, sample Data, file string) (*prompt, error) {
	source, isCustom, err := readSource(overlay, file)
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	schema, err := embedded.ReadFile(path.Join("templates", sample.promptName()+".schema.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a schema the reply is plain text
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	sum := sha256.Sum256(source)
	p := &prompt{file: file, source: string(source), hash: hex.EncodeToString(sum[:6]), schema: schema, isCustom: isCustom}
	p.parse = sync.OnceValues(func() (messages, error) { return p.parseMessages(sample) })
	if !isCustom {
		return p, nil
	}
	_, err = p.parse()
	return p, err
}

// readSource returns a prompt's file. isCustom reports whether the file is from overlay.
func readSource(overlay fs.FS, file string) (source []byte, isCustom bool, err error) {
	if overlay != nil {
		source, err := fs.ReadFile(overlay, file)
		if !errors.Is(err, fs.ErrNotExist) {
			return source, true, err
		}
	}
	source, err = embedded.ReadFile(path.Join("templates", file))
	return source, false, err
}

// parseMessages parses and checks the messages of a prompt.
func (p *prompt) parseMessages(sample Data) (messages, error) {
	system, user, err := splitMessages(p.file, p.source)
	if err != nil {
		return messages{}, err
	}
	var m messages
	if m.system, err = parseTemplate(p.file, system, sample); err != nil {
		return messages{}, err
	}
	if m.user, err = parseTemplate(p.file, user, sample); err != nil {
		return messages{}, err
	}
	return m, m.checkSample(p.file, p.source, sample)
}

// fill returns the texts of the messages, with placeholders replaced by data.
func (m messages) fill(data Data) (system, user string, err error) {
	if system, err = render(m.system, data); err != nil {
		return "", "", err
	}
	user, err = render(m.user, data)
	return system, user, err
}

// splitMessages splits a file into the texts of the system message and the user message. Each text begins with
// empty lines in place of the file's preceding lines, so that errors show the line numbers of the file.
func splitMessages(file, source string) (system, user string, err error) {
	if !strings.HasPrefix(source, "<!--") {
		return "", "", memory.Errorf(memory.Invalid, "%s:1: begins without a comment <!-- … --> that states its purpose", file)
	}
	end := strings.Index(source, "-->")
	if end < 0 {
		return "", "", memory.Errorf(memory.Invalid, "%s:1: the comment has no end -->", file)
	}
	end += len("-->")
	head := blankLines(source[:end])
	system, user, found := strings.Cut(source[end:], userMessageLine)
	if !found {
		return "", "", memory.Errorf(memory.Invalid, "%s:%d: no line %s before the user message", file, strings.Count(source, "\n")+1, userMessageLine)
	}
	return head + system, head + blankLines(system) + user, nil
}

func blankLines(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

func parseTemplate(file, text string, sample Data) (*template.Template, error) {
	t, err := template.New(file).Funcs(placeholderFuncs(sample)).Parse(text)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "%s (placeholders: %s)", templateError(err), strings.Join(placeholderNames(sample), ", "))
	}
	return t, nil
}

func render(t *template.Template, data Data) (string, error) {
	own, err := t.Clone()
	if err != nil {
		return "", fmt.Errorf("fill prompt: %w", err)
	}
	var b strings.Builder
	if err := own.Funcs(placeholderFuncs(data)).Execute(&b, nil); err != nil {
		return "", memory.Errorf(memory.Invalid, "%s", templateError(err))
	}
	return strings.TrimSpace(b.String()), nil
}

// templateError returns the text of an error without the library's prefix, so that it begins with FILE:LINE.
func templateError(err error) string { return strings.TrimPrefix(err.Error(), "template: ") }

func placeholderFuncs(data Data) template.FuncMap {
	funcs := template.FuncMap{}
	for name, value := range data.placeholderValues() {
		funcs[name] = func() string { return value }
	}
	return funcs
}

func placeholderNames(data Data) []string {
	var out []string
	for name := range data.placeholderValues() {
		out = append(out, "{{"+name+"}}")
	}
	slices.Sort(out)
	return out
}

// checkSample fills the messages with the sample, and returns an error if the result lacks a value of the sample.
func (m messages) checkSample(file, source string, sample Data) error {
	system, user, err := m.fill(sample)
	if err != nil {
		return err
	}
	for name, value := range sample.placeholderValues() {
		if !optionalPlaceholders[name] && !strings.Contains(system, value) && !strings.Contains(user, value) {
			return memory.Errorf(memory.Invalid, "%s:1: {{%s}} is missing", file, name)
		}
	}
	if user == "" {
		return memory.Errorf(memory.Invalid, "%s:%d: the user message is empty", file, strings.Count(source, "\n")+1)
	}
	return nil
}
