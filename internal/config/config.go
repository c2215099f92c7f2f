// Package config is everything that can be set: where settings come from, what is valid, what is shown
// of them. It opens nothing.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Config is everything that can be set. [Load] reads it from flags,
// environment, file, profile and defaults, in that order of precedence; each field's tag
// holds its key, its default, what it means and, for a closed choice, what is
// valid. docs/settings.md is generated from these tags.
type Config struct {
	Addr    string        `koanf:"addr" default:"127.0.0.1:7077" doc:"Address to listen on. Any address but loopback needs api_key. For commands, the server to ask, which may be a URL."`
	Data    string        `koanf:"data" default:"~/.loci" doc:"Folder of the database and of everything else that Loci stores."`
	Profile string        `koanf:"profile" default:"default" valid:"default|agent-cli|assistant|coding|desktop|openwebui|platform" doc:"Settings that belong together. A flag, the environment and the file win over them. See docs/profiles.md."`
	Store   StoreAddress  `koanf:"store" default:"sqlite" doc:"Where memory is stored. sqlite: in the data folder. memory: nowhere; it is lost at exit. postgres://user:password@host:5432/database or mongodb://user:password@host:27017/database: in a database that several servers may share. See docs/design/stores.md."`
	Vault   string        `koanf:"vault" doc:"Folder of Markdown files that hold the memory, to read and edit. The store keeps their history; if it is lost, memory is rebuilt from the files. Empty: no files. See docs/vault.md."`
	Users   string        `koanf:"users" default:"single" valid:"single|multi" doc:"Whose memory a request without a user uses. single: that of the user default. multi: nobody's; a chat passes without memory."`
	APIKey  string        `koanf:"api_key" secret:"yes" doc:"Key that clients must send, as a bearer token or in X-Loci-Key. It may act for any user."`
	Front   string        `koanf:"front_key" secret:"yes" doc:"Key of a front end: it may name the user of each request, but it is not an admin's. Equal to a key by loci keys add --front. Needs api_key."`
	Trusted []string      `koanf:"trusted" doc:"Addresses or networks whose requests need no key and may name any user, as long as api_key is not set. Empty: loopback. A request through a reverse proxy always needs a key."`
	Hosts   []string      `koanf:"hosts" doc:"Host names that requests may use besides localhost and the address that Loci listens on. Needs api_key."`
	Proxies []string      `koanf:"proxies" doc:"Addresses or networks of reverse proxies in front of Loci. Only their X-Forwarded-For counts, in the log and for the limit on wrong keys, and only their X-Forwarded-Proto, which makes the page's cookies Secure. Needs api_key. See docs/api.md."`
	Header  string        `koanf:"users_header" doc:"Header that names the user and wins over X-Loci-User. It counts only in requests from an address in proxies that carry a key which may name users. For LiteLLM: x-litellm-user_api_key_user_id. See docs/guide/litellm.md."`
	JWT     string        `koanf:"jwt_secret" secret:"yes" doc:"Secret that signs X-OpenWebUI-User-Jwt (HS256)."`
	Drain   time.Duration `koanf:"drain" default:"30s" doc:"How long running requests may continue after the server was told to stop. A server that other machines can reach first answers /health/ready with 503 and accepts requests for a sixth of this time. A stream that is cut ends with an error event."`
	Prompts string        `koanf:"prompts" doc:"Folder of prompt files that replace the built-in ones."`

	VaultGit bool `koanf:"vault_git" default:"false" doc:"Commit the vault's files to git, with messages that say what was learned. If git refuses, Loci logs it and continues."`

	Embedder  string `koanf:"embedder" default:"auto" doc:"What turns text into vectors. auto: the best encoder in models_dir; without one, the remote model that the profile names, if the upstream has it; otherwise lexical. lexical: no model, words alone. local:NAME: a folder in models_dir. remote:MODEL: a model at embed.url. After a change memories get new vectors in the background and are found by words until then. See docs/models.md."`
	Reranker  string `koanf:"reranker" default:"none" doc:"What reads the best candidates again together with the question. none; local:NAME: a cross-encoder in models_dir; remote:MODEL: the /rerank of embed.url."`
	ModelsDir string `koanf:"models_dir" doc:"Folder of local models, one folder each. Empty: models in the data folder."`
	ModelsURL string `koanf:"models_url" default:"https://huggingface.co" doc:"Hub, or mirror of one, that loci models pull downloads from."`

	Bootstrap string `koanf:"bootstrap" doc:"File of facts for everybody, one a line: JSON objects with content, category and tags, or a list. Read at each start; facts that are no longer in the file leave the global pool. Empty: the pool stays as it is."`

	Embed    EmbedConfig    `koanf:"embed"`
	Upstream UpstreamConfig `koanf:"upstream"`
	Learn    LearnConfig    `koanf:"learn"`
	Review   ReviewConfig   `koanf:"review"`
	Share    ShareConfig    `koanf:"share"`
	Memory   MemoryConfig   `koanf:"memory"`
	Forward  ForwardConfig  `koanf:"forward"`
	CORS     CORSConfig     `koanf:"cors"`
	Summary  SummaryConfig  `koanf:"summaries"`
	Upkeep   UpkeepConfig   `koanf:"upkeep"`
	Recall   RecallConfig   `koanf:"recall"`
	Index    IndexConfig    `koanf:"index"`
	Chroma   ChromaConfig   `koanf:"chroma"`
	Query    QueryConfig    `koanf:"query"`
	Chats    ChatsConfig    `koanf:"chats"`
	Record   RecordConfig   `koanf:"record"`
	Limits   LimitsConfig   `koanf:"limits"`
	Log      LogConfig      `koanf:"log"`
	TLS      TLSConfig      `koanf:"tls"`
	OTLP     OTLPConfig     `koanf:"otlp"`
	SSO      SSOConfig      `koanf:"sso"`
	Audit    AuditConfig    `koanf:"audit"`
	Backup   BackupConfig   `koanf:"backup"`

	Preset Preset // what the profile decides beside the settings

	from    map[string]string // which source each key's value is from; nil where no source was read
	unknown []string          // LOCI_ variables of the environment that are not settings
	lacks   []string          // models that the profile names and that are not at hand
	named   string            // the profile's embedder
	lack    string            // what there would have to be for it to be had; "": it is there, or another is set
}

// EmbedConfig is the server of remote embedders and rerankers.
type EmbedConfig struct {
	URL string `koanf:"url" secret:"yes" doc:"Base URL of the server of remote:MODEL; for most servers it ends in /v1. Empty: upstream.url."`
	Key string `koanf:"key" secret:"yes" doc:"Key for embed.url. Empty, without an embed.url: upstream.key."`
}

// UpstreamConfig is the OpenAI-compatible server that answers chats.
type UpstreamConfig struct {
	URL string `koanf:"url" doc:"Base URL of an OpenAI-compatible server, ending in /v1. Empty: the built-in model loci/recall answers."`
	Key string `koanf:"key" secret:"yes" doc:"Key for the upstream. Empty: the client's own Authorization is forwarded."`
	API string `koanf:"api" default:"auto" valid:"auto|chat" doc:"How requests of /v1/messages and /v1/responses reach the upstream. auto: unchanged, or translated into chat completions once the upstream has answered 404 or 405. chat: always translated."`
}

// Shown returns the base URL as it may be shown.
func (u UpstreamConfig) Shown() string { return ShownURL(u.URL) }

// ShownURL is a base URL without what may be secret: its query may hold a key, and what stands
// before its host a password.
func ShownURL(base string) string {
	shown, _, _ := strings.Cut(base, "?")
	if whole, err := url.Parse(shown); err == nil && whole.User != nil {
		whole.User = nil
		return whole.String()
	}
	return shown
}

// LearnConfig is how facts are learned from what was said.
type LearnConfig struct {
	After     string        `koanf:"after" default:"exchange" valid:"exchange|user|never" doc:"When to learn. exchange: after each answer. user: on each user message. never: only on request."`
	Model     string        `koanf:"model" default:"auto" doc:"Model that learns. auto: the smallest that the upstream lists, by the size or family in its name (nano, lite, mini, haiku, flash, small), otherwise the chat's own; with learn.prefer, the first of those. chat: the chat's own. none: the built-in rules alone."`
	URL       string        `koanf:"url" doc:"Base URL of the learning model's server. Empty: upstream.url."`
	Key       string        `koanf:"key" secret:"yes" doc:"Key for learn.url. Empty, without a learn.url: upstream.key."`
	Rules     string        `koanf:"rules" default:"on" valid:"on|off" doc:"Whether the built-in rules learn if there is no model, if it has failed for ten minutes, or if it did not pass its trial (learn.trust)."`
	Assistant bool          `koanf:"assistant" default:"false" doc:"Whether the assistant's turns teach, too."`
	Timeout   time.Duration `koanf:"timeout" default:"2m" doc:"How long the learning model may be silent: before the first token of a reply, and between two. A server that does not stream has this time for the whole reply. A failed attempt is repeated with half of the messages."`
	Trust     string        `koanf:"trust" default:"tried" valid:"tried|always|never" doc:"Whether a model's facts are remembered without review. tried: only if it passes a trial of a dozen fixed messages before its first lesson, one call of some 900 tokens, repeated every 30 days for each model and server; otherwise its facts wait for review and the rules learn. always: yes. never: all wait for review. See docs/learning.md."`
	Personal  bool          `koanf:"personal" default:"false" doc:"Remove e-mail addresses, phone numbers and other personal identifiers before anything is stored, logged or learned. Secrets are always removed."`

	ClientKeys bool `koanf:"client_keys" default:"false" doc:"Whether a model may learn with the key of the user's client if upstream.key is not set. That spends the user's quota. The key is kept in memory only. Not needed for a server in the local network that takes no key."`

	Providers []string `koanf:"providers" doc:"Further servers of learning models, as NAME=URL with URLs like https://KEY@host/v1. learn.model and learn.prefer name their models as NAME/MODEL, or by name alone; smallest and auto consider all of these servers."`

	Prefer []string `koanf:"prefer" doc:"Models that learn if learn.model is auto or is not listed by its server: the first of these that the server lists. smallest: the smallest by its name."`

	Scope string        `koanf:"scope" default:"user" valid:"user|project|conversation" doc:"What a learned fact belongs to. user: the user, or the chat's project if the fact is about the project. project: the chat's project, if it has one. conversation: the conversation; a chat then sees what it said and taught itself, what was written by hand, and the conversation global; a chat without a name is the conversation default."`
	Every int           `koanf:"every" default:"4" doc:"How many user messages the model reads together, with learn.after=exchange. 1: each exchange at once. The rules always learn at once."`
	Idle  time.Duration `koanf:"idle" default:"2m" doc:"How long a conversation rests before the messages left over from learn.every are read."`

	DayTokens   int64   `koanf:"day_tokens" default:"100000" doc:"Tokens that the learning model may use for one user in a day (UTC). The rest waits for the next day. 0: no limit."`
	InputPrice  float64 `koanf:"input_price" default:"0" doc:"Price of a million input tokens of the learning model, for loci usage."`
	OutputPrice float64 `koanf:"output_price" default:"0" doc:"Price of a million output tokens of the learning model, for loci usage."`
}

// ReviewConfig is what waits for a person before it is remembered. What the user
// asks to be remembered never waits.
type ReviewConfig struct {
	Confidence float64  `koanf:"confidence" default:"0" doc:"Facts with a lower confidence, 0 to 1, wait for review."`
	Categories []string `koanf:"categories" doc:"Categories of facts that wait for review, with commas: health, family."`
	Conflicts  bool     `koanf:"conflicts" default:"false" doc:"Whether facts that would replace another one wait for review."`
}

// ShareConfig is how users share facts with each other.
type ShareConfig struct {
	Accept string `koanf:"accept" default:"ask" valid:"ask|admins|off" doc:"Consent to shared facts. ask: a fact shared with a user waits in the receiver's review. admins: the same, but what an admin shares is shown at once. off: nobody shares with users. Pools and global need an admin and no consent. Without api_key every request is an admin's."`
}

// MemoryConfig is which chats may use memory.
type MemoryConfig struct {
	Channels string `koanf:"channels" default:"off" valid:"off|read" doc:"Memory in channels of Open WebUI (chat ids that begin with channel:). off: none. read: the memory of the user who asks is read, into answers that everybody in the channel sees. Channels never write memory."`
}

// CORSConfig is which pages of other servers may use this one from a browser.
type CORSConfig struct {
	Origins []string `koanf:"origins" doc:"Origins whose pages may use the APIs from a browser, written exactly, as https://app.example.org. They send the key in a header, never cookies; without api_key such a page may do anything."`
}

// ForwardConfig is what of a request goes to the upstream besides its body.
type ForwardConfig struct {
	Drop []string `koanf:"drop" doc:"Further headers that are not forwarded to the upstream, besides those that say who asks. A * at the end matches every header that begins so. With - in front a header is forwarded: -X-OpenWebUI-*. See docs/guide/clients.md."`
}

// SummaryConfig is how conversations are summed up.
type SummaryConfig struct {
	Mode  string `koanf:"mode" default:"model" valid:"off|model|on" doc:"When conversations are summarized. off: never. model: if a model learns. on: always; by rule if there is no model or it fails."`
	Every int    `koanf:"every" default:"10" doc:"Number of exchanges after which a summary is renewed."`
}

// UpkeepConfig is what leaves recall by itself. It can be taken back; what a person
// wrote, approved or pinned stays.
type UpkeepConfig struct {
	User         int           `koanf:"user" default:"0" doc:"Most facts and turns of a user; the oldest leave recall first. 0: no limit."`
	Conversation int           `koanf:"conversation" default:"0" doc:"Most turns of a conversation, with the facts that belong to it alone. 0: no limit."`
	HalfLife     time.Duration `koanf:"half_life" default:"0s" doc:"Time in which a learned fact loses half of its confidence unless it is said again. 0s: it loses nothing."`
}

// RecallConfig is how memory is found and put into prompts.
type RecallConfig struct {
	TopK          int           `koanf:"top_k" default:"-1" doc:"Most memories in one prompt or answer. -1: 8 in a chat, 12 in a search on purpose (API, MCP tools)."`
	Budget        int           `koanf:"budget" default:"1500" doc:"Most tokens of memory in one prompt."`
	Score         string        `koanf:"score" default:"fitted" valid:"fitted|cosine|reranker" doc:"Score that memories are ordered by and that recall.threshold applies to. fitted: the chance that a memory answers, by all that is known of it. cosine: the similarity of its vector to the question's; words find only memories without a vector. reranker: the reranker's score of what the vectors find. With the last two the score is relevance and recency alone."`
	Threshold     float64       `koanf:"threshold" default:"-1" doc:"Least relevance, 0 to 1, of a recalled memory. -1: Loci's own."`
	RecencyWeight float64       `koanf:"recency_weight" default:"0.2" doc:"Weight of recency against relevance, 0 to 1."`
	Decay         time.Duration `koanf:"decay" default:"0s" doc:"Age at which relevance has fallen to a third (1/e), instead of the blend with recency. 0s: relevance does not fall."`
	Placement     string        `koanf:"placement" default:"tail" valid:"tail|system|user" doc:"Where memory is put. tail: a message of its own before the last user message. system: the system message. user: the user message."`
	Blocks        string        `koanf:"blocks" default:"keep" valid:"keep|last" doc:"What later requests of a chat do with the memory of earlier messages. keep: it is sent again where it was, so that a provider's prompt cache stays valid, and only new memory is added. last: only the last message has memory. With placement system always last."`
	Core          int           `koanf:"core" default:"800" doc:"Most tokens of the core: the facts that hold, with which the memory of a conversation begins. If they do not all fit: pinned facts, how to answer, then those that matter most or are near to the message. Only what users said or people wrote. 0: pinned facts and profile entries alone, at most 150 tokens."`
	CoreWithout   []string      `koanf:"core_without" doc:"Categories of facts, with commas, that are not in the core and are found by search alone. A pinned fact is in it all the same."`
	Deadline      time.Duration `koanf:"deadline" default:"150ms" doc:"How long a chat waits for memory in each of two steps: finding its conversation, and recall. With a remote model, a database server or Chroma the default is 400ms."`
	DeadlineMax   time.Duration `koanf:"deadline_max" default:"1s" doc:"Longest time that recall may take with a local embedder or reranker, if the model's last times show that it needs more than recall.deadline. At or below recall.deadline: no more time."`

	Contexts int      `koanf:"contexts" default:"8000" doc:"Most tokens of attached documents in one prompt. A longer document is cut off, with a line that says so."`
	Pools    []string `koanf:"pools" doc:"Names of shared pools that answer the questions of every user. Admins add facts by POST /api/memory/{id}/share."`
}

// IndexConfig is the index that searches run on.
type IndexConfig struct {
	Budget       Bytes `koanf:"budget" default:"1GiB" doc:"Most memory of the resident indexes of all users: bytes, or a number with KiB, MiB or GiB."`
	OffloadAbove Bytes `koanf:"offload_above" default:"0" doc:"Size of a user's index, at 1 KiB a memory, above which the database searches that user's vectors (PostgreSQL with pgvector). It is slower but needs no memory. 0: never. See docs/postgres.md."`
}

// ChromaConfig is the Chroma server that finds the nearest vectors, if one is set.
type ChromaConfig struct {
	URL        string `koanf:"url" doc:"Base URL of a Chroma server, as http://localhost:8000, that searches all vectors. The index still finds words. Empty: none."`
	Key        string `koanf:"key" secret:"yes" doc:"Key for the Chroma server, sent as X-Chroma-Token and as a bearer token."`
	Collection string `koanf:"collection" default:"loci" doc:"First part of the names of Chroma's collections. Installations with different stores on one Chroma server need different names."`
}

// QueryConfig is how POST /query is answered.
type QueryConfig struct {
	Intents string `koanf:"intents" default:"keywords" valid:"keywords|embedding" doc:"How POST /query finds the intent. keywords: by words. embedding: by words, or by the embedder if the words say nothing."`
}

// ChatsConfig is how the chats under /api/chats are answered.
type ChatsConfig struct {
	Model string `koanf:"model" doc:"Model at upstream.url for POST /query, its images, and chats under /api/chats whose message names no model. Empty: the one that learns. Without an upstream: loci/recall."`
}

// RecordConfig is what is kept of chats.
type RecordConfig struct {
	History  string   `koanf:"history" default:"align" valid:"align|recall|learn" doc:"What to do with messages that a client brings along but that did not go through Loci, as of a cloned chat. align: they only serve to recognize the chat. recall: they are recalled, too. learn: the user's teach as well."`
	Sessions []string `koanf:"sessions" doc:"Headers by which clients name a conversation; the first one present counts. Empty: X-OpenWebUI-Chat-Id, X-Session-Id, Thread-Id, Session-Id."`
	Projects []string `koanf:"projects" doc:"Headers by which clients name a chat's project if neither memory_project nor X-Loci-Project does; the first one present counts."`
	Folder   bool     `koanf:"folder" default:"true" doc:"Whether a chat that names no project belongs to the working directory that a coding agent names in its messages. See docs/guide/coding-agents.md."`
}

// LimitsConfig is what one request may hold.
type LimitsConfig struct {
	Body       int64 `koanf:"body" default:"33554432" doc:"Most bytes of a request's body. All bodies together may take a quarter of GOMEMLIMIT, otherwise of the cgroup's memory limit, otherwise of 1 GiB; beyond that chats pass without memory and other requests get a 503 with Retry-After."`
	Requests   int   `koanf:"requests" default:"0" doc:"Most requests of one user, or of one key that is not a user's, in a minute at each server; more get a 429 with Retry-After. 0: no limit."`
	Tokens     int   `koanf:"tokens" default:"0" doc:"Most upstream tokens of one user or key in a minute, prompts and answers, as the answers count them. 0: no limit. For learning see learn.day_tokens."`
	Concurrent int   `koanf:"concurrent" default:"64" doc:"Most requests of one user at once. 0: no limit."`

	Text int `koanf:"text" default:"1048576" doc:"Most bytes of one memory or message. /api refuses more. A longer message of a chat is forwarded whole, stored cut with a mark, and learned from as stored."`
}

// LogConfig is what is logged, to standard error.
type LogConfig struct {
	Level  string `koanf:"level" default:"info" valid:"debug|info|warn|error" doc:"Lowest level that is logged."`
	Format string `koanf:"format" default:"text" valid:"text|json" doc:"text for people, json for programs."`

	Content bool `koanf:"content" default:"false" doc:"Log the words of what was learned and of models' replies, for development. Otherwise the log has ids only."`
}

// TLSConfig is how the server encrypts what it serves.
type TLSConfig struct {
	Cert string   `koanf:"cert" doc:"File of the server's certificate with its chain (PEM). Empty, without tls.acme: HTTP."`
	Key  string   `koanf:"key" doc:"File of the certificate's key (PEM). A reload reads both files again."`
	ACME []string `koanf:"acme" doc:"Host names to get certificates for from Let's Encrypt, stored in the data folder. The server must be reachable at port 443 of each. Setting this accepts Let's Encrypt's terms."`
}

// On reports whether the server encrypts.
func (c TLSConfig) On() bool { return c.Cert != "" || len(c.ACME) > 0 }

func (c TLSConfig) check() error {
	if (c.Cert == "") != (c.Key == "") || c.Cert != "" && len(c.ACME) > 0 {
		return memory.Errorf(memory.Invalid, "tls.cert: it goes with tls.key, and without tls.acme")
	}
	return nil
}

// SSOConfig is who signs people in at the page, besides keys.
type SSOConfig struct {
	Issuer   string   `koanf:"issuer" doc:"URL of an OpenID Connect server that people sign in with, as https://login.example.org. Loci's redirect URL is /signin/callback. Needs api_key. See docs/guide/operations.md."`
	ClientID string   `koanf:"client_id" doc:"Client id of Loci at sso.issuer."`
	Secret   string   `koanf:"client_secret" secret:"yes" doc:"Client secret of Loci at sso.issuer. Empty: a public client, protected by PKCE."`
	User     string   `koanf:"user" default:"sub" doc:"Claim of the token that is the user's name in Loci, the same name that front ends use: sub, email or preferred_username. Do not use a claim that people can change: they could become anybody."`
	Header   []string `koanf:"header" doc:"Header in which a reverse proxy that signs people in names the user and, after a comma, the header with the user's groups: X-Forwarded-User,X-Forwarded-Groups. They count only from addresses in proxies; such a request needs no key. The proxy must remove them from clients' requests."`
	Admins   []string `koanf:"admins" doc:"Users who are admins when they sign in this way, and groups of such users as group:NAME."`
}

// OTLPConfig is where traces go.
type OTLPConfig struct {
	Endpoint string `koanf:"endpoint" secret:"yes" doc:"URL of an OpenTelemetry collector that gets a trace of each chat by OTLP/HTTP, as http://localhost:4318; without a path /v1/traces is added. Traces hold ids, models, tokens and durations, never words. Empty: none. See docs/guide/metrics.md."`
}

// AuditConfig is the record of acts that concern trust.
type AuditConfig struct {
	Keep int `koanf:"keep" default:"365" doc:"Days that the audit record is kept: sign-ins, keys, what admins did in others' memory, exports, erasures. 0: for ever."`
}

// BackupConfig is the schedule of backups.
type BackupConfig struct {
	Every     time.Duration `koanf:"every" default:"0s" doc:"Time between backups of all users' memory to backup.to, as 24h. 0s: none. Needs SQLite or a vault; use the tools of a PostgreSQL or MongoDB server there. See docs/backup.md."`
	To        string        `koanf:"to" secret:"yes" doc:"Where scheduled backups go: an existing folder, or s3://KEY:SECRET@host/bucket/prefix, optionally with ?region=NAME or ?tls=false. Without KEY and SECRET: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Each server needs a place of its own."`
	Keep      int           `koanf:"keep" default:"7" doc:"Number of scheduled backups to keep. None is deleted while the newest cannot be restored."`
	Recipient string        `koanf:"recipient" doc:"Recipient (age1...) that scheduled backups are encrypted for. Keep its identity outside Loci: it is needed to restore. Empty: not encrypted."`
}

// check refuses what the tags cannot express. Every message names the key.
func (c *Config) check() error {
	if _, _, err := net.SplitHostPort(c.Addr); !c.namesServer() && (err != nil || strings.Contains(c.Addr, "/")) {
		return memory.Errorf(memory.Invalid, "addr: %q is not a valid address; one looks like 127.0.0.1:7077", c.Addr)
	}
	for key, reached := range map[string][]string{"hosts": c.Hosts, "proxies": c.Proxies} {
		if len(reached) > 0 && c.APIKey == "" {
			return memory.Errorf(memory.Invalid, "%s: needs api_key (LOCI_API_KEY): without a key everybody who reaches the server from elsewhere could read everything", key)
		}
	}
	if c.Header != "" && (len(c.Proxies) == 0 || strings.Trim(strings.ToLower(c.Header), nameLetters) != "") {
		return memory.Errorf(memory.Invalid, "users_header: needs the name of a header, and proxies (LOCI_PROXIES), since from no other address it counts")
	}
	if err := c.TLS.check(); err != nil {
		return err
	}
	if err := c.SSO.check(c.APIKey != "", len(c.Proxies) > 0); err != nil {
		return err
	}
	for _, origin := range c.CORS.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+strings.ToLower(u.Host) != origin {
			return memory.Errorf(memory.Invalid, "cors.origins: invalid origin %q (example: https://app.example.org)", origin)
		}
	}
	if c.Front != "" && (c.APIKey == "" || c.Front == c.APIKey) {
		return memory.Errorf(memory.Invalid, "front_key: needs an api_key, which is another (LOCI_API_KEY)")
	}
	for _, pattern := range c.Forward.Drop {
		if name := strings.TrimSuffix(strings.TrimPrefix(pattern, "-"), "*"); name == "" || strings.Trim(strings.ToLower(name), nameLetters) != "" {
			return memory.Errorf(memory.Invalid, "forward.drop: invalid header %q (examples: X-Team-*, -X-OpenWebUI-*)", pattern)
		}
	}
	for key, base := range map[string]string{"upstream.url": c.Upstream.URL, "learn.url": c.Learn.URL, "embed.url": c.Embed.URL, "models_url": c.ModelsURL, "chroma.url": c.Chroma.URL, "sso.issuer": c.SSO.Issuer, "otlp.endpoint": c.OTLP.Endpoint} {
		if base == "" {
			continue
		}
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return memory.Errorf(memory.Invalid, "%s: %q is not a valid URL; one looks like http://localhost:11434/v1", key, ShownURL(base))
		}
		if key == "upstream.url" && strings.Trim(u.Path, "/") == "" { // where no such server has its API
			u.Path = "/v1"
			return memory.Errorf(memory.Invalid, "%s: %q has no path; with that of most servers it is %s", key, ShownURL(base), ShownURL(u.String()))
		}
	}
	if err := c.Store.check(); err != nil {
		return err
	}
	if b := c.Backup; b.Every != 0 && (b.Every < time.Minute || b.To == "" || c.Store.Server() || c.Store == "memory" && c.Vault == "") {
		return memory.Errorf(memory.Invalid, "backup.every: %v needs backup.to (a folder or s3://KEY:SECRET@host/bucket/prefix), 1m or more, and store sqlite or a vault; "+
			"a database server is backed up by its own tools (pg_dump, mongodump); 0s turns it off", b.Every)
	}
	if c.Store.Server() && c.Vault != "" {
		return memory.Errorf(memory.Invalid, "vault: it is kept in files of this machine, for which store is sqlite or memory")
	}
	if err := c.checkModels(); err != nil {
		return err
	}
	if _, err := c.Learn.ProviderList(); err != nil {
		return err
	}
	if c.Recall.Score == "reranker" && c.Reranker == "none" {
		return memory.Errorf(memory.Invalid, "recall.score: reranker needs reranker")
	}
	if !validCollection(c.Chroma.Collection) {
		return memory.Errorf(memory.Invalid, "chroma.collection: invalid name %q; it takes 3 to 60 letters of a to z, digits, dots, underscores and hyphens, with a letter or digit first", c.Chroma.Collection)
	}
	if c.VaultGit && c.Vault == "" {
		return memory.Errorf(memory.Invalid, "vault_git: needs vault")
	}
	if !slices.Contains([]string{"", LearnAuto, LearnChat, LearnNone}, c.Learn.Model) && c.Learn.URL == "" && c.Upstream.URL == "" && len(c.Learn.Providers) == 0 {
		return memory.Errorf(memory.Invalid, "learn.model: %q needs learn.url or upstream.url", c.Learn.Model)
	}
	for _, r := range []struct {
		key      string
		value    float64
		min, max float64
	}{
		{"recall.top_k", float64(c.Recall.TopK), -1, 100},
		{"recall.core", float64(c.Recall.Core), 0, 20_000},
		{"recall.budget", float64(c.Recall.Budget), 0, 100_000},
		{"recall.threshold", c.Recall.Threshold, -1, 1},
		{"recall.recency_weight", c.Recall.RecencyWeight, 0, 1},
		{"recall.decay", c.Recall.Decay.Hours(), 0, 24 * 36500},
		{"recall.deadline", c.Recall.Deadline.Seconds(), 0.001, 60},
		{"recall.deadline_max", c.Recall.DeadlineMax.Seconds(), 0, 60},
		{"recall.contexts", float64(c.Recall.Contexts), 1, 1_000_000},
		{"learn.timeout", c.Learn.Timeout.Seconds(), 1, 3600},
		{"learn.every", float64(c.Learn.Every), 1, 50},
		{"learn.idle", c.Learn.Idle.Seconds(), 1, 24 * 3600},
		{"learn.day_tokens", float64(c.Learn.DayTokens), 0, 1e12},
		{"learn.input_price", c.Learn.InputPrice, 0, 1e6},
		{"learn.output_price", c.Learn.OutputPrice, 0, 1e6},
		{"review.confidence", c.Review.Confidence, 0, 1},
		{"summaries.every", float64(c.Summary.Every), 1, 1000},
		{"upkeep.user", float64(c.Upkeep.User), 0, 1e9},
		{"upkeep.conversation", float64(c.Upkeep.Conversation), 0, 1e9},
		{"upkeep.half_life", c.Upkeep.HalfLife.Hours(), 0, 24 * 36500},
		{"limits.body", float64(c.Limits.Body), 1 << 10, 1 << 30},
		{"limits.requests", float64(c.Limits.Requests), 0, 1e9},
		{"limits.tokens", float64(c.Limits.Tokens), 0, 1e9},
		{"limits.concurrent", float64(c.Limits.Concurrent), 0, 1e6},
		{"drain", c.Drain.Seconds(), 0, 3600},
		{"audit.keep", float64(c.Audit.Keep), 0, 36500},
		{"backup.keep", float64(c.Backup.Keep), 1, 10_000},
		{"limits.text", float64(c.Limits.Text), 1 << 10, 1 << 28},
	} {
		if r.value < r.min || r.value > r.max {
			return memory.Errorf(memory.Invalid, "%s: %v is out of range; valid is %v to %v", r.key, r.value, r.min, r.max)
		}
	}
	if b := c.Index.Budget; b < minBudget || b > maxBudget {
		return memory.Errorf(memory.Invalid, "index.budget: %v is out of range; valid is %v to %v", b, minBudget, maxBudget)
	}
	return nil
}

func (s SSOConfig) check(keyed, proxied bool) error {
	switch {
	case s.Issuer != "" && (!keyed || s.ClientID == ""):
		return memory.Errorf(memory.Invalid, "sso.issuer: needs sso.client_id, and api_key (LOCI_API_KEY)")
	case len(s.Header) > 2, len(s.Header) > 0 && !proxied, slices.ContainsFunc(s.Header, func(name string) bool { return name == "" || strings.Trim(strings.ToLower(name), nameLetters) != "" }):
		return memory.Errorf(memory.Invalid, "sso.header: needs the names of one or two headers, and proxies (LOCI_PROXIES), since from no other address they count")
	}
	return nil
}

// The bounds of index.budget: less holds no owner worth the name, more is a
// mistake.
const (
	minBudget Bytes = 1 << 20
	maxBudget Bytes = 1 << 40
)

// What the data folder holds. The index can be deleted while Loci does not run.
const (
	DatabaseFile = "loci.db"
	IndexFolder  = "index"
)

// DataDir returns the data folder with ~ resolved.
func (c *Config) DataDir() (string, error) { return atHome("data", c.Data) }

// VaultDir returns the vault with ~ resolved, "" without one.
func (c *Config) VaultDir() (string, error) { return atHome("vault", c.Vault) }

// From returns the source of a setting's value: default, profile NAME, file, environment, flag or
// what [Config.NoteSource] was told.
func (c *Config) From(key string) string { return cmp.Or(c.from[key], fromDefault) }

// Unknown returns the LOCI_ variables of the environment that are not settings.
func (c *Config) Unknown() []string { return c.unknown }

// IsSet reports whether a source set a setting.
func (c *Config) IsSet(key string) bool { return c.From(key) != fromDefault }

// NoteSource says where a setting's value is from, where it is from none of the sources.
func (c *Config) NoteSource(key, source string) {
	c.from = maps.Clone(c.from)
	if c.from == nil {
		c.from = map[string]string{}
	}
	c.from[key] = source
}

// validCollection reports whether Chroma takes names that begin so.
func validCollection(name string) bool {
	return len(name) >= 3 && len(name) <= 60 && name[0] != '.' && name[0] != '_' && name[0] != '-' &&
		strings.Trim(strings.ToLower(name), nameLetters) == ""
}

const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789._-"

// atHome resolves the ~ of a setting.
func atHome(key, path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || (rest != "" && rest[0] != '/' && rest[0] != os.PathSeparator) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder for %s %q: %w", key, path, err)
	}
	return filepath.Join(home, rest), nil
}

// Unusable says of a data folder that may not be used, or is none, that and what to do; of
// other errors nothing but themselves.
func Unusable(dir string, err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return fmt.Errorf("the data folder %s cannot be used: %s: %w; --data names another", dir, at.Path, at.Err)
}
