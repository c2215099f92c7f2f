package client

import (
	"context"
	"time"

	"github.com/loci-memory/loci/memory"
)

// AuditEntry is one recorded act.
type AuditEntry struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Act     string    `json:"act" doc:"What was done: sign in, sign in refused, switch user, key made, key rotated, key removed, key refused, read memory and write memory (of another user, by whoever runs the server), export, import, back up, restore, erase user, open user, pause, reload."`
	By      string    `json:"by" doc:"Who it was: a user who proved it, or what they came with, such as server key or key laptop."`
	User    string    `json:"user,omitempty" doc:"Whose memory it was about. Of an erased user a hash."`
	Detail  string    `json:"detail,omitempty"`
	Address string    `json:"address,omitempty" doc:"The client's address, of IPv6 its network."`
	Request string    `json:"request,omitempty" doc:"The request's id, as the access log has it."`
}

// Reloaded is the settings that a server reloaded.
type Reloaded struct {
	Taken   []string `json:"taken" doc:"Settings that differ and hold from now on. Prompts and certificates are read again in any case."`
	AtStart []string `json:"at_start" doc:"Settings that differ and hold after the next start."`
}

// Reload makes the server read its settings, prompts and certificates again. It needs an admin key.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	return post[Reloaded](ctx, c, "/api/reload", nil)
}

// AuditQuery selects entries of the record.
type AuditQuery struct {
	User   string    `query:"user" doc:"Whose memory they are about."`
	Act    string    `query:"act"`
	Since  time.Time `query:"since"`
	Until  time.Time `query:"until" doc:"Exclusive."`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string    `query:"cursor" doc:"next_cursor of the page before."`
}

// Audit is a page of the record, newest first.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	Next    string       `json:"next_cursor,omitempty"`
}

// Audit returns a page of the record. It needs an admin key.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (Audit, error) {
	return get[Audit](ctx, c, "/api/audit"+queryString(q))
}

// AllAudit returns every entry that matches. It needs an admin key.
func (c *Client) AllAudit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	return memory.Collect(memory.Pages(func(cursor string) ([]AuditEntry, string, error) {
		q.Limit, q.Cursor = pageSize, cursor
		page, err := c.Audit(ctx, q)
		return page.Entries, page.Next, err
	}))
}

// Setting is a setting as people are shown it.
type Setting struct {
	Key   string `json:"key"`
	Env   string `json:"env"`
	Value string `json:"value" doc:"Of a secret only that it is set."`
	From  string `json:"from" doc:"default, profile NAME, file, environment or flag"`
	Doc   string `json:"doc"`
}

// Own reports whether somebody set it.
func (s Setting) Own() bool { return s.From != "default" }

// Settings are all settings.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// Settings returns the settings in effect on the server.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, c, "/api/settings")
}
