package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ExportQuery selects the content of an export. Empty fields do not narrow.
type ExportQuery struct {
	Format  string    `query:"format" enum:"jsonl,markdown,zip" default:"jsonl" doc:"jsonl: one JSON object a line. markdown: one page for people. zip: Markdown files."`
	Parts   string    `query:"parts" doc:"turns, facts, summaries, profile, relations; several with commas, all unless given."`
	Status  string    `query:"status" doc:"active, pending, superseded, retired, rejected, replaced; several with commas, all unless given."`
	Project string    `query:"project"`
	AsOf    time.Time `query:"as_of" doc:"What was known then."`
	ValidAt time.Time `query:"valid_at" doc:"What was true then."`
}

// ImportQuery describes the file to import.
type ImportQuery struct {
	Format  string `query:"format" enum:"jsonl,markdown,list,chatgpt,claude,mem0,basic-memory,agent-cli" default:"jsonl" doc:"What is sent; docs/portable.md tells of each."`
	Project string `query:"project" maxLength:"256" doc:"What others' facts and chats belong to."`
	DryRun  bool   `query:"dry_run" doc:"Only say what would be added."`
	Strict  bool   `query:"strict" doc:"End at the first line that cannot be read; what stood before it stays."`
	Learn   bool   `query:"learn" doc:"Learn from turns that wait for it."`
}

// Imported is the result of an import or a dry run.
type Imported struct {
	DryRun      bool             `json:"dry_run"`
	Read        int              `json:"read" doc:"Records that were read."`
	Added       Tally            `json:"added"`
	There       Tally            `json:"there" doc:"What was there already."`
	Duplicates  int              `json:"duplicates" doc:"Facts that a live one says already, left out."`
	Waiting     int              `json:"waiting" doc:"Of the added facts, those that wait for a person."`
	Redacted    int              `json:"redacted" doc:"Texts that had secrets blanked."`
	Conflicting int              `json:"conflicting" doc:"How many conflicts there are."`
	Conflicts   []ImportTrouble  `json:"conflicts,omitempty" doc:"What is other here than in the file, and was left as it is; the first hundred."`
	Broken      int              `json:"broken" doc:"How many lines could not be read."`
	Problems    []ImportTrouble  `json:"problems,omitempty" doc:"The first hundred of them."`
	Sample      []ImportedSample `json:"sample,omitempty" doc:"Some of what was added."`
	Runs        []string         `json:"runs,omitempty" doc:"Runs that undo takes; the first hundred."`
	Jobs        int              `json:"jobs,omitempty" doc:"Learning that was queued."`
}

// Tally counts by kind.
type Tally struct {
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"`
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Profile       int `json:"profile"`
	Relations     int `json:"relations"`
	Contexts      int `json:"contexts"`
}

// Sum is the total over all kinds.
func (t Tally) Sum() int {
	return t.Conversations + t.Turns + t.Facts + t.Summaries + t.Profile + t.Relations + t.Contexts
}

// ImportTrouble is a skipped line.
type ImportTrouble struct {
	Line   int    `json:"line" doc:"From 1; of a JSON list the place in it."`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason"`
}

// ImportedSample is one added record.
type ImportedSample struct {
	Target  string        `json:"target"`
	Content string        `json:"content,omitempty"`
	Status  memory.Status `json:"status"`
}

// Export returns a stream of memory, which must be closed. It is complete only if it ends in
// io.EOF.
func (c *Client) Export(ctx context.Context, q ExportQuery) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, "/api/export"+queryString(q), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Import sends a file to import. A repeated key, if not "", writes nothing.
func (c *Client) Import(ctx context.Context, q ImportQuery, file io.Reader, key string) (out Imported, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/import"+queryString(q), file, "Content-Type", importType(q.Format), "Idempotency-Key", key)
	if err != nil {
		return out, err
	}
	return out, decode(resp, &out)
}

// importType is the media type of a format.
func importType(format string) string {
	switch format {
	case "chatgpt", "claude", "mem0":
		return "application/json"
	case "", "jsonl":
		return "application/x-ndjson"
	}
	return "text/markdown"
}
