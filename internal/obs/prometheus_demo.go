//go:build demo

package obs

import "net/http"

type (
	registry   struct{}
	counters   = nothing
	histograms = nothing
	nothing    struct{}
)

func (nothing) WithLabelValues(...string) nothing { return nothing{} }
func (nothing) Inc()                              {}
func (nothing) Add(float64)                       {}
func (nothing) Observe(float64)                   {}

// NewMetrics returns metrics that no handler serves: a build with the tag demo has no /metrics.
func NewMetrics() *Metrics { return &Metrics{lastHour: map[questionKey]int{}} }

// Handler responds with status 404.
func (*Metrics) Handler() http.Handler { return http.NotFoundHandler() }

// Watch does nothing.
func (*Metrics) Watch(Sources) {}
