package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d serverAPI) backupOperations(a adder) {
	operation(a, http.MethodPost, "/api/backup", "back-up", "Make a backup of the memory of all users, and take it away", d.backUp, func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: streams("application/zip")}}
	})
}

// backUp is for whoever runs the server: a backup has everybody's memory.
func (d serverAPI) backUp(ctx context.Context, in *client.BackupQuery) (*huma.StreamResponse, error) {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return nil, memory.Errorf(memory.Forbidden, "backups are made by whoever runs the server")
	}
	if d.Backup == nil {
		return nil, memory.Errorf(memory.NotFound, "this server makes no backups")
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
			_ = httpx.Tell(c.Context(), err) // it logs; nobody can be told any more
			panic(http.ErrAbortHandler)      // or what is cut off would look whole
		}
	}}, nil
}
