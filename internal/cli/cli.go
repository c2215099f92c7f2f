// Package cli is the command line, with one file per subject. Commands about memory send requests to
// the server at --addr or, if --data chose a data folder, to the server of that folder. If no server
// answers, a command opens the data folder itself.
package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

// Main runs the command line and returns the exit status of the process: 0 for success, 2 for a
// wrong command line or setting, 1 for any other error.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := root()
	begun := false // whether cobra has accepted the command line
	cmd.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ran.Name() == hookName { // an exit status of 2 would refuse the agent's prompt
		tellHook(os.Stderr, err)
		return 0
	}
	told := err.Error()
	if ctx.Err() != nil {
		told = stopped(ran, err)
	}
	told = strings.ReplaceAll(told, "\n\t", " ")                           // errors of a database driver may contain line breaks
	begun = begun && !strings.HasPrefix(told, "if any flags in the group") // cobra checks flag groups after PersistentPreRun
	told = advised(ran, told)
	if !begun {
		told = strings.Join(strings.Fields(told), " ") + "; see " + ran.CommandPath() + " --help"
	}
	tell(os.Stderr, err, told, wantsJSON(ran, os.Args[1:]))
	if !begun || errors.Is(err, memory.Invalid) {
		return 2
	}
	return 1
}

// errorHints lists fragments of error messages, each with the hint for messages that contain it.
var advice = [][2]string{
	{"there is no memory ", "loci list --status all shows the ids"},
	{"there is no change or run ", "loci history shows the ids"},
	{"there is no key ", "loci keys list shows the ids"},
	{"there is no chat ", "loci list --kind turn --json names the conversations"},
	{"the profile has no ", "loci profile shows its keys"},
	{"is not closed", "loci users list shows the closed users"},
	{"no model server is configured", "set LOCI_LEARN_URL or LOCI_UPSTREAM_URL"},
	{"no such file or directory", "check the path"},
	{"there is no file ", "check the path"},
}

var (
	ofRequest = lazy.Compile(`^validation failed; (.*) \((?:body|query)\.(\w+).*\)$`)
	noNumber  = lazy.Compile(`strconv\.\w+: parsing .*: (invalid syntax|value out of range)`)
)

// addHint adds to an error message what the user can do, unless the message already names a command.
func advised(ran *cobra.Command, told string) string {
	args := strings.HasPrefix(told, "accepts ") || strings.HasPrefix(told, "requires at least ")
	if args || strings.HasPrefix(told, "unknown command") && ran.HasParent() && !ran.HasSubCommands() {
		return "write it as: " + ran.UseLine()
	}
	if m := ofRequest.FindStringSubmatch(told); m != nil {
		told = "--" + strings.TrimSuffix(strings.ReplaceAll(m[2], "_", "-"), "s") + ": " + m[1]
	}
	told = noNumber.ReplaceAllString(told, "write a number")
	for _, a := range advice {
		if strings.Contains(told, a[0]) && !strings.Contains(told, "loci ") {
			return told + "; " + a[1]
		}
	}
	return told
}

// jsonLogError marks an error that Main writes as a line of the JSON log.
type logged struct{ error }

func (l logged) Unwrap() error { return l.error }

// writeError writes an error as a line for people, a line of the JSON log, or a JSON object for programs.
func tell(w io.Writer, err error, told string, asJSON bool) {
	if errors.As(err, new(logged)) {
		slog.New(slog.NewJSONHandler(w, nil)).Error("loci ends", "err", obs.Redact(told))
		return
	}
	if !asJSON {
		fmt.Fprintln(w, "loci:", told)
		return
	}
	failure := struct {
		Code    memory.Code `json:"code,omitempty"`
		Message string      `json:"message"`
	}{Message: told}
	if coded := new(memory.Error); errors.As(err, &coded) {
		failure.Code = coded.Code
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": failure}) // nothing can report an unwritable standard error
}

// wantsJSON reports whether the command line has --json, even if other flags are wrong.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("json")
	return flag != nil && flag.Value.Type() == "bool" && (flag.Value.String() == "true" || slices.Contains(args, "--json"))
}

// interruptMessage returns the error message of an interrupted command. It hides the internal errors
// that the interruption caused, except for an import or a server, which report unfinished work.
func stopped(ran *cobra.Command, err error) string {
	if errors.Is(err, errBrokenOff) || ran.Name() == "serve" || ran.Name() == "demo" {
		return err.Error()
	}
	return "interrupted"
}

// sharedState holds the flags of every command, and state that functions of a command share.
type global struct {
	flags  map[string]*string // values by setting name; load ignores flags that are not on the command line
	set    []string
	config string
	user   string
	json   bool
	at     memory.At                   // the time that --as-of or --valid-at chooses
	alone  bool                        // no server answered, and this command opened the data folder itself
	serves bool                        // without another server, this command also serves other commands
	settle func(context.Context) error // runs all due learning jobs; set only if standalone
}

func root() *cobra.Command {
	g := &global{flags: map[string]*string{}}
	cmd := &cobra.Command{
		Use:           "loci",
		Short:         "Long-term memory for LLM applications",
		Long:          "Loci gives any OpenAI client an assistant that remembers. Start with: loci demo",
		Version:       loci.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cobra.AddTemplateFunc("begins", strings.HasPrefix)
	cmd.SetHelpTemplate("{{if not (begins .Long .Short)}}{{.Short}}.\n\n{{end}}{{with .Long}}{{.}}\n\n{{end}}{{.UsageString}}")
	p := cmd.PersistentFlags()
	for _, f := range []struct{ name, help string }{
		{"addr", "address of the server, or its URL"},
		{"data", "folder in which Loci stores everything"},
		{"profile", "named group of settings (see docs/profiles.md)"},
	} {
		g.flags[f.name] = p.String(f.name, "", f.help)
	}
	p.StringVar(&g.config, "config", "", "settings file (YAML)")
	p.StringArrayVar(&g.set, "set", nil, "set a setting, as key=value; may be repeated")
	cmd.AddCommand(serve(g), demo(g), chat(g), add(g), search(g), list(g), edit(g), relate(g), forget(g),
		history(g), undo(g), review(g), profile(g), coreCommand(g), contexts(g), pause(g), relearn(g), upkeep(g), prompts(g), jobs(g), usage(g), doctor(g), export(g), imports(g))
	cmd.AddCommand(share(g), users(g), settings(g))
	cmd.AddCommand(modelsCommand(g), reembed(g), migrate(g), backups(g), restore(g), apiKeys(g), auditRecord(g), mcp(g), hook(g), connectTo(g), openAPI(), health(g), version(g))
	g.offer(cmd)
	for _, sub := range cmd.Commands() {
		sub.SuggestFor = others[sub.Name()]
	}
	return cmd
}

// synonyms maps each command to the names that other programs use for it. For such a name cobra suggests the command.
var others = map[string][]string{
	"add": {"remember", "note", "save", "new"}, "search": {"recall", "ask", "find", "query"}, "forget": {"delete", "remove", "rm", "erase"},
	"history": {"show", "get", "log", "view"}, "edit": {"update", "change", "set"}, "list": {"ls", "all"}, "review": {"approve", "reject", "pending"},
	"serve": {"server", "start", "run", "up"}, "models": {"pull"}, "doctor": {"status", "check"}, "undo": {"revert"}, "settings": {"config", "env", "options"},
}

// loadConfig reads the settings from the flags, the environment, the file and the profile.
func (g *global) load(cmd *cobra.Command) (config.Config, error) {
	flags := map[string]string{}
	for name, value := range g.flags {
		if cmd.Flags().Changed(strings.ReplaceAll(name, ".", "-")) {
			flags[name] = *value
		}
	}
	for _, pair := range g.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return config.Config{}, memory.Errorf(memory.Invalid, "--set %s: write it as key=value", pair)
		}
		flags[key] = value
	}
	return config.Load(config.Sources{Flags: flags, Env: os.Environ(), File: g.config})
}

// withMemoryFlags adds the flags that all commands about memory have.
func onMemory(g *global, cmd *cobra.Command) *cobra.Command {
	return g.withUser(g.withJSON(cmd))
}

func (g *global) withUser(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&g.user, "user", "", "user whose memory is used (default: the server's default user)")
	return cmd
}

func (g *global) withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON for programs")
	return cmd
}

// connect returns a client of the running server or, without a server, of an engine that is opened
// for this command. The caller must call closeClient. If the user chose a data folder but no address,
// connect uses the server of that folder instead of a server at the default address; if the folder
// has no server, connect opens the folder.
func (g *global) connect(cmd *cobra.Command) (c *client.Client, done func() error, err error) {
	config, err := g.load(cmd)
	if err != nil {
		return nil, nil, err
	}
	opts := client.Options{Key: config.APIKey, User: g.user, At: g.at}
	none := func() error { return nil }
	if !config.FolderDecides() {
		c = client.New(config.ServerURL(), opts)
		switch err := reach(cmd.Context(), c); {
		case err == nil:
			return c, none, nil
		case errors.As(err, new(*tls.CertificateVerificationError)):
			return nil, nil, err
		case !errors.Is(err, memory.Unavailable):
			return c, none, err
		case config.AddressDecides():
			without := "this address"
			if cmd.Flags().Changed("addr") {
				without = "--addr"
			}
			return nil, nil, memory.Errorf(memory.Unavailable, "no server answers at %s; start one with loci serve, or leave out %s to open the data folder directly", config.Addr, without)
		}
	}
	c, done, err = g.openAlone(cmd, config, opts)
	if at := config.ServedAt(); errors.Is(err, memory.Conflict) && at != "" {
		c = client.New(at, opts)
		is := reach(cmd.Context(), c)
		if is == nil {
			return c, none, nil
		}
		if errors.As(is, new(*tls.CertificateVerificationError)) {
			err = memory.Errorf(memory.Unavailable, "set --addr to the host name in the server's certificate (https://NAME): %w", is)
		}
	}
	return c, done, err
}

// runningServer returns a client of the server that commands would use, and the URL; nil if no server answers.
func (g *global) running(cmd *cobra.Command, c config.Config) (*client.Client, string) {
	url := c.ServerURL()
	if c.FolderDecides() {
		url = c.ServedAt()
	}
	at := client.New(url, client.Options{Key: c.APIKey, User: g.user})
	if url == "" || reach(cmd.Context(), at) != nil {
		return nil, ""
	}
	return at, url
}

// checkHealth checks whether a server answers. Otherwise the error is [memory.Unavailable].
func reach(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.Health(ctx)
	return err
}

// openStandalone opens the memory and serves it to this command on a free local port.
func (g *global) openAlone(cmd *cobra.Command, config config.Config, opts client.Options) (c *client.Client, done func() error, err error) {
	ctx := cmd.Context()
	if config.Log.Level == "info" {
		config.Log.Level = "warn" // only a server shows info lines
	}
	open := openAnywhere // writes the address, so that other commands use this server, too
	if !g.serves {
		config.Addr, open = "127.0.0.1:0", func(ctx context.Context, c loci.Config, o loci.Options) (*server, error) {
			return listen(ctx, c, o, nil)
		}
	}
	s, err := open(ctx, config, loci.Options{Log: cmd.ErrOrStderr()})
	if err != nil {
		return nil, nil, err
	}
	g.alone, g.settle = true, s.Settle
	running, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- s.run(running) }()
	return client.New(s.url(), opts), func() error { stop(); return <-finished }, nil
}

// runWithClient makes a command's run function from do, which gets a client of the memory.
func (g *global) request(do func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return g.withClient(cmd, func(ctx context.Context, c *client.Client) error { return do(ctx, cmd, c, args) })
	}
}

// withClient connects to the memory, runs do, and closes the connection.
func (g *global) withClient(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	c, done, err := g.connect(cmd)
	if err != nil {
		return err
	}
	err = do(cmd.Context(), c)
	if errors.Is(err, memory.Unauthorized) {
		err = fmt.Errorf("%w; the key is read from LOCI_API_KEY", err)
	}
	ended := done()
	if ended == nil || err != nil && strings.Contains(err.Error(), ended.Error()) {
		return err
	}
	return errors.Join(err, fmt.Errorf("close the memory: %w", ended))
}

// undoHint tells people which command undoes a run.
func (g *global) undoHint(run string) string {
	return "to undo this: " + undoCommand(client.UndoRequest{Run: run}, g.user)
}

// print writes v as JSON if --json is set; otherwise printText writes text for people.
func (g *global) print(w io.Writer, v any, people func(printer)) error {
	if !g.json {
		out := &printed{Writer: w}
		people(newPrinter(out))
		return out.err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printAnswer returns a function that prints the answer of a request, or returns the request's error.
func show[T any](g *global, cmd *cobra.Command, people func(printer, T)) func(T, error) error {
	return func(answer T, err error) error {
		if err != nil {
			return err
		}
		return g.print(cmd.OutOrStdout(), answer, func(out printer) { people(out, answer) })
	}
}
