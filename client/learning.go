package client

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// PreviewRequest contains messages. The server returns the changes that learning from them would make.
type PreviewRequest struct {
	Messages     []Message `json:"messages,omitempty" maxItems:"1000"`
	Text         string    `json:"text,omitempty" doc:"Shorthand for one user message."`
	Conversation string    `json:"conversation,omitempty" maxLength:"256" doc:"Conversation that the messages would continue."`
	Project      string    `json:"project,omitempty" maxLength:"256"`
}

// Preview contains the changes that learning from the messages would make.
type Preview struct {
	Changes   []Change   `json:"changes"`
	Decisions []Decision `json:"decisions" doc:"The decision on each statement, including ignored statements."`
	Forgotten []Memory   `json:"forgotten,omitempty" doc:"Memories that the messages ask to forget."`
}

// Decision is the outcome of learning for one statement.
type Decision struct {
	Statement string `json:"fact"`
	Action    string `json:"action" doc:"add, replace, delete, reinforce, pending or ignore"`
	TargetID  string `json:"target_id,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// UpkeepRequest asks for upkeep, which retires expired, faded and excess memories.
type UpkeepRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only return the memories that would be retired."`
}

// Upkeep lists the memories that upkeep retired or would retire.
type Upkeep struct {
	Changes []Change `json:"changes"`
	Run     string   `json:"run,omitempty" doc:"Id of the run, to undo the upkeep."`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// Pause says which part of a user's memory is paused.
type Pause struct {
	Pause string `json:"pause" enum:"none,learning,memory" doc:"learning: messages are stored, but Loci never learns from them; memory: chats neither read nor write memory."`
}

// RelearnRequest selects turns to learn from again. An empty field selects all turns.
type RelearnRequest struct {
	Conversation string     `json:"conversation,omitempty" maxLength:"256"`
	Since        *time.Time `json:"since,omitempty" doc:"Only turns of this time or later."`
}

// Relearning is the result of a [RelearnRequest]: the amount of queued work.
type Relearning struct {
	Turns int `json:"turns" doc:"Number of turns to learn from again."`
}

// UsageList is the usage of models.
type UsageList struct {
	Usage []memory.Usage `json:"usage" doc:"Usage by day, purpose and model."`
}

// Preview returns the changes that learning from messages would make, without making them.
func (c *Client) Preview(ctx context.Context, in PreviewRequest) (Preview, error) {
	return post[Preview](ctx, c, "/api/memory/preview", in)
}

// Upkeep retires expired, faded and excess memories.
func (c *Client) Upkeep(ctx context.Context, in UpkeepRequest) (Upkeep, error) {
	return post[Upkeep](ctx, c, "/api/upkeep", in)
}

// PauseState returns which part of the user's memory is paused.
func (c *Client) PauseState(ctx context.Context) (Pause, error) {
	return get[Pause](ctx, c, "/api/pause")
}

// Pause pauses memory, or resumes it.
func (c *Client) Pause(ctx context.Context, in Pause) (Pause, error) {
	return call[Pause](ctx, c, http.MethodPut, "/api/pause", in)
}

// Relearn queues jobs that learn from turns again.
func (c *Client) Relearn(ctx context.Context, in RelearnRequest) (Relearning, error) {
	return post[Relearning](ctx, c, "/api/relearn", in)
}

// Usage returns the usage of models from the day of since on, or all usage if since is zero.
func (c *Client) Usage(ctx context.Context, since time.Time) (UsageList, error) {
	path := "/api/usage"
	if !since.IsZero() {
		path += "?since=" + since.UTC().Format(time.RFC3339)
	}
	return get[UsageList](ctx, c, path)
}

// Stats contains a user's counts, and quality measures over all users since the server's start.
type Stats struct {
	memory.Counts
	Total           int     `json:"memory_total_count" doc:"Number of active facts, turns and summaries."`
	ReplacementRate float64 `json:"memory_replacement_rate" doc:"Share of the facts stored since the server's start that replaced another fact, for all users together."`
	DedupRate       float64 `json:"memory_dedup_rate" doc:"Share of the facts extracted since the server's start that were stored already."`
	HitRate         float64 `json:"retrieval_hit_rate" doc:"Share of the memories put into prompts since the server's start that answers used."`
	Pause           string  `json:"pause" doc:"What is paused: none, learning or memory."`
}

// Stats returns the statistics.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, "/api/stats")
}
