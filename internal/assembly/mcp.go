//go:build !demo

package assembly

import (
	"net/http"

	"github.com/loci-memory/loci/internal/api/mcp"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/obs"
)

const mcpPath = mcp.Path

func mcpHandler(e *engine.Engine) http.Handler {
	return mcp.New(e, mcp.Options{Version: obs.Version()})
}
