package client

import (
	"context"
	"iter"

	"github.com/loci-memory/loci/memory"
)

// AllMemories yields all memories that a query selects.
func (c *Client) AllMemories(ctx context.Context, q ListQuery) iter.Seq2[Memory, error] {
	q.Limit = pageSize
	return memory.Pages(func(cursor string) ([]Memory, string, error) {
		q.Cursor = cursor
		page, err := c.List(ctx, q)
		return page.Memories, page.Next, err
	})
}

// AllChanges yields all changes that a query selects, newest first.
func (c *Client) AllChanges(ctx context.Context, q ChangesQuery) iter.Seq2[Change, error] {
	q.Limit = pageSize
	return memory.Pages(func(cursor string) ([]Change, string, error) {
		q.Cursor = cursor
		page, err := c.Changes(ctx, q)
		return page.Changes, page.Next, err
	})
}

// pageSize is the number of entries in a page: the maximum of the API.
const pageSize = 500
