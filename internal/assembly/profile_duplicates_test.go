package assembly

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestProfileAssistantDuplicatesByOwnCosine: by the embedder that the profile names 0.90 is a
// cosine; by another it is put where its unrelated texts, here at 0.7, let it lie.
func TestProfileAssistantDuplicatesByOwnCosine(t *testing.T) {
	cosines := map[string]float64{"cello": 0.89, "oboe": 0.91, "harp": 0.95}
	things := []string{"cello", "oboe", "harp"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var data []any
		for i, text := range in.Input {
			v := make([]float64, 64)
			v[0], v[10+len(text)%54] = math.Sqrt(0.7), math.Sqrt(0.3)
			_, fact, _ := strings.Cut(text, "User ") // behind what a model wants before a passage
			verb, thing, _ := strings.Cut(fact, " a ")
			if at := slices.Index(things, thing); at >= 0 {
				v = make([]float64, 64)
				v[1+2*at] = 1
				if verb == "has" {
					v[1+2*at], v[2+2*at] = cosines[thing], math.Sqrt(1-cosines[thing]*cosines[thing])
				}
			}
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	for embedder, want := range map[string][]string{
		"remote:bge-small-en-v1.5": {"User has a cello"},
		"remote:e5-small":          {"User has a harp", "User has a oboe", "User has a cello"},
	} {
		s := newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner", "embedder": embedder, "embed.url": server.URL + "/v1"})
		for _, thing := range things {
			s.remember(nil, "User owns a "+thing)
		}
		s.settle()
		for _, thing := range things {
			s.model.on("memory_extraction", "User has a "+thing)
			s.talk().says("I have a " + thing + ".")
		}
		got := slices.DeleteFunc(s.facts(""), func(f string) bool { return !strings.HasPrefix(f, "User has") })
		if !slices.Equal(got, want) {
			t.Errorf("%s stores %q beside what is known, want %q", embedder, got, want)
		}
	}
}
