package client

import (
	"context"
	"io"
	"net/http"
)

// BackupQuery selects where a backup is kept.
type BackupQuery struct {
	To string `query:"to" maxLength:"4096" doc:"Where it is to be kept: receipts of erasures name it."`
}

// Backup makes a backup of all users' memory, and returns its stream, which must be closed, and its
// size in bytes, -1 if unknown. The stream is complete only if it ends in io.EOF.
func (c *Client) Backup(ctx context.Context, q BackupQuery) (archive io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/backup"+queryString(q), nil)
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}
