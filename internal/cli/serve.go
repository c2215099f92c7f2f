package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

func newServeCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "serve",
		Short:   "Run the server",
		Long:    "Run the server. /v1 is an OpenAI-compatible proxy that adds memory to chats; /api is the REST API of the memory.",
		Example: "  loci serve\n  LOCI_UPSTREAM_URL=http://localhost:11434/v1 loci serve --addr 127.0.0.1:7077",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := g.loadConfig(cmd)
			if cfg.Log.Format == "json" || os.Getenv("LOCI_LOG_FORMAT") == "json" || slices.Contains(g.setPairs, "log.format=json") { // even invalid settings must be reported as JSON
				defer func() {
					if err != nil {
						err = jsonLogError{err}
					}
				}()
			}
			if err != nil {
				return err
			}
			httpx.LimitMemory()
			cert := &certificate{}
			reload := func() (config.Config, error) {
				next, err := g.loadConfig(cmd)
				if err == nil {
					err = cert.load(next.TLS)
				}
				return next, err
			}
			s, err := openServer(cmd.Context(), cfg, loci.Options{Log: cmd.ErrOrStderr(), Reload: reload}, cert)
			if err != nil {
				return err
			}
			if cfg.Log.Format == "json" { // every line of the log must be JSON
				s.Log().Info("serving", "version", loci.Version(), "at", s.url(), "upstream", cfg.Upstream.RedactedURL(), "models", s.modelsText())
			} else {
				fmt.Fprintf(cmd.ErrOrStderr(), "loci %s\n", loci.Version())
				s.printAddresses(cmd.ErrOrStderr())
			}
			defer s.reloadOnHangup(reload)()
			return s.run(cmd.Context())
		},
	}
}

// server is an open memory with its HTTP server.
type server struct {
	*loci.Loci
	listener net.Listener
	*httpServer
}

// httpServer serves HTTP. Until the memory is open it answers only /health/live, because opening can
// take long, for example for an upgrade of the schema.
type httpServer struct {
	srv            *http.Server
	handler        atomic.Pointer[http.Handler]
	activeRequests sync.WaitGroup
	cancelRequests context.CancelCauseFunc // cancels the contexts of all requests
	serveErr       chan error              // receives the error of srv.Serve
}

// startHTTP starts an HTTP server on l. The caller stores the handler once the memory is open.
func startHTTP(l net.Listener, log *slog.Logger) *httpServer {
	requestCtx, cut := context.WithCancelCause(context.Background())
	s := &httpServer{cancelRequests: cut, serveErr: make(chan error, 1)}
	s.srv = httpx.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.activeRequests.Add(1)
		defer s.activeRequests.Done()
		switch h := s.handler.Load(); {
		case h != nil:
			(*h).ServeHTTP(w, r)
		case r.URL.Path == "/health/live":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Retry-After", "1")
			httpx.WriteError(w, r, memory.Errorf(memory.Unavailable, "the server is starting; try again"))
		}
	}), log)
	s.srv.BaseContext = func(net.Listener) context.Context { return requestCtx }
	go func() { s.serveErr <- s.srv.Serve(l) }()
	return s
}

func (s *httpServer) close() error {
	s.cancelRequests(nil)
	return s.srv.Close()
}

// openServer is like listenAndOpen, and writes the server's URL to the data folder, where other commands find it.
func openServer(ctx context.Context, cfg config.Config, opts loci.Options, cert *certificate) (*server, error) {
	s, err := listenAndOpen(ctx, cfg, opts, cert)
	if err != nil {
		return nil, err
	}
	if err := s.PublishURL(s.url()); err != nil {
		s.Log().Warn("commands with --data will not find this server", "err", err)
	}
	return s, nil
}

// listenAndOpen listens, opens the memory and serves it; [server.run] starts the background work. If cert
// is nil, it serves only this machine, without TLS.
func listenAndOpen(ctx context.Context, cfg config.Config, opts loci.Options, cert *certificate) (*server, error) {
	if cert == nil {
		cfg.TLS.Cert, cfg.TLS.Key, cfg.TLS.ACME = "", "", nil
	}
	addr, err := cfg.ListenAddr()
	if err == nil {
		err = httpx.CheckListen(addr, cfg.APIKey != "")
	}
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with --addr", err)
	}
	if cfg.TLS.Enabled() {
		if listener, err = cert.withTLS(listener, cfg); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	serving := startHTTP(listener, slog.New(slog.DiscardHandler))
	l, err := loci.Open(ctx, cfg, opts)
	if err != nil {
		return nil, errors.Join(err, serving.close())
	}
	handler := l.Handler()
	serving.handler.Store(&handler)
	return &server{l, listener, serving}, nil
}

// openOnFreePort is like openServer without TLS, but uses a free port if the configured address is in use.
func openOnFreePort(ctx context.Context, cfg config.Config, opts loci.Options) (*server, error) {
	s, err := openServer(ctx, cfg, opts, nil)
	if err != nil && !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Invalid) {
		cfg.Addr = "127.0.0.1:0"
		s, err = openServer(ctx, cfg, opts, nil)
	}
	return s, err
}

func (s *server) url() string {
	scheme := "http://"
	if s.Config().TLS.Enabled() {
		scheme = "https://"
	}
	return scheme + config.LocalAddress(s.listener.Addr().String())
}

// reloadOnHangup reloads the settings at each SIGHUP until the caller calls stop.
func (s *server) reloadOnHangup(reload func() (config.Config, error)) (stop func()) {
	hangups, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-hangups:
			}
			next, err := reload()
			if err == nil {
				_, err = s.Reload(next)
			}
			if err != nil {
				s.Log().Error("cannot reload the settings; the previous settings stay in effect", "err", err)
			}
		}
	}()
	return func() { signal.Stop(hangups); close(stopped) }
}

// printAddresses prints the URLs and the main settings of the server.
func (s *server) printAddresses(w io.Writer) {
	config := s.Config()
	fmt.Fprintf(w, "  page           %[1]s/\n  chat (OpenAI)  %[1]s/v1\n  memory (REST)  %[1]s/api/memory   (%[1]s/docs)\n  upstream       %[2]s\n  models         %[3]s\n",
		s.url(), cmp.Or(config.Upstream.RedactedURL(), "none: the built-in model loci/recall answers (set LOCI_UPSTREAM_URL)"), s.modelsText())
	if better := s.ImprovementHint(); better != "" {
		fmt.Fprintf(w, "  better         %s\n", better)
	}
	if dir, err := config.VaultDir(); err == nil && dir != "" {
		fmt.Fprintf(w, "  vault          %s\n", dir)
	}
	if sets := config.ProfileValues(); len(sets) > 0 {
		fmt.Fprintf(w, "  profile        %s sets %s\n", config.Profile, strings.Join(sets, " "))
	}
	for _, lack := range config.MissingModels() {
		fmt.Fprintf(w, "                 missing: %s\n", lack)
	}
}

// modelsText describes the embedder, the reranker and the learner.
func (s *server) modelsText() string {
	c := s.Config()
	embeds := c.Embedder + ", compared by " + vector.Tier()
	if c.Embedder == config.Lexical {
		embeds = "words only"
	}
	return fmt.Sprintf("search by %s; reranker %s; learning: %s", embeds, c.Reranker, s.LearnerName())
}

// cancelGrace is the time that cancelled requests have to report the error and to store partial conversations.
const cancelGrace = 3 * time.Second

// run serves until ctx ends, waits for running requests, and closes the memory.
func (s *server) run(ctx context.Context) error {
	defer s.cancelRequests(nil)
	group, ctx := errgroup.WithContext(ctx)
	// Background work continues until the last requests have ended.
	workCtx, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return s.Run(workCtx) })
	group.Go(func() error { adjustGC(workCtx, s.IndexBytes); return nil })
	group.Go(func() error {
		if err := <-s.serveErr; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stopWork()
		<-ctx.Done()
		drain := s.Config().Drain
		s.Drain()
		if addr, err := netip.ParseAddrPort(s.listener.Addr().String()); err == nil && !addr.Addr().IsLoopback() {
			time.Sleep(drain / 6) // time for load balancers to see that the server is not ready
		}
		shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		err := s.srv.Shutdown(shutdownCtx)
		if err == nil {
			return nil
		}
		s.Log().Warn("cancelling the remaining requests", "after", drain, "err", err)
		s.cancelRequests(httpx.ErrStopping)
		graceCtx, ended := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
		go func() { s.activeRequests.Wait(); ended() }()
		<-graceCtx.Done()
		return s.srv.Close()
	})
	return errors.Join(group.Wait(), s.Close())
}

// certificate is a server's TLS certificate, which can be reloaded.
type certificate struct {
	current    atomic.Pointer[tls.Certificate]
	acmeClient *acme.Client // ACME client for tls.acme; nil uses Let's Encrypt
}

// load reads the certificate files. If the files are invalid, the previous certificate stays in use.
func (c *certificate) load(cfg config.TLSConfig) error {
	if cfg.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
	if err != nil {
		return memory.Errorf(memory.Invalid, "tls.cert %s with tls.key %s: %w", cfg.Cert, cfg.Key, err)
	}
	c.current.Store(&pair)
	return nil
}

// withTLS adds TLS to a listener according to the settings.
func (c *certificate) withTLS(l net.Listener, cfg config.Config) (net.Listener, error) {
	t := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
	if len(cfg.TLS.ACME) > 0 {
		dir, err := cfg.DataDir()
		if err != nil {
			return nil, err
		}
		m := autocert.Manager{Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(cfg.TLS.ACME...), Cache: autocert.DirCache(filepath.Join(dir, "acme")), Client: c.acmeClient}
		acmeConfig := m.TLSConfig()
		t.GetCertificate, t.NextProtos = acmeConfig.GetCertificate, acmeConfig.NextProtos
	}
	return tls.NewListener(l, t), c.load(cfg.TLS)
}

func newOpenAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Short:   "Print the OpenAPI description of the REST API",
		Long:    "Print the document that a server returns for /openapi.json. The command needs no server.",
		Example: "  loci openapi > openapi.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			description, err := loci.OpenAPI()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(append(description, '\n'))
			return err
		},
	}
}

// By default (GOGC=100) Go lets the heap double before it collects garbage. That would waste
// memory with a large index, which stays in use and is cheap to scan, because it consists
// mostly of bytes without pointers.
const (
	// minGarbageBytes is the minimum amount of garbage before a collection. At 1,300 recalls per
	// second, 24 MiB cause seven collections per second; 12 MiB would save little and cause ten.
	minGarbageBytes = 24 << 20
	// minGarbagePercent is the minimum amount of garbage before a collection, as a percentage of
	// the memory in use. It makes collections of a large heap rarer.
	minGarbagePercent = 20
	// otherMemoryBytes is an estimate of the memory in use outside of the index.
	otherMemoryBytes = 8 << 20
)

// gcPercent returns the GOGC value for an index of indexBytes: a percentage that allows
// minGarbageBytes of garbage, but at least minGarbagePercent and at most Go's default of 100.
func gcPercent(indexBytes int64) int {
	return int(min(100, max(minGarbagePercent, 100*minGarbageBytes/(indexBytes+otherMemoryBytes))))
}

// adjustGC adjusts GOGC to the size of the index until ctx ends, unless the environment sets
// GOGC or GOMEMLIMIT. It sets no memory limit, because near a memory limit the collector
// would use most of the processor time.
func adjustGC(ctx context.Context, indexBytes func() int64) {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return
	}
	current := gcPercent(indexBytes())
	previous := debug.SetGCPercent(current)
	defer debug.SetGCPercent(previous)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if next := gcPercent(indexBytes()); next != current {
			current = next
			debug.SetGCPercent(current)
		}
	}
}
