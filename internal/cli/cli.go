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
	cmd := newRootCommand()
	accepted := false // whether cobra has accepted the command line
	cmd.PersistentPreRun = func(*cobra.Command, []string) { accepted = true }
	executed, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if executed.Name() == hookName { // after an exit status of 2 the agent would refuse the prompt
		writeHookError(os.Stderr, err)
		return 0
	}
	message := err.Error()
	if ctx.Err() != nil {
		message = interruptMessage(executed, err)
	}
	message = strings.ReplaceAll(message, "\n\t", " ")                              // errors of a database driver may contain line breaks
	accepted = accepted && !strings.HasPrefix(message, "if any flags in the group") // cobra checks flag groups after PersistentPreRun
	message = addHint(executed, message)
	if !accepted {
		message = strings.Join(strings.Fields(message), " ") + "; see " + executed.CommandPath() + " --help"
	}
	writeError(os.Stderr, err, message, wantsJSON(executed, os.Args[1:]))
	if !accepted || errors.Is(err, memory.Invalid) {
		return 2
	}
	return 1
}

// errorHints lists fragments of error messages, each with the hint for messages that contain it.
var errorHints = [][2]string{
	{"there is no memory ", "loci list --status all shows the ids"},
	{"there is no change or run ", "loci history shows the ids"},
	{"there is no key ", "loci keys list shows the ids"},
	{"there is no chat ", "loci list --kind turn --json names the conversations"},
	{"the profile has no ", "loci profile shows its keys"},
	{"missing user", "add --user NAME"},
	{"is not closed", "loci users list shows the closed users"},
	{"no model server is configured", "set LOCI_LEARN_URL or LOCI_UPSTREAM_URL"},
	{"no such file or directory", "check the path"},
	{"there is no file ", "check the path"},
	{`/health/ready": dial tcp`, "start the server with loci serve"},
}

var (
	requestErrorPattern = lazy.Compile(`^validation failed; (.*) \((?:body|query)\.(\w+).*\)$`)
	numberErrorPattern  = lazy.Compile(`strconv\.\w+: parsing .*: (invalid syntax|value out of range)`)
)

// addHint adds advice to an error message, unless the message already names a command.
func addHint(executed *cobra.Command, message string) string {
	args := strings.HasPrefix(message, "accepts ") || strings.HasPrefix(message, "requires at least ")
	if args || strings.HasPrefix(message, "unknown command") && executed.HasParent() && !executed.HasSubCommands() {
		return "write it as: " + executed.UseLine()
	}
	if m := requestErrorPattern.FindStringSubmatch(message); m != nil {
		message = "--" + strings.TrimSuffix(strings.ReplaceAll(m[2], "_", "-"), "s") + ": " + m[1]
	}
	message = numberErrorPattern.ReplaceAllString(message, "write a number")
	for _, a := range errorHints {
		if strings.Contains(message, a[0]) && !strings.Contains(message, "loci ") {
			return message + "; " + a[1]
		}
	}
	return message
}

// jsonLogError marks an error that Main writes as a line of the JSON log.
type jsonLogError struct{ error }

func (l jsonLogError) Unwrap() error { return l.error }

// writeError writes an error as a line for people, a line of the JSON log, or a JSON object for programs.
func writeError(w io.Writer, err error, message string, asJSON bool) {
	if errors.As(err, new(jsonLogError)) {
		slog.New(slog.NewJSONHandler(w, nil)).Error("loci ends", "err", obs.Redact(message))
		return
	}
	if !asJSON {
		fmt.Fprintln(w, "loci:", message)
		return
	}
	failure := struct {
		Code    memory.Code `json:"code,omitempty"`
		Message string      `json:"message"`
	}{Message: message}
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

// interruptMessage returns the error message of an interrupted command. It hides errors that the
// interruption caused, except errors of an import or a server, which report unfinished work.
func interruptMessage(executed *cobra.Command, err error) string {
	if errors.Is(err, errInterrupted) || executed.Name() == "serve" || executed.Name() == "demo" {
		return err.Error()
	}
	return "interrupted"
}

// sharedState holds the flags of every command, and state that functions of a command share.
type sharedState struct {
	flags           map[string]*string          // values by setting name; loadConfig ignores flags that are not on the command line
	setPairs        []string                    // values of --set, as key=value
	configFile      string                      // value of --config
	user            string                      // value of --user; empty means the server's default user
	asJSON          bool                        // --json: print JSON instead of text
	readAt          memory.At                   // the time that --as-of or --valid-at chooses
	standalone      bool                        // no server answered, and this command opened the data folder itself
	sharesServer    bool                        // if no server runs, this command also serves other commands
	runLearningJobs func(context.Context) error // runs all due learning jobs; set only if standalone
}

func newRootCommand() *cobra.Command {
	g := &sharedState{flags: map[string]*string{}}
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
	p.StringVar(&g.configFile, "config", "", "settings file (YAML)")
	p.StringArrayVar(&g.setPairs, "set", nil, "set a setting, as key=value; may be repeated")
	cmd.AddCommand(newServeCommand(g), newDemoCommand(g), newChatCommand(g), newAddCommand(g), newSearchCommand(g), newListCommand(g), newEditCommand(g), newRelateCommand(g), newForgetCommand(g),
		newHistoryCommand(g), newUndoCommand(g), newReviewCommand(g), newProfileCommand(g), newCoreCommand(g), newContextsCommand(g), newPauseCommand(g), newRelearnCommand(g), newUpkeepCommand(g), newPromptsCommand(g), newJobsCommand(g), newUsageCommand(g), newDoctorCommand(g), newExportCommand(g), newImportCommand(g))
	cmd.AddCommand(newShareCommand(g), newUsersCommand(g), newSettingsCommand(g))
	cmd.AddCommand(newModelsCommand(g), newReembedCommand(g), newMigrateCommand(g), newBackupCommand(g), newRestoreCommand(g), newKeysCommand(g), newAuditCommand(g), newMCPCommand(g), newHookCommand(g), newConnectCommand(g), newOpenAPICommand(), newHealthCommand(g), newVersionCommand(g))
	g.registerCompletions(cmd)
	for _, sub := range cmd.Commands() {
		sub.SuggestFor = synonyms[sub.Name()]
	}
	return cmd
}

// synonyms maps each command to the names that other programs use for it. For such a name cobra suggests the command.
var synonyms = map[string][]string{
	"add": {"remember", "note", "save", "new"}, "search": {"recall", "ask", "find", "query"}, "forget": {"delete", "remove", "rm", "erase"},
	"history": {"show", "get", "log", "view"}, "edit": {"update", "change", "set"}, "list": {"ls", "all"}, "review": {"approve", "reject", "pending"},
	"serve": {"server", "start", "run", "up"}, "models": {"pull"}, "doctor": {"status", "check"}, "undo": {"revert"}, "settings": {"config", "env", "options"},
}

// loadConfig reads the settings from the flags, the environment, the file and the profile.
func (g *sharedState) loadConfig(cmd *cobra.Command) (config.Config, error) {
	flags := map[string]string{}
	for name, value := range g.flags {
		if cmd.Flags().Changed(strings.ReplaceAll(name, ".", "-")) {
			flags[name] = *value
		}
	}
	for _, pair := range g.setPairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return config.Config{}, memory.Errorf(memory.Invalid, "--set %s: write it as key=value", pair)
		}
		flags[key] = value
	}
	return config.Load(config.Sources{Flags: flags, Env: os.Environ(), File: g.configFile})
}

// withMemoryFlags adds the flags that all commands about memory have.
func withMemoryFlags(g *sharedState, cmd *cobra.Command) *cobra.Command {
	return g.withUserFlag(g.withJSONFlag(cmd))
}

func (g *sharedState) withUserFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&g.user, "user", "", "user whose memory is used (default: the server's default user)")
	return cmd
}

func (g *sharedState) withJSONFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&g.asJSON, "json", false, "print JSON for programs")
	return cmd
}

// connect returns a client of the running server or, without a server, of an engine that is opened
// for this command. The caller must call closeClient. If the user chose a data folder but no address,
// connect uses the server of that folder instead of a server at the default address; if the folder
// has no server, connect opens the folder.
func (g *sharedState) connect(cmd *cobra.Command) (c *client.Client, closeClient func() error, err error) {
	cfg, err := g.loadConfig(cmd)
	if err != nil {
		return nil, nil, err
	}
	opts := client.Options{Key: cfg.APIKey, User: g.user, At: g.readAt}
	noop := func() error { return nil }
	if !cfg.PrefersDataFolder() {
		c = client.New(cfg.ServerURL(), opts)
		switch err := checkHealth(cmd.Context(), c); {
		case err == nil:
			return c, noop, nil
		case errors.As(err, new(*tls.CertificateVerificationError)):
			return nil, nil, err
		case !errors.Is(err, memory.Unavailable):
			return c, noop, err
		case cfg.RequiresServer():
			flag := "this address"
			if cmd.Flags().Changed("addr") {
				flag = "--addr"
			}
			return nil, nil, memory.Errorf(memory.Unavailable, "no server answers at %s; start one with loci serve, or leave out %s to open the data folder directly", cfg.Addr, flag)
		}
	}
	c, closeClient, err = g.openStandalone(cmd, cfg, opts)
	if serverURL := cfg.RunningServerURL(); errors.Is(err, memory.Conflict) && serverURL != "" {
		c = client.New(serverURL, opts)
		healthErr := checkHealth(cmd.Context(), c)
		if healthErr == nil {
			return c, noop, nil
		}
		if errors.As(healthErr, new(*tls.CertificateVerificationError)) {
			err = memory.Errorf(memory.Unavailable, "set --addr to the host name in the server's certificate (https://NAME): %w", healthErr)
		}
	}
	return c, closeClient, err
}

// runningServer returns a client of the server that commands would use, and its URL; nil and "" if no server answers.
func (g *sharedState) runningServer(cmd *cobra.Command, cfg config.Config) (*client.Client, string) {
	url := cfg.ServerURL()
	if cfg.PrefersDataFolder() {
		url = cfg.RunningServerURL()
	}
	server := client.New(url, client.Options{Key: cfg.APIKey, User: g.user})
	if url == "" || checkHealth(cmd.Context(), server) != nil {
		return nil, ""
	}
	return server, url
}

// checkHealth checks whether a server answers. If no server answers, the error is [memory.Unavailable].
func checkHealth(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.Health(ctx)
	return err
}

// openStandalone opens the memory and serves it to this command on a local port.
func (g *sharedState) openStandalone(cmd *cobra.Command, cfg config.Config, opts client.Options) (c *client.Client, closeClient func() error, err error) {
	ctx := cmd.Context()
	if cfg.Log.Level == "info" {
		cfg.Log.Level = "warn" // only a server shows info lines
	}
	start := openOnFreePort // also writes the server's URL to the data folder, where other commands find it
	if !g.sharesServer {
		cfg.Addr, start = "127.0.0.1:0", func(ctx context.Context, c loci.Config, o loci.Options) (*server, error) {
			return listenAndOpen(ctx, c, o, nil)
		}
	}
	s, err := start(ctx, cfg, loci.Options{Log: cmd.ErrOrStderr()})
	if err != nil {
		return nil, nil, err
	}
	g.standalone, g.runLearningJobs = true, s.Settle
	running, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- s.run(running) }()
	return client.New(s.url(), opts), func() error { stop(); return <-finished }, nil
}

// runWithClient returns a command's RunE function, which calls do with a client of the memory.
func (g *sharedState) runWithClient(do func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return g.withClient(cmd, func(ctx context.Context, c *client.Client) error { return do(ctx, cmd, c, args) })
	}
}

// withClient connects to the memory, runs do, and closes the connection.
func (g *sharedState) withClient(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	c, closeClient, err := g.connect(cmd)
	if err != nil {
		return err
	}
	err = do(cmd.Context(), c)
	if errors.Is(err, memory.Unauthorized) && !strings.HasPrefix(err.Error(), "missing user") {
		err = fmt.Errorf("%w; the key is read from LOCI_API_KEY", err)
	}
	closeErr := closeClient()
	if closeErr == nil || err != nil && strings.Contains(err.Error(), closeErr.Error()) {
		return err
	}
	return errors.Join(err, fmt.Errorf("close the memory: %w", closeErr))
}

// undoHint returns the hint that names the command to undo a run.
func (g *sharedState) undoHint(runID string) string {
	return "to undo this: " + undoCommandLine(client.UndoRequest{Run: runID}, g.user)
}

// print writes value as JSON if --json is set; otherwise printText writes text for people.
func (g *sharedState) print(w io.Writer, value any, printText func(printer)) error {
	if !g.asJSON {
		out := &errorWriter{Writer: w}
		printText(newPrinter(out))
		return out.err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// printAnswer returns a function that prints the answer of a request, or returns the request's error.
func printAnswer[T any](g *sharedState, cmd *cobra.Command, printText func(printer, T)) func(T, error) error {
	return func(answer T, err error) error {
		if err != nil {
			return err
		}
		return g.print(cmd.OutOrStdout(), answer, func(out printer) { printText(out, answer) })
	}
}
