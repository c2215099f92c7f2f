package proxy

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// vectorsOf requests embeddings and returns them with the token count.
func (r *rig) vectorsOf(body string) (vectors [][]float32, tokens int) {
	r.t.Helper()
	resp := r.send(http.MethodPost, "/v1/embeddings", body)
	var a struct {
		Object, Model string
		Data          []struct {
			Object    string
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Total  int `json:"total_tokens"`
		}
	}
	got := r.read(resp)
	if err := json.Unmarshal([]byte(got), &a); err != nil || resp.StatusCode != http.StatusOK || a.Object != "list" || a.Model != memory.EmbedModel || a.Usage.Prompt != a.Usage.Total {
		r.t.Fatalf("%s: %d %s (%v)", body, resp.StatusCode, got, err)
	}
	for i, d := range a.Data {
		var v []float32
		var packed string
		if json.Unmarshal(d.Embedding, &packed) == nil {
			b := try(base64.StdEncoding.DecodeString(packed)).orFail(r.t)
			for len(b) >= 4 {
				v, b = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b))), b[4:]
			}
		} else if err := json.Unmarshal(d.Embedding, &v); err != nil {
			r.t.Fatal(err)
		}
		if d.Index != i || d.Object != "embedding" {
			r.t.Errorf("vector %d is %q number %d", i, d.Object, d.Index)
		}
		vectors = append(vectors, v)
	}
	return vectors, a.Usage.Total
}

func TestEmbeddings(t *testing.T) {
	for _, alone := range []bool{true, false} {
		r := newRig(t, func(s *setup) { s.alone = alone })
		want := try(embed.Lexical{}.Embed(t.Context(), memory.AsDocument, "a red boat", "two green cars")).orFail(t)
		for _, c := range []struct {
			input, format string
			want          [][]float32
		}{
			{`"a red boat"`, "", want[:1]},
			{`["a red boat","two green cars"]`, `,"encoding_format":"float"`, want},
			{`["a red boat","two green cars"]`, `,"encoding_format":"base64","user":"u"`, want},
		} {
			got, tokens := r.vectorsOf(`{"model":"loci/embed","input":` + c.input + c.format + `}`)
			if len(got) != len(c.want) || tokens <= 0 {
				t.Fatalf("%s%s: %d vectors of %d tokens", c.input, c.format, len(got), tokens)
			}
			for i := range got {
				for j := range c.want[i] {
					if got[i][j] != c.want[i][j] {
						t.Fatalf("%s%s: vector %d has %v at %d, want %v", c.input, c.format, i, got[i][j], j, c.want[i][j])
					}
				}
			}
		}
		for body, want := range map[string]string{
			`{"model":"loci/embed"}`:                                   "input must be",
			`{"model":"loci/embed","input":[]}`:                        "1 to 2048",
			`{"model":"loci/embed","input":[[1,2],[3]]}`:               "check_embedding_ctx_length=False",
			`{"model":"loci/embed","input":[1,2]}`:                     "check_embedding_ctx_length=False",
			`{"model":"loci/embed","input":[{"a":1}]}`:                 "a list of strings",
			`{"model":"loci/embed","input":["a",""]}`:                  "text 1 is empty",
			`{"model":"loci/embed","input":"a","dimensions":7}`:        "dimensions must be",
			`{"model":"loci/embed","input":"a","encoding_format":"x"}`: "encoding_format must be",
		} {
			resp := r.send(http.MethodPost, "/v1/embeddings", body)
			if message, _, _ := errorOf(t, r.read(resp)); resp.StatusCode != http.StatusBadRequest || !strings.Contains(message, want) {
				t.Errorf("%s: %d %q, want %q", body, resp.StatusCode, message, want)
			}
		}
	}
}

func TestOtherModelsEmbedAtTheUpstream(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(sends(http.StatusOK, `{"object":"list"}`, "Content-Type", "application/json"))
	const body = `{ "model":"text-embedding-3-small", "input":"a red boat" }`
	if got := r.read(r.send(http.MethodPost, "/v1/embeddings", body)); got != `{"object":"list"}` {
		t.Errorf("got %s", got)
	}
	if got := r.upstream.one(t); got.body != body {
		t.Errorf("the upstream got %s", got.body)
	}
	alone := newRig(t, func(s *setup) { s.alone = true })
	resp := alone.send(http.MethodPost, "/v1/embeddings", body)
	if message, _, code := errorOf(t, alone.read(resp)); resp.StatusCode != http.StatusNotFound || code != "model_not_found" || !strings.Contains(message, "text-embedding-3-small") {
		t.Errorf("without an upstream: %d %q %q", resp.StatusCode, code, message)
	}
}
