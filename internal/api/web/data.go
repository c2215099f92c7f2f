package web

import (
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// dataView is where memory is taken away, brought and erased.
type dataView struct {
	Here    string
	Counts  memory.Counts
	Brought *brought // what an import did, or would do; nil: none was asked for
	Format  string
	Project string
	Learn   bool
}

// brought is what became of a file.
type brought struct {
	transfer.ImportReport
	File   string
	Dry    bool
	Kinds  []kindBrought
	Sample []sample
	Undo   []string // the runs to take back; none if they are too many
	Wrong  string   // why it ended before its end
}

// kindBrought counts things of one kind that a file has.
type kindBrought struct {
	Name         string
	Added, There int
}

// sample is one of what was added.
type sample struct {
	Content string
	Status  memory.Status
}

// portions are what an export may hold.
var portions = []transfer.Part{transfer.FactPart, transfer.TurnPart, transfer.SummaryPart, transfer.ProfilePart, transfer.RelationPart}

// Portions are what an export may hold, to choose from.
func (dataView) Portions() []transfer.Part { return portions }

func (p *Page) data(r *http.Request, v visit) (any, error) {
	counts, err := p.engine.Stats(r.Context(), v.owner)
	return dataView{Here: here(r), Counts: counts}, err
}

// exports are the formats that are written: what they are, and how a file of each is
// called.
var exports = map[portable.Format]struct{ media, name string }{
	portable.JSONL:    {"application/x-ndjson", "jsonl"},
	portable.Markdown: {"text/markdown; charset=utf-8", "md"},
	portable.Zip:      {"application/zip", "zip"},
}

// export sends memory as a file, as it is walked.
func (p *Page) export(w http.ResponseWriter, r *http.Request, v visit) error {
	format := portable.Format(cmp.Or(r.Form.Get("format"), string(portable.JSONL)))
	kind, ok := exports[format]
	if !ok {
		return memory.Errorf(memory.Invalid, "there is no format %q", clip(20, string(format)))
	}
	what := transfer.ExportOptions{Format: format}
	for _, part := range r.Form["part"] {
		if !slices.Contains(portions, transfer.Part(part)) {
			return memory.Errorf(memory.Invalid, "there is nothing called %q to export", clip(20, part))
		}
		what.Parts = append(what.Parts, transfer.Part(part))
	}
	if err := what.Check(); err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind.media)
	w.Header().Set("Content-Disposition", `attachment; filename="loci-`+v.now.In(p.Zone).Format("2006-01-02")+"."+kind.name+`"`)
	if err := p.engine.Transfer.Export(r.Context(), v.owner, what, w); err != nil {
		_ = httpx.Tell(r.Context(), err) // it logs; nobody can be told any more
		panic(http.ErrAbortHandler)      // or what is cut off would look whole
	}
	return nil
}

// bring reads a file into memory or, with do=look, only says what that would do. The
// file comes last in the form and is read as it comes, so that its size is that of a
// body and no copy of it is kept.
func (p *Page) bring(w http.ResponseWriter, r *http.Request, v visit) error {
	view := dataView{Here: "/data"}
	err := p.readFile(r, v, &view)
	if err != nil && view.Brought == nil {
		return tooLong(err)
	}
	if view.Counts, err = p.engine.Stats(r.Context(), v.owner); err != nil {
		return err
	}
	p.render(w, r, http.StatusOK, "data", p.frame(w, r, v, view))
	return nil
}

// tooLong says what to do with a file that is longer than a request may be.
func tooLong(err error) error {
	if is := new(http.MaxBytesError); errors.As(err, &is) {
		return memory.Errorf(memory.TooLarge, "the file is longer than a request may be, %d bytes (limits.body); loci import takes it", is.Limit)
	}
	return err
}

// maxField is how many bytes a field beside the file may have.
const maxField = 1 << 10

// readFile reads the parts of the form up to the file, and that into memory.
func (p *Page) readFile(r *http.Request, v visit, view *dataView) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return memory.Errorf(memory.Invalid, "the form cannot be read: %v", err)
	}
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return memory.Errorf(memory.Invalid, "choose a file")
		case err != nil:
			return memory.Errorf(memory.Invalid, "the form was cut off: %w", err)
		case part.FormName() == "file":
			if part.FileName() == "" {
				return memory.Errorf(memory.Invalid, "choose a file")
			}
			return p.takeFile(r, v, view, part)
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil || !utf8.Valid(value) {
			return memory.Errorf(memory.Invalid, "the form cannot be read")
		}
		switch part.FormName() {
		case "format":
			view.Format = string(value)
		case "project":
			view.Project = strings.TrimSpace(string(value))
		case "learn":
			view.Learn = len(value) > 0
		}
	}
}

// undoable is how many runs one form takes back at most.
const undoable = listed + hits

func (p *Page) takeFile(r *http.Request, v visit, view *dataView, part *multipart.Part) error {
	b := &brought{File: clip(80, part.FileName()), Dry: r.URL.Query().Get("do") == "look"}
	format := portable.Format(view.Format)
	if format == "" {
		format = formatOf(part.FileName())
	}
	out, err := p.engine.Transfer.Import(r.Context(), v.owner, transfer.ImportOptions{Format: format, Project: view.Project, Learn: view.Learn, DryRun: b.Dry}, v.author, part)
	if err != nil {
		if out.Read == 0 {
			return err
		}
		b.Wrong = httpx.Tell(r.Context(), tooLong(err)).Detail
	}
	b.ImportReport = out
	for _, k := range []kindBrought{
		{"fact", out.Added.Facts, out.There.Facts}, {"conversation", out.Added.Conversations, out.There.Conversations}, {"turn", out.Added.Turns, out.There.Turns},
		{"summary", out.Added.Summaries, out.There.Summaries}, {"profile entry", out.Added.Profile, out.There.Profile}, {"relation", out.Added.Relations, out.There.Relations}, {"context", out.Added.Contexts, out.There.Contexts},
	} {
		if k.Added+k.There > 0 {
			b.Kinds = append(b.Kinds, k)
		}
	}
	for _, i := range out.Sample {
		b.Sample = append(b.Sample, sample{wordsOf(i), i.Status()})
	}
	if !b.Dry && len(out.Runs) <= undoable {
		b.Undo = out.Runs
	}
	view.Brought = b
	return nil
}

// formatOf guesses what a file is by its name.
func formatOf(name string) portable.Format {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	switch path.Ext(name) {
	case ".md", ".markdown":
		return portable.Markdown
	case ".txt":
		return portable.List
	case ".json":
		if strings.Contains(name, "conversations") {
			return portable.ChatGPT
		}
		return portable.Mem0
	}
	return portable.JSONL
}
