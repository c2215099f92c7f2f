//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/httpx"
)

// The scenarios of the public suite that apply to Loci, which has no sampling, elicitation, logging,
// progress, subscriptions, completion or tasks.
var (
	// of Loci itself
	ofLoci = []string{
		"server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found",
		"dns-rebinding-protection", "caching", "http-header-validation",
	}
	// of Loci's transport, with the suite's own tools, resources and prompts
	ofTransport = []string{
		"server-stateless", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
		"tools-call-error", "json-schema-2020-12", "server-sse-multiple-streams", "resources-read-text", "resources-read-binary", "resources-templates-read",
		"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image", "http-custom-header-server-validation",
	}
)

// TestConformance runs the public suite; CONFORMANCE is its command (make e2e-mcp).
func TestConformance(t *testing.T) {
	suite := os.Getenv("CONFORMANCE")
	if suite == "" {
		t.Skip("CONFORMANCE does not name the command of @modelcontextprotocol/conformance")
	}
	fixtures := prescribed()
	for name, c := range map[string]struct {
		handler   http.Handler
		scenarios []string
	}{
		"loci":      {New(newRig(t).engine, Options{Version: "1"}), ofLoci},
		"transport": {newTransport(func(*http.Request) *mcp.Server { return fixtures }), ofTransport},
	} {
		s := httptest.NewServer(httpx.Guard(httpx.Options{}, c.handler))
		defer s.Close()
		for _, scenario := range c.scenarios {
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				t.Run(name+"/"+scenario+"/"+version, func(t *testing.T) {
					out, err := exec.Command(suite, "server", "--url", s.URL+Path, "--scenario", scenario, "--spec-version", version).CombinedOutput()
					if err != nil {
						t.Errorf("%v\n%s", err, out)
					}
					if strings.Contains(string(out), "SKIPPED: scenario") {
						t.Skip("of another version")
					}
				})
			}
		}
	}
}

// prescribed returns a server with the tools, resources and prompts that the suite calls.
func prescribed() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixtures", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	image := &mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"}
	embedded := func(uri string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	}
	tool := func(name, schema string, content ...mcp.Content) {
		s.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(schema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	const none = `{"type":"object"}`
	tool("test_simple_text", none, text("This is a simple text response for testing."))
	tool("test_image_content", none, image)
	tool("test_audio_content", none, &mcp.AudioContent{Data: []byte("RIFF\x00\x00\x00\x00WAVE"), MIMEType: "audio/wav"})
	tool("test_embedded_resource", none, embedded("test://embedded-resource"))
	tool("test_multiple_content_types", none, text("Multiple content types test:"), image, embedded("test://mixed-content-resource"))
	tool("test_streaming_elicitation", none, text("ok"))
	tool("test_logging_tool", none, text("ok"))
	tool("test_x_mcp_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, text("ok"))
	tool("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`, text("ok"))
	s.AddTool(&mcp.Tool{Name: "test_error_handling", InputSchema: json.RawMessage(none)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "test_missing_capability", InputSchema: json.RawMessage(none)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return &mcp.CallToolResult{Content: []mcp.Content{text("ok")}}, nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is required", Data: data}
	})
	resource := func(c *mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			here := *c
			here.URI = req.Params.URI
			id := strings.TrimSuffix(strings.TrimPrefix(here.URI, "test://template/"), "/data")
			here.Text = strings.ReplaceAll(here.Text, "{id}", id)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&here}}, nil
		}
	}
	s.AddResource(&mcp.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"}, resource(&mcp.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	s.AddResource(&mcp.Resource{Name: "binary", URI: "test://static-binary", MIMEType: "image/png"}, resource(&mcp.ResourceContents{MIMEType: "image/png", Blob: image.Data}))
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		resource(&mcp.ResourceContents{MIMEType: "application/json", Text: `{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}`}))
	prompt := func(name string, messages func(map[string]string) []mcp.Content, arguments ...string) {
		p := &mcp.Prompt{Name: name, Description: name}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			out := &mcp.GetPromptResult{}
			for _, c := range messages(req.Params.Arguments) {
				out.Messages = append(out.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return out, nil
		})
	}
	prompt("test_simple_prompt", func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", func(a map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	}, "arg1", "arg2")
	prompt("test_prompt_with_embedded_resource", func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"]), text("Please process the embedded resource above.")}
	}, "resourceUri")
	prompt("test_prompt_with_image", func(map[string]string) []mcp.Content {
		return []mcp.Content{image, text("Please analyze the image above.")}
	})
	return s
}
