//go:build demo

package assembly

import (
	"net/http"

	"github.com/loci-memory/loci/internal/engine"
)

func mcpHandler(*engine.Engine) http.Handler { return http.NotFoundHandler() }
