package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ExportQuery selects the content of an export. An empty field selects all memory.
type ExportQuery struct {
	Format  string    `query:"format" enum:"jsonl,markdown,zip" default:"jsonl" doc:"jsonl: one JSON object per line. markdown: one page for people. zip: Markdown files."`
	Parts   string    `query:"parts" doc:"turns, facts, summaries, profile, relations; comma-separated; default: all."`
	Status  string    `query:"status" doc:"active, pending, superseded, retired, rejected, replaced; comma-separated; default: all."`
	Project string    `query:"project"`
	AsOf    time.Time `query:"as_of" doc:"Export memory as recorded at this time."`
	ValidAt time.Time `query:"valid_at" doc:"Export facts that were true at this time."`
}

// ImportQuery describes the file to import.
type ImportQuery struct {
	Format  string `query:"format" enum:"jsonl,markdown,list,chatgpt,claude,mem0,basic-memory,agent-cli" default:"jsonl" doc:"Format of the file; docs/portable.md describes the formats."`
	Project string `query:"project" maxLength:"256" doc:"Project for facts and chats from other programs' exports."`
	DryRun  bool   `query:"dry_run" doc:"Only return the records that would be added."`
	Strict  bool   `query:"strict" doc:"Stop at the first unreadable line. Records before this line remain imported."`
	Learn   bool   `query:"learn" doc:"Learn from imported turns that have not been learned from."`
}

// Imported is the result of an import, or of a dry run.
type Imported struct {
	DryRun        bool             `json:"dry_run"`
	Read          int              `json:"read" doc:"Number of records read."`
	Added         Tally            `json:"added"`
	AlreadyStored Tally            `json:"there" doc:"Records that were stored already."`
	Duplicates    int              `json:"duplicates" doc:"Facts skipped because an existing fact has the same text."`
	Waiting       int              `json:"waiting" doc:"Number of added facts that wait for approval."`
	Redacted      int              `json:"redacted" doc:"Number of texts in which secrets were redacted."`
	Conflicting   int              `json:"conflicting" doc:"Number of conflicts."`
	Conflicts     []ImportTrouble  `json:"conflicts,omitempty" doc:"The first hundred records that differ from the stored record with the same id. The stored records were not changed."`
	Broken        int              `json:"broken" doc:"Number of unreadable lines."`
	Problems      []ImportTrouble  `json:"problems,omitempty" doc:"The first hundred unreadable lines."`
	Sample        []ImportedSample `json:"sample,omitempty" doc:"Some of the added records."`
	Runs          []string         `json:"runs,omitempty" doc:"The first hundred ids of runs, to undo the import."`
	Jobs          int              `json:"jobs,omitempty" doc:"Number of queued learning jobs."`
}

// Tally contains the numbers of records by kind.
type Tally struct {
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"`
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Profile       int `json:"profile"`
	Relations     int `json:"relations"`
	Contexts      int `json:"contexts"`
}

// Sum returns the total over all kinds.
func (t Tally) Sum() int {
	return t.Conversations + t.Turns + t.Facts + t.Summaries + t.Profile + t.Relations + t.Contexts
}

// ImportTrouble is a line or record that was not imported, with the reason.
type ImportTrouble struct {
	Line   int    `json:"line" doc:"Line number from 1, or for a JSON list the position in the list."`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason"`
}

// ImportedSample is one added record, shown as an example.
type ImportedSample struct {
	Target  string        `json:"target"`
	Content string        `json:"content,omitempty"`
	Status  memory.Status `json:"status"`
}

// Export returns a stream of exported memory, which the caller must close. The stream is complete only if
// reading it ends with io.EOF.
func (c *Client) Export(ctx context.Context, q ExportQuery) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, "/api/export"+queryString(q), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Import imports a file. If the idempotency key is not empty and was used before, no record is written.
func (c *Client) Import(ctx context.Context, q ImportQuery, file io.Reader, key string) (out Imported, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/import"+queryString(q), file, "Content-Type", importMediaType(q.Format), "Idempotency-Key", key)
	if err != nil {
		return out, err
	}
	return out, decode(resp, &out)
}

// importMediaType returns the media type of a file in an import format.
func importMediaType(format string) string {
	switch format {
	case "chatgpt", "claude", "mem0":
		return "application/json"
	case "", "jsonl":
		return "application/x-ndjson"
	}
	return "text/markdown"
}
