package assembly

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
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

// recordedVectors is a server of embeddings that answers from vectorsFile. With -update a model
// answers, and the file is written.
type recordedVectors struct {
	t     *testing.T
	model memory.Embedder // nil without -update

	mu      sync.Mutex // guards vectors
	vectors map[string]string
}

func newRecordedVectors(t *testing.T) *recordedVectors {
	t.Helper()
	r := &recordedVectors{t: t, vectors: map[string]string{}}
	if !*update {
		data, err := os.ReadFile(vectorsFile)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &r.vectors); err != nil {
			t.Fatal(err)
		}
		return r
	}
	config, err := config.Load(config.Sources{Flags: map[string]string{"embedder": config.LocalModel + modeltest.MiniLM, "models_dir": modeltest.Dir(t, modeltest.MiniLM)}})
	if err != nil {
		t.Fatal(err)
	}
	model, err := models.OpenEmbedder(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	r.model = model.Embedder
	t.Cleanup(func() {
		data, err := json.MarshalIndent(r.vectors, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, vectorsFile, string(data)+"\n")
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (s *recordedVectors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model != nil {
		vectors, err := s.model.Embed(r.Context(), memory.AsDocument, in.Input...)
		if err != nil {
			s.t.Errorf("embed: %v", err)
			return
		}
		for i, v := range vectors {
			var packed []byte
			for _, x := range v {
				packed = binary.LittleEndian.AppendUint16(packed, uint16(int16(math.Round(float64(x)*math.MaxInt16))))
			}
			s.vectors[in.Input[i]] = base64.StdEncoding.EncodeToString(packed)
		}
	}
	var data []any
	for i, text := range in.Input {
		packed, err := base64.StdEncoding.DecodeString(s.vectors[text])
		if err != nil || len(packed) == 0 {
			s.t.Errorf("%s has no vector of %q; rebuild it as its comment says", vectorsFile, text)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		v := make([]float32, len(packed)/2)
		for j := range v {
			v[j] = float32(int16(binary.LittleEndian.Uint16(packed[2*j:]))) / math.MaxInt16
		}
		data = append(data, map[string]any{"index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// TestProfileOpenwebuiEmbedsNoTextAgain: a fact is embedded once, a message as a question and as a
// document. Its vector is stored while it is learned from, so that it may be embedded once more.
func TestProfileOpenwebuiEmbedsNoTextAgain(t *testing.T) {
	embeds := &embedServer{}
	server := httptest.NewServer(embeds)
	t.Cleanup(server.Close)
	s := newStage(t, "openwebui", map[string]string{"embed.url": server.URL + "/v1"})
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	s.remember(ana, "User has a dog named Rex")
	s.settle()
	s.model.on("memory_formation", `{"memories": ["User plays the cello"]}`)
	s.model.on("conflict_resolution", `{"action": "add", "target_id": ""}`)
	s.talk(ana...).says("I play the cello.")
	times := map[string]int{}
	for _, text := range embeds.taken("") {
		times[strings.TrimSpace(text)]++
	}
	for text, most := range map[string]int{"I play the cello.": 3, "User plays the cello": 1} {
		if times[text] < 1 || times[text] > most {
			t.Errorf("%q was embedded %d times, want at most %d: %v", text, times[text], most, times)
		}
	}
}

// TestProfileOpenwebuiByRealVectors holds design 3, 6.2, with vectors of a model: stored memories
// are retrieved, and what the chat says becomes memories.
func TestProfileOpenwebuiByRealVectors(t *testing.T) {
	server := httptest.NewServer(newRecordedVectors(t))
	t.Cleanup(server.Close)
	s := newStage(t, "openwebui", map[string]string{
		"embedder": "remote:" + modeltest.MiniLM, "embed.url": server.URL + "/v1", "recall.score": "cosine", "recall.threshold": "0.3", // 0.8 is for another model
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
		if err := json.Unmarshal([]byte(answer), &named); err != nil {
			t.Fatal(err)
		}
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
	for range 2 { // it is learned from again where the answer is recorded meanwhile
		s.model.on("memory_formation", `{"memories": ["User moved to Los Angeles"]}`)
		s.model.on("conflict_resolution", `{"action": "replace", "target_id": "0"}`)
	}
	c.says("I moved to Los Angeles.")
	asked := s.model.taken("conflict_resolution")
	if len(asked) == 0 || !strings.HasSuffix(strings.Split(asked[0].system, "\n")[2], known[0]) {
		t.Fatalf("conflict_resolution was asked %+v", asked)
	}
	s.wantFacts("", append([]string{"User moved to Los Angeles"}, known[1:]...), ana...)
}
