package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
)

// moody is a server with variable answers and delays.
type moody struct {
	asked  atomic.Int64
	status atomic.Int64
	after  string // Retry-After
	thinks atomic.Int64
}

func (m *moody) RoundTrip(r *http.Request) (*http.Response, error) {
	m.asked.Add(1)
	select {
	case <-time.After(time.Duration(m.thinks.Load())):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	body := `{"data":[{"index":0,"embedding":[1,0]}]}`
	if strings.HasSuffix(r.URL.Path, "/rerank") {
		body = `{"results":[{"index":0,"relevance_score":0.5}]}`
	}
	if m.status.Load() != http.StatusOK {
		body = `{"error":"out of order"}`
	}
	resp := &http.Response{StatusCode: int(m.status.Load()), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	if m.after != "" && resp.StatusCode != http.StatusOK {
		resp.Header.Set("Retry-After", m.after)
	}
	return resp, nil
}

func newMoody(t *testing.T) (*moody, *Embedder) {
	t.Helper()
	m := &moody{}
	m.status.Store(http.StatusOK)
	e, err := NewEmbedder(Options{BaseURL: "http://models.test/v1", Model: "m", Transport: m}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return m, e
}

// question asks with a share of a deadline, and returns the time taken.
func question(e *Embedder) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := e.Embed(ctx, memory.AsQuestion, "who?")
	return time.Since(began), err
}

func TestASlowServerIsWaitedForByFewQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.thinks.Store(int64(time.Hour))
		for range maxFailures {
			if took, err := question(e); took != 200*time.Millisecond || !errors.Is(err, memory.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v, %v; want its share waited for", took, err)
			}
		}
		if why := e.Skipped(); why == nil || DescribeFailure(why) != "the server took too long" {
			t.Errorf("skipped for %v, want why", why)
		}
		asked := m.asked.Load()
		for range 100 {
			if took, err := question(e); took != 0 || !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "skipped") {
				t.Fatalf("%v, %v; want it skipped at once", took, err)
			}
		}
		if n := m.asked.Load(); n != asked {
			t.Errorf("asked %d times more, want it left alone", n-asked)
		}

		// Of concurrent questions after the rest, one tries.
		time.Sleep(firstPause)
		waited := make(chan time.Duration, 10)
		for range cap(waited) {
			go func() { took, _ := question(e); waited <- took }()
		}
		tried := 0
		for range cap(waited) {
			if <-waited > 0 {
				tried++
			}
		}
		if tried != 1 {
			t.Errorf("%d of %d questions waited, want one", tried, cap(waited))
		}

		m.thinks.Store(0)
		if _, err := question(e); err == nil {
			t.Error("asked again at once, want twice the rest after another failure")
		}
		time.Sleep(2 * firstPause)
		if _, err := question(e); err != nil || e.Skipped() != nil {
			t.Errorf("when it is back: %v, skipped for %v", err, e.Skipped())
		}
	})
}

func TestAServerIsTriedAgainEachMinuteAtLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.status.Store(http.StatusServiceUnavailable)
		for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
			_, _ = question(e) // it fails
		}
		if n := m.asked.Load(); n < 55 || n > 75 {
			t.Errorf("asked %d times in an hour of questions each second, want about once a minute", n)
		}
	})
}

func TestAServerIsLeftAloneAsLongAsItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.status.Store(http.StatusTooManyRequests)
		m.after = "120"
		_, _ = question(e) // it fails
		m.status.Store(http.StatusOK)
		time.Sleep(119 * time.Second)
		if _, err := question(e); err == nil || DescribeFailure(e.Skipped()) != "the server answered with status 429" {
			t.Errorf("%v, skipped for %v; want it left alone for as long as it asked", err, e.Skipped())
		}
		time.Sleep(time.Second)
		if _, err := question(e); err != nil || m.asked.Load() != 2 {
			t.Errorf("%v, asked %d times; want it asked again", err, m.asked.Load())
		}
	})
}

func TestJobSuccessEndsSkipping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.thinks.Store(int64(time.Second)) // a model that is loaded: too slow for a question
		for range maxFailures {
			_, _ = question(e) // it fails
		}
		if _, err := e.Embed(t.Context(), memory.AsDocument, "a"); err != nil || e.Skipped() != nil {
			t.Errorf("%v, skipped for %v; want a job to be let through, and to end it", err, e.Skipped())
		}
	})
}

func TestClientsThatLeaveSayNothingOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.thinks.Store(int64(time.Hour))
		for range 2 * maxFailures {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, leave)
			if _, err := e.Embed(ctx, memory.AsQuestion, "who?"); err == nil || e.Skipped() != nil {
				t.Fatalf("%v, skipped for %v; want it asked on", err, e.Skipped())
			}
		}
	})
}

// Without a graphics card a whole batch may take longer than a request may.
func TestABatchThatTakesTooLongIsSmallerNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMoody(t)
		m.thinks.Store(int64(time.Hour))
		if _, err := e.Embed(t.Context(), memory.AsDocument, make([]string, maxBatchTexts)...); !errors.Is(err, memory.Unavailable) {
			t.Fatal(err)
		}
		if n := e.maxBatch.Load(); n != maxBatchTexts/2 {
			t.Errorf("the next request holds %d texts, want %d", n, maxBatchTexts/2)
		}
	})
}

func TestARerankerThatDoesNotAnswerIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{}
		m.status.Store(http.StatusServiceUnavailable)
		r, err := NewReranker(Options{BaseURL: "http://models.test/v1", Model: "m", Transport: m})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if _, err := r.Rerank(t.Context(), "q", "a"); !errors.Is(err, memory.Unavailable) {
				t.Fatal(err)
			}
		}
		if n := m.asked.Load(); n != maxFailures || r.Skipped() == nil {
			t.Errorf("asked %d times, skipped for %v; want %d and why", n, r.Skipped(), maxFailures)
		}
		m.status.Store(http.StatusOK)
		time.Sleep(firstPause)
		if got, err := r.Rerank(t.Context(), "q", "a"); err != nil || len(got) != 1 || r.Skipped() != nil {
			t.Errorf("when it is back: %v, %v, skipped for %v", got, err, r.Skipped())
		}
	})
}
