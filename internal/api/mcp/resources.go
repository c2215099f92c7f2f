package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// URIs of the resources.
const (
	profileURI = "loci://profile"
	memoryURI  = "loci://memory/"
)

const jsonType = "application/json"

func (d *handler) addResources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{
		URI: profileURI, Name: "profile", Title: "Profile", MIMEType: jsonType,
		Description: "The user's profile: values by key, such as timezone.",
	}, resourceHandler(d.loadProfile))
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: memoryURI + "{id}", Name: "memory", Title: "One memory", MIMEType: jsonType,
		Description: "One memory by its id: its content, status, times and source.",
	}, resourceHandler(func(ctx context.Context, c caller, uri string) (any, error) {
		return d.loadMemory(ctx, c, strings.TrimPrefix(uri, memoryURI))
	}))
}

// resourceHandler returns a handler that serves a resource as JSON.
func resourceHandler(load func(ctx context.Context, c caller, uri string) (any, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		c, err := callerOf(ctx)
		var v any
		if err == nil {
			v, err = load(ctx, c, uri)
		}
		if errors.Is(err, memory.NotFound) {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, httpx.LogProblem(ctx, err)
		}
		text, err := chatapi.Encode(v)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(text)}}}, err
	}
}

func (d *handler) loadProfile(ctx context.Context, c caller, _ string) (any, error) {
	if err := d.engine.Curate.CheckToolAccess(ctx, c.owner, false); err != nil {
		return nil, err
	}
	entries, err := d.engine.ProfileEntries(ctx, c.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	out := client.Profile{Entries: make([]client.Entry, 0, len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, client.Entry{Key: e.Key, Value: e.Value, UpdatedAt: e.UpdatedAt, Tokens: e.Tokens})
	}
	return out, nil
}

func (d *handler) addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "about", Title: "What you know about …", Description: "Start with everything in memory about a topic.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Description: "The topic.", Required: true}},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		topic := strings.TrimSpace(req.Params.Arguments["topic"])
		c, err := callerOf(ctx)
		switch {
		case err != nil:
			return nil, httpx.LogProblem(ctx, err)
		case topic == "" || len(topic) > maxQueryBytes:
			return nil, fmt.Errorf("topic: needs 1 to %d bytes", maxQueryBytes)
		}
		block, err := d.contextBlock(ctx, retrieve.Question{Scope: memory.Scope{Owner: c.owner}, Text: topic, API: "mcp"})
		if err != nil {
			return nil, httpx.LogProblem(ctx, err)
		}
		return userMessage("This is about: " + topic + "\n\n" + block.Context), nil
	})
	s.AddPrompt(&mcp.Prompt{
		Name: "save_session", Title: "Save this conversation", Description: "Have the model save what will matter in later conversations.",
	}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return userMessage(saveSession), nil
	})
}

func userMessage(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
}
