package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func mcp(g *global) *cobra.Command {
	b := &bridge{running: map[string]context.CancelFunc{}}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give an MCP client this memory, on standard input and output",
		Long: "Speak the Model Context Protocol on standard input and output, for clients that start their servers as commands. The\n" +
			"requests go to the server that runs or, where none does, to one that this command runs until its input ends. Clients\n" +
			"that take a URL use the server's own: http://127.0.0.1:7077/mcp",
		Example: "  loci mcp\n  loci mcp --user ana\n  claude mcp add loci -- loci mcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.serves = true
			b.out = cmd.OutOrStdout()
			b.connect = func() (*client.Client, func() error, error) { return g.connect(cmd) }
			if err := b.reconnect(nil); err != nil {
				return err
			}
			return errors.Join(b.run(cmd.Context(), cmd.InOrStdin()), b.close())
		},
	}
	g.withUser(cmd)
	cmd.Flags().StringVar(&b.profile, "mcp-profile", "", "chatgpt: with the tools search and fetch")
	return cmd
}

// bridge passes messages of the Model Context Protocol between a stream of lines and the HTTP
// server, which keeps nothing between requests.
type bridge struct {
	profile string
	connect func() (*client.Client, func() error, error)

	ended context.Context // once the input has

	mu      sync.Mutex // guards what follows
	out     io.Writer
	client  *client.Client
	done    []func() error
	version string                        // that initialize agreed on; "" before, and where each request names its own
	running map[string]context.CancelFunc // by the id of a request
}

const (
	longestLine   = 64 << 20
	mostAtOnce    = 64 // requests
	versionHeader = "Mcp-Protocol-Version"
	parseError    = -32700
	internalError = -32603
)

// rpcMessage is what the bridge reads of a message.
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

// run passes messages on until the input ends and all of them are answered.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostAtOnce)
	ended, end := context.WithCancel(ctx)
	defer end()
	b.ended = ended
	read := make(chan struct{})
	go func() { // a read cannot be interrupted
		defer close(read)
		for lines.Scan() && ctx.Err() == nil {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
				b.take(ctx, group, bytes.Clone(line))
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

// take begins to answer a message.
func (b *bridge) take(ctx context.Context, group *errgroup.Group, line []byte) {
	var m rpcMessage
	if line[0] != '[' { // a batch is the server's to read
		if err := json.Unmarshal(line, &m); err != nil && !json.Valid(line) {
			group.Go(func() error { return b.fail(nil, parseError, "the line is not JSON") })
			return
		}
	}
	id := string(m.ID)
	if m.Method == "notifications/cancelled" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if stop := b.running[string(m.Params.RequestID)]; stop != nil {
			stop()
		}
		return
	}
	ctx, stop := context.WithCancel(ctx)
	if id != "" {
		b.mu.Lock()
		b.running[id] = stop
		b.mu.Unlock()
	}
	group.Go(func() error {
		defer func() {
			stop()
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.running, id)
		}()
		err := b.pass(ctx, m, line)
		if err != nil && ctx.Err() == nil && id != "" {
			return b.fail(m.ID, internalError, err.Error())
		}
		return nil
	})
}

// pass sends a message to the server and writes what it answers.
func (b *bridge) pass(ctx context.Context, m rpcMessage, line []byte) error {
	resp, err := b.send(ctx, m, line)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return b.follow(resp.Body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestLine))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil // of a notification
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
	if m.Method == "initialize" {
		b.mu.Lock()
		b.version = answer.Result.Version
		b.mu.Unlock()
	}
	return b.write(body)
}

// follow writes the messages of a stream as they come, until it or the input ends.
func (b *bridge) follow(stream io.ReadCloser) error {
	defer context.AfterFunc(b.ended, func() { _ = stream.Close() })()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok && json.Valid([]byte(data)) {
			if err := b.write([]byte(data)); err != nil {
				return err
			}
		}
	}
	if b.ended.Err() != nil {
		return nil
	}
	return lines.Err()
}

// send sends a message; where the server is gone, to the one that is found or started then.
func (b *bridge) send(ctx context.Context, m rpcMessage, line []byte) (*http.Response, error) {
	b.mu.Lock()
	c, version := b.client, b.version
	b.mu.Unlock()
	var headers []string
	if own := m.Params.Meta.Version; own != "" {
		version = own
		headers = append(headers, "Mcp-Method", m.Method, "Mcp-Name", headerValue(m.Params.Name+m.Params.URI))
	}
	if m.Method != "initialize" {
		headers = append(headers, versionHeader, version)
	}
	resp, err := c.MCP(ctx, b.profile, line, headers...)
	if !errors.Is(err, memory.Unavailable) || ctx.Err() != nil {
		return resp, err
	}
	if err := b.reconnect(c); err != nil {
		return nil, err
	}
	b.mu.Lock()
	c = b.client
	b.mu.Unlock()
	return c.MCP(ctx, b.profile, line, headers...)
}

// headerValue writes a name as the protocol's headers carry it.
func headerValue(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
	}
	return s
}

// reconnect finds or starts a server, unless somebody did since gone was used.
func (b *bridge) reconnect(gone *client.Client) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != gone {
		return nil
	}
	c, done, err := b.connect()
	if err != nil {
		return err
	}
	b.client, b.done = c, append(b.done, done)
	return nil
}

func (b *bridge) close() error {
	var errs []error
	for _, done := range b.done {
		errs = append(errs, done())
	}
	return errors.Join(errs...)
}

// write writes a message on one line.
func (b *bridge) write(message []byte) error {
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

func (b *bridge) fail(id json.RawMessage, code int, why string) error {
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return err
	}
	return b.write(answer)
}
