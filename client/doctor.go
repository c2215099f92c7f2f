package client

import (
	"context"
)

// Checkup is the checked parts and the findings.
type Checkup struct {
	Checked  []string  `json:"checked" doc:"What was looked at, in words."`
	Findings []Finding `json:"findings" doc:"What is wrong, empty if nothing is."`
	Held     int       `json:"held,omitempty" doc:"How many files of the vault are gone at once and are not forgotten until that is confirmed."`
}

// Finding is one problem.
type Finding struct {
	Part string `json:"part" doc:"data folder, vault, database, index, models or users"`
	Path string `json:"path,omitempty" doc:"In the part's folder."`
	What string `json:"what"`
	Do   string `json:"do,omitempty" doc:"What a person can do about it."`
}

// Doctor checks the folders, the vault, the database, the index and the models.
func (c *Client) Doctor(ctx context.Context) (Checkup, error) {
	return get[Checkup](ctx, c, "/api/doctor")
}

// ConfirmDeletions forgets the files removed from the vault all at once, and checks again.
func (c *Client) ConfirmDeletions(ctx context.Context) (Checkup, error) {
	return post[Checkup](ctx, c, "/api/doctor/confirm", nil)
}
