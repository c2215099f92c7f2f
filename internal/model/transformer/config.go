package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxJSON is the maximum size of a JSON file in bytes, more than the largest tokenizer.json of supported models.
const maxJSON = 64 << 20

// config is the config.json of a BERT or an XLM-RoBERTa model. Static models do not need the file.
type config struct {
	Type           string   `json:"model_type"`
	HiddenSize     int      `json:"hidden_size"`
	InnerSize      int      `json:"intermediate_size"`
	LayerCount     int      `json:"num_hidden_layers"`
	HeadCount      int      `json:"num_attention_heads"`
	Activation     string   `json:"hidden_act"`
	NormEpsilon    *float32 `json:"layer_norm_eps"`
	MaxPositions   int      `json:"max_position_embeddings"`
	PositionType   string   `json:"position_embedding_type"`
	TokenTypes     int      `json:"type_vocab_size"`
	VocabularySize int      `json:"vocab_size"`
	PaddingToken   *int     `json:"pad_token_id"`
}

// checkBERT checks that the config describes a supported BERT. Sizes are compared with the tensors before
// memory is allocated.
func (c *config) checkBERT() error {
	switch {
	case c.Type != "bert" && c.Type != "xlm-roberta":
		return fmt.Errorf("config.json: model_type %q is not supported: only bert, xlm-roberta and model2vec are", c.Type)
	case c.Activation != "gelu":
		return fmt.Errorf("config.json: hidden_act %q is not supported: only gelu is", c.Activation)
	case c.PositionType != "" && c.PositionType != "absolute":
		return fmt.Errorf("config.json: position_embedding_type %q is not supported: only absolute is", c.PositionType)
	}
	// packed weights are padded to 32 columns, so narrower weights would take a multiple of their file's size
	for name, v := range map[string]struct{ is, least, most int }{
		"hidden_size": {c.HiddenSize, 32, 1 << 14}, "intermediate_size": {c.InnerSize, 32, 1 << 16}, "num_hidden_layers": {c.LayerCount, 1, 1 << 8},
		"num_attention_heads": {c.HeadCount, 1, 1 << 10}, "max_position_embeddings": {c.MaxPositions, 8, 1 << 16},
		"type_vocab_size": {c.TokenTypes, 1, 1 << 8}, "vocab_size": {c.VocabularySize, 1, 1 << 22}, "pad_token_id": {c.firstPosition(), 0, c.MaxPositions - 8},
	} {
		if v.is < v.least || v.is > v.most {
			return fmt.Errorf("config.json: %s is %d, want %d to %d", name, v.is, v.least, v.most)
		}
	}
	if c.HiddenSize%c.HeadCount != 0 {
		return fmt.Errorf("config.json: hidden_size %d is not a multiple of num_attention_heads %d", c.HiddenSize, c.HeadCount)
	}
	return nil
}

// firstPosition returns the row of the position embeddings for a text's first token: the number of the
// padding token plus 1 in XLM-RoBERTa, 0 in BERT.
func (c *config) firstPosition() int {
	switch {
	case c.Type != "xlm-roberta":
		return 0
	case c.PaddingToken == nil:
		return 2
	}
	return *c.PaddingToken + 1
}

func (c *config) normEpsilon() float32 {
	if c.NormEpsilon == nil {
		return 1e-12
	}
	return *c.NormEpsilon
}

// Poolings: how the vectors of a text's tokens are combined.
const (
	meanPooling = "mean"
	clsPooling  = "cls" // the vector of the first token
)

// readPooling reads the pooling from the files of the sentence-transformers layout. The default is the mean.
func readPooling(dir fs.FS) (string, error) {
	var modules []struct {
		Path, Type string
	}
	if err := readJSON(dir, "modules.json", &modules); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	file := "1_Pooling/config.json"
	for _, m := range modules {
		switch m.Type[strings.LastIndex(m.Type, ".")+1:] {
		case "Pooling":
			file = strings.Trim(m.Path, "/") + "/config.json"
		case "Transformer", "Normalize": // nothing to read: Embed normalizes all vectors
		default:
			return "", fmt.Errorf("modules.json: a module of type %q is not supported", m.Type)
		}
	}
	var modes map[string]any
	if err := readJSON(dir, file, &modes); errors.Is(err, fs.ErrNotExist) {
		return meanPooling, nil
	} else if err != nil {
		return "", err
	}
	if modes["include_prompt"] == false {
		return "", fmt.Errorf("%s: include_prompt false is not supported: the tokens of a prefix are pooled like all others", file)
	}
	var active []string
	for name, on := range modes {
		if way, ok := strings.CutPrefix(name, "pooling_mode_"); ok && on == true {
			active = append(active, way)
		}
	}
	slices.Sort(active)
	switch strings.Join(active, " ") {
	case "cls_token":
		return clsPooling, nil
	case "mean_tokens":
		return meanPooling, nil
	}
	return "", fmt.Errorf("%s: pooling by %q is not supported; supported: cls_token, mean_tokens", file, active)
}

// readPrompts reads the prefixes for questions and documents, "" for none.
func readPrompts(dir fs.FS) (question, document string, err error) {
	var config struct {
		Prompts map[string]string `json:"prompts"`
	}
	if err := readJSON(dir, "config_sentence_transformers.json", &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	document = config.Prompts["document"]
	if document == "" {
		document = config.Prompts["passage"]
	}
	return config.Prompts["query"], document, nil
}

// readMaxTokens returns the model's maximum number of tokens of a text, but no more than positions.
func readMaxTokens(dir fs.FS, positions int) (int, error) {
	var sentence struct {
		Length int `json:"max_seq_length"`
	}
	var tokenizer struct {
		Length float64 `json:"model_max_length"` // 1e30 if not set
	}
	for file, to := range map[string]any{"sentence_bert_config.json": &sentence, "tokenizer_config.json": &tokenizer} {
		if err := readJSON(dir, file, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	n := positions
	if sentence.Length > 0 {
		n = min(n, sentence.Length)
	} else if tokenizer.Length > 0 && tokenizer.Length < float64(n) {
		n = int(tokenizer.Length)
	}
	if n < 8 {
		return 0, fmt.Errorf("a maximum length of %d tokens is too short, want at least 8", n)
	}
	return n, nil
}

func readJSON(dir fs.FS, name string, target any) error {
	b, err := readFile(dir, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, target); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readFile reads a file of at most maxJSON bytes.
func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the file was only read
	b, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err == nil && len(b) > maxJSON {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxJSON>>20)
	}
	return b, err
}
