package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxInputs is the maximum number of texts in a request, the same as OpenAI's.
const maxInputs = 2048

// embedRequest is a request for embeddings in OpenAI's format. Other fields are ignored.
type embedRequest struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`           // a text or a list of texts
	Format     string          `json:"encoding_format"` // "float", "base64"; "" means float
	Dimensions *int            `json:"dimensions"`
}

// texts returns the texts of the input. It refuses token numbers, because their tokenizer is unknown.
func (r embedRequest) texts() ([]string, error) {
	var single string
	if json.Unmarshal(r.Input, &single) == nil && bytes.HasPrefix(bytes.TrimSpace(r.Input), []byte(`"`)) {
		return checkInputs([]string{single})
	}
	var list []string
	if err := json.Unmarshal(r.Input, &list); err != nil {
		if !isTokenList(r.Input) {
			return nil, memory.Errorf(memory.Invalid, "input must be a string or a list of strings")
		}
		return nil, memory.Errorf(memory.Invalid, "input must be text, not token numbers; in LangChain, use OpenAIEmbeddings(check_embedding_ctx_length=False)")
	}
	return checkInputs(list)
}

func checkInputs(texts []string) ([]string, error) {
	if len(texts) == 0 || len(texts) > maxInputs {
		return nil, memory.Errorf(memory.Invalid, "input must have 1 to %d texts", maxInputs)
	}
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return nil, memory.Errorf(memory.Invalid, "input: text %d is empty", i)
		}
	}
	return texts, nil
}

// embedding is one vector of a response. The field Embedding is a list of numbers, or little-endian float32 values as
// base64.
type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`
}

// serveEmbeddings embeds texts as documents with Loci's embedder. It forwards requests for other models.
func (d *Handler) serveEmbeddings(w http.ResponseWriter, r *http.Request) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		d.forward(w, r) // Loci cannot decode the body
		return
	}
	body, err := httpx.ReadBody(r)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	var req embedRequest
	err = json.Unmarshal(body, &req)
	switch {
	case err == nil && req.Model == memory.EmbedModel:
		d.embedTexts(w, r, req)
	case err == nil && d.Upstream == nil:
		writeError(w, r, http.StatusNotFound, "model_not_found", "no such model “"+httpx.Truncate(req.Model, 60)+"”: without an upstream there is only "+memory.EmbedModel)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.forward(w, r)
	}
}

func (d *Handler) embedTexts(w http.ResponseWriter, r *http.Request, req embedRequest) {
	texts, err := req.texts()
	switch {
	case err != nil:
	case req.Format != "" && req.Format != "float" && req.Format != "base64":
		err = memory.Errorf(memory.Invalid, "encoding_format must be float or base64")
	case req.Dimensions != nil && *req.Dimensions != d.engine.Embedder.Dims():
		err = memory.Errorf(memory.Invalid, "dimensions must be %d: this model supports no other number", d.engine.Embedder.Dims())
	}
	if err != nil {
		Refuse(w, r, err)
		return
	}
	vectors, err := d.engine.Embedder.Embed(r.Context(), memory.AsDocument, texts...)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	data, tokens := make([]embedding, len(vectors)), 0
	for i, v := range vectors {
		data[i] = embedding{Object: "embedding", Index: i, Embedding: v}
		if req.Format == "base64" {
			data[i].Embedding = encodeBase64(v)
		}
		tokens += text.EstimateTokens(texts[i])
	}
	answer, err := json.Marshal(map[string]any{
		"object": "list", "data": data, "model": memory.EmbedModel, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
	})
	if err != nil { // JSON has no NaN or infinity
		Refuse(w, r, memory.Errorf(memory.Unavailable, "the embedder returned invalid numbers: %v", err))
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func encodeBase64(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// isTokenList reports whether an input is a list of token numbers, or a list of lists of token numbers.
func isTokenList(input json.RawMessage) bool {
	var list []float64
	var lists [][]float64
	return json.Unmarshal(input, &list) == nil || json.Unmarshal(input, &lists) == nil
}
