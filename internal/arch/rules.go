package arch

// rules are the rules of a module's architecture.
type rules struct {
	module string

	// floors are the layers of folders from the bottom up; "x/*" means every folder directly in x.
	// Every package is on a floor and imports only packages on lower floors.
	floors [][]string

	// importers maps each third-party module to the packages that may import the module. Other modules must not be
	// imported.
	importers map[string][]string

	// commonModules are third-party modules that any package may import, except the packages in stdlibOnly.
	commonModules []string

	// testModules are third-party modules that any test may import, besides the modules that its package may import.
	testModules []string

	// stdlibOnly are the packages that import only the standard library.
	stdlibOnly []string

	// withoutIO are the pure packages: they use no clock, randomness, log or I/O.
	withoutIO []string

	// withoutGoroutines are packages that start no goroutine, even in tests. make test runs these packages without the
	// race detector.
	withoutGoroutines []string

	// unlimitedTypes maps each type that may have any number of methods and fields to the reason.
	unlimitedTypes map[string]string

	// stores are packages of concrete stores, which only tests and the packages in wiring may import.
	stores, wiring []string
}

// lociRules are the rules of Loci, which ARCHITECTURE.md explains.
var lociRules = rules{
	module: "github.com/loci-memory/loci",
	floors: [][]string{
		{"memory"},
		{"memory/memtest"},
		{"memory/storetest"},
		{"internal/store/sqlstore/pgtest", "internal/index/chroma/chromatest"},
		{"internal/disk", "internal/lazy", "internal/recent"},
		{"internal/utterance"},
		{"internal/vector", "internal/text", "internal/chatapi", "internal/prompt", "internal/httpx", "internal/obs", "internal/filelock", "internal/backup/archive", "client"},
		{"internal/tensor", "internal/english", "internal/translate"},
		{"internal/extract", "internal/ownerdata", "internal/retry", "internal/audit"},
		{"internal/recall", "internal/learn", "internal/index", "internal/index/chroma", "internal/thread", "internal/portable", "internal/store/*", "internal/model/*", "internal/jobs"},
		{"internal/engine/core", "internal/tracing"},
		{"internal/engine/traces", "internal/engine/vectors", "internal/engine/compare"},
		{"internal/engine/share"},
		{"internal/engine/retrieve"},
		{"internal/engine/curate"},
		{"internal/engine/lessons"},
		{"internal/engine/exchange"},
		{"internal/engine/chats", "internal/engine/query", "internal/engine/erase", "internal/engine/upkeep"},
		{"internal/engine/files", "internal/engine/transfer"},
		{"internal/engine"},
		{"internal/api/*"},
		{"internal/config"},
		{"internal/models", "internal/backup", "internal/vaultsync"},
		{"internal/doctor"},
		{"internal/assembly"},
		{"."},
		{"internal/cli"},
		{"cmd/*", "examples/*", "internal/arch"},
	},
	importers: map[string][]string{
		"filippo.io/age":                                                  {"internal/backup/archive"},
		"github.com/minio/minio-go/v7":                                    {"internal/backup"},
		"golang.org/x/crypto":                                             {"internal/cli"},
		"github.com/blevesearch/snowballstem":                             {"internal/text"},
		"github.com/cenkalti/backoff/v5":                                  {"internal/model/llm"},
		"github.com/clipperhouse/uax29/v2":                                {"internal/text", "internal/model/transformer"},
		"github.com/coreos/go-oidc/v3":                                    {"internal/api/web"},
		"golang.org/x/oauth2":                                             {"internal/api/web"},
		"golang.org/x/time":                                               {"internal/httpx"},
		"github.com/danielgtaylor/huma/v2":                                {"internal/api/rest"},
		"github.com/fsnotify/fsnotify":                                    {"internal/store/vault"},
		"github.com/goccy/go-yaml":                                        {"internal/config", "internal/store/vault", "internal/assembly"},
		"github.com/google/jsonschema-go":                                 {"internal/learn", "internal/prompt"},
		"github.com/google/uuid":                                          {"memory/memtest", "internal/engine/core", "internal/engine/*", "internal/api/*", "internal/cli", "internal/assembly"},
		"github.com/jackc/pgx/v5":                                         {"internal/store/sqlstore", "internal/store/sqlstore/pgtest"},
		"github.com/knadh/koanf":                                          {"internal/config"},
		"github.com/go-viper/mapstructure/v2":                             {"internal/config"},
		"github.com/modelcontextprotocol/go-sdk":                          {"internal/api/mcp"},
		"github.com/pressly/goose/v3":                                     {"internal/store/sqlstore"},
		"github.com/prometheus/client_golang":                             {"internal/obs"},
		"github.com/schollz/progressbar/v3":                               {"internal/cli"},
		"github.com/spf13/cobra":                                          {"internal/cli"},
		"github.com/tailscale/hujson":                                     {"internal/cli"},
		"github.com/tidwall/gjson":                                        {"internal/chatapi"},
		"github.com/tidwall/sjson":                                        {"internal/chatapi"},
		"golang.org/x/sys":                                                {"internal/filelock", "internal/vector", "internal/tensor"},
		"go.mongodb.org/mongo-driver/v2":                                  {"internal/store/mongostore"},
		"go.opentelemetry.io/otel":                                        {"internal/tracing"},
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": {"internal/tracing"},
		"go.opentelemetry.io/otel/sdk":                                    {"internal/tracing"},
		"go.opentelemetry.io/otel/trace":                                  {"internal/tracing"},
		"modernc.org/sqlite":                                              {"internal/store/*"},
		"pgregory.net/rapid":                                              {"memory/storetest"},
		"github.com/google/go-cmp":                                        {"memory/storetest", "memory/memtest"},
		"github.com/rogpeppe/go-internal":                                 {"memory/storetest"},
	},
	commonModules: []string{"golang.org/x/sync"},
	testModules: []string{
		"filippo.io/age",
		"go.opentelemetry.io/proto/otlp",
		"google.golang.org/protobuf",
		"github.com/google/go-cmp",
		"github.com/johannesboyne/gofakes3",
		"github.com/prometheus/client_golang/prometheus/testutil",
		"github.com/rogpeppe/go-internal",
		"go.uber.org/goleak",
		"pgregory.net/rapid",
	},
	stdlibOnly:        []string{"memory"},
	withoutIO:         []string{"memory", "internal/ownerdata", "internal/utterance", "internal/recall", "internal/extract", "internal/learn", "internal/thread", "internal/portable", "internal/vector", "internal/tensor", "internal/text", "internal/english", "internal/chatapi", "internal/translate"},
	withoutGoroutines: []string{"internal/recall", "internal/extract", "internal/learn"},
	unlimitedTypes: map[string]string{
		"client.Client":                   "one method per operation of the REST API",
		"internal/store/inmem.Store":      "implements memory.Store",
		"internal/store/mongostore.Store": "implements memory.Store and its optional parts",
		"internal/store/sqlstore.Store":   "implements memory.Store and its optional parts",
		"internal/store/vault.Store":      "implements memory.Store and its optional parts",
	},
	stores: []string{"internal/store/*"},
	wiring: []string{"internal/assembly", "internal/config", "internal/backup", "internal/vaultsync", "internal/doctor"},
}

// impurePackages are the standard packages that, with their subpackages, a pure package must not import.
var impurePackages = []string{
	"crypto/rand", "database/sql", "log", "math/rand", "net/http", "net/rpc", "net/smtp", "net/textproto",
	"os", "syscall", "testing",
}

// impureNetPackage is forbidden in pure packages, but its subpackages are not: net/url, net/mail and net/netip only parse.
const impureNetPackage = "net"

// clockFuncs are the functions of package time that read the clock or start a timer.
var clockFuncs = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true,
}
