package config

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/memory"
)

// foreignSetting is a setting of another memory system on which a profile is modelled. The table in
// docs/profiles.md lists the same settings for people.
type foreignSetting struct {
	name, profile string
	key           string // key of Loci's corresponding setting; empty if Loci has no such setting
	convert       func(string) (string, error)
}

var foreignSettings = []foreignSetting{
	{"memory_extractor", "assistant", "learn.prefer", func(s string) (string, error) { return s + ",smallest", nil }},
	{"rag_embedding_model", "assistant", "embedder", func(s string) (string, error) { return LocalModel + path.Base(s), nil }},
	{"rag_similarity_threshold", "assistant", "recall.threshold", nil},
	{"data_dir", "assistant", "data", nil},
	{"chroma_dir", "assistant", "", nil},

	{"openai_api_key", "platform", "upstream.key", nil},
	{"use_llm_intent", "platform", "query.intents", boolConverter("keywords", "embedding")},
	{"summary_interval", "platform", "summaries.every", nil},
	{"top_k", "platform", "recall.top_k", nil},

	{"memory_path", "agent-cli", "vault", nil},
	{"embedding_model", "agent-cli", "embedder", func(s string) (string, error) { return RemoteModel + s, nil }},
	{"default_top_k", "agent-cli", "recall.top_k", nil},
	{"max_entries", "agent-cli", "upkeep.conversation", nil},
	{"mmr_lambda", "agent-cli", "", nil},
	{"recency_weight", "agent-cli", "recall.recency_weight", nil},
	{"score_threshold", "agent-cli", "recall.threshold", nil},
	{"enable_summarization", "agent-cli", "summaries.mode", boolConverter("off", "on")},
}

const openAIURL = "https://api.openai.com/v1"

func boolConverter(falseValue, trueValue string) func(string) (string, error) {
	return func(s string) (string, error) {
		b, err := strconv.ParseBool(strings.ToLower(s))
		if b {
			return trueValue, err
		}
		return falseValue, err
	}
}

// ImportedSettings holds settings from the settings file of another memory system.
type ImportedSettings struct {
	Settings map[string]string `json:"settings"`
	Skipped  []string          `json:"passed,omitempty"` // names of settings in the file that Loci does not have
}

// Import reads a settings file (YAML, JSON, TOML or lines of NAME=VALUE) of a memory system on which
// the profile assistant, platform or agent-cli is modelled.
func Import(file string, data []byte) (ImportedSettings, error) {
	values, providers, err := foreignValues(file, data)
	if err != nil {
		return ImportedSettings{}, err
	}
	out := ImportedSettings{Settings: map[string]string{}}
	votes := map[string]int{}
	for _, v := range values {
		i := slices.IndexFunc(foreignSettings, func(f foreignSetting) bool { return f.name == v.name })
		if i < 0 || foreignSettings[i].key == "" {
			out.Skipped = append(out.Skipped, v.name)
			continue
		}
		f := foreignSettings[i]
		if f.convert != nil {
			if v.value, err = f.convert(v.value); err != nil {
				return ImportedSettings{}, memory.Errorf(memory.Invalid, "%s: %s: invalid value; valid: true, false", file, v.name)
			}
		}
		out.Settings[f.key] = v.value
		if f.name == "rag_embedding_model" { // in the system with this setting, thresholds apply to cosines
			out.Settings["recall.score"] = "cosine"
		}
		votes[f.profile]++
	}
	for _, p := range providers {
		votes["assistant"]++
		base, err := url.Parse(p.url)
		if err != nil {
			return ImportedSettings{}, memory.Errorf(memory.Invalid, "%s: invalid URL of %s", file, p.Name)
		}
		if p.key != "" {
			base.User = url.User(p.key)
		}
		entry := p.Name + "=" + base.String()
		if before := out.Settings["learn.providers"]; before != "" {
			entry = before + "," + entry
		}
		out.Settings["learn.providers"] = entry
	}
	if len(out.Settings) == 0 {
		return ImportedSettings{}, memory.Errorf(memory.Invalid, "%s: the file has no supported setting; docs/profiles.md lists the supported names", file)
	}
	for _, profile := range ProfileNames() {
		if best := out.Settings["profile"]; votes[profile] > votes[best] {
			out.Settings["profile"] = profile
		}
	}
	if key := out.Settings["upstream.key"]; key != "" { // the key is for OpenAI, which then answers chats and embeds texts
		maps.Copy(out.Settings, map[string]string{"upstream.url": openAIURL, "embed.url": openAIURL, "embed.key": key})
	}
	flags := maps.Clone(out.Settings)
	flags["upstream.url"] = "http://localhost/v1" // Load requires a server for a remote embedder, but these files name no server
	_, err = Load(Sources{Flags: flags})
	return out, err
}

// YAML returns the settings as the text of a file for --config.
func (s ImportedSettings) YAML() ([]byte, error) { return yaml.Marshal(nestKeys(s.Settings)) }

type foreignValue struct{ name, value string }

// foreignValues returns the settings in a file, each under the last part of its dotted name, and the
// providers that the file lists.
func foreignValues(file string, data []byte) (values []foreignValue, providers []Provider, err error) {
	if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return foreignLines(data), nil, nil
	}
	var tree yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &tree, yaml.UseOrderedMap()); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n") // the rest of the message quotes the file, which may contain a key
		return nil, nil, memory.Errorf(memory.Invalid, "%s: %s", file, line)
	}
	var read func(tree yaml.MapSlice)
	read = func(tree yaml.MapSlice) {
		for _, item := range tree {
			name := normalizeName(fmt.Sprint(item.Key))
			switch inner, nested := item.Value.(yaml.MapSlice); {
			case nested && name == "providers":
				providers = append(providers, foreignProviders(inner)...)
			case nested:
				read(inner)
			default:
				values = append(values, foreignValue{name, fmt.Sprint(item.Value)})
			}
		}
	}
	read(tree)
	return values, providers, nil
}

// foreignProviders reads providers from tree, which maps each name to a URL and a key.
func foreignProviders(tree yaml.MapSlice) []Provider {
	var out []Provider
	for _, item := range tree {
		p := Provider{Name: fmt.Sprint(item.Key)}
		inner, _ := item.Value.(yaml.MapSlice)
		for _, field := range inner {
			switch normalizeName(fmt.Sprint(field.Key)) {
			case "url", "base_url", "api_base":
				p.url = fmt.Sprint(field.Value)
			case "key", "api_key":
				p.key = fmt.Sprint(field.Value)
			}
		}
		if p.url != "" {
			out = append(out, p)
		}
	}
	return out
}

// foreignLines reads lines of NAME=VALUE, as in a .env file, a TOML file or a shell script.
func foreignLines(data []byte) []foreignValue {
	var out []foreignValue
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export "), "=")
		if name = strings.TrimSpace(name); !ok || name == "" || name[0] == '#' {
			continue
		}
		if value = strings.TrimSpace(value); value != "" && (value[0] == '"' || value[0] == '\'') {
			value, _, _ = strings.Cut(value[1:], value[:1])
		} else {
			value, _, _ = strings.Cut(value, " #")
		}
		out = append(out, foreignValue{normalizeName(name[strings.LastIndexByte(name, '.')+1:]), strings.TrimSpace(value)})
	}
	return out
}

func normalizeName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
