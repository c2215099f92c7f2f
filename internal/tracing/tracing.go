// Package tracing sends traces of chats to an OpenTelemetry collector, over OTLP/HTTP and with the GenAI
// semantic conventions. Spans contain ids, models, tokens and durations, never text of messages. The package
// measures nothing itself: the proxy passes the times. A trace has these spans:
//
//	POST /v1/chat/completions   a chat, in the client's trace if the request names a trace
//	  place                     finding the conversation
//	  recall                    searching memory, including place
//	  chat MODEL                the request to the upstream, until the end of the answer
//	  record                    storing the answer
//	  learn                     the later job that learns from the chat, if this server runs the job
//	    chat MODEL              a call of the learning model
package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

const (
	// tracesPath is the collector's path for traces if the endpoint has no path.
	tracesPath = "/v1/traces"

	// closeTimeout is the maximum time for sending the last spans at shutdown.
	closeTimeout = 3 * time.Second

	// maxLinkedConversations is the maximum number of conversations whose last trace is remembered for learning jobs.
	maxLinkedConversations = 4096
)

// Tracer creates the spans of chats and of learning from chats. A nil *Tracer creates no spans.
type Tracer struct {
	provider   *sdk.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TraceContext
	lastTraces *recent.Map[conversationKey, trace.SpanContext] // last trace of each conversation
}

type conversationKey struct {
	owner memory.Owner
	id    string
}

// Open returns a tracer that sends spans to a collector, or nil without an endpoint. The variables
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_RESOURCE_ATTRIBUTES apply, too. If the collector
// is unreachable, the tracer logs the error and drops the spans.
func Open(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracer, error) {
	if endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, memory.Errorf(memory.Invalid, "otlp.endpoint: invalid URL (example: http://localhost:4318)")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	exporter, err := newExporter(ctx, u.String())
	if err != nil {
		return nil, err
	}
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("loci"), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("cannot send traces; chats are not affected", "setting", "otlp.endpoint", "err", err)
	}))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(res))
	return &Tracer{provider: p, tracer: p.Tracer("github.com/loci-memory/loci"), lastTraces: recent.New[conversationKey, trace.SpanContext](maxLinkedConversations)}, nil
}

// Close sends the last spans.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // not an error, because the collector may be unreachable
}

// Chat is the trace of a chat. The methods of a nil *Chat do nothing.
type Chat struct {
	tracer       *Tracer
	rootSpan     trace.Span
	upstreamSpan trace.Span // span of the request to the upstream; nil if no request is in progress
	owner        memory.Owner
}

// StartChat begins the trace of a chat.
func (t *Tracer) StartChat(r *http.Request, startedAt time.Time, path, requestID string) *Chat {
	if t == nil {
		return nil
	}
	ctx := t.propagator.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	_, root := t.tracer.Start(ctx, r.Method+" "+path, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(startedAt),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(path), attribute.String("loci.request.id", requestID)))
	return &Chat{tracer: t, rootSpan: root}
}

// addSpan adds a finished span to the chat's trace.
func (c *Chat) addSpan(name string, startedAt, endedAt time.Time, attrs ...attribute.KeyValue) {
	_, span := c.tracer.tracer.Start(trace.ContextWithSpan(context.Background(), c.rootSpan), name, trace.WithTimestamp(startedAt), trace.WithAttributes(attrs...))
	span.End(trace.WithTimestamp(endedAt))
}

// AddRecall adds the spans place and recall. The conversation was found at placedAt, which is zero if Loci did not
// search for a conversation; traceID is the id of Loci's own trace of the recalled memories.
func (c *Chat) AddRecall(owner memory.Owner, conversationID string, startedAt, placedAt, endedAt time.Time, hitCount, pendingFactCount int, traceID string) {
	if c == nil {
		return
	}
	c.owner = owner
	c.rootSpan.SetAttributes(semconv.UserID(owner.Name()))
	if !placedAt.IsZero() {
		c.linkConversation(conversationID)
		c.addSpan("place", startedAt, placedAt)
	}
	c.addSpan("recall", startedAt, endedAt, attribute.Int("loci.recall.hits", hitCount), attribute.Int("loci.pending", pendingFactCount), attribute.String("loci.trace.id", traceID))
}

// linkConversation makes later learning from the conversation part of this trace.
func (c *Chat) linkConversation(id string) {
	if id != "" {
		c.rootSpan.SetAttributes(semconv.GenAIConversationID(id))
		c.tracer.lastTraces.Set(conversationKey{c.owner, id}, c.rootSpan.SpanContext())
	}
}

// StartUpstream begins the span of a request to the upstream, and adds its id to the request headers h.
func (c *Chat) StartUpstream(h http.Header, startedAt time.Time, model, provider string) {
	if c == nil {
		return
	}
	ctx, span := c.tracer.tracer.Start(trace.ContextWithSpan(context.Background(), c.rootSpan), "chat "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(startedAt),
		trace.WithAttributes(semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(provider), semconv.GenAIRequestModel(model)))
	c.tracer.propagator.Inject(ctx, propagation.HeaderCarrier(h))
	c.upstreamSpan = span
}

// RecordTry adds an event for one try of the request to the upstream; status 0 means that the upstream did
// not answer.
func (c *Chat) RecordTry(startedAt time.Time, duration time.Duration, status int) {
	if c == nil || c.upstreamSpan == nil {
		return
	}
	c.upstreamSpan.AddEvent("loci.upstream.answered", trace.WithTimestamp(startedAt.Add(duration)), trace.WithAttributes(semconv.HTTPResponseStatusCode(status)))
	c.upstreamSpan.SetAttributes(semconv.HTTPResponseStatusCode(status))
	errorType := "unavailable"
	if status != 0 {
		errorType = strconv.Itoa(status)
	}
	code := codes.Ok
	if status == 0 || status >= http.StatusBadRequest {
		code = codes.Error
		c.upstreamSpan.SetAttributes(semconv.ErrorTypeKey.String(errorType))
	}
	c.upstreamSpan.SetStatus(code, "")
}

// EndUpstream ends the span of StartUpstream; id and model are from the upstream's answer.
func (c *Chat) EndUpstream(endedAt time.Time, id, model, finishReason string, inputTokens, outputTokens int) {
	if c == nil || c.upstreamSpan == nil {
		return
	}
	for _, a := range []attribute.KeyValue{semconv.GenAIResponseID(id), semconv.GenAIResponseModel(model)} {
		if a.Value.AsString() != "" {
			c.upstreamSpan.SetAttributes(a)
		}
	}
	if finishReason != "" {
		c.upstreamSpan.SetAttributes(semconv.GenAIResponseFinishReasons(finishReason))
	}
	if inputTokens+outputTokens > 0 {
		c.upstreamSpan.SetAttributes(semconv.GenAIUsageInputTokens(inputTokens), semconv.GenAIUsageOutputTokens(outputTokens))
	}
	c.upstreamSpan.End(trace.WithTimestamp(endedAt))
	c.upstreamSpan = nil
}

// AddRecord adds a span named record; conversationID is "" if nothing was stored.
func (c *Chat) AddRecord(startedAt, endedAt time.Time, conversationID string) {
	if c != nil {
		c.linkConversation(conversationID)
		c.addSpan("record", startedAt, endedAt)
	}
}

// End ends the trace, and the upstream's span if the answer was not read completely.
func (c *Chat) End(endedAt time.Time) {
	if c != nil {
		c.EndUpstream(endedAt, "", "", "", 0, 0)
		c.rootSpan.End(trace.WithTimestamp(endedAt))
	}
}

// StartLearning begins the span of a learning job, in the trace of the conversation's last chat on this server. The
// caller must call finish with the job's result.
func (t *Tracer) StartLearning(ctx context.Context, job memory.Job) (_ context.Context, finish func(result string, err error)) {
	if t == nil {
		return ctx, func(string, error) {}
	}
	if chat, ok := t.lastTraces.Get(conversationKey{job.Owner, job.Conversation}); ok {
		ctx = trace.ContextWithRemoteSpanContext(ctx, chat)
	}
	ctx, span := t.tracer.Start(ctx, "learn", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		semconv.UserID(job.Owner.Name()), semconv.GenAIConversationID(job.Conversation), attribute.String("loci.job.id", job.ID), attribute.Int("loci.job.attempts", job.Attempts)))
	return ctx, func(result string, err error) {
		span.SetAttributes(attribute.String("loci.job.end", result))
		if err != nil {
			span.SetStatus(codes.Error, "") // without the error, which may contain text of messages
		}
		span.End()
	}
}

// TraceCompletion calls complete in a child of the span in ctx. Without a span in ctx, it creates no span.
func (t *Tracer) TraceCompletion(ctx context.Context, p memory.Prompt, complete func(context.Context, memory.Prompt) (memory.Reply, error)) (memory.Reply, error) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return complete(ctx, p)
	}
	ctx, span := t.tracer.Start(ctx, "chat "+p.Model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.GenAIOperationNameChat, semconv.GenAIProviderNameOpenAI, semconv.GenAIRequestModel(p.Model), attribute.String("loci.prompt", p.Name)))
	defer span.End()
	reply, err := complete(ctx, p)
	if err != nil {
		span.SetStatus(codes.Error, "")
		return reply, err
	}
	span.SetAttributes(semconv.GenAIResponseModel(reply.Model), semconv.GenAIUsageInputTokens(reply.InputTokens), semconv.GenAIUsageOutputTokens(reply.OutputTokens))
	return reply, nil
}
