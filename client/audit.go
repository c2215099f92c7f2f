package client

import (
	"context"
	"time"

	"github.com/loci-memory/loci/memory"
)

// AuditEntry is one entry of the audit log.
type AuditEntry struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Act     string    `json:"act" doc:"The action: sign in, sign in refused, switch user, key made, key rotated, key removed, key refused, read memory and write memory (in another user's memory, by an administrator), export, import, back up, restore, erase user, open user, pause, reload."`
	By      string    `json:"by" doc:"The signed-in user or the key of the request, such as server key or key laptop."`
	User    string    `json:"user,omitempty" doc:"The user whose memory was concerned. A hash if the user was erased."`
	Detail  string    `json:"detail,omitempty"`
	Address string    `json:"address,omitempty" doc:"The client's IP address; for IPv6 only its network."`
	Request string    `json:"request,omitempty" doc:"The request's id in the access log."`
}

// Reloaded lists the settings whose values have changed since the server last read its settings.
type Reloaded struct {
	Applied      []string `json:"taken" doc:"Changed settings that apply from now on. Prompts and certificates are always read again."`
	AfterRestart []string `json:"at_start" doc:"Changed settings that apply after the next start."`
}

// Reload makes the server read its settings, prompts and certificates again. It needs an admin key.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	return post[Reloaded](ctx, c, "/api/reload", nil)
}

// AuditQuery selects entries of the audit log.
type AuditQuery struct {
	User   string    `query:"user" doc:"The user whose memory the entries concern."`
	Act    string    `query:"act"`
	Since  time.Time `query:"since"`
	Until  time.Time `query:"until" doc:"Exclusive."`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string    `query:"cursor" doc:"next_cursor of the previous page."`
}

// Audit is a page of the audit log, newest first.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	Next    string       `json:"next_cursor,omitempty"`
}

// Audit returns a page of the audit log. It needs an admin key.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (Audit, error) {
	return get[Audit](ctx, c, "/api/audit"+queryString(q))
}

// AllAudit returns all entries of the audit log that q selects. It needs an admin key.
func (c *Client) AllAudit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	return memory.Collect(memory.Pages(func(cursor string) ([]AuditEntry, string, error) {
		q.Limit, q.Cursor = pageSize, cursor
		page, err := c.Audit(ctx, q)
		return page.Entries, page.Next, err
	}))
}

// Setting is a setting with its current value, or without the value if it is a secret.
type Setting struct {
	Key   string `json:"key"`
	Env   string `json:"env"`
	Value string `json:"value" doc:"The value; for a secret only whether it is set."`
	From  string `json:"from" doc:"default, profile NAME, file, environment or flag"`
	Doc   string `json:"doc"`
}

// Own reports whether a profile, file, environment variable or flag sets the value.
func (s Setting) Own() bool { return s.From != "default" }

// Settings contains all settings.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// Settings returns the server's current settings.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, c, "/api/settings")
}
