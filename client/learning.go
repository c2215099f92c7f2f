package client

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// PreviewRequest is the messages to preview learning from.
type PreviewRequest struct {
	Messages     []Message `json:"messages,omitempty" maxItems:"1000"`
	Text         string    `json:"text,omitempty" doc:"Short for one user message."`
	Conversation string    `json:"conversation,omitempty" maxLength:"256" doc:"Which one it would continue."`
	Project      string    `json:"project,omitempty" maxLength:"256"`
}

// Preview is what learning would change.
type Preview struct {
	Changes   []Change   `json:"changes"`
	Decisions []Decision `json:"decisions" doc:"What would become of each statement, those passed over too."`
	Forgotten []Memory   `json:"forgotten,omitempty" doc:"What its wishes to forget mean."`
}

// Decision is the outcome of one statement.
type Decision struct {
	Fact   string `json:"fact"`
	Action string `json:"action" doc:"add, replace, delete, reinforce, pending or ignore"`
	Target string `json:"target_id,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// UpkeepRequest asks for upkeep: removing expired, faded and excess memories from recall.
type UpkeepRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say what would leave."`
}

// Upkeep is what left recall, or would.
type Upkeep struct {
	Changes []Change `json:"changes"`
	Run     string   `json:"run,omitempty" doc:"Undoes it."`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// Pause is which part of memory a user has paused.
type Pause struct {
	Pause string `json:"pause" enum:"none,learning,memory" doc:"learning: what is said is kept and never learned from; memory: chats neither read memory nor leave anything in it."`
}

// RelearnRequest selects turns to learn from again. Empty fields do not narrow.
type RelearnRequest struct {
	Conversation string     `json:"conversation,omitempty" maxLength:"256"`
	Since        *time.Time `json:"since,omitempty" doc:"Said at this time or later."`
}

// Relearning is how much is learned again, in the background.
type Relearning struct {
	Turns int `json:"turns"`
}

// UsageList is the usage of models.
type UsageList struct {
	Usage []memory.Usage `json:"usage" doc:"By day, purpose and model."`
}

// Preview returns what learning from messages would change, and changes nothing.
func (c *Client) Preview(ctx context.Context, in PreviewRequest) (Preview, error) {
	return post[Preview](ctx, c, "/api/memory/preview", in)
}

// Upkeep removes expired, faded and excess memories from recall.
func (c *Client) Upkeep(ctx context.Context, in UpkeepRequest) (Upkeep, error) {
	return post[Upkeep](ctx, c, "/api/upkeep", in)
}

// Paused returns the user's pause.
func (c *Client) Paused(ctx context.Context) (Pause, error) {
	return get[Pause](ctx, c, "/api/pause")
}

// Pause pauses memory, or resumes it.
func (c *Client) Pause(ctx context.Context, in Pause) (Pause, error) {
	return call[Pause](ctx, c, http.MethodPut, "/api/pause", in)
}

// Relearn queues learning again.
func (c *Client) Relearn(ctx context.Context, in RelearnRequest) (Relearning, error) {
	return post[Relearning](ctx, c, "/api/relearn", in)
}

// Usage returns the usage of models since a day; the zero time: all.
func (c *Client) Usage(ctx context.Context, since time.Time) (UsageList, error) {
	path := "/api/usage"
	if !since.IsZero() {
		path += "?since=" + since.UTC().Format(time.RFC3339)
	}
	return get[UsageList](ctx, c, path)
}

// Stats is how much a user has stored, and how well memory works for all.
type Stats struct {
	memory.Counts
	Total       int     `json:"memory_total_count" doc:"Active facts, turns and summaries."`
	Replacement float64 `json:"memory_replacement_rate" doc:"Of what was stored since the server's start, the share that replaced something; all users together."`
	Dedup       float64 `json:"memory_dedup_rate" doc:"Of what was extracted since then, the share that was known already."`
	Hit         float64 `json:"retrieval_hit_rate" doc:"Of what was put into prompts since then, the share that answers used."`
	Pause       string  `json:"pause" doc:"What is on hold: none, learning or memory."`
}

// Stats returns the statistics.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, "/api/stats")
}
