//go:build demo

package assembly

import (
	"net/http"

	"github.com/loci-memory/loci/internal/engine"
)

const mcpPath = "/mcp"

func mcpHandler(*engine.Engine) http.Handler { return http.NotFoundHandler() }
