package transformer

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const forPassages = "Represent this sentence for searching relevant passages: "

// families are models that were trained with a text before each question or document. Their names
// have all these parts, and not the other. The first counts.
var families = []struct {
	parts              []string
	not                string
	question, document string
}{
	{[]string{"e5"}, "instruct", "query: ", "passage: "},
	{[]string{"bge", "zh"}, "reranker", "为这个句子生成表示以用于检索相关文章：", ""},
	{[]string{"bge", "en"}, "reranker", forPassages, ""},
	{[]string{"bge", "large"}, "reranker", forPassages, ""}, // Ollama's name for the English one
	{[]string{"nomic", "embed", "text"}, "", "search_query: ", "search_document: "},
	{[]string{"mxbai", "embed", "large"}, "de", forPassages, ""},
	{[]string{"arctic", "embed2"}, "", "query: ", ""}, // Ollama's name for the next
	{[]string{"arctic", "embed", "v2"}, "", "query: ", ""},
	{[]string{"arctic", "embed"}, "", forPassages, ""},
	{[]string{"embeddinggemma"}, "", "task: search result | query: ", "title: none | text: "},
	{[]string{"qwen3", "embedding"}, "", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""},
}

// Prefixes returns what a model of this name expects before a question and before a document,
// where that is known from its family's documentation. The name may have an organisation before
// it and a version behind it, as servers and the hub write them.
func Prefixes(name string) (question, document string) {
	parts := strings.FieldsFunc(strings.ToLower(path.Base(name)), func(r rune) bool { return strings.ContainsRune("-_.@:", r) })
	for _, f := range families {
		known := !slices.Contains(parts, f.not)
		for _, part := range f.parts {
			known = known && slices.Contains(parts, part)
		}
		if known {
			return f.question, f.document
		}
	}
	return "", ""
}

// familyPrefixes goes by the folder's name, and by those in config.json and in Loci's own notes,
// for a folder may be called anything.
func familyPrefixes(dir fs.FS, folder string) (question, document string) {
	names := []string{folder}
	for file, fields := range map[string][]string{"loci.json": {"repository", "source"}, "config.json": {"_name_or_path"}} {
		var said map[string]json.RawMessage
		if readJSON(dir, file, &said) != nil { // what matters in config.json is read elsewhere
			continue
		}
		for _, field := range fields {
			var name string
			if json.Unmarshal(said[field], &name) == nil {
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
