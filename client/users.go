package client

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// User is a user of the server.
type User struct {
	User   string `json:"user" doc:"The user's id in requests."`
	Name   string `json:"name,omitempty" doc:"The user's name in a front end."`
	Closed bool   `json:"closed,omitempty" doc:"Whether the user was erased and has not been opened again."`
}

// Users is a page of users, ordered by id.
type Users struct {
	Users []User `json:"users"`
	Next  string `json:"next_cursor,omitempty"`
}

// UsersQuery selects a page of users.
type UsersQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next_cursor of the previous page."`
}

// Users returns all users, ordered by id. It needs an admin key.
func (c *Client) Users(ctx context.Context) (users []User, err error) {
	return memory.Collect(memory.Pages(func(cursor string) ([]User, string, error) {
		page, err := get[Users](ctx, c, "/api/users"+queryString(UsersQuery{Limit: pageSize, Cursor: cursor}))
		return page.Users, page.Next, err
	}))
}
