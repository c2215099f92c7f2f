// Package config defines all settings, reads them from their sources, validates and lists them. It
// opens no model or connection; only [StoreAddress.Open] opens a store.
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

// Config holds all settings. [Load] reads them from flags, environment, file, profile and defaults, in
// that order of precedence. The tags of each field have the setting's key, default, description and,
// for a closed choice, the valid values. docs/settings.md is generated from these tags.
type Config struct {
	Addr        string        `koanf:"addr" default:"127.0.0.1:7077" doc:"Address to listen on. An address other than loopback needs api_key. Commands send requests to this address, which may also be the URL of a server."`
	Data        string        `koanf:"data" default:"~/.loci" doc:"Folder of the database and of everything else that Loci stores."`
	Profile     string        `koanf:"profile" default:"default" valid:"default|agent-cli|assistant|coding|desktop|openwebui|platform" doc:"Named group of settings. Flags, the environment and the file override the profile's settings. See docs/profiles.md."`
	Store       StoreAddress  `koanf:"store" default:"sqlite" doc:"Where memory is stored. sqlite: in the data folder. memory: only in main memory, until exit. postgres://user:password@host:5432/database or mongodb://user:password@host:27017/database: in a database that several servers may share. See docs/design/stores.md."`
	Vault       string        `koanf:"vault" doc:"Folder of Markdown files with the memory, which people can read and edit. The store keeps the history of the files; if the store is lost, Loci rebuilds the memory from the files. If empty, Loci writes no files. See docs/vault.md."`
	Users       string        `koanf:"users" default:"single" valid:"single|multi" doc:"User of a request that names no user. single: the user named default. multi: no user, and chats are forwarded without memory."`
	APIKey      string        `koanf:"api_key" secret:"yes" doc:"Key that clients must send, as a bearer token or in X-Loci-Key. A client with this key may act for any user."`
	FrontKey    string        `koanf:"front_key" secret:"yes" doc:"Key for a front end, which names the user of each request. Like a key created by loci keys add --front, it gives no admin rights. Needs api_key."`
	Trusted     []string      `koanf:"trusted" doc:"Addresses or networks whose requests need no key and may name any user, while api_key is not set. If empty, only loopback. A request through a reverse proxy always needs a key."`
	Hosts       []string      `koanf:"hosts" doc:"Host names that requests may use besides localhost and the address that Loci listens on. Needs api_key."`
	Proxies     []string      `koanf:"proxies" doc:"Addresses or networks of reverse proxies in front of Loci. Loci trusts X-Forwarded-For (for the log and the limit on wrong keys) and X-Forwarded-Proto (for Secure cookies of the page) only from these addresses. Needs api_key. See docs/api.md."`
	UsersHeader string        `koanf:"users_header" doc:"Header that names the user and overrides X-Loci-User. Loci reads it only if the request comes from an address in proxies and has a key that may name users. For LiteLLM: x-litellm-user_api_key_user_id. See docs/guide/litellm.md."`
	JWTSecret   string        `koanf:"jwt_secret" secret:"yes" doc:"Secret that signs X-OpenWebUI-User-Jwt (HS256)."`
	Drain       time.Duration `koanf:"drain" default:"30s" doc:"Time that running requests have to finish after the server receives a signal to stop. If other machines can reach the server, it first answers /health/ready with 503 and accepts requests for a sixth of this time. A cancelled stream ends with an error event."`
	Prompts     string        `koanf:"prompts" doc:"Folder of prompt files that replace the built-in prompts."`

	VaultGit bool `koanf:"vault_git" default:"false" doc:"Commit the vault's files to git, with the changes in the commit messages. If git fails, Loci logs the error and continues."`

	Embedder  string `koanf:"embedder" default:"auto" doc:"Model that turns text into vectors. auto: the best encoder in models_dir; without an encoder, the remote model of the profile, if the upstream has that model; otherwise lexical. lexical: no model, search by words only. local:NAME: a folder in models_dir. remote:MODEL: a model at embed.url. After a change, memories get new vectors in the background; until then searches use words only. See docs/models.md."`
	Reranker  string `koanf:"reranker" default:"none" doc:"Model that scores each of the best candidates together with the question. none: no reranking. local:NAME: a cross-encoder in models_dir. remote:MODEL: the endpoint /rerank of embed.url."`
	ModelsDir string `koanf:"models_dir" doc:"Folder with a subfolder for each local model. If empty, the folder models in the data folder."`
	ModelsURL string `koanf:"models_url" default:"https://huggingface.co" doc:"URL of the model hub, or of a mirror, from which loci models pull downloads."`

	Bootstrap string `koanf:"bootstrap" doc:"File of facts for all users, one per line: JSON objects with content, category and tags, or a plain list. Loci reads it at each start, and removes facts from the global pool that are no longer in the file. If empty, Loci does not change the pool."`

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

	Preset Preset // options that only a profile sets

	sources         map[string]string // source of each key's value; nil if no source was read
	unknownEnv      []string          // LOCI_ variables of the environment that are not settings
	missingModels   []string          // missing models of the profile, each with its replacement
	profileEmbedder string            // the profile's embedder
	embedderAdvice  string            // how to get the profile's embedder; empty if it is available or not needed
}

// EmbedConfig sets the server of remote embedders and rerankers.
type EmbedConfig struct {
	URL string `koanf:"url" secret:"yes" doc:"Base URL of the server that runs models of the form remote:MODEL; for most servers the URL ends in /v1. If empty, upstream.url is used."`
	Key string `koanf:"key" secret:"yes" doc:"Key for embed.url. If empty and embed.url is empty, upstream.key is used."`
}

// UpstreamConfig sets the OpenAI-compatible server that answers chats.
type UpstreamConfig struct {
	URL string `koanf:"url" doc:"Base URL of an OpenAI-compatible server, ending in /v1. If empty, the built-in model loci/recall answers."`
	Key string `koanf:"key" secret:"yes" doc:"Key for the upstream. If empty, the client's Authorization header is forwarded."`
	API string `koanf:"api" default:"auto" valid:"auto|chat" doc:"How Loci forwards requests of /v1/messages and /v1/responses. auto: unchanged; after the upstream has answered 404 or 405, translated into chat completions. chat: always translated."`
}

// RedactedURL returns the base URL without secrets.
func (u UpstreamConfig) RedactedURL() string { return RedactURL(u.URL) }

// RedactURL returns a base URL without parts that may be secret: the query, which may contain a key,
// the user name and the password.
func RedactURL(baseURL string) string {
	withoutQuery, _, _ := strings.Cut(baseURL, "?")
	if parsed, err := url.Parse(withoutQuery); err == nil && parsed.User != nil {
		parsed.User = nil
		return parsed.String()
	}
	return withoutQuery
}

// LearnConfig sets how facts are learned from messages.
type LearnConfig struct {
	After          string        `koanf:"after" default:"exchange" valid:"exchange|user|never" doc:"When Loci learns. exchange: after each answer. user: after each user message. never: only on request."`
	Model          string        `koanf:"model" default:"auto" doc:"Model that learns. auto: the first model of learn.prefer that the upstream lists; without learn.prefer, the smallest listed model, judged by the size or family in its name (nano, lite, mini, haiku, flash, small); otherwise the model of the chat. chat: the model of the chat. none: only the built-in rules."`
	URL            string        `koanf:"url" doc:"Base URL of the learning model's server. If empty, upstream.url is used."`
	Key            string        `koanf:"key" secret:"yes" doc:"Key for learn.url. If empty and learn.url is empty, upstream.key is used."`
	Rules          string        `koanf:"rules" default:"on" valid:"on|off" doc:"Whether the built-in rules learn if no model is configured, if the model has failed for ten minutes, or if it failed its trial (learn.trust)."`
	Assistant      bool          `koanf:"assistant" default:"false" doc:"Whether Loci also learns facts from the assistant's messages."`
	Timeout        time.Duration `koanf:"timeout" default:"2m" doc:"Longest wait for the first token of the learning model's reply, and between two tokens. For a server that does not stream, the limit applies to the whole reply. After a failure Loci tries again with half of the messages."`
	Trust          string        `koanf:"trust" default:"tried" valid:"tried|always|never" doc:"Whether facts learned by a model are used without review. tried: only if the model passes a trial: one call with a dozen fixed messages (about 900 tokens) before its first learning job, repeated every 30 days for each model and server. If the model fails, its facts wait for review and the rules learn, too. always: without a trial. never: all facts learned by models wait for review. See docs/learning.md."`
	RedactPersonal bool          `koanf:"personal" default:"false" doc:"Remove e-mail addresses, phone numbers and other personal identifiers before anything is stored, logged or learned. Secrets are always removed."`

	ClientKeys bool `koanf:"client_keys" default:"false" doc:"Whether Loci may call the learning model with the key of the user's client if upstream.key is not set. This uses the user's quota. Loci never stores the key on disk. A local server without keys does not need this setting."`

	Providers []string `koanf:"providers" doc:"Additional servers of learning models, as NAME=URL with URLs like https://KEY@host/v1. learn.model and learn.prefer name a model of such a server as NAME/MODEL or MODEL. The values smallest and auto consider the models of all servers."`

	Prefer []string `koanf:"prefer" doc:"Comma-separated models for learning if learn.model is auto or names a model that its server does not list. Loci uses the first model in this list that the server lists. smallest: the smallest model, judged by its name."`

	Scope string        `koanf:"scope" default:"user" valid:"user|project|conversation" doc:"Scope of learned facts. user: the user, or the chat's project if the fact is about the project. project: the chat's project, if the chat has a project. conversation: the conversation; a chat then recalls only its own messages and facts, facts that people wrote, and facts of the conversation named global. A chat without a name is the conversation named default."`
	Every int           `koanf:"every" default:"4" doc:"Number of user messages that the model reads in one call, with learn.after=exchange. 1 means each exchange immediately. The rules always learn immediately."`
	Idle  time.Duration `koanf:"idle" default:"2m" doc:"Idle time of a conversation after which the model reads the remaining messages, even if they are fewer than learn.every."`

	DayTokens   int64   `koanf:"day_tokens" default:"100000" doc:"Maximum number of tokens of the learning model for one user in a day (UTC). Remaining messages wait for the next day. 0 means no limit."`
	InputPrice  float64 `koanf:"input_price" default:"0" doc:"Price of a million input tokens of the learning model, for loci usage."`
	OutputPrice float64 `koanf:"output_price" default:"0" doc:"Price of a million output tokens of the learning model, for loci usage."`
}

// ReviewConfig sets which learned facts a person must approve. Facts that the user asks Loci to
// remember never need approval.
type ReviewConfig struct {
	Confidence float64  `koanf:"confidence" default:"0" doc:"Facts with a lower confidence, 0 to 1, wait for review."`
	Categories []string `koanf:"categories" doc:"Comma-separated categories of facts that wait for review, for example health, family."`
	Conflicts  bool     `koanf:"conflicts" default:"false" doc:"Whether facts that would replace another fact wait for review."`
}

// ShareConfig sets how users share facts with each other.
type ShareConfig struct {
	Accept string `koanf:"accept" default:"ask" valid:"ask|admins|off" doc:"Consent to shared facts. ask: the recipient of a fact must accept it in review. admins: like ask, but facts shared by an admin need no consent. off: facts cannot be shared with users. Only admins can share with pools and global, which needs no consent. Without api_key every request has admin rights."`
}

// MemoryConfig sets which chats may use memory.
type MemoryConfig struct {
	Channels string `koanf:"channels" default:"off" valid:"off|read" doc:"Memory in channels of Open WebUI (chat ids that begin with channel:). off: channels have no memory. read: an answer uses the memory of the author of the question, and everybody in the channel sees the answer. Channels never write memory."`
}

// CORSConfig sets which web pages of other servers may use this server from a browser.
type CORSConfig struct {
	Origins []string `koanf:"origins" doc:"Origins of web pages that may use the APIs from a browser, written exactly like https://app.example.org. The pages send the key in a header, never cookies. Without api_key, such a page has admin rights."`
}

// ForwardConfig sets which headers of a request are forwarded to the upstream.
type ForwardConfig struct {
	Drop []string `koanf:"drop" doc:"Additional headers that are not forwarded to the upstream. By default, Loci never forwards headers that identify the user. A * at the end matches any rest of a name. A - in front forwards the header anyway: -X-OpenWebUI-*. See docs/guide/clients.md."`
}

// SummaryConfig sets how conversations are summarized.
type SummaryConfig struct {
	Mode  string `koanf:"mode" default:"model" valid:"off|model|on" doc:"When conversations are summarized. off: never. model: if a model is configured for learning. on: always; by rules without a model or if the model fails."`
	Every int    `koanf:"every" default:"10" doc:"Number of exchanges after which the summary of a conversation is updated."`
}

// UpkeepConfig sets which memories are retired automatically, which can be undone. Facts that a person
// wrote, approved or pinned are never retired.
type UpkeepConfig struct {
	User         int           `koanf:"user" default:"0" doc:"Maximum number of facts and turns of a user; the oldest are retired first. 0 means no limit."`
	Conversation int           `koanf:"conversation" default:"0" doc:"Maximum number of turns of a conversation, plus the facts that belong only to the conversation. 0 means no limit."`
	HalfLife     time.Duration `koanf:"half_life" default:"0s" doc:"Time in which a learned fact loses half of its confidence unless the user repeats it. 0s means that confidence does not fall."`
}

// RecallConfig sets how memories are found and put into prompts.
type RecallConfig struct {
	TopK          int           `koanf:"top_k" default:"-1" doc:"Maximum number of memories in one prompt or answer. -1 means 8 in a chat and 12 in an explicit search (API, MCP tools)."`
	Budget        int           `koanf:"budget" default:"1500" doc:"Maximum number of tokens of memory in one prompt."`
	Score         string        `koanf:"score" default:"fitted" valid:"fitted|cosine|reranker" doc:"Score that orders the memories, and to which recall.threshold applies. fitted: the estimated probability that a memory answers the question, from all ranking signals. cosine: the similarity between the vectors of the memory and the question; word search finds only memories without a vector. reranker: the reranker's score of the candidates that vectors find. With cosine and reranker, only relevance and recency count."`
	Threshold     float64       `koanf:"threshold" default:"-1" doc:"Minimum relevance, 0 to 1, of a recalled memory. -1 means Loci's default."`
	RecencyWeight float64       `koanf:"recency_weight" default:"0.2" doc:"Weight of recency against relevance, 0 to 1."`
	Decay         time.Duration `koanf:"decay" default:"0s" doc:"Age at which relevance has fallen to a third (1/e), instead of the weight of recency. 0s means that relevance does not fall."`
	Placement     string        `koanf:"placement" default:"tail" valid:"tail|system|user" doc:"Position of memory in a prompt. tail: a message of its own before the last user message. system: the system message. user: the user message."`
	Blocks        string        `koanf:"blocks" default:"keep" valid:"keep|last" doc:"Whether later requests of a chat repeat the memory that was added to earlier messages. keep: yes, in the same place, so that a provider's prompt cache stays valid; only new memory is added. last: no, only the last message has memory. With recall.placement=system, Loci always acts like last."`
	Core          int           `koanf:"core" default:"800" doc:"Maximum number of tokens of the core: the facts about the user that every conversation begins with. If not all facts fit, the order is pinned facts, instructions on how to answer, then the most important facts and facts related to the message. The core has only facts that users said or people wrote. 0 means only pinned facts and profile entries, at most 150 tokens."`
	CoreWithout   []string      `koanf:"core_without" doc:"Comma-separated categories of facts that are not put into the core; only search finds them. Pinned facts are always in the core."`
	Deadline      time.Duration `koanf:"deadline" default:"150ms" doc:"Maximum time that a chat waits for memory in each of two steps: finding its conversation, and recall. With a remote model, a database server or Chroma the default is 400ms."`
	DeadlineMax   time.Duration `koanf:"deadline_max" default:"1s" doc:"Maximum time for recall with a local embedder or reranker, if recent calls of the model took longer than recall.deadline. A value up to recall.deadline gives no extra time."`

	Contexts int      `koanf:"contexts" default:"8000" doc:"Maximum number of tokens of attached documents in one prompt. Longer documents are truncated, with a note in the prompt."`
	Pools    []string `koanf:"pools" doc:"Names of shared pools whose facts all users can recall. Admins add facts with POST /api/memory/{id}/share."`
}

// IndexConfig sets up the search index.
type IndexConfig struct {
	Budget       Bytes `koanf:"budget" default:"1GiB" doc:"Maximum amount of main memory for the search indexes of all users, in bytes or with the unit KiB, MiB or GiB."`
	OffloadAbove Bytes `koanf:"offload_above" default:"0" doc:"Size of a user's index, counted as 1 KiB per memory, above which the database searches that user's vectors (PostgreSQL with pgvector). This is slower but needs no main memory. 0 means never. See docs/postgres.md."`
}

// ChromaConfig sets an optional Chroma server for vector search.
type ChromaConfig struct {
	URL        string `koanf:"url" doc:"Base URL of a Chroma server for vector search, for example http://localhost:8000. Word search still uses Loci's index. If empty, Loci uses no Chroma server."`
	Key        string `koanf:"key" secret:"yes" doc:"Key for the Chroma server, sent as X-Chroma-Token and as a bearer token."`
	Collection string `koanf:"collection" default:"loci" doc:"Prefix of the names of collections in Chroma. Loci installations with different stores need different prefixes on the same Chroma server."`
}

// QueryConfig sets how Loci answers POST /query.
type QueryConfig struct {
	Intents string `koanf:"intents" default:"keywords" valid:"keywords|embedding" doc:"How POST /query finds the intent of a question. keywords: by words. embedding: by words or, if no word matches, by the embedder."`
}

// ChatsConfig sets the model for chats under /api/chats.
type ChatsConfig struct {
	Model string `koanf:"model" doc:"Model at upstream.url for POST /query, its images, and chats under /api/chats whose message names no model. If empty, the learning model; without an upstream, loci/recall."`
}

// RecordConfig sets which parts of chats are stored.
type RecordConfig struct {
	History  string   `koanf:"history" default:"align" valid:"align|recall|learn" doc:"Use of messages in a request's history that did not go through Loci, for example in a cloned chat. align: only to recognize the chat. recall: also to recall them later. learn: also to learn from the user's messages."`
	Sessions []string `koanf:"sessions" doc:"Headers by which clients name a conversation; the first header present is used. If empty: X-OpenWebUI-Chat-Id, X-Session-Id, Thread-Id, Session-Id."`
	Projects []string `koanf:"projects" doc:"Headers by which clients name a chat's project if neither memory_project nor X-Loci-Project does; the first header present is used."`
	Folder   bool     `koanf:"folder" default:"true" doc:"Whether a chat that names no project belongs to the working directory that a coding agent names in its messages. See docs/guide/coding-agents.md."`
}

// LimitsConfig sets limits of requests.
type LimitsConfig struct {
	Body       int64 `koanf:"body" default:"33554432" doc:"Maximum size of a request's body in bytes. All bodies together may use a quarter of the memory limit: GOMEMLIMIT or, if it is not set, the limit of the cgroup or, without both, 1 GiB. Above this total, chats are forwarded without memory, and other requests get status 503 with Retry-After."`
	Requests   int   `koanf:"requests" default:"0" doc:"Maximum number of requests of one user, or of one key without a user, per minute on each server. Further requests get status 429 with Retry-After. 0 means no limit."`
	Tokens     int   `koanf:"tokens" default:"0" doc:"Maximum number of upstream tokens of one user or key per minute, in prompts and answers, as the upstream reports them. 0 means no limit. The limit for learning is learn.day_tokens."`
	Concurrent int   `koanf:"concurrent" default:"64" doc:"Maximum number of concurrent requests of one user. 0 means no limit."`

	Text int `koanf:"text" default:"1048576" doc:"Maximum size of one memory or message in bytes. /api refuses longer texts. A longer chat message is forwarded completely, but stored truncated, and Loci learns only from the stored part."`
}

// LogConfig sets the log on standard error.
type LogConfig struct {
	Level  string `koanf:"level" default:"info" valid:"debug|info|warn|error" doc:"Lowest level of logged messages."`
	Format string `koanf:"format" default:"text" valid:"text|json" doc:"text for people, json for programs."`

	Content bool `koanf:"content" default:"false" doc:"Log the text of learned facts and of models' replies, for development. By default, the log has only ids."`
}

// TLSConfig sets the server's TLS certificate.
type TLSConfig struct {
	Cert string   `koanf:"cert" doc:"File of the server's certificate with its chain (PEM). If empty, and tls.acme is empty, the server uses HTTP."`
	Key  string   `koanf:"key" doc:"File of the certificate's key (PEM). A reload reads both files again."`
	ACME []string `koanf:"acme" doc:"Host names for which Loci gets certificates from Let's Encrypt; they are stored in the data folder. The server must be reachable at port 443 of each host. With this setting you accept the terms of Let's Encrypt."`
}

// Enabled reports whether the server uses TLS.
func (c TLSConfig) Enabled() bool { return c.Cert != "" || len(c.ACME) > 0 }

func (c TLSConfig) check() error {
	if (c.Cert == "") != (c.Key == "") || c.Cert != "" && len(c.ACME) > 0 {
		return memory.Errorf(memory.Invalid, "tls.cert: set it together with tls.key, and without tls.acme")
	}
	return nil
}

// SSOConfig sets how people sign in to the web page without a key.
type SSOConfig struct {
	Issuer   string   `koanf:"issuer" doc:"URL of an OpenID Connect server for signing in, for example https://login.example.org. Loci's redirect URL is /signin/callback. Needs api_key. See docs/guide/operations.md."`
	ClientID string   `koanf:"client_id" doc:"Client id of Loci at sso.issuer."`
	Secret   string   `koanf:"client_secret" secret:"yes" doc:"Client secret of Loci at sso.issuer. If empty, Loci is a public client, protected by PKCE."`
	User     string   `koanf:"user" default:"sub" doc:"Claim of the token with the user's name in Loci, which must be the name that front ends use: sub, email or preferred_username. Do not use a claim that people can change: they could sign in as anybody."`
	Header   []string `koanf:"header" doc:"For a reverse proxy that signs people in: the header with the user's name and, after a comma, the header with the user's groups: X-Forwarded-User,X-Forwarded-Groups. Loci reads these headers only from addresses in proxies; such a request needs no key. The proxy must remove them from clients' requests."`
	Admins   []string `koanf:"admins" doc:"Users who sign in as admins, and groups of such users as group:NAME."`
}

// OTLPConfig sets the receiver of OpenTelemetry traces.
type OTLPConfig struct {
	Endpoint string `koanf:"endpoint" secret:"yes" doc:"URL of an OpenTelemetry collector that receives a trace of each chat by OTLP/HTTP, for example http://localhost:4318. If the URL has no path, /v1/traces is added. Traces contain ids, models, tokens and durations, but no text. If empty, Loci sends no traces. See docs/guide/metrics.md."`
}

// AuditConfig sets the audit log.
type AuditConfig struct {
	Keep int `koanf:"keep" default:"365" doc:"Number of days for which entries of the audit log are kept: sign-ins, keys, access of admins to the memory of users, exports, erasures. 0 means for ever."`
}

// BackupConfig sets the schedule of backups.
type BackupConfig struct {
	Every     time.Duration `koanf:"every" default:"0s" doc:"Interval of backups of all users' memory to backup.to, for example 24h. 0s means no backups. Needs SQLite or a vault. Back up PostgreSQL and MongoDB with their own tools. See docs/backup.md."`
	To        string        `koanf:"to" secret:"yes" doc:"Where scheduled backups go: an existing folder, or s3://KEY:SECRET@host/bucket/prefix, optionally with ?region=NAME or ?tls=false. Without KEY and SECRET, Loci uses AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Each server needs its own folder or prefix."`
	Keep      int           `koanf:"keep" default:"7" doc:"Number of scheduled backups to keep. While the newest backup cannot be restored, no backup is deleted."`
	Recipient string        `koanf:"recipient" doc:"Public key (age1...) that encrypts scheduled backups. Keep its identity (private key) outside Loci: a restore needs it. If empty, backups are not encrypted."`
}

// check refuses invalid settings that the tags cannot describe. Every error contains the setting's key.
func (c *Config) check() error {
	if _, _, err := net.SplitHostPort(c.Addr); !c.isServerURL() && (err != nil || strings.Contains(c.Addr, "/")) {
		return memory.Errorf(memory.Invalid, "addr: %q is not a valid address (example: 127.0.0.1:7077)", c.Addr)
	}
	if _, _, err := c.Networks(); err != nil {
		return err
	}
	for key, values := range map[string][]string{"hosts": c.Hosts, "proxies": c.Proxies} {
		if len(values) > 0 && c.APIKey == "" {
			return memory.Errorf(memory.Invalid, "%s: needs api_key (LOCI_API_KEY): without it, anybody on another machine could read all memory", key)
		}
	}
	if c.UsersHeader != "" && (len(c.Proxies) == 0 || strings.Trim(strings.ToLower(c.UsersHeader), nameCharacters) != "") {
		return memory.Errorf(memory.Invalid, "users_header: must be the name of a header, and needs proxies (LOCI_PROXIES): Loci reads the header only from these addresses")
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
	if c.FrontKey != "" && (c.APIKey == "" || c.FrontKey == c.APIKey) {
		return memory.Errorf(memory.Invalid, "front_key: needs api_key (LOCI_API_KEY), and must have a different value")
	}
	for _, pattern := range c.Forward.Drop {
		if name := strings.TrimSuffix(strings.TrimPrefix(pattern, "-"), "*"); name == "" || strings.Trim(strings.ToLower(name), nameCharacters) != "" {
			return memory.Errorf(memory.Invalid, "forward.drop: invalid header %q (examples: X-Team-*, -X-OpenWebUI-*)", pattern)
		}
	}
	for key, base := range map[string]string{"upstream.url": c.Upstream.URL, "learn.url": c.Learn.URL, "embed.url": c.Embed.URL, "models_url": c.ModelsURL, "chroma.url": c.Chroma.URL, "sso.issuer": c.SSO.Issuer, "otlp.endpoint": c.OTLP.Endpoint} {
		if base == "" {
			continue
		}
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return memory.Errorf(memory.Invalid, "%s: %q is not a valid URL (example: http://localhost:11434/v1)", key, RedactURL(base))
		}
		if key == "upstream.url" && strings.Trim(u.Path, "/") == "" { // an OpenAI-compatible server has its API under a path
			u.Path = "/v1"
			return memory.Errorf(memory.Invalid, "%s: the URL %q has no path; most servers use %s", key, RedactURL(base), RedactURL(u.String()))
		}
	}
	if err := c.Store.check(); err != nil {
		return err
	}
	if b := c.Backup; b.Every != 0 && (b.Every < time.Minute || b.To == "" || c.Store.IsServer() || c.Store == "memory" && c.Vault == "") {
		return memory.Errorf(memory.Invalid, "backup.every: %v is not possible; it must be 1m or more, and needs backup.to (a folder or s3://KEY:SECRET@host/bucket/prefix) and store sqlite or a vault; "+
			"back up a database server with its own tools (pg_dump, mongodump); 0s turns backups off", b.Every)
	}
	if c.Store.IsServer() && c.Vault != "" {
		return memory.Errorf(memory.Invalid, "vault: needs store sqlite or memory, because the vault's files are on this machine only")
	}
	if err := c.checkModels(); err != nil {
		return err
	}
	if _, err := c.Learn.ProviderList(); err != nil {
		return err
	}
	if c.Recall.Score == "reranker" && c.Reranker == "none" {
		return memory.Errorf(memory.Invalid, "recall.score: the value reranker needs a model in the setting reranker")
	}
	if !isCollectionPrefix(c.Chroma.Collection) {
		return memory.Errorf(memory.Invalid, "chroma.collection: invalid name %q; use 3 to 60 letters a to z, digits, dots, underscores and hyphens, beginning with a letter or digit", c.Chroma.Collection)
	}
	if c.VaultGit && c.Vault == "" {
		return memory.Errorf(memory.Invalid, "vault_git: needs the setting vault")
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
	if b := c.Index.Budget; b < minIndexBudget || b > maxIndexBudget {
		return memory.Errorf(memory.Invalid, "index.budget: %v is out of range; valid is %v to %v", b, minIndexBudget, maxIndexBudget)
	}
	return nil
}

func (s SSOConfig) check(hasKey, hasProxies bool) error {
	switch {
	case s.Issuer != "" && (!hasKey || s.ClientID == ""):
		return memory.Errorf(memory.Invalid, "sso.issuer: needs sso.client_id, and api_key (LOCI_API_KEY)")
	case len(s.Header) > 2, len(s.Header) > 0 && !hasProxies, slices.ContainsFunc(s.Header, func(name string) bool { return name == "" || strings.Trim(strings.ToLower(name), nameCharacters) != "" }):
		return memory.Errorf(memory.Invalid, "sso.header: must be the names of one or two headers, and needs proxies (LOCI_PROXIES): Loci reads the headers only from these addresses")
	}
	return nil
}

// The bounds of index.budget, in bytes. A budget below minIndexBudget could not hold the index of one user.
const (
	minIndexBudget Bytes = 1 << 20
	maxIndexBudget Bytes = 1 << 40
)

// Names in the data folder. The index folder can be deleted while Loci is not running.
const (
	DatabaseFile = "loci.db"
	IndexFolder  = "index"
)

// DataDir returns the data folder, and expands a leading ~ to the home folder.
func (c *Config) DataDir() (string, error) { return expandHome("data", c.Data) }

// VaultDir returns the vault's folder, and expands a leading ~ to the home folder; "" without a vault.
func (c *Config) VaultDir() (string, error) { return expandHome("vault", c.Vault) }

// SourceOf returns the source of a setting's value: default, profile NAME, file, environment, flag or
// the source passed to [Config.SetSource].
func (c *Config) SourceOf(key string) string { return cmp.Or(c.sources[key], sourceDefault) }

// UnknownEnv returns the LOCI_ variables of the environment that are not settings.
func (c *Config) UnknownEnv() []string { return c.unknownEnv }

// IsSet reports whether a setting has a value from a source other than the defaults.
func (c *Config) IsSet(key string) bool { return c.SourceOf(key) != sourceDefault }

// SetSource sets the source that [Config.SourceOf] returns for a setting.
func (c *Config) SetSource(key, source string) {
	c.sources = maps.Clone(c.sources)
	if c.sources == nil {
		c.sources = map[string]string{}
	}
	c.sources[key] = source
}

// isCollectionPrefix reports whether Chroma accepts names of collections that begin with prefix.
func isCollectionPrefix(prefix string) bool {
	return len(prefix) >= 3 && len(prefix) <= 60 && prefix[0] != '.' && prefix[0] != '_' && prefix[0] != '-' &&
		strings.Trim(strings.ToLower(prefix), nameCharacters) == ""
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-"

// expandHome expands a leading ~ in the value of a setting.
func expandHome(key, path string) (string, error) {
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

// ExplainDataError adds advice to an error about missing permissions of the data folder, or about a
// data folder that is a file. It returns other errors unchanged.
func ExplainDataError(dir string, err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return fmt.Errorf("the data folder %s cannot be used: %s: %w; choose another folder with --data", dir, at.Path, at.Err)
}
