package assembly

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/modeltest"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

// vectorsFile has the embeddings of the texts of TestProfileOpenwebuiByRealVectors: by each text
// all-MiniLM-L6-v2's vector, its numbers times 32767 as little-endian int16 in base64. Rebuild it
// with: make models && go test ./internal/assembly -run TestProfileOpenwebuiByRealVectors -update
const vectorsFile = "testdata/openwebui_vectors.json"

// recordedVectors embeds from vectorsFile. With -update a model does, and the file is written.
type recordedVectors struct {
	t       *testing.T
	model   memory.Embedder // nil without -update
	mu      sync.Mutex      // guards vectors
	vectors map[string]string
}

func newRecordedVectors(t *testing.T) *recordedVectors {
	t.Helper()
	r := &recordedVectors{t: t, vectors: map[string]string{}}
	if !*update {
		noError(t)(json.Unmarshal(readFile(t, vectorsFile), &r.vectors))
		return r
	}
	config := try(config.Load(config.Sources{Flags: map[string]string{"embedder": config.LocalModel + modeltest.MiniLM, "reranker": "none", "models_dir": modeltest.Dir(t, modeltest.MiniLM)}})).orFail(t)
	model := try(models.Open(models.ChooseEmbedder(t.Context(), config))).orFail(t)
	r.model = model.Embedder
	t.Cleanup(func() {
		data, err := json.MarshalIndent(r.vectors, "", " ")
		if err := errors.Join(err, os.WriteFile(vectorsFile, append(data, '\n'), 0o600), model.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (s *recordedVectors) Fingerprint() string { return "local:" + modeltest.MiniLM }
func (s *recordedVectors) Dims() int           { return 384 }

func (s *recordedVectors) Embed(ctx context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model != nil {
		vectors, err := s.model.Embed(ctx, memory.AsDocument, texts...)
		if err != nil {
			return nil, err
		}
		for i, v := range vectors {
			var packed []byte
			for _, x := range v {
				packed = binary.LittleEndian.AppendUint16(packed, uint16(int16(math.Round(float64(x)*math.MaxInt16))))
			}
			s.vectors[texts[i]] = base64.StdEncoding.EncodeToString(packed)
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		packed, err := base64.StdEncoding.DecodeString(s.vectors[text])
		if err != nil || len(packed) == 0 {
			s.t.Errorf("%s has no vector of %q; rebuild it as its comment says", vectorsFile, text)
			return nil, memory.Errorf(memory.Invalid, "no vector of %q", text)
		}
		for j := 0; j < len(packed); j += 2 {
			out[i] = append(out[i], float32(int16(binary.LittleEndian.Uint16(packed[j:])))/math.MaxInt16)
		}
	}
	return out, nil
}

// TestProfileOpenwebuiByRealVectors holds design 3, 6.2, with vectors of a model: stored memories
// are retrieved, and what the chat says becomes memories.
func TestProfileOpenwebuiByRealVectors(t *testing.T) {
	s := newStageBefore(t, &scripted{embedder: newRecordedVectors(t)}, "openwebui", map[string]string{
		"embedder": "lexical", "recall.score": "cosine", "recall.threshold": "0.3", // 0.8 is for another model
	})
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	known := []string{"User lives in New York", "User is a software engineer using Bun", "User's dog is called Rex", "User plays the cello", "User drinks oolong tea", "User is allergic to peanuts"}
	s.remember(ana, known[1:]...)
	c := s.talk(ana...)
	s.model.on("memory_formation", `{"memories": ["User lives in New York"]}`)
	c.says("I live in New York.")

	for question, want := range map[string]string{
		"In which city is my apartment?": known[0], "What is my puppy's name?": known[2], "Which musical instrument do I practise?": known[3],
		"Which foods must I avoid because of an allergy?": known[5], "What is the boiling point of ethanol?": "",
	} {
		s.model.on("memory_formation", `{"memories": []}`)
		asked, answer := s.talk(ana...).says(question)
		var named struct {
			Memories []struct {
				Content string
				Score   float64
			}
		}
		noError(t)(json.Unmarshal([]byte(answer), &named))
		if want == "" && len(named.Memories) > 0 || want != "" && (len(named.Memories) == 0 || named.Memories[0].Content != want) {
			t.Errorf("%q retrieves %+v, want %q first", question, named.Memories, want)
		}
		s.has("the system message", asked.says(0), want)
	}

	// The same in other words is not a new fact.
	s.clock.pass(time.Hour)
	s.model.on("memory_formation", `{"memories": ["User's dog is named Rex"]}`)
	c.says("My dog is named Rex.")
	s.wantFacts("", known, ana...)

	// A contradiction is compared with the fact nearest to it, and replaces it.
	s.model.taken("")
	s.model.on("memory_formation", `{"memories": ["User moved to Los Angeles"]}`)
	s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
	c.says("I moved to Los Angeles.")
	asked := s.model.taken("conflict_resolution")
	if len(asked) == 0 || !strings.HasSuffix(strings.Split(asked[0].system, "\n")[2], known[0]) {
		t.Fatalf("conflict_resolution was asked %+v", asked)
	}
	s.wantFacts("", append([]string{"User moved to Los Angeles"}, known[1:]...), ana...)
}
