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
	Addr    string        `koanf:"addr" default:"127.0.0.1:7077" doc:"Address to listen on. Anything but loopback needs api_key. Commands ask the server there, and may have its URL instead (http or https)."`
	Data    string        `koanf:"data" default:"~/.loci" doc:"Folder of the database and everything else that Loci keeps."`
	Profile string        `koanf:"profile" default:"default" valid:"default|agent-cli|assistant|coding|desktop|openwebui|platform" doc:"Settings that are loaded together; any of them can be set otherwise. See docs/profiles.md."`
	Store   StoreAddress  `koanf:"store" default:"sqlite" doc:"Where memory is kept: sqlite in the data folder; memory, which is gone at exit; or postgres://user:password@host:5432/database or mongodb://user:password@host:27017/database, which any number of servers may share. See docs/design/stores.md."`
	Vault   string        `koanf:"vault" doc:"Folder of Markdown files that memory is kept in, to be read and edited; store then keeps its history; if that is lost, memory is rebuilt from the files. Empty: none. See docs/vault.md."`
	Users   string        `koanf:"users" default:"single" valid:"single|multi" doc:"Who a request without a user belongs to: single means user default, multi means nobody, and it passes without memory."`
	APIKey  string        `koanf:"api_key" secret:"yes" doc:"Key that clients must send, as bearer or X-Loci-Key. It may act for any user."`
	Front   string        `koanf:"front_key" secret:"yes" doc:"Key of a front end, which may name the user of each request and no more, as those of loci keys add --front. It needs api_key."`
	Trusted []string      `koanf:"trusted" doc:"Addresses or networks whose requests need no key and may name any user, while no api_key is set. Empty: loopback. A request that came through a proxy always needs a key."`
	Hosts   []string      `koanf:"hosts" doc:"Host names that requests may name besides the address listened on and localhost. Needs api_key."`
	Proxies []string      `koanf:"proxies" doc:"Addresses or networks of the reverse proxies before Loci. Their X-Forwarded-For counts in the log and in the limit on wrong keys, their X-Forwarded-Proto makes the page's cookies Secure. Empty: these headers count from nobody. Needs api_key. See docs/api.md."`
	Header  string        `koanf:"users_header" doc:"Header that names the user, believed only from the addresses in proxies, which it needs, and only beside a key that may name users. It goes before X-Loci-User. For LiteLLM x-litellm-user_api_key_user_id; see docs/guide/litellm.md."`
	JWT     string        `koanf:"jwt_secret" secret:"yes" doc:"Secret that X-OpenWebUI-User-Jwt is signed with (HS256)."`
	Drain   time.Duration `koanf:"drain" default:"30s" doc:"How long requests under way may go on after the server was told to stop. Reached from elsewhere than its own machine, it first answers /health/ready with 503 and goes on taking requests for a sixth of that. A stream that is cut then ends with an error event."`
	Prompts string        `koanf:"prompts" doc:"Folder of prompt files that take the place of the built-in ones."`

	VaultGit bool `koanf:"vault_git" default:"false" doc:"Commit the files of the vault to git, with messages that say what was learned. What git refuses is logged; memory goes on."`

	Embedder  string `koanf:"embedder" default:"auto" doc:"What turns text into vectors: auto (the best encoder in models_dir; else, where the profile names a remote one and the upstream has embeddings, that; else lexical), lexical (words alone, without a model), local:NAME (a folder in models_dir, see loci models) or remote:MODEL (at embed.url). After a change memories get vectors anew in the background, and are found by their words until then."`
	Reranker  string `koanf:"reranker" default:"none" doc:"What reads the best candidates again beside the question: none, local:NAME (a cross-encoder in models_dir) or remote:MODEL (at embed.url, by its /rerank below or beside /v1)."`
	ModelsDir string `koanf:"models_dir" doc:"Folder of local models, a folder each. Empty: models in the data folder."`
	ModelsURL string `koanf:"models_url" default:"https://huggingface.co" doc:"Where loci models pull gets models: a hub, or a mirror of one."`

	Bootstrap string `koanf:"bootstrap" doc:"File of facts for everybody, one a line: JSON objects with content, category and tags, or a Markdown or plain list. Read once at start; what a changed file no longer has leaves the global pool. Unset, the pool stays as it is."`

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
	URL string `koanf:"url" secret:"yes" doc:"Base URL of the server that remote:MODEL is asked at, ending in /v1 for most. Empty: upstream.url."`
	Key string `koanf:"key" secret:"yes" doc:"Key for embed.url. Without an embed.url of its own: upstream.key."`
}

// UpstreamConfig is the OpenAI-compatible server that answers chats.
type UpstreamConfig struct {
	URL string `koanf:"url" doc:"Base URL of an OpenAI-compatible server, ending in /v1. Empty: the built-in loci/recall answers."`
	Key string `koanf:"key" secret:"yes" doc:"Key for the upstream. Empty: the client's own Authorization is passed on."`
	API string `koanf:"api" default:"auto" valid:"auto|chat" doc:"How requests of /v1/messages and /v1/responses reach the upstream. auto: as they are; when it answers 404 or 405 and has chat completions, they are translated into those until Loci is restarted. chat: they always are."`
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
	After     string        `koanf:"after" default:"exchange" valid:"exchange|user|never" doc:"When to learn: after each exchange, on each user message, or never by itself."`
	Model     string        `koanf:"model" default:"auto" doc:"Model that learns. auto: the smallest that the upstream lists, by the size or family in its name (nano, lite, mini, haiku, flash, small), else the chat's own. chat: the chat's own. none: the built-in rules alone. With learn.prefer auto is the first of those."`
	URL       string        `koanf:"url" doc:"Base URL of the server that learns. Empty: upstream.url."`
	Key       string        `koanf:"key" secret:"yes" doc:"Key for learn.url. Without a learn.url of its own: upstream.key."`
	Rules     string        `koanf:"rules" default:"on" valid:"on|off" doc:"Whether the built-in rules learn where there is no model, where it has failed for ten minutes, and where it is not believed (learn.trust)."`
	Assistant bool          `koanf:"assistant" default:"false" doc:"Learn from the assistant's turns too."`
	Timeout   time.Duration `koanf:"timeout" default:"2m" doc:"How long the learning model may be silent: before the first token of a reply, and between two. A server that sends replies in one piece has this time for each. An attempt that failed is made again with half of the messages."`
	Trust     string        `koanf:"trust" default:"tried" valid:"tried|always|never" doc:"Whether what a model learns is remembered before a person looks at it. tried: before its first lesson a model reads a dozen fixed messages, once in 30 days for each model and server, in one call of some 900 tokens; one that finds nothing, obeys quoted orders or takes others' facts for the user's fails, and what it writes waits for review while the rules go on. always, never: without a trial."`
	Personal  bool          `koanf:"personal" default:"false" doc:"Blank e-mail addresses, phone numbers and other personal identifiers before anything is stored, logged or learned. Secrets always are."`

	ClientKeys bool `koanf:"client_keys" default:"false" doc:"Whether a model learns with the key of the user's client, where upstream.key is not set: it spends that person's quota. The key is kept in memory and never written down. A server on this machine or in its network that takes no key needs none."`

	Providers []string `koanf:"providers" doc:"More servers of models that may learn, as NAME=URL, each a base URL that ends in /v1, with its key as https://KEY@host/v1. learn.model and learn.prefer name a model there as NAME/MODEL, or by its name alone; smallest and auto are of all of these servers."`

	Prefer []string `koanf:"prefer" doc:"Models that learn where learn.model is auto, or is not among those that its server lists: the first of these that is. smallest is the one that its name says is the smallest."`

	Scope string        `koanf:"scope" default:"user" valid:"user|project|conversation" doc:"What a learned fact belongs to. user: the user, or the chat's project if it is about that. project: the chat's project, if it has one. conversation: the conversation that taught it. With conversation a chat is shown what it said and taught itself, what was written by hand, and what the conversation global said and taught; a chat that names no conversation is of the conversation default."`
	Every int           `koanf:"every" default:"4" doc:"With learn.after=exchange: how many user messages the model reads together. 1: each exchange at once. What the rules learn is there at once."`
	Idle  time.Duration `koanf:"idle" default:"2m" doc:"How long a conversation rests before what learn.every left over is learned from."`

	DayTokens   int64   `koanf:"day_tokens" default:"100000" doc:"Tokens that the learning model may take for one user in a day (UTC). What is over waits for the next day; chats go on. 0: any number."`
	InputPrice  float64 `koanf:"input_price" default:"0" doc:"What a million input tokens of the learning model cost."`
	OutputPrice float64 `koanf:"output_price" default:"0" doc:"What a million output tokens of the learning model cost."`
}

// ReviewConfig is what waits for a person before it is remembered. What the user
// asks to be remembered never waits.
type ReviewConfig struct {
	Confidence float64  `koanf:"confidence" default:"0" doc:"Facts of less confidence, 0 to 1, wait for a person."`
	Categories []string `koanf:"categories" doc:"Facts of these categories wait for a person, with commas: health, family."`
	Conflicts  bool     `koanf:"conflicts" default:"false" doc:"Facts that would take another's place wait for a person."`
}

// ShareConfig is how users share facts with each other.
type ShareConfig struct {
	Accept string `koanf:"accept" default:"ask" valid:"ask|admins|off" doc:"ask: what a user shares with another waits in the receiver's review until they accept it. admins: the same, but what an admin shares is shown at once. off: nobody shares with users. Only admins share with pools and global, which needs no consent. Without a key every request is an admin's."`
}

// MemoryConfig is which chats may use memory.
type MemoryConfig struct {
	Channels string `koanf:"channels" default:"off" valid:"off|read" doc:"What a channel of Open WebUI (a chat id that begins with channel:) may do with the memory of the user who asks in it. off: nothing. read: read it into answers that everybody in the channel sees. Channels never write memory."`
}

// CORSConfig is which pages of other servers may use this one from a browser.
type CORSConfig struct {
	Origins []string `koanf:"origins" doc:"Origins whose pages may use the APIs from a browser, each exactly, as https://app.example.org. They send a key in a header, never cookies; without api_key such a page may do anything. Loci's own page is not among what they may use."`
}

// ForwardConfig is what of a request goes to the upstream besides its body.
type ForwardConfig struct {
	Drop []string `koanf:"drop" doc:"Headers that do not go on to the upstream, beside the many that say who asks (docs/guide/clients.md). A * at the end is for all that begin so. A - before it passes it on: -X-OpenWebUI-*."`
}

// SummaryConfig is how conversations are summed up.
type SummaryConfig struct {
	Mode  string `koanf:"mode" default:"model" valid:"off|model|on" doc:"Whether conversations are summed up: never, where a model learns, or always. By rule where there is no model or it fails."`
	Every int    `koanf:"every" default:"10" doc:"After how many exchanges a summary is written anew."`
}

// UpkeepConfig is what leaves recall by itself. It can be taken back; what a person
// wrote, approved or pinned stays.
type UpkeepConfig struct {
	User         int           `koanf:"user" default:"0" doc:"Most facts and turns of a user; the oldest leave first. 0: any number."`
	Conversation int           `koanf:"conversation" default:"0" doc:"Most turns of a conversation, with the facts that belong to it alone. 0: any number."`
	HalfLife     time.Duration `koanf:"half_life" default:"0s" doc:"Time in which a learned fact that is not said again loses half of its confidence. 0s: it keeps it."`
}

// RecallConfig is how memory is found and put into prompts.
type RecallConfig struct {
	TopK          int           `koanf:"top_k" default:"-1" doc:"Most memories in one prompt or answer. -1: 8 in a chat, 12 where somebody asks on purpose: a search, a block without a chat, the tools of MCP."`
	Budget        int           `koanf:"budget" default:"1500" doc:"Most tokens of memory in one prompt."`
	Score         string        `koanf:"score" default:"fitted" valid:"fitted|cosine|reranker" doc:"What a memory's relevance is, and recall.threshold on. fitted: the chance that it answers, by everything that is known of it. cosine: that of its vector with the question's, which then alone finds it; words find a memory that has no vector yet. reranker: the reranker's number for what is found so. With the last two the score is relevance and recency alone."`
	Threshold     float64       `koanf:"threshold" default:"-1" doc:"Least relevance, 0 to 1, of what is recalled. -1: the fitted one."`
	RecencyWeight float64       `koanf:"recency_weight" default:"0.2" doc:"Weight of recency against relevance, 0 to 1."`
	Decay         time.Duration `koanf:"decay" default:"0s" doc:"Time in which relevance falls to a third (1/e) with the age of what was said, instead of its blend with recency. 0s: it does not fall."`
	Placement     string        `koanf:"placement" default:"tail" valid:"tail|system|user" doc:"Where the memory goes: a message of its own before the last user message, the system message, or the user message."`
	Blocks        string        `koanf:"blocks" default:"keep" valid:"keep|last" doc:"What becomes of the memory that earlier messages of a chat got: keep puts it back in each later request, where it was, so that a provider's prompt cache stays valid, and adds only what is new; last sends the last message's alone. With placement system it is always last."`
	Core          int           `koanf:"core" default:"800" doc:"Begin the memory of a conversation with who the user is: the facts that hold, in at most so many tokens, once a conversation. Where they do not all fit: pinned facts, how to answer, then those that matter most or are near to the message. Only what users said or people wrote. 0: pinned facts and profile entries alone, in at most 150 tokens."`
	CoreWithout   []string      `koanf:"core_without" doc:"Categories of facts, with commas, that recall.core leaves out: they are found by search alone. A fact that is pinned is in it all the same."`
	Deadline      time.Duration `koanf:"deadline" default:"150ms" doc:"How long a chat waits for memory at each of two steps: to find its conversation, and to recall. With a remote embedder or reranker or a database or Chroma server 400ms, unless it is set."`
	DeadlineMax   time.Duration `koanf:"deadline_max" default:"1s" doc:"With a local embedder or reranker recall takes longer than recall.deadline where the model does, as its last times show, and at most this. The same as recall.deadline, or less: no longer."`

	Contexts int      `koanf:"contexts" default:"8000" doc:"Most tokens of attached documents in one prompt; what is longer is cut off, and says so."`
	Pools    []string `koanf:"pools" doc:"Shared pools, by name, that the questions of every user are answered from too. Facts come into them by POST /api/memory/{id}/share."`
}

// IndexConfig is the index that searches run on.
type IndexConfig struct {
	Budget       Bytes `koanf:"budget" default:"1GiB" doc:"Most memory that resident indexes take, all users together: bytes, or a number with KiB, MiB or GiB."`
	OffloadAbove Bytes `koanf:"offload_above" default:"0" doc:"The vectors of a user whose index would take more than this, counted as 1 KiB for each memory, stay out of memory and are searched by the database, where that is a PostgreSQL server with pgvector. 0: nobody's. It is slower than the index (docs/postgres.md)."`
}

// ChromaConfig is the Chroma server that finds the nearest vectors, if one is set.
type ChromaConfig struct {
	URL        string `koanf:"url" doc:"Base URL of a Chroma server, as http://localhost:8000, which finds the nearest vectors instead of the resident index. Words are always found by the index. Empty: none."`
	Key        string `koanf:"key" secret:"yes" doc:"Key for the server, sent as X-Chroma-Token and as a bearer token. Empty: none."`
	Collection string `koanf:"collection" default:"loci" doc:"What the names of its collections begin with. Locis with stores of their own that share a server need names of their own."`
}

// QueryConfig is how POST /query is answered.
type QueryConfig struct {
	Intents string `koanf:"intents" default:"keywords" valid:"keywords|embedding" doc:"How the intent of a query is found: by its words, or also by the embedder where it has none of them."`
}

// ChatsConfig is how the chats under /api/chats are answered.
type ChatsConfig struct {
	Model string `koanf:"model" doc:"Model at upstream.url that answers chats under /api/chats whose message names none and POST /query, and describes its images. Empty: the one that learns there. Without an upstream the built-in loci/recall answers."`
}

// RecordConfig is what is kept of chats.
type RecordConfig struct {
	History  string   `koanf:"history" default:"align" valid:"align|recall|learn" doc:"What becomes of messages that a client brings along and Loci did not see said, as of a chat that began elsewhere or was cloned: align keeps them only to know the chat again, recall also recalls them, learn also learns from the user's."`
	Sessions []string `koanf:"sessions" doc:"Headers by which clients name a conversation; the first that a request has counts. Empty: X-OpenWebUI-Chat-Id, X-Session-Id, Thread-Id, Session-Id."`
	Projects []string `koanf:"projects" doc:"Headers by which clients name the project of a chat, where neither memory_project nor X-Loci-Project does; the first that a request has counts."`
	Folder   bool     `koanf:"folder" default:"true" doc:"A chat that names no project belongs to the working directory that a coding agent names in its messages. See docs/guide/coding-agents.md."`
}

// LimitsConfig is what one request may hold.
type LimitsConfig struct {
	Body       int64 `koanf:"body" default:"33554432" doc:"Most bytes of a request's body. All bodies together may take a quarter of GOMEMLIMIT, else of the cgroup's memory limit, else of 1 GiB; over it chats pass without memory, and other requests are answered 503 with Retry-After."`
	Requests   int   `koanf:"requests" default:"0" doc:"Most requests of one user, or of one key that is not a user's, in a minute, at each server; over it they are answered 429 with Retry-After. 0: any number."`
	Tokens     int   `koanf:"tokens" default:"0" doc:"Most tokens of the upstream, prompts and answers, that one user or key may take in a minute, as far as its answers say them. 0: any number. What learning takes in a day is learn.day_tokens, what a user may keep upkeep.user."`
	Concurrent int   `koanf:"concurrent" default:"64" doc:"Most requests of one user at once. 0: any number."`

	Text int `koanf:"text" default:"1048576" doc:"Most bytes of one memory or message. /api refuses more. A longer message or answer of a chat is forwarded whole, stored up to this size with a mark that it was cut, and learned from as far as it is stored."`
}

// LogConfig is what is logged, to standard error.
type LogConfig struct {
	Level  string `koanf:"level" default:"info" valid:"debug|info|warn|error" doc:"Least level that is logged."`
	Format string `koanf:"format" default:"text" valid:"text|json" doc:"Lines for people or for programs."`

	Content bool `koanf:"content" default:"false" doc:"Log what was learned and what a model answered in words, for development. Otherwise the log has ids only."`
}

// TLSConfig is how the server encrypts what it serves.
type TLSConfig struct {
	Cert string   `koanf:"cert" doc:"File of the server's certificate and those that vouch for it (PEM). Empty, without tls.acme: it serves HTTP."`
	Key  string   `koanf:"key" doc:"File of the certificate's key (PEM). Both are read again by a reload."`
	ACME []string `koanf:"acme" doc:"Host names for which certificates are got from Let's Encrypt, and kept in the data folder. The server has to be reached at port 443 of each; to set this accepts Let's Encrypt's terms."`
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
	Issuer   string   `koanf:"issuer" doc:"URL of an OpenID Connect server that signs people in at the page, as https://login.example.org. Its redirect URL is /signin/callback of this server. Needs api_key. Empty: none. See docs/guide/operations.md."`
	ClientID string   `koanf:"client_id" doc:"This server's name at sso.issuer."`
	Secret   string   `koanf:"client_secret" secret:"yes" doc:"This server's secret at sso.issuer. Empty: it has none, PKCE alone protects the sign-in."`
	User     string   `koanf:"user" default:"sub" doc:"Claim of the issuer's token that is the user's name in Loci: the one by which front ends name the user, as sub, email or preferred_username. Of those that a person may change at the issuer, anybody could become anybody."`
	Header   []string `koanf:"header" doc:"Header in which a reverse proxy that signs people in names the user, and behind a comma the one with the user's groups, as X-Forwarded-User,X-Forwarded-Groups. Such a request needs no key. They count from the addresses in proxies alone, which they need; the proxy has to remove them from what clients send."`
	Admins   []string `koanf:"admins" doc:"Users who may do anything when they signed in this way, and groups of such users as group:NAME: by the claim groups of the token, or the header."`
}

// OTLPConfig is where traces go.
type OTLPConfig struct {
	Endpoint string `koanf:"endpoint" secret:"yes" doc:"URL of an OpenTelemetry collector that gets a trace of each chat by OTLP/HTTP, as http://localhost:4318; /v1/traces where it has no path. Traces hold ids, models, tokens and durations, never words. Empty: none. See docs/guide/metrics.md."`
}

// AuditConfig is the record of acts that concern trust.
type AuditConfig struct {
	Keep int `koanf:"keep" default:"365" doc:"How many days the audit record is kept: sign-ins, keys, what admins did in others' memory, exports, erasures. 0: for ever."`
}

// BackupConfig is the schedule of backups.
type BackupConfig struct {
	Every     time.Duration `koanf:"every" default:"0s" doc:"How often the memory of all users is backed up to backup.to, as 24h. 0s: never. Needs memory in SQLite or a vault; the tools of a PostgreSQL or MongoDB server back up that. See docs/backup.md."`
	To        string        `koanf:"to" secret:"yes" doc:"Where scheduled backups are kept: a folder that exists, or s3://KEY:SECRET@host/bucket/prefix, with ?region=NAME or ?tls=false behind it where needed. Without KEY and SECRET those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY count. One server alone keeps its backups there."`
	Keep      int           `koanf:"keep" default:"7" doc:"How many scheduled backups are kept. None is deleted while the newest cannot be restored."`
	Recipient string        `koanf:"recipient" doc:"Recipient (age1...) that scheduled backups are encrypted for with age. Its identity is needed to restore one, and Loci does not have it: keep it elsewhere. Empty: they are not encrypted."`
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
