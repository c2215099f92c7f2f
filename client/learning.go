package client

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// PreviewRequest is talk that might be learned from.
type PreviewRequest struct {
	Messages     []Message `json:"messages,omitempty" maxItems:"1000"`
	Text         string    `json:"text,omitempty" doc:"Short for one user message."`
	Conversation string    `json:"conversation,omitempty" maxLength:"256" doc:"Which one it would continue."`
	Project      string    `json:"project,omitempty" maxLength:"256"`
}

// Preview is what learning from talk would change.
type Preview struct {
	Changes   []Change   `json:"changes"`
	Decisions []Decision `json:"decisions" doc:"What would become of each statement, those passed over too."`
	Forgotten []Memory   `json:"forgotten,omitempty" doc:"What its wishes to forget mean."`
}

// Decision is what becomes of one statement.
type Decision struct {
	Fact   string `json:"fact"`
	Action string `json:"action" doc:"add, replace, delete, reinforce, pending or ignore"`
	Target string `json:"target_id,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// UpkeepRequest asks to take out of recall what expired, faded or is too much.
type UpkeepRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say what would leave."`
}

// Upkeep is what left, or would.
type Upkeep struct {
	Changes []Change `json:"changes"`
	Run     string   `json:"run,omitempty" doc:"Undoes it."`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// Pause is what of their memory a user has put on hold.
type Pause struct {
	Pause string `json:"pause" enum:"none,learning,memory" doc:"learning: what is said is kept and never learned from; memory: chats neither read memory nor leave anything in it."`
}

// RelearnRequest says which turns are to be learned from again. Empty fields do not
// narrow.
type RelearnRequest struct {
	Conversation string     `json:"conversation,omitempty" maxLength:"256"`
	Since        *time.Time `json:"since,omitempty" doc:"Said at this time or later."`
}

// Relearning says how much is learned from again, in the background.
type Relearning struct {
	Turns int `json:"turns"`
}

// UsageList is what models were paid for.
type UsageList struct {
	Usage []memory.Usage `json:"usage" doc:"By day, purpose and model."`
}

// Preview says what learning from talk would change, and changes nothing.
func (c *Client) Preview(ctx context.Context, in PreviewRequest) (Preview, error) {
	return post[Preview](ctx, c, "/api/memory/preview", in)
}

// Upkeep takes out of recall what expired, faded or is too much.
func (c *Client) Upkeep(ctx context.Context, in UpkeepRequest) (Upkeep, error) {
	return post[Upkeep](ctx, c, "/api/upkeep", in)
}

// Paused says what is on hold.
func (c *Client) Paused(ctx context.Context) (Pause, error) {
	return get[Pause](ctx, c, "/api/pause")
}

// Pause puts memory on hold, or takes it off.
func (c *Client) Pause(ctx context.Context, in Pause) (Pause, error) {
	return call[Pause](ctx, c, http.MethodPut, "/api/pause", in)
}

// Relearn queues learning again.
func (c *Client) Relearn(ctx context.Context, in RelearnRequest) (Relearning, error) {
	return post[Relearning](ctx, c, "/api/relearn", in)
}

// Usage says what models were paid for since a day; the zero time: ever.
func (c *Client) Usage(ctx context.Context, since time.Time) (UsageList, error) {
	path := "/api/usage"
	if !since.IsZero() {
		path += "?since=" + since.UTC().Format(time.RFC3339)
	}
	return get[UsageList](ctx, c, path)
}

// Stats is how much a user has, and how well memory works for all.
type Stats struct {
	memory.Counts
	Total       int     `json:"memory_total_count" doc:"Active facts, turns and summaries."`
	Replacement float64 `json:"memory_replacement_rate" doc:"Of what was stored since the server's start, the share that replaced something; all users together."`
	Dedup       float64 `json:"memory_dedup_rate" doc:"Of what was extracted since then, the share that was known already."`
	Hit         float64 `json:"retrieval_hit_rate" doc:"Of what was put into prompts since then, the share that answers used."`
	Pause       string  `json:"pause" doc:"What is on hold: none, learning or memory."`
}

// Stats says how much there is.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, "/api/stats")
}
