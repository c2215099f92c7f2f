package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

func serve(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "serve",
		Short:   "Run the server",
		Long:    "Run the server: an OpenAI-compatible proxy with memory under /v1, and the memory itself under /api.",
		Example: "  loci serve\n  LOCI_UPSTREAM_URL=http://localhost:11434/v1 loci serve --addr 127.0.0.1:7077",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			set, err := g.load(cmd)
			if set.Log.Format == "json" || os.Getenv("LOCI_LOG_FORMAT") == "json" || slices.Contains(g.set, "log.format=json") { // also where other settings cannot be read
				defer func() {
					if err != nil {
						err = logged{err}
					}
				}()
			}
			if err != nil {
				return err
			}
			httpx.LimitMemory()
			cert := &certificate{}
			reload := func() (config.Config, error) {
				next, err := g.load(cmd)
				if err == nil {
					err = cert.read(next.TLS)
				}
				return next, err
			}
			s, err := open(cmd.Context(), set, loci.Options{Log: cmd.ErrOrStderr(), Reload: reload}, cert)
			if err != nil {
				return err
			}
			if set.Log.Format == "json" { // whose lines are all JSON
				s.Log().Info("serving", "version", loci.Version(), "at", s.url(), "upstream", set.Upstream.Shown(), "models", s.models())
			} else {
				fmt.Fprintf(cmd.ErrOrStderr(), "loci %s\n", loci.Version())
				s.addresses(cmd.ErrOrStderr())
			}
			defer s.reloadOnHangup(reload)()
			return s.run(cmd.Context())
		},
	}
}

// server is a memory that listens.
type server struct {
	*loci.Loci
	listener net.Listener
	*serving
}

// serving answers at a listener. Until there is a memory it says that it lives, and nothing else: to
// open one may take long, as where a schema is brought up to date.
type serving struct {
	srv      *http.Server
	handler  atomic.Pointer[http.Handler]
	requests sync.WaitGroup
	cut      context.CancelCauseFunc // ends the contexts of all requests
	ended    chan error              // why it serves no more
}

// serveOn begins to answer.
func serveOn(l net.Listener, log *slog.Logger) *serving {
	inTime, cut := context.WithCancelCause(context.Background())
	s := &serving{cut: cut, ended: make(chan error, 1)}
	s.srv = httpx.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
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
	s.srv.BaseContext = func(net.Listener) context.Context { return inTime }
	go func() { s.ended <- s.srv.Serve(l) }()
	return s
}

func (s *serving) close() error {
	s.cut(nil)
	return s.srv.Close()
}

// open is listen for a server that other commands find, too.
func open(ctx context.Context, config config.Config, opts loci.Options, cert *certificate) (*server, error) {
	s, err := listen(ctx, config, opts, cert)
	if err != nil {
		return nil, err
	}
	if err := s.Serving(s.url()); err != nil {
		s.Log().Warn("commands with --data will not find this server", "err", err)
	}
	return s, nil
}

// listen listens, opens the memory and serves it; [server.run] has it learn. Without cert it serves
// this machine alone, and no TLS.
func listen(ctx context.Context, config config.Config, opts loci.Options, cert *certificate) (*server, error) {
	if cert == nil {
		config.TLS.Cert, config.TLS.Key, config.TLS.ACME = "", "", nil
	}
	addr, err := config.ListenAddr()
	if err == nil {
		err = httpx.CheckListen(addr, config.APIKey != "")
	}
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; --addr names another address", err)
	}
	if config.TLS.On() {
		if listener, err = cert.encrypted(listener, config); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	serving := serveOn(listener, slog.New(slog.DiscardHandler))
	l, err := loci.Open(ctx, config, opts)
	if err != nil {
		return nil, errors.Join(err, serving.close())
	}
	handler := l.Handler()
	serving.handler.Store(&handler)
	return &server{l, listener, serving}, nil
}

// openAnywhere is open at the usual address or, if that is taken, at a free port.
func openAnywhere(ctx context.Context, config config.Config, opts loci.Options) (*server, error) {
	s, err := open(ctx, config, opts, nil)
	if err != nil && !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Invalid) {
		config.Addr = "127.0.0.1:0"
		s, err = open(ctx, config, opts, nil)
	}
	return s, err
}

func (s *server) url() string {
	scheme := "http://"
	if s.Config().TLS.On() {
		scheme = "https://"
	}
	return scheme + config.Reached(s.listener.Addr().String())
}

// reloadOnHangup reads the settings again at each SIGHUP, until stop is called.
func (s *server) reloadOnHangup(reload func() (config.Config, error)) (stop func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-hangups:
			}
			next, err := reload()
			if err == nil {
				_, err = s.Reload(next)
			}
			if err != nil {
				s.Log().Error("the settings stay as they were: they cannot be read again", "err", err)
			}
		}
	}()
	return func() { signal.Stop(hangups); close(over) }
}

// addresses prints what is where.
func (s *server) addresses(w io.Writer) {
	config := s.Config()
	fmt.Fprintf(w, "  page           %[1]s/\n  chat (OpenAI)  %[1]s/v1\n  memory (REST)  %[1]s/api/memory   (%[1]s/docs)\n  upstream       %[2]s\n  models         %[3]s\n",
		s.url(), cmp.Or(config.Upstream.Shown(), "none: the built-in model loci/recall answers (set LOCI_UPSTREAM_URL)"), s.models())
	if better := s.Better(); better != "" {
		fmt.Fprintf(w, "  better         %s\n", better)
	}
	if dir, err := config.VaultDir(); err == nil && dir != "" {
		fmt.Fprintf(w, "  vault          %s\n", dir)
	}
	if sets := config.ProfileSets(); len(sets) > 0 {
		fmt.Fprintf(w, "  profile        %s sets %s\n", config.Profile, strings.Join(sets, " "))
	}
	for _, lack := range config.ProfileLacks() {
		fmt.Fprintf(w, "                 not at hand: %s\n", lack)
	}
}

// models says what embeds, what reranks and who learns.
func (s *server) models() string {
	c := s.Config()
	embeds := c.Embedder + ", compared by " + vector.Tier()
	if c.Embedder == config.Lexical {
		embeds = "words alone"
	}
	return fmt.Sprintf("search by %s; reranker %s; learning by %s", embeds, c.Reranker, s.Learns())
}

// lastWords is how long requests that are cut off have to say so and to store what was said so far.
const lastWords = 3 * time.Second

// run serves until ctx ends, lets what is under way finish, and closes.
func (s *server) run(ctx context.Context) error {
	defer s.cut(nil)
	group, ctx := errgroup.WithContext(ctx)
	// Learning goes on while the last requests come to their end.
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return s.Run(working) })
	group.Go(func() error { boundGarbage(working, s.Resident); return nil })
	group.Go(func() error {
		if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
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
			time.Sleep(drain / 6) // whoever sends requests here asks whether it is ready
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		err := s.srv.Shutdown(last)
		if err == nil {
			return nil
		}
		s.Log().Warn("requests are cut off", "after", drain, "err", err)
		s.cut(httpx.ErrStopping)
		over, ended := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		go func() { s.requests.Wait(); ended() }()
		<-over.Done()
		return s.srv.Close()
	})
	return errors.Join(group.Wait(), s.Close())
}
