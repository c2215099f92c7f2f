package client

import (
	"context"
)

// Checkup is what was looked at and what is wrong with it.
type Checkup struct {
	Checked  []string  `json:"checked" doc:"What was looked at, in words."`
	Findings []Finding `json:"findings" doc:"What is wrong, empty if nothing is."`
	Held     int       `json:"held,omitempty" doc:"How many files of the vault are gone at once and are not forgotten until that is confirmed."`
}

// Finding is one thing that is wrong.
type Finding struct {
	Part string `json:"part" doc:"data folder, vault, database, index, models or users"`
	Path string `json:"path,omitempty" doc:"In the part's folder."`
	What string `json:"what"`
	Do   string `json:"do,omitempty" doc:"What a person can do about it."`
}

// Doctor says what is wrong with the folders, the vault, the database, the index and the models.
func (c *Client) Doctor(ctx context.Context) (Checkup, error) {
	return get[Checkup](ctx, c, "/api/doctor")
}

// ConfirmDeletions lets files be forgotten that are gone from the vault at once, and
// says what is wrong then.
func (c *Client) ConfirmDeletions(ctx context.Context) (Checkup, error) {
	return post[Checkup](ctx, c, "/api/doctor/confirm", nil)
}
