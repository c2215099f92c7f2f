package client

import (
	"context"
	"io"
	"net/http"
)

// BackupQuery says where a backup is to be kept.
type BackupQuery struct {
	To string `query:"to" maxLength:"4096" doc:"Where it is to be kept: receipts of erasures name it."`
}

// Backup has a backup made of the memory of all users, and returns a stream of it, which
// must be closed, and its size in bytes, -1 if that is not known. What it yields is whole
// only if it ends in io.EOF.
func (c *Client) Backup(ctx context.Context, q BackupQuery) (archive io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, http.MethodPost, "/api/backup"+queryString(q), nil)
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}
