package client

import (
	"context"
	"io"
	"net/http"
)

// BackupQuery describes where the caller will store a backup.
type BackupQuery struct {
	To string `query:"to" maxLength:"4096" doc:"Where the backup will be stored. Receipts of erasures name this place."`
}

// Backup makes a backup of all users' memory. It returns the stream, which the caller must close,
// and its size in bytes, or -1. The stream is complete only if it ends with io.EOF.
func (c *Client) Backup(ctx context.Context, q BackupQuery) (archive io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/backup"+queryString(q), nil)
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}
