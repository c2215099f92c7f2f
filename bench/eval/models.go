package eval

import (
	"fmt"

	"github.com/loci-memory/loci/internal/config"
)

// Models name what was measured, as the settings do. The zero value means that it is not known.
type Models struct {
	Embedder string `json:"embedder,omitempty"`
	Reranker string `json:"reranker,omitempty"`
}

// line names the models on a line of their own; "" if they are not known.
func (m Models) line() string {
	if m == (Models{}) {
		return ""
	}
	return fmt.Sprintf("embedder %s, reranker %s\n", m.Embedder, m.Reranker)
}

// ModelsOf names the models of settings, where the embedder is chosen.
func ModelsOf(c config.Config) Models { return Models{c.Embedder, c.Reranker} }
