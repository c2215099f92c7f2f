package rest

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// ImportPath is the path of the import. The import reads its body as a stream.
const ImportPath = "/api/import"

// mediaTypes are the content types of exports.
var mediaTypes = map[portable.Format]string{
	portable.JSONL:    "application/x-ndjson",
	portable.Markdown: "text/markdown; charset=utf-8",
	portable.Zip:      "application/zip",
}

func (d *handler) addTransferOperations(a registrar) {
	register(a, http.MethodGet, "/api/export", "export", "Export memory as a stream", d.exportMemory, func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: binaryContent("application/x-ndjson", "text/markdown", "application/zip")}}
	})
	registerForCaller(a, http.MethodPost, ImportPath, "import", "Import an export of Loci or of another program; the body is read as a stream", d.importMemory, func(op *huma.Operation) {
		op.RequestBody = &huma.RequestBody{Required: true, Content: binaryContent("application/x-ndjson", "text/markdown", "text/plain")}
		op.Middlewares = append(op.Middlewares, withBody)
	})
}

// binaryContent describes streamed bodies for the OpenAPI document.
func binaryContent(contentTypes ...string) map[string]*huma.MediaType {
	out := map[string]*huma.MediaType{}
	for _, m := range contentTypes {
		out[m] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
	}
	return out
}

type bodyContextKey struct{}

// withBody passes the unread request body to the handler.
func withBody(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	next(huma.WithValue(ctx, bodyContextKey{}, io.Reader(r.Body)))
}

// serveStreamed checks only the path and the query, because the handler checks the body while it reads the body.
func serveStreamed(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if err := checkText(r, nil); err != nil {
		httpx.WriteError(w, r, err)
		return
	}
	next.ServeHTTP(w, r)
}

func (d *handler) exportMemory(ctx context.Context, in *client.ExportQuery) (*huma.StreamResponse, error) {
	by, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	parts, err := parseList("parts", in.Parts, transfer.TurnPart, transfer.FactPart, transfer.SummaryPart, transfer.ProfilePart, transfer.RelationPart)
	if err != nil {
		return nil, err
	}
	statuses, err := parseList("status", in.Status, memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected)
	if err != nil {
		return nil, err
	}
	options := transfer.ExportOptions{
		Format: portable.Format(in.Format), Parts: parts, Statuses: statuses, Project: in.Project,
		At: memory.At{AsOf: in.AsOf, ValidAt: in.ValidAt},
	}
	if err := options.Check(); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		out := &exportWriter{ResponseWriter: w}
		w.Header().Set("Content-Type", mediaTypes[options.Format])
		err := d.engine.Transfer.Export(c.Context(), by.owner, options, out)
		switch {
		case err == nil:
		case out.lastErr != nil: // the client disconnected
			panic(http.ErrAbortHandler)
		case !out.started:
			httpx.WriteError(w, r, err)
		default:
			_ = httpx.LogProblem(c.Context(), err) // only logs, because the status is already sent
			panic(http.ErrAbortHandler)            // a truncated export must not look complete
		}
	}}, nil
}

// exportWriter records whether anything was written, and the last write error.
type exportWriter struct {
	http.ResponseWriter
	started bool
	lastErr error
}

func (b *exportWriter) Write(p []byte) (n int, err error) {
	b.started = true
	n, b.lastErr = b.ResponseWriter.Write(p)
	return n, b.lastErr
}

type importInput struct {
	Idempotent
	client.ImportQuery
}

func (d *handler) importMemory(ctx context.Context, by caller, in *importInput) (out client.Imported, err error) {
	file, ok := ctx.Value(bodyContextKey{}).(io.Reader)
	if !ok {
		return out, memory.Errorf(memory.Invalid, "missing body")
	}
	report, err := d.engine.Transfer.Import(ctx, by.owner, transfer.ImportOptions{
		Format: portable.Format(in.Format), Project: in.Project,
		DryRun: in.DryRun, Strict: in.Strict, Learn: in.Learn, IdempotencyKey: in.Key,
	}, by.author, file)
	if err != nil {
		_, _ = io.Copy(io.Discard, file) // clients read the response only after they have sent the whole body
		return out, err
	}
	return importView(report, in.DryRun), nil
}

func importView(report transfer.ImportReport, dryRun bool) client.Imported {
	out := client.Imported{
		DryRun: dryRun, Read: report.Read, Added: client.Tally(report.Added), AlreadyStored: client.Tally(report.Existing), Duplicates: report.Duplicates,
		Waiting: report.Waiting, Redacted: report.Redacted, Conflicting: report.Conflicting, Broken: report.Broken,
		Conflicts: problemViews(report.Conflicts), Problems: problemViews(report.Problems), Runs: report.Runs, Jobs: report.Jobs,
	}
	for _, i := range report.Sample {
		s := client.ImportedSample{Target: i.Target(), Status: i.Status()}
		switch {
		case i.Fact != nil:
			s.Content = i.Fact.Content
		case i.Summary != nil:
			s.Content = i.Summary.Text
		case i.Profile != nil:
			s.Content = i.Profile.Value
		case i.Context != nil:
			s.Content = i.Context.Content
		}
		out.Sample = append(out.Sample, s)
	}
	return out
}

func problemViews(in []transfer.ImportProblem) []client.ImportTrouble {
	var out []client.ImportTrouble
	for _, t := range in {
		out = append(out, client.ImportTrouble(t))
	}
	return out
}
