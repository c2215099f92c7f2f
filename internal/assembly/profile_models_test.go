package assembly

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	if err := os.CopyFS(filepath.Join(folder, modeltest.MiniLM), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	const said, fact, question = "Our landlord raised the rent.", "User's landlord raised the rent", "Why did my housing costs go up?"
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	for _, profile := range config.Profiles() {
		for dir, embedder := range map[string]string{folder: config.LocalModel + modeltest.MiniLM, t.TempDir(): config.Lexical} {
			t.Run(profile+" "+embedder, func(t *testing.T) {
				model := embedder != config.Lexical
				s := newStage(t, profile, map[string]string{"models_dir": dir, "learn.model": "none", "recall.core": "0"})
				var is client.Health
				s.ok(&is, http.MethodGet, "/health", "", ana...)
				if is.Embedder != embedder || (is.Better == "") != model {
					t.Errorf("%s embeds, better would be %q; want %s", is.Embedder, is.Better, embedder)
				}
				s.has("the log of the start", s.log.String(), "what embeds", embedder)
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

// BenchmarkQuestionByRealWeights asks 300 facts a question of six words, and in turns one of 300: the
// same behind a story, or with every sentence a question. Each has new words, for vectors are
// remembered. It reports the medians, and how many times as long the long one takes.
func BenchmarkQuestionByRealWeights(b *testing.B) {
	l, err := openModelled(b, map[string]string{
		"store": "memory", "embedder": config.LocalModel + modeltest.MiniLM, "models_dir": modeltest.Dir(b, modeltest.MiniLM), "recall.deadline": "10s",
	})
	if err != nil {
		b.Fatal(err)
	}
	r, said := rand.New(rand.NewPCG(1, 2)), 0
	words := map[string]string{
		"who": "Ragna Tomas Mira Bela Ines Olaf Petra Yusuf", "where": "cellar garden station harbour library market forest kitchen",
		"what": "guitar kettle boat ladder camera lantern bicycle piano",
	}
	fill := func(sentence string) string {
		said++
		return os.Expand(sentence, func(name string) string {
			if of := strings.Fields(words[name]); len(of) > 0 {
				return of[r.IntN(len(of))]
			}
			return fmt.Sprint(said)
		})
	}
	for range 300 {
		if _, err := l.Remember(b.Context(), "ana", fill("$who keeps $what $n in the $where")); err != nil {
			b.Fatal(err)
		}
	}
	ask := func(question string) time.Duration {
		began := time.Now()
		if _, err := l.Recall(b.Context(), "ana", question); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	const question = "Where is $what $n of $who?"
	for name, sentence := range map[string]string{
		"story":     "Yesterday $who and I carried the old $what $n from home to the $where. ",
		"questions": "Did $who and I carry the old $what $n from home to the $where? ",
	} {
		b.Run(name, func(b *testing.B) {
			var short, long []time.Duration
			for b.Loop() {
				var message strings.Builder
				for n := 6; n < 300; n += len(strings.Fields(sentence)) {
					message.WriteString(fill(sentence))
				}
				short, long = append(short, ask(fill(question))), append(long, ask(message.String()+fill(question)))
			}
			slices.Sort(short)
			slices.Sort(long)
			six, many := short[len(short)/2], long[len(long)/2]
			b.ReportMetric(float64(six.Microseconds())/1000, "ms/6-words")
			b.ReportMetric(float64(many.Microseconds())/1000, "ms/300-words")
			b.ReportMetric(float64(many)/float64(six), "ratio")
		})
	}
}
