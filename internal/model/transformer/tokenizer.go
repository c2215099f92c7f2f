package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
)

// tokenizer converts texts to token numbers like the model's original tokenizer: it finds special tokens in
// the raw text, then normalizes and splits the text between these.
type tokenizer struct {
	specialTokens []specialToken // longest first
	specialStarts [256]bool      // for each byte, whether a special token begins with it
	normalize     []func(dst []byte, s string) []byte
	splitter      interface {
		// add appends the tokens of a normalized text to ids.
		add(ids []int32, text []byte) []int32
	}
	unknownToken   int32
	vocabularySize int32 // greatest token number plus 1
	cls, sep       int32 // tokens before and after a text; -1 if the model needs none
	pairing        pairing
}

// pairing is the format in which a model expects two texts, A and B, in one sequence.
type pairing int

const (
	pairBERT    pairing = iota // [CLS] A [SEP] B [SEP] with B of type 1
	pairRoBERTa                // <s> A </s> </s> B </s>, all of type 0
)

type specialToken struct {
	text                    string
	id                      int32
	stripsLeft, stripsRight bool // the token includes the spaces before or after it
}

// tokenIDs returns the token numbers of a text, without the tokens cls and sep.
func (t *tokenizer) tokenIDs(text string) (ids []int32) {
	var buffers [2][]byte
	for text != "" {
		at, token := t.nextSpecial(text)
		s := text[:at]
		if token != nil && token.stripsLeft {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		for i, normalize := range t.normalize {
			b := normalize(buffers[i%2][:0], s)
			buffers[i%2] = b
			if i+1 == len(t.normalize) {
				ids = t.splitter.add(ids, b)
				break
			}
			s = string(b)
		}
		if token == nil {
			break
		}
		ids = append(ids, token.id)
		if text = text[at+len(token.text):]; token.stripsRight {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
	}
	return ids
}

// nextSpecial returns the first special token and its offset, or nil and the length of the text.
func (t *tokenizer) nextSpecial(text string) (int, *specialToken) {
	for at := range len(text) {
		if !t.specialStarts[text[at]] {
			continue
		}
		for i := range t.specialTokens {
			if strings.HasPrefix(text[at:], t.specialTokens[i].text) {
				return at, &t.specialTokens[i]
			}
		}
	}
	return len(text), nil
}

// tokenizerFile has the fields of tokenizer.json that Loci uses.
type tokenizerFile struct {
	AddedTokens []struct {
		ID         int32  `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		Normalized bool   `json:"normalized"`
		Special    bool   `json:"special"`
		StripLeft  bool   `json:"lstrip"`
		StripRight bool   `json:"rstrip"`
	} `json:"added_tokens"`
	Normalizer    *normalizerFile   `json:"normalizer"`
	PreTokenizer  *preTokenizerFile `json:"pre_tokenizer"`
	PostProcessor *processorFile    `json:"post_processor"`
	Model         struct {
		Type         string          `json:"type"`
		Unknown      string          `json:"unk_token"`
		Prefix       string          `json:"continuing_subword_prefix"`
		MaxWordChars int             `json:"max_input_chars_per_word"`
		UnkID        *int32          `json:"unk_id"`
		ByteFallback bool            `json:"byte_fallback"`
		Vocab        json.RawMessage `json:"vocab"`
	} `json:"model"`
}

// readTokenizer reads tokenizer.json or, if it does not exist, vocab.txt.
func readTokenizer(dir fs.FS) (*tokenizer, error) {
	var file tokenizerFile
	switch err := readJSON(dir, "tokenizer.json", &file); {
	case errors.Is(err, fs.ErrNotExist):
		return readVocabulary(dir)
	case err != nil:
		return nil, err
	}
	t, err := file.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func (f *tokenizerFile) tokenizer() (*tokenizer, error) {
	t := &tokenizer{cls: -1, sep: -1}
	var err error
	switch f.Model.Type {
	case "WordPiece", "": // the first tokenizers had no type
		err = f.readWordPiece(t)
	case "Unigram":
		err = f.readUnigram(t)
	default:
		err = fmt.Errorf("a model of type %q is not supported: only WordPiece and Unigram are", f.Model.Type)
	}
	if err != nil {
		return nil, err
	}
	if len(f.AddedTokens) > maxAdded {
		return nil, fmt.Errorf("%d added tokens, but at most %d are supported", len(f.AddedTokens), maxAdded)
	}
	var added []specialToken
	for _, a := range f.AddedTokens {
		// Tokens such as <mask> are searched before normalization, even if the file requires it later. The
		// result differs only for texts such as ＜mask＞.
		if a.Content == "" || a.SingleWord || a.Normalized && !a.Special {
			return nil, fmt.Errorf("the added token %q is not supported, because it matches only whole words or normalized text", a.Content)
		}
		if a.ID < 0 || a.ID >= t.vocabularySize {
			return nil, fmt.Errorf("the added token %q has number %d, but there are only %d tokens", a.Content, a.ID, t.vocabularySize)
		}
		added = append(added, specialToken{a.Content, a.ID, a.StripLeft, a.StripRight})
	}
	t.setSpecialTokens(added)
	if t.normalize, err = f.Normalizer.steps(); err != nil {
		return nil, err
	}
	if f.PostProcessor != nil {
		if err = f.PostProcessor.setSpecial(t); err != nil {
			return nil, err
		}
		if t.cls >= t.vocabularySize || t.sep >= t.vocabularySize {
			return nil, fmt.Errorf("post_processor uses tokens %d and %d, but the tokenizer has only %d", t.cls, t.sep, t.vocabularySize)
		}
	}
	return t, nil
}

// maxAdded is the maximum number of added tokens, since each offset of a text is searched for all of them.
const maxAdded = 1000

func (t *tokenizer) setSpecialTokens(tokens []specialToken) {
	t.specialTokens = tokens
	slices.SortStableFunc(t.specialTokens, func(a, b specialToken) int { return len(b.text) - len(a.text) })
	for _, s := range tokens {
		t.specialStarts[s.text[0]] = true
	}
}

// readVocabulary creates BERT's tokenizer from a file with one token per line.
func readVocabulary(dir fs.FS) (*tokenizer, error) {
	b, err := readFile(dir, "vocab.txt")
	if err != nil {
		return nil, err
	}
	config := struct {
		Lower   *bool `json:"do_lower_case"`
		Accents *bool `json:"strip_accents"`
		Chinese *bool `json:"tokenize_chinese_chars"`
	}{}
	if err := readJSON(dir, "tokenizer_config.json", &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	vocab := map[string]int32{}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		vocab[strings.TrimRight(line, "\r")] = int32(i)
	}
	t := &tokenizer{}
	var added []specialToken
	for _, name := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		id, ok := vocab[name]
		if !ok {
			return nil, fmt.Errorf("vocab.txt: missing %s", name)
		}
		added = append(added, specialToken{text: name, id: id})
	}
	t.setSpecialTokens(added)
	t.cls, t.sep = vocab["[CLS]"], vocab["[SEP]"]
	if err := t.setWordPiece(vocab, "[UNK]", "##", 100); err != nil {
		return nil, fmt.Errorf("vocab.txt: %w", err)
	}
	lower := config.Lower == nil || *config.Lower
	n := normalizerFile{
		Type: "BertNormalizer", CleanText: true, SeparateChinese: config.Chinese == nil || *config.Chinese, StripAccents: config.Accents, Lowercase: lower,
	}
	t.normalize, err = n.steps()
	return t, err
}

// processorFile is the part of tokenizer.json that describes the tokens around a text and between two texts.
type processorFile struct {
	Type          string          `json:"type"`
	Single        []templatePiece `json:"single"`
	Pair          []templatePiece `json:"pair"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
	CLS json.RawMessage `json:"cls"`
	SEP json.RawMessage `json:"sep"`
}

type templatePiece struct {
	SpecialToken, Sequence *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	}
}

// setSpecial sets the tokens before and after a text, and the pairing of two texts.
func (p *processorFile) setSpecial(t *tokenizer) (err error) {
	switch p.Type {
	case "TemplateProcessing":
		return p.setTemplate(t)
	case "BertProcessing":
		if t.cls, err = tokenNumber(p.CLS); err == nil {
			t.sep, err = tokenNumber(p.SEP)
		}
		return err
	}
	return fmt.Errorf("a post_processor of type %q is not supported: only TemplateProcessing and BertProcessing are", p.Type)
}

// setTemplate reads a template that equals BERT's or XLM-RoBERTa's, or that adds no tokens. It returns an error
// for any other template.
func (p *processorFile) setTemplate(t *tokenizer) error {
	shape := func(pieces []templatePiece) string {
		var b strings.Builder
		for _, piece := range pieces {
			switch {
			case piece.SpecialToken != nil:
				fmt.Fprintf(&b, "%s:%d ", piece.SpecialToken.ID, piece.SpecialToken.Type)
			case piece.Sequence != nil:
				fmt.Fprintf(&b, "$%s:%d ", piece.Sequence.ID, piece.Sequence.Type)
			}
		}
		return b.String()
	}
	unsupported := errors.New("post_processor: a template other than BERT's and XLM-RoBERTa's is not supported")
	single := shape(p.Single)
	if single == "$A:0 " {
		return nil
	}
	if len(p.Single) != 3 || p.Single[0].SpecialToken == nil || p.Single[2].SpecialToken == nil {
		return unsupported
	}
	first, last := p.Single[0].SpecialToken.ID, p.Single[2].SpecialToken.ID
	if single != fmt.Sprintf("%s:0 $A:0 %s:0 ", first, last) || len(p.SpecialTokens[first].IDs) != 1 || len(p.SpecialTokens[last].IDs) != 1 {
		return unsupported
	}
	switch shape(p.Pair) {
	case fmt.Sprintf("%s$B:1 %s:1 ", single, last):
		t.pairing = pairBERT
	case fmt.Sprintf("%s%s:0 $B:0 %s:0 ", single, last, last):
		t.pairing = pairRoBERTa
	default:
		return unsupported
	}
	if t.cls, t.sep = p.SpecialTokens[first].IDs[0], p.SpecialTokens[last].IDs[0]; t.cls < 0 || t.sep < 0 {
		return unsupported
	}
	return nil
}

// tokenNumber returns the number in a pair of a token and its number, such as ["[SEP]", 102].
func tokenNumber(raw json.RawMessage) (int32, error) {
	var name string
	var id int32
	if err := json.Unmarshal(raw, &[]any{&name, &id}); err != nil || id < 0 {
		return 0, fmt.Errorf("post_processor: %s is not a token with its number", raw)
	}
	return id, nil
}
