// Package mcp serves Loci's tools over the Model Context Protocol, at /mcp. A tool call parses its arguments, calls
// one method of the engine and returns a short structured result. There are no sessions.
//
// The owner comes from [httpx.Guard], never from an argument. The author of all writes is a model, so the
// engine may keep them pending for the user.
//
// tools.json defines the tools with their descriptions and schemas.
package mcp

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Path is the path of the API.
const Path = "/mcp"

// ChatGPT is the value of the URL parameter "profile" that adds the tools of ChatGPT's connectors: search and fetch.
const ChatGPT = "chatgpt"

// Options configure the API.
type Options struct {
	Version string
}

type handler struct {
	Options
	engine *engine.Engine
}

var (
	//go:embed tools.json
	toolsFile []byte
	//go:embed instructions.md
	instructions string
	//go:embed save_session.md
	saveSession string
)

// New returns the handler of [Path].
func New(e *engine.Engine, o Options) http.Handler {
	d := &handler{o, e}
	plain := sync.OnceValue(func() *mcp.Server { return d.newServer("") })
	chatGPT := sync.OnceValue(func() *mcp.Server { return d.newServer(ChatGPT) })
	return newTransport(func(r *http.Request) *mcp.Server {
		if r.URL.Query().Get("profile") == ChatGPT {
			return chatGPT()
		}
		return plain()
	})
}

// newTransport returns a handler for MCP's streamable HTTP, without sessions and with JSON responses.
func newTransport(serverFor func(*http.Request) *mcp.Server) http.Handler {
	h := mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		DisableLocalhostProtection: true, // httpx.Guard checks Host and Origin
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := httpx.ReadBody(r)
			if err == nil && !utf8.Valid(body) {
				err = memory.Errorf(memory.Invalid, "the body is not valid UTF-8")
			}
			if err != nil {
				writeRPCError(w, r, err)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

// writeRPCError responds to an unreadable request with a JSON-RPC error.
func writeRPCError(w http.ResponseWriter, r *http.Request, err error) {
	p := httpx.LogProblem(r.Context(), err)
	httpx.WriteJSON(w, p.Status, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32700, "message": p.Detail}})
}

// newServer returns an MCP server. The tools search and fetch exist only in the profile [ChatGPT].
func (d *handler) newServer(profile string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "loci", Title: "Loci", Version: d.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	funcs := d.toolFuncs()
	for _, t := range loadTools() {
		if profile == ChatGPT || t.Name != "search" && t.Name != "fetch" {
			s.AddTool(t, toolHandler(t, funcs[t.Name]))
		}
	}
	d.addResources(s)
	d.addPrompts(s)
	return s
}

// loadTools returns the tools of tools.json.
func loadTools() []*mcp.Tool {
	var all []*mcp.Tool
	if err := json.Unmarshal(toolsFile, &all); err != nil {
		panic(err) // a test proves that the embedded file is valid
	}
	return all
}

// caller is the owner whose memory a call uses, and the author of its changes.
type caller struct {
	owner  memory.Owner
	author memory.Author
}

// toolFunc executes a call and returns the call's structured result.
type toolFunc func(ctx context.Context, c caller, a *arguments) (any, error)

// textResult is a result whose text the model gets instead of JSON.
type textResult interface{ text() string }

// toolHandler parses a call's arguments and encodes the result. Errors are results too, so that the model reads
// them and can try again.
func toolHandler(t *mcp.Tool, execute toolFunc) mcp.ToolHandler {
	parameters := parameterNames(t)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := func() (any, error) {
			c, err := callerOf(ctx)
			if err == nil && httpx.IdentityOf(ctx).ReadOnly && (t.Annotations == nil || !t.Annotations.ReadOnlyHint) {
				err = httpx.ErrReadOnly
			}
			if err != nil {
				return nil, err
			}
			a, err := readArguments(req.Params.Arguments, parameters)
			if err != nil {
				return nil, err
			}
			return execute(ctx, c, a)
		}()
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: httpx.LogProblem(ctx, err).Detail}}}, nil
		}
		text, err := chatapi.Encode(out)
		if t, ok := out.(textResult); ok {
			text = []byte(t.text())
		}
		return &mcp.CallToolResult{StructuredContent: out, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
	}
}

// parameterNames returns the names of a tool's parameters, sorted.
func parameterNames(t *mcp.Tool) []string {
	schema, _ := t.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// callerOf returns the caller of a request, with a model as the author.
func callerOf(ctx context.Context) (caller, error) {
	id := httpx.IdentityOf(ctx)
	if id.Owner == "" {
		return caller{}, memory.Errorf(memory.Unauthorized, "missing user: this server has several users; connect with a user's key, or name one in %s", httpx.HeaderUser)
	}
	return caller{id.Owner, memory.Author{Kind: memory.ByModel, Name: "mcp"}}, nil
}
