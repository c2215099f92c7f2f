package web

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// dataView is the page on which memory is exported, imported and erased.
type dataView struct {
	Here     string // path and query of this view
	Counts   memory.Counts
	Imported *importResult // result of an import or of its preview; nil if neither was requested
	Format   string        // format that the user chose; "" detects it
	Project  string        // project for the imported facts
	Learn    bool          // also learn from imported turns
}

// importResult is the result of importing a file.
type importResult struct {
	transfer.ImportReport
	File     string // name of the imported file
	DryRun   bool   // the import was only previewed
	Kinds    []importedKind
	Sample   []importSample // some of the imported memories
	UndoRuns []string       // runs that undo the import; empty if there are too many
	Error    string         // reason why the import stopped early
}

// importedKind counts the file's records of one kind.
type importedKind struct {
	Name            string
	Added, Existing int // number of records that were added, and that existed before
}

type importSample struct {
	Content string
	Status  memory.Status
}

// exportParts are the parts that an export can contain.
var exportParts = []transfer.Part{transfer.FactPart, transfer.TurnPart, transfer.SummaryPart, transfer.ProfilePart, transfer.RelationPart}

// Portions are the parts of an export, to choose from.
func (dataView) Portions() []transfer.Part { return exportParts }

func (p *Page) dataView(r *http.Request, v visit) (any, error) {
	counts, err := p.engine.Stats(r.Context(), v.owner)
	return dataView{Here: viewURL(r), Counts: counts}, err
}

// exportFormats are the formats of exports, each with its media type and its file name extension.
var exportFormats = map[portable.Format]struct{ media, name string }{
	portable.JSONL:    {"application/x-ndjson", "jsonl"},
	portable.Markdown: {"text/markdown; charset=utf-8", "md"},
	portable.Zip:      {"application/zip", "zip"},
}

// exportFile streams memory as a file.
func (p *Page) exportFile(w http.ResponseWriter, r *http.Request, v visit) error {
	format := portable.Format(cmp.Or(r.Form.Get("format"), string(portable.JSONL)))
	kind, ok := exportFormats[format]
	if !ok {
		return memory.Errorf(memory.Invalid, "unknown format %q", clip(20, string(format)))
	}
	opts := transfer.ExportOptions{Format: format}
	for _, part := range r.Form["part"] {
		if !slices.Contains(exportParts, transfer.Part(part)) {
			return memory.Errorf(memory.Invalid, "unknown part %q: it cannot be exported", clip(20, part))
		}
		opts.Parts = append(opts.Parts, transfer.Part(part))
	}
	if err := opts.Check(); err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind.media)
	w.Header().Set("Content-Disposition", `attachment; filename="loci-`+v.now.In(p.Zone).Format("2006-01-02")+"."+kind.name+`"`)
	if err := p.engine.Transfer.Export(r.Context(), v.owner, opts, w); err != nil {
		_ = httpx.LogProblem(r.Context(), err) // only logs, because the status is already sent
		panic(http.ErrAbortHandler)            // a truncated export must not look complete
	}
	return nil
}

// importFile imports a file or, with do=look, only shows the effect of an import. The file is the last part of
// the form and is read as a stream: only the maximum body size limits it, and no copy is stored.
func (p *Page) importFile(w http.ResponseWriter, r *http.Request, v visit) error {
	view := dataView{Here: "/data"}
	err := p.readImportForm(r, v, &view)
	if err != nil && view.Imported == nil {
		return explainTooLong(err)
	}
	if view.Counts, err = p.engine.Stats(r.Context(), v.owner); err != nil {
		return err
	}
	p.render(w, r, http.StatusOK, "data", p.newLayout(w, r, v, view))
	return nil
}

// explainTooLong adds the alternative to the error for a file that exceeds the maximum request body.
func explainTooLong(err error) error {
	if is := new(http.MaxBytesError); errors.As(err, &is) {
		return memory.Errorf(memory.TooLarge, "the file is longer than the %d bytes of a request (limits.body); the command loci import accepts it", is.Limit)
	}
	return err
}

// maxFieldBytes is the maximum length of each form field before the file.
const maxFieldBytes = 1 << 10

// readImportForm reads the form's parts up to the file, and imports the file.
func (p *Page) readImportForm(r *http.Request, v visit, view *dataView) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return memory.Errorf(memory.Invalid, "cannot read the form: %v", err)
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
			return p.importPart(r, v, view, part)
		}
		value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes))
		if err != nil || !utf8.Valid(value) {
			return memory.Errorf(memory.Invalid, "cannot read the form")
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

// sniffBytes is the number of bytes from which the format of a file is detected.
const sniffBytes = 64 << 10

// maxUndoRuns is the maximum number of runs that one form undoes.
const maxUndoRuns = listPageSize + maxHits

func (p *Page) importPart(r *http.Request, v visit, view *dataView, part *multipart.Part) error {
	b := &importResult{File: clip(80, part.FileName()), DryRun: r.URL.Query().Get("do") == "look"}
	file := bufio.NewReaderSize(part, sniffBytes)
	format := portable.Format(view.Format)
	if format == "" {
		head, _ := file.Peek(sniffBytes) // the import reports read errors
		format = portable.FormatOf(part.FileName(), head)
	}
	out, err := p.engine.Transfer.Import(r.Context(), v.owner, transfer.ImportOptions{Format: format, Project: view.Project, Learn: view.Learn, DryRun: b.DryRun}, v.author, file)
	if err != nil {
		if out.Read == 0 {
			return err
		}
		b.Error = httpx.LogProblem(r.Context(), explainTooLong(err)).Detail
	}
	b.ImportReport = out
	for _, k := range []importedKind{
		{"fact", out.Added.Facts, out.Existing.Facts}, {"conversation", out.Added.Conversations, out.Existing.Conversations}, {"turn", out.Added.Turns, out.Existing.Turns},
		{"summary", out.Added.Summaries, out.Existing.Summaries}, {"profile entry", out.Added.Profile, out.Existing.Profile}, {"relation", out.Added.Relations, out.Existing.Relations}, {"context", out.Added.Contexts, out.Existing.Contexts},
	} {
		if k.Added+k.Existing > 0 {
			b.Kinds = append(b.Kinds, k)
		}
	}
	for _, i := range out.Sample {
		b.Sample = append(b.Sample, importSample{stateText(i), i.Status()})
	}
	if !b.DryRun && len(out.Runs) <= maxUndoRuns {
		b.UndoRuns = out.Runs
	}
	view.Imported = b
	return nil
}
