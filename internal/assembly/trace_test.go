package assembly

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes traces by OTLP/HTTP, as OpenTelemetry's does.
type collector struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex // guards what follows
	got   []*spans.Span
	about []*common.KeyValue // of the last resource
	auth  string
	texts string // of all attributes and events
}

func newCollector(t *testing.T) *collector {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20") // ms
	c := &collector{t: t}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in trace.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &in)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		c.t.Errorf("%s: %v", r.URL.Path, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.auth = r.Header.Get("Authorization")
	c.texts += in.String()
	for _, of := range in.ResourceSpans {
		c.about = of.Resource.Attributes
		for _, in := range of.ScopeSpans {
			c.got = append(c.got, in.Spans...)
		}
	}
}

// wait waits for spans of these names, and returns the first of each.
func (c *collector) wait(names ...string) map[string]*spans.Span {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		found := map[string]*spans.Span{}
		c.mu.Lock()
		for _, s := range c.got {
			if slices.Contains(names, s.Name) && found[s.Name] == nil {
				found[s.Name] = s
			}
		}
		c.mu.Unlock()
		if len(found) == len(names) {
			return found
		}
		if time.Since(begun) > 20*time.Second {
			c.t.Fatalf("of the spans %q came %v", names, found)
		}
	}
}

// value is an attribute as text.
func value(of []*common.KeyValue, key string) string {
	for _, a := range of {
		if a.Key == key {
			return strings.Trim(strings.Join(strings.Fields(a.Value.String()), " "), " ")
		}
	}
	return ""
}

const chatSpan = "POST /v1/chat/completions"

func TestChatsAreTracedToTheirLessons(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer of-the-collector")
	c := newCollector(t)
	s := newStage(t, "assistant", map[string]string{"otlp.endpoint": c.URL})
	s.model.on("memory_extraction", "User likes figs")
	const client = "0af7651916cd43dd8448eb211c80319c"
	asked, _ := s.talk("traceparent", "00-"+client+"-b7ad6b7169203331-01", "X-Session-Id", "chat-1").says("I like figs.")
	s.wantFacts("", []string{"User likes figs"})

	got := c.wait(chatSpan, "place", "recall", "chat chatter", "record", "learn", "chat learner")
	root := got[chatSpan]
	for name, parent := range map[string]string{"place": chatSpan, "recall": chatSpan, "chat chatter": chatSpan, "record": chatSpan, "learn": chatSpan, "chat learner": "learn"} {
		if string(got[name].ParentSpanId) != string(got[parent].SpanId) {
			t.Errorf("%s is not within %s", name, parent)
		}
		if string(got[name].TraceId) != string(root.TraceId) || got[name].EndTimeUnixNano < got[name].StartTimeUnixNano {
			t.Errorf("%s is of another trace, or ends before it begins: %v", name, got[name])
		}
	}
	for _, want := range []struct{ span, key, value string }{
		{chatSpan, "gen_ai.conversation.id", `string_value:"`}, {chatSpan, "user.id", `string_value:"default"`},
		{"recall", "loci.recall.hits", "int_value:0"},
		{"chat chatter", "gen_ai.operation.name", `string_value:"chat"`}, {"chat chatter", "gen_ai.request.model", `string_value:"chatter"`},
		{"chat chatter", "gen_ai.provider.name", `string_value:"openai"`}, {"chat chatter", "http.response.status_code", "int_value:200"},
		{"chat learner", "gen_ai.request.model", `string_value:"learner"`}, {"chat learner", "gen_ai.usage.input_tokens", "int_value:"},
		{"learn", "loci.job.end", `string_value:"applied"`},
	} {
		if is := value(got[want.span].Attributes, want.key); !strings.HasPrefix(is, want.value) {
			t.Errorf("%s has %s %q, want %q; it has %v", want.span, want.key, is, want.value, got[want.span].Attributes)
		}
	}
	if id := hexOf(root.TraceId); id != client || !strings.HasPrefix(asked.header.Get("Traceparent"), "00-"+client+"-"+hexOf(got["chat chatter"].SpanId)) {
		t.Errorf("trace %s, the upstream was told %q; want the client's %s", id, asked.header.Get("Traceparent"), client)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.auth != "Bearer of-the-collector" || value(c.about, "service.name") != `string_value:"loci"` {
		t.Errorf("sent with %q, about %v", c.auth, c.about)
	}
	if strings.Contains(strings.ToLower(c.texts), "figs") {
		t.Error("a trace has words of the chat")
	}
}

func hexOf(id []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, b := range id {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

func TestTracesNameFailuresOfTheUpstream(t *testing.T) {
	c := newCollector(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(upstream.Close)
	s := newStage(t, "default", map[string]string{"otlp.endpoint": c.URL + "/v1/traces", "upstream.url": upstream.URL + "/v1", "learn.model": "none"})
	if status, _ := s.do("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hello"}]}`); status != http.StatusTooManyRequests {
		t.Fatalf("status %d", status)
	}
	span := c.wait("chat m", chatSpan)["chat m"]
	if span.Status.GetCode() != spans.Status_STATUS_CODE_ERROR || value(span.Attributes, "error.type") != `string_value:"429"` {
		t.Errorf("status %v, attributes %v", span.Status, span.Attributes)
	}
}

// A collector that is away costs its spans and nothing else.
func TestChatsNeedNoCollector(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := newStage(t, "default", map[string]string{"otlp.endpoint": gone.URL, "learn.model": "none"})
	begun := time.Now()
	s.talk().says("Hello")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the chat took %v", took)
	}
}
