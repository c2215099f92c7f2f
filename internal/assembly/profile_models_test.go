package assembly

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/modeltest"
)

// TestProfilesWithRealWeightsAndWithout starts each profile where all-MiniLM-L6-v2 is the only
// model in the folder, and where none is; the upstream has no embeddings. What is known, or was said in
// an earlier chat, is asked for in none of its words: the model alone finds it.
func TestProfilesWithRealWeightsAndWithout(t *testing.T) {
	from := filepath.Join(modeltest.Dir(t, modeltest.MiniLM), modeltest.MiniLM)
	folder := t.TempDir()
	noError(t)(os.CopyFS(filepath.Join(folder, modeltest.MiniLM), os.DirFS(from)))
	const said, fact, question = "Our landlord raised the rent.", "User's landlord raised the rent", "Why did my housing costs go up?"
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	for _, profile := range config.ProfileNames() {
		for dir, embedder := range map[string]string{folder: config.LocalModel + modeltest.MiniLM, t.TempDir(): config.Lexical} {
			t.Run(profile+" "+embedder, func(t *testing.T) {
				model := embedder != config.Lexical
				s := newStage(t, profile, map[string]string{"models_dir": dir, "learn.model": "none", "recall.core": "0"})
				var is client.Health
				s.ok(&is, http.MethodGet, "/health", "", ana...)
				if is.Embedder != embedder || (is.Advice == "") != model {
					t.Errorf("%s embeds, better would be %q; want %s", is.Embedder, is.Advice, embedder)
				}
				if logged := regexp.MustCompile(`msg"?[=:]"?embedder\b.*` + regexp.QuoteMeta(embedder)); !logged.MatchString(s.log.String()) { // as text or as JSON
					t.Errorf("the log of the start lacks %s: %s", logged, s.log.String())
				}
				if profile == "default" { // whose thresholds are for any model
					ben := []string{"X-Loci-User", "ben"}
					s.talk(ben...).says(said)
					asked, _ := s.talk(ben...).says(question)
					if model {
						s.has("the prompt", asked.body, "landlord raised the rent")
					} else {
						s.lacks("the prompt", asked.body, "landlord")
					}
				}
				s.remember(ana, "User plays the cello", "User drinks oolong tea", "User reads crime novels", "User drives a van", "User was born in May", fact)
				var found client.SearchAnswer
				s.ok(&found, http.MethodPost, "/api/memory/search", `{"query":"`+question+`","kinds":["fact"]}`, ana...)
				if found := len(found.Hits) > 0 && found.Hits[0].Content == fact; found != model {
					t.Errorf("it was found: %v", found)
				}
			})
		}
	}
}
