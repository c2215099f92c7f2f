package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

func newMCPCommand(g *sharedState) *cobra.Command {
	b := &mcpBridge{cancelByID: map[string]context.CancelFunc{}}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Run an MCP server for this memory on standard input and output",
		Long: "Speak the Model Context Protocol on standard input and output, for clients that start MCP servers as commands.\n" +
			"Requests go to the running Loci server. Without a running server, this command runs a server until its input ends.\n" +
			"Clients that accept a URL can connect to the server directly: http://127.0.0.1:7077/mcp",
		Example: "  loci mcp\n  loci mcp --user ana\n  claude mcp add loci -- loci mcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.toolProfile != "" && b.toolProfile != "chatgpt" {
				return memory.Errorf(memory.Invalid, "mcp-profile: there is no profile %q (valid: chatgpt)", b.toolProfile)
			}
			g.sharesServer = true
			b.out = cmd.OutOrStdout()
			b.connect = func() (*client.Client, func() error, error) { return g.connect(cmd) }
			if err := b.reconnect(nil); err != nil {
				return err
			}
			return errors.Join(b.run(cmd.Context(), cmd.InOrStdin()), b.close())
		},
	}
	g.withUserFlag(cmd)
	cmd.Flags().StringVar(&b.toolProfile, "mcp-profile", "", "set of MCP tools (default: all); chatgpt: only search and fetch")
	return cmd
}

// mcpBridge forwards messages of the Model Context Protocol between a stream of lines and the HTTP
// server. The server has no state between requests.
type mcpBridge struct {
	toolProfile string                                       // set of tools: chatgpt, or empty for all tools
	connect     func() (*client.Client, func() error, error) // returns a client, and a function that closes it

	inputCtx context.Context // cancelled when the input ends

	mu              sync.Mutex // guards the fields below
	out             io.Writer
	client          *client.Client
	closers         []func() error
	protocolVersion string                        // version in the answer to initialize; empty before that, or if each request names a version
	cancelByID      map[string]context.CancelFunc // functions that cancel the running requests, by request id
}

const (
	maxMessageBytes       = 64 << 20 // maximum length of a message, in bytes
	maxConcurrentRequests = 64       // maximum number of concurrent requests
	versionHeader         = "Mcp-Protocol-Version"
	parseErrorCode        = -32700 // JSON-RPC code of an error in the JSON
	internalErrorCode     = -32603 // JSON-RPC code of any other error
)

// rpcMessage has the fields of a message that the bridge reads.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// run forwards messages until the input has ended and all messages are answered.
func (b *mcpBridge) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessageBytes)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentRequests)
	ended, end := context.WithCancel(ctx)
	defer end()
	b.inputCtx = ended
	read := make(chan struct{})
	go func() { // ctx cannot interrupt a read
		defer close(read)
		for lines.Scan() && ctx.Err() == nil {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
				b.startForwarding(ctx, group, bytes.Clone(line))
			}
		}
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return nil
	}
	end()
	if err := group.Wait(); err != nil {
		return err
	}
	return lines.Err()
}

// startForwarding forwards a message in a goroutine of group, or cancels the request that the message cancels.
func (b *mcpBridge) startForwarding(ctx context.Context, group *errgroup.Group, line []byte) {
	var msg rpcMessage
	if line[0] != '[' { // the server parses a batch itself
		if err := json.Unmarshal(line, &msg); err != nil && !json.Valid(line) {
			group.Go(func() error { return b.writeFailure(nil, parseErrorCode, "the line is not JSON") })
			return
		}
	}
	id := string(msg.ID)
	if msg.Method == "notifications/cancelled" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if stop := b.cancelByID[string(msg.Params.RequestID)]; stop != nil {
			stop()
		}
		return
	}
	ctx, stop := context.WithCancel(ctx)
	if id != "" {
		b.mu.Lock()
		b.cancelByID[id] = stop
		b.mu.Unlock()
	}
	group.Go(func() error {
		defer func() {
			stop()
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.cancelByID, id)
		}()
		err := b.forward(ctx, msg, line)
		if err != nil && ctx.Err() == nil && id != "" {
			return b.writeFailure(msg.ID, internalErrorCode, err.Error())
		}
		return nil
	})
}

// forward sends a message to the server and writes the answer.
func (b *mcpBridge) forward(ctx context.Context, msg rpcMessage, line []byte) error {
	resp, err := b.send(ctx, msg, line)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read completely
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return b.forwardStream(resp.Body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessageBytes))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil // a notification has no answer
	}
	var answer struct {
		RPC    string `json:"jsonrpc"`
		Detail string `json:"detail"`
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	if batch := body[0] == '['; !batch && (json.Unmarshal(body, &answer) != nil || answer.RPC == "") {
		if answer.Detail == "" {
			answer.Detail = strings.TrimSpace(oneLine(string(body), 300))
		}
		return memory.Errorf(memory.Unavailable, "the server answered %d: %s", resp.StatusCode, answer.Detail)
	}
	if msg.Method == "initialize" {
		b.mu.Lock()
		b.protocolVersion = answer.Result.Version
		b.mu.Unlock()
	}
	return b.writeMessage(body)
}

// forwardStream writes the messages of a response stream as they arrive, until the stream or the input ends.
func (b *mcpBridge) forwardStream(stream io.ReadCloser) error {
	defer context.AfterFunc(b.inputCtx, func() { _ = stream.Close() })()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxMessageBytes)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok && json.Valid([]byte(data)) {
			if err := b.writeMessage([]byte(data)); err != nil {
				return err
			}
		}
	}
	if b.inputCtx.Err() != nil {
		return nil
	}
	return lines.Err()
}

// send sends a message. If the server is gone, send finds or starts another server and tries again.
func (b *mcpBridge) send(ctx context.Context, msg rpcMessage, line []byte) (*http.Response, error) {
	b.mu.Lock()
	c, version := b.client, b.protocolVersion
	b.mu.Unlock()
	var headers []string
	if own := msg.Params.Meta.Version; own != "" {
		version = own
		headers = append(headers, "Mcp-Method", msg.Method, "Mcp-Name", encodeHeader(msg.Params.Name+msg.Params.URI))
	}
	if msg.Method != "initialize" {
		headers = append(headers, versionHeader, version)
	}
	resp, err := c.MCP(ctx, b.toolProfile, line, headers...)
	if !errors.Is(err, memory.Unavailable) || ctx.Err() != nil {
		return resp, err
	}
	if err := b.reconnect(c); err != nil {
		return nil, err
	}
	b.mu.Lock()
	c = b.client
	b.mu.Unlock()
	return c.MCP(ctx, b.toolProfile, line, headers...)
}

// encodeHeader encodes the value of a protocol header: in base64 if it has control characters.
func encodeHeader(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
	}
	return s
}

// reconnect finds or starts a server, unless another call has already replaced the client failedClient.
func (b *mcpBridge) reconnect(failedClient *client.Client) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != failedClient {
		return nil
	}
	c, done, err := b.connect()
	if err != nil {
		return err
	}
	b.client, b.closers = c, append(b.closers, done)
	return nil
}

func (b *mcpBridge) close() error {
	var errs []error
	for _, done := range b.closers {
		errs = append(errs, done())
	}
	return errors.Join(errs...)
}

// writeMessage writes a message as one line.
func (b *mcpBridge) writeMessage(message []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		return err
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(line.Bytes())
	return err
}

func (b *mcpBridge) writeFailure(id json.RawMessage, code int, message string) error {
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return err
	}
	return b.writeMessage(answer)
}

const (
	hookName          = "hook"          // name of the command
	hookDeadline      = 2 * time.Second // maximum time of a hook, for which the agent waits; recall takes at most a second (recall.deadline_max)
	maxHookInputBytes = 8 << 20         // maximum length of an event, in bytes
	maxProjectLength  = 256             // maximum length of a project's name in characters, as in the API
	maxQuestionBytes  = 20_000          // only these first bytes of a prompt are the question of the search; the API accepts 100,000 characters
)

func newHookCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   hookName,
		Short: "Answer a hook of a coding agent: add memory to a prompt, record the conversation",
		Long: "Read the event of a Claude Code or Codex hook on standard input. loci connect adds the hook to the agent's settings.\n" +
			"For UserPromptSubmit, print the memory for the prompt and record the prompt; for Stop, record the answer. The command needs a\n" +
			"running server. After an error it writes one line to standard error and exits with status 0, so that the agent continues.",
		Example:            "  loci hook < event.json\n  loci connect claude-code --yes",
		Args:               cobra.ArbitraryArgs, // an error here would block the agent
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.runHook(cmd); err != nil {
				writeHookError(cmd.ErrOrStderr(), err)
			}
			return nil
		},
	}
	g.withUserFlag(cmd)
	return cmd
}

// writeHookError writes the error of a hook as one line.
func writeHookError(w io.Writer, err error) {
	fmt.Fprintln(w, "loci hook:", oneLine(err.Error(), 300))
}

// hookEvent is the JSON object that Claude Code and Codex write to a hook's standard input.
type hookEvent struct {
	Event      string `json:"hook_event_name"`
	SessionID  string `json:"session_id"`
	TurnID     string `json:"turn_id"`   // set by Codex
	PromptID   string `json:"prompt_id"` // set by Claude Code; empty in older versions
	AgentID    string `json:"agent_id"`  // set only in a sub-agent
	WorkingDir string `json:"cwd"`
	Prompt     string `json:"prompt"`
	Answer     string `json:"last_assistant_message"` // empty in older versions of Claude Code
}

func (g *sharedState) runHook(cmd *cobra.Command) (err error) {
	defer func() {
		if p := recover(); p != nil { // a panic would exit with status 2, which refuses the prompt
			err = fmt.Errorf("%v", p)
		}
	}()
	var e hookEvent
	if err := json.NewDecoder(io.LimitReader(cmd.InOrStdin(), maxHookInputBytes)).Decode(&e); err != nil {
		return fmt.Errorf("no hook event on standard input (%w); loci connect makes an agent run this command", err)
	}
	config, err := g.loadConfig(cmd)
	if err != nil {
		return err
	}
	url := config.ServerURL()
	if config.PrefersDataFolder() {
		if url = config.RunningServerURL(); url == "" {
			return errors.New("no server uses the data folder; start one with loci serve")
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), hookDeadline)
	defer cancel()
	c := client.New(url, client.Options{Key: config.APIKey, User: g.user})
	switch {
	case e.SessionID == "":
		return errors.New("the event has no session_id")
	case e.Event == "UserPromptSubmit":
		return e.handlePrompt(ctx, c, cmd.OutOrStdout())
	case e.Event == "Stop":
		return e.handleStop(ctx, c)
	}
	return fmt.Errorf("unknown event %q; valid: UserPromptSubmit, Stop", e.Event)
}

// handlePrompt prints the memory for a prompt, and records the prompt. It ignores text that the client
// added in the user's name, and does not record the prompt of a sub-agent, which a model wrote.
func (e hookEvent) handlePrompt(ctx context.Context, c *client.Client, w io.Writer) error {
	text := utterance.WithoutWrappers(e.Prompt)
	if strings.TrimSpace(text) == "" || utterance.IsClientTask(e.Prompt) {
		return nil
	}
	question := strings.ToValidUTF8(text[:min(len(text), maxQuestionBytes)], "")
	found, err := c.Search(ctx, client.SearchRequest{Query: question, Block: true, CurrentConversation: e.SessionID, Project: e.projectFolder()})
	if err != nil {
		return err
	}
	if found.Block != "" {
		if err := writeHookOutput(w, e.Event, found.Block); err != nil {
			return err
		}
	}
	if e.AgentID != "" || found.Pause == "memory" {
		return nil
	}
	return e.recordMessage(ctx, c, client.Message{Role: memory.RoleUser, Content: text, ID: e.turnID()})
}

func writeHookOutput(w io.Writer, event, text string) error {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]output{"hookSpecificOutput": {event, text}})
}

// handleStop records the answer to a recorded prompt, at most once. If the prompt was not recorded, for
// example because a program wrote it or memory was paused, handleStop does not record the answer.
func (e hookEvent) handleStop(ctx context.Context, c *client.Client) error {
	if e.AgentID != "" || strings.TrimSpace(e.Answer) == "" {
		return nil
	}
	last, err := c.List(ctx, client.ListQuery{Kind: string(memory.KindTurn), Conversation: e.SessionID, Limit: 1})
	if err != nil || len(last.Memories) == 0 {
		return err
	}
	prompt := last.Memories[0]
	if prompt.Role != memory.RoleUser || prompt.Ref != "" && e.turnID() != "" && prompt.Ref != e.turnID() {
		return nil
	}
	return e.recordMessage(ctx, c, client.Message{Role: memory.RoleAssistant, Content: e.Answer})
}

// recordMessage adds a message to the session's conversation. If e has a turn id, a repeated call adds nothing.
func (e hookEvent) recordMessage(ctx context.Context, c *client.Client, m client.Message) error {
	key := ""
	if e.turnID() != "" {
		key = strings.Join([]string{"hook", e.SessionID, e.turnID(), string(m.Role)}, "/")
	}
	_, err := c.AddMessagesOnce(ctx, key, client.AddMessages{Conversation: e.SessionID, Project: e.projectFolder(), Messages: []client.Message{m}})
	return err
}

func (e hookEvent) turnID() string { return cmp.Or(e.TurnID, e.PromptID) }

// projectFolder returns the folder in which the agent was started, or "" if unknown. In Claude Code cwd is not
// that folder: it is the folder of the shell, which may change during a session.
func (e hookEvent) projectFolder() string {
	folder := cmp.Or(os.Getenv("CLAUDE_PROJECT_DIR"), e.WorkingDir)
	if len(folder) > maxProjectLength || !filepath.IsAbs(folder) {
		return ""
	}
	return folder
}
