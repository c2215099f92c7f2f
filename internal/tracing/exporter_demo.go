//go:build demo

package tracing

import (
	"context"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/loci-memory/loci/memory"
)

func newExporter(context.Context, string) (sdk.SpanExporter, error) {
	return nil, memory.Errorf(memory.Invalid, "otlp.endpoint: this build supports only loci demo; for traces, build without -tags demo")
}
