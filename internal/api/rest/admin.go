package rest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// ByKeyID is the path parameter with a key's id.
type ByKeyID struct {
	ID string `path:"id" maxLength:"64" doc:"The key's id, not the key."`
}

// Error messages for callers who are not admins.
const (
	keysDenial     = "keys are for admins only"
	checkupsDenial = "checkups are for admins only"
)

// addAdminOperations registers the operations for admins, such as backups and checkups, which cover all users.
func (d *handler) addAdminOperations(a registrar) {
	checkup := func(confirm bool) func(context.Context, *struct{}) (client.Checkup, error) {
		return func(ctx context.Context, _ *struct{}) (client.Checkup, error) { return d.Doctor(ctx, confirm) }
	}
	registerForAdmin(a, http.MethodGet, "/api/doctor", "get-doctor", "Check the folders, the vault, the database, the index and the models", checkupsDenial, checkup(false))
	registerForAdmin(a, http.MethodPost, "/api/doctor/confirm", "confirm-deletions", "Forget memories whose files were deleted from the vault, without waiting", checkupsDenial, checkup(true))
	register(a, http.MethodPost, "/api/backup", "back-up", "Back up the memory of all users, and download the archive", d.backUp, func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: binaryContent("application/zip")}}
	})
	registerForAdmin(a, http.MethodGet, "/api/keys", "list-keys", "List the stored API keys, without their secret texts", keysDenial, func(ctx context.Context, _ *struct{}) (out client.Keys, err error) {
		all, err := d.Keys.List(ctx)
		return client.Keys{Keys: mapSlice(all, keyView)}, err
	})
	registerForAdmin(a, http.MethodPost, "/api/keys", "add-key", "Create an API key; only this response contains the key itself", keysDenial, func(ctx context.Context, in *body[client.NewKey]) (client.MadeKey, error) {
		k := memory.Key{Name: in.Body.Name, Role: memory.KeyRole(in.Body.Role), User: in.Body.User, ExpiresAt: in.Body.ExpiresAt}
		if in.Body.Scope == string(memory.ScopeRead) {
			k.Scope = memory.ScopeRead
		}
		if err := d.recordAudit(ctx, "key made", k.User, k.Name+" ("+in.Body.Role+")"); err != nil {
			return client.MadeKey{}, err
		}
		return newKeyResponse(d.Keys.Add(ctx, k))
	}, withStatusCreated)
	registerForAdmin(a, http.MethodPost, "/api/keys/{id}/rotate", "rotate-key", "Replace an API key; the old one stays valid for the grace period", keysDenial, func(ctx context.Context, in *rotateKeyInput) (client.MadeKey, error) {
		if err := d.recordAudit(ctx, "key rotated", "", in.ID); err != nil {
			return client.MadeKey{}, err
		}
		return newKeyResponse(d.Keys.Rotate(ctx, in.ID, time.Duration(in.Body.GraceSeconds)*time.Second, in.Body.ExpiresAt))
	}, withStatusCreated)
	register(a, http.MethodDelete, "/api/keys/{id}", "remove-key", "Remove an API key; requests with it are refused from now on", func(ctx context.Context, in *ByKeyID) (*struct{}, error) {
		err := requireAdmin(ctx, keysDenial)
		if err == nil {
			err = d.recordAudit(ctx, "key removed", "", in.ID)
		}
		if err != nil {
			return nil, err
		}
		return nil, d.Keys.Remove(ctx, in.ID)
	})
	registerForAdmin(a, http.MethodPost, "/api/reload", "reload", "Reload settings, prompts and certificates; an error changes nothing", "settings are for admins only", func(ctx context.Context, _ *struct{}) (client.Reloaded, error) {
		return d.Reload(ctx)
	})
	registerForAdmin(a, http.MethodGet, "/api/settings", "list-settings", "List the settings in effect; for secrets, only whether they are set", "settings are for admins only", func(context.Context, *struct{}) (client.Settings, error) {
		return client.Settings{Settings: d.Settings()}, nil
	})
	registerForAdmin(a, http.MethodGet, "/api/audit", "list-audit", "List the audit record of sign-ins, keys and admin actions, newest first", "the audit record is for admins only", d.listAudit)
}

type rotateKeyInput struct {
	ByKeyID
	Body client.RotateKey
}

// recordAudit writes an action to the audit record before the action runs.
func (d *handler) recordAudit(ctx context.Context, action, user, detail string) error {
	if d.RecordAudit == nil {
		return nil
	}
	return d.RecordAudit(ctx, memory.AuditEntry{Act: action, User: user, Detail: detail})
}

func (d *handler) listAudit(ctx context.Context, in *client.AuditQuery) (client.Audit, error) {
	page, err := d.engine.Store.AuditEntries(ctx, httpx.IdentityOf(ctx).Namespace, memory.AuditQuery{
		User: in.User, Act: in.Act, Since: in.Since, Until: in.Until, Limit: in.Limit, Cursor: in.Cursor,
	})
	return client.Audit{Next: page.Next, Entries: mapSlice(page.Entries, func(e memory.AuditEntry) client.AuditEntry { return client.AuditEntry(e) })}, err
}

func newKeyResponse(text string, k memory.Key, err error) (client.MadeKey, error) {
	return client.MadeKey{Key: keyView(k), Text: text}, err
}

func keyView(k memory.Key) client.Key {
	return client.Key{
		ID: k.ID(), Name: k.Name, Role: string(k.Role), User: k.User, Scope: cmp.Or(string(k.Scope), "write"), CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, UsedAt: k.UsedAt,
	}
}

func (d *handler) backUp(ctx context.Context, in *client.BackupQuery) (*huma.StreamResponse, error) {
	if err := requireAdmin(ctx, "backups are for admins only"); err != nil {
		return nil, err
	}
	archive, size, err := d.Backup(ctx, in.To)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		_, w := humago.Unwrap(c)
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		_, err := io.Copy(w, archive)
		if err := errors.Join(err, archive.Close()); err != nil {
			_ = httpx.LogProblem(c.Context(), err) // only logs, because the status is already sent
			panic(http.ErrAbortHandler)            // a truncated file must not look complete
		}
	}}, nil
}
