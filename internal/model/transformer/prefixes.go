package transformer

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const passagePrefix = "Represent this sentence for searching relevant passages: "

// prefixFamilies are models trained with a prefix for questions or documents. A model belongs to the first
// family all of whose parts are in the model's name, unless the name also contains the text in the field not.
var prefixFamilies = []struct {
	parts              []string
	not                string
	question, document string
}{
	{[]string{"e5"}, "instruct", "query: ", "passage: "},
	{[]string{"bge", "zh"}, "reranker", "为这个句子生成表示以用于检索相关文章：", ""},
	{[]string{"bge", "en"}, "reranker", passagePrefix, ""},
	{[]string{"bge", "large"}, "reranker", passagePrefix, ""}, // Ollama's name for the English model
	{[]string{"nomic", "embed", "text"}, "", "search_query: ", "search_document: "},
	{[]string{"mxbai", "embed", "large"}, "de", passagePrefix, ""},
	{[]string{"arctic", "embed2"}, "", "query: ", ""}, // Ollama's name for the model of the next entry
	{[]string{"arctic", "embed", "v2"}, "", "query: ", ""},
	{[]string{"arctic", "embed"}, "", passagePrefix, ""},
	{[]string{"embeddinggemma"}, "", "task: search result | query: ", "title: none | text: "},
	{[]string{"qwen3", "embedding"}, "", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""},
}

// Prefixes returns a model's prefixes for questions and documents, according to its family's documentation.
// The name may contain an organisation and a version, as on servers and the hub.
func Prefixes(name string) (question, document string) {
	parts := strings.FieldsFunc(strings.ToLower(path.Base(name)), func(r rune) bool { return strings.ContainsRune("-_.@:", r) })
	for _, f := range prefixFamilies {
		matches := !slices.Contains(parts, f.not)
		for _, part := range f.parts {
			matches = matches && slices.Contains(parts, part)
		}
		if matches {
			return f.question, f.document
		}
	}
	return "", ""
}

// familyPrefixes returns the [Prefixes] for the name of the folder or, since a folder may have any name, for a
// name in config.json or loci.json.
func familyPrefixes(dir fs.FS, folder string) (question, document string) {
	names := []string{folder}
	for file, fields := range map[string][]string{"loci.json": {"repository", "source"}, "config.json": {"_name_or_path"}} {
		var object map[string]json.RawMessage
		if readJSON(dir, file, &object) != nil { // readWeights reports an invalid config.json
			continue
		}
		for _, field := range fields {
			var name string
			if json.Unmarshal(object[field], &name) == nil {
				names = append(names, strings.ReplaceAll(name, "\\", "/"))
			}
		}
	}
	for _, name := range names {
		if question, document = Prefixes(name); question+document != "" {
			return question, document
		}
	}
	return "", ""
}
