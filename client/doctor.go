package client

import (
	"context"
)

// Checkup lists the checked parts of the installation and the problems found.
type Checkup struct {
	Checked       []string  `json:"checked" doc:"Description of each checked part."`
	Findings      []Finding `json:"findings" doc:"Problems; empty if there are none."`
	HeldDeletions int       `json:"held,omitempty" doc:"Number of files that are missing in the vault. Their memories are forgotten after a person confirms the deletions."`
}

// Finding is one problem that a checkup found.
type Finding struct {
	Part    string `json:"part" doc:"data folder, vault, database, index, models or users"`
	Path    string `json:"path,omitempty" doc:"Path within the part's folder."`
	Problem string `json:"what" doc:"The problem."`
	Fix     string `json:"do,omitempty" doc:"How a person can fix the problem."`
}

// Doctor checks the folders, the vault, the database, the index and the models.
func (c *Client) Doctor(ctx context.Context) (Checkup, error) {
	return get[Checkup](ctx, c, "/api/doctor")
}

// ConfirmDeletions forgets the memories of files that were deleted in bulk, and returns a new Checkup.
func (c *Client) ConfirmDeletions(ctx context.Context) (Checkup, error) {
	return post[Checkup](ctx, c, "/api/doctor/confirm", nil)
}
