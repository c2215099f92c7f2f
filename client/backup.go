package client

import (
	"context"
	"io"
	"net/http"
)

// BackupQuery names the place where the caller will store a backup.
type BackupQuery struct {
	To string `query:"to" maxLength:"4096" doc:"File or place where the backup will be stored. Receipts of later erasures name it, since the backup still contains the erased text."`
}

// Backup makes a backup of all users' memory. It returns the archive, which the caller must close, and its
// size in bytes, or -1 if the size is unknown. The archive is complete only if reading it ends with io.EOF.
func (c *Client) Backup(ctx context.Context, q BackupQuery) (archive io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/backup"+queryString(q), nil)
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}
