package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// LoadOptions say how much is put on a server. The zero value means the defaults.
type LoadOptions struct {
	Memories int // in one owner; 0: 10,000
	Requests int // of each measure; 0: 1,000
	Clients  int // at once, where several are meant; 0: 8
}

// Row is one measure of a load run.
type Row struct {
	Name     string
	P50, P99 time.Duration // of one request; 0 where only the rate was measured
	Rate     float64       // a second
	Beside   string        // what it is compared with in the same run
	Ratio    float64       // of the p50s or, without, of the rates; this one over the other
}

// String returns the row as a line of a table.
func (r Row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s", r.Name)
	if r.P50 > 0 {
		fmt.Fprintf(&b, "  p50 %8.3f ms  p99 %8.3f ms", ms(r.P50), ms(r.P99))
	}
	fmt.Fprintf(&b, "  %9.0f/s", r.Rate)
	if r.Beside != "" {
		fmt.Fprintf(&b, "  %.2f × %s", r.Ratio, r.Beside)
	}
	return b.String()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// Serving is a server under measure, and the upstream that its proxy asks.
type Serving struct {
	URL      string
	Upstream *httptest.Server
	Settle   func(context.Context) error // waits until nothing is left to learn
}

// Upstream returns a model server that answers at once and, apart from what the
// proxy adds, as a model would. The caller closes it.
func Upstream() *httptest.Server {
	const answer = `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Certainly."},"finish_reason":"stop"}]}`
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what was asked does not matter
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
}

// Load measures a server and calls report with each row as it is known. Its memory
// should be empty.
func Load(ctx context.Context, s Serving, o LoadOptions, report func(Row)) error {
	if o.Memories == 0 {
		o.Memories = 10_000
	}
	if o.Requests == 0 {
		o.Requests = 1_000
	}
	if o.Clients == 0 {
		o.Clients = 8
	}
	l := &load{s: s, o: o, report: report, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	l.memory = client.New(s.URL, client.Options{HTTP: l.http, User: "bench"})
	defer l.http.CloseIdleConnections()
	for _, step := range []func(context.Context) error{l.bulk, l.floor, l.recall, l.add, l.proxy} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type load struct {
	s      Serving
	o      LoadOptions
	report func(Row)
	http   *http.Client
	memory *client.Client
	bare   time.Duration // p50 of a request that does nothing
}

// bulk fills the memory, 500 turns a request.
func (l *load) bulk(ctx context.Context) error {
	const chunk = 500
	infer := false
	talk := newTalk(1)
	var total time.Duration
	for done := 0; done < l.o.Memories; done += chunk {
		in := client.AddMessages{Infer: &infer, Conversation: fmt.Sprintf("talk-%d", done/chunk)}
		for range min(chunk, l.o.Memories-done) {
			in.Messages = append(in.Messages, client.Message{Role: memory.RoleUser, Content: talk.sentence()})
		}
		started := time.Now()
		if _, err := l.memory.AddMessages(ctx, in); err != nil {
			return fmt.Errorf("bulk add: %w", err)
		}
		total += time.Since(started)
	}
	l.report(Row{Name: fmt.Sprintf("bulk add, %d turns in requests of %d", l.o.Memories, chunk), Rate: float64(l.o.Memories) / total.Seconds()})
	return nil
}

// floor measures what a request costs that asks nothing of memory.
func (l *load) floor(ctx context.Context) error {
	row, err := l.measure(ctx, "health check (the floor of HTTP here)", 1, func(ctx context.Context, _ int) error {
		_, err := l.memory.Health(ctx)
		return err
	})
	l.bare = row.P50
	l.report(row)
	return err
}

// recall measures searches through the whole pipeline.
func (l *load) recall(ctx context.Context) error {
	talk := newTalk(2)
	questions := make([]string, 257)
	for i := range questions {
		questions[i] = talk.question()
	}
	ask := func(ctx context.Context, i int) error {
		_, err := l.memory.Search(ctx, client.SearchRequest{Query: questions[i%len(questions)]})
		return err
	}
	if err := ask(ctx, 0); err != nil { // loads the index
		return fmt.Errorf("search: %w", err)
	}
	for _, clients := range []int{1, l.o.Clients} {
		row, err := l.measure(ctx, fmt.Sprintf("recall at %d memories, %s", l.o.Memories, times(clients)), clients, ask)
		if err != nil {
			return err
		}
		if clients == 1 {
			row.Beside, row.Ratio = "the floor", ratio(row.P50, l.bare)
		}
		l.report(row)
	}
	return nil
}

// add measures facts written down one by one, each durable when it is answered.
func (l *load) add(ctx context.Context) error {
	talk := newTalk(3)
	var mu sync.Mutex
	for _, clients := range []int{1, l.o.Clients} {
		row, err := l.measure(ctx, fmt.Sprintf("durable add of one fact, %s", times(clients)), clients, func(ctx context.Context, i int) error {
			mu.Lock()
			text := fmt.Sprintf("%s (%d of %d)", talk.sentence(), i, clients)
			mu.Unlock()
			_, _, err := l.memory.Add(ctx, client.AddMemory{Content: text})
			return err
		})
		if err != nil {
			return err
		}
		l.report(row)
	}
	return nil
}

// proxy measures a chat completion through Loci beside the same through a plain
// reverse proxy and beside the upstream itself.
func (l *load) proxy(ctx context.Context) error {
	if l.s.Upstream == nil {
		return nil
	}
	target, err := url.Parse(l.s.Upstream.URL)
	if err != nil {
		return err
	}
	plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	defer plain.Close()
	talk := newTalk(4)
	var mu sync.Mutex
	chat := func(base string) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			mu.Lock()
			question := talk.question()
			mu.Unlock()
			return l.chat(ctx, base, question)
		}
	}
	direct, err := l.measure(ctx, "chat, the upstream alone, 1 client", 1, chat(l.s.Upstream.URL))
	if err != nil {
		return err
	}
	l.report(direct)
	gateway, err := l.measure(ctx, "chat, a gateway without memory, 1 client", 1, chat(plain.URL))
	if err != nil {
		return err
	}
	gateway.Beside, gateway.Ratio = "the upstream", ratio(gateway.P50, direct.P50)
	l.report(gateway)
	through, err := l.measure(ctx, fmt.Sprintf("chat through Loci at %d memories, 1 client", l.o.Memories), 1, chat(l.s.URL))
	if err != nil {
		return err
	}
	through.Beside, through.Ratio = "the gateway", ratio(through.P50, gateway.P50)
	l.report(through)
	overhead := Row{Name: "  of which Loci's own (p50 and p99 less the upstream's)", P50: through.P50 - direct.P50, P99: through.P99 - direct.P99, Rate: through.Rate}
	l.report(overhead)
	if l.s.Settle != nil {
		return l.s.Settle(ctx)
	}
	return nil
}

func (l *load) chat(ctx context.Context, base, question string) error {
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, question)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("X-Loci-User", "bench")
	resp, err := l.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("chat: %s", resp.Status)
	}
	return nil
}

// measure makes the requests, several at once where asked, and takes their times.
func (l *load) measure(ctx context.Context, name string, clients int, do func(context.Context, int) error) (Row, error) {
	took := make([]time.Duration, l.o.Requests)
	errs := make([]error, clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	started := time.Now()
	for c := range clients {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(took) || errs[c] != nil {
					return
				}
				at := time.Now()
				errs[c] = do(ctx, i)
				took[i] = time.Since(at)
			}
		})
	}
	wg.Wait()
	all := time.Since(started)
	for _, err := range errs {
		if err != nil {
			return Row{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.Sort(took)
	return Row{Name: name, P50: took[len(took)/2], P99: took[len(took)*99/100], Rate: float64(len(took)) / all.Seconds()}, nil
}

func times(clients int) string {
	if clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", clients)
}

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// talk makes everyday sentences, the same for the same seed. Words are drawn with
// Zipf's law, as people draw them.
type talk struct {
	words []string
	zipf  *rand.Zipf
	r     *rand.Rand
}

func newTalk(seed uint64) *talk {
	r := rand.New(rand.NewPCG(seed, 7))
	return &talk{words: vocabulary(20_000), zipf: rand.NewZipf(r, 1.1, 20, 19_999), r: r}
}

// vocabulary returns n words that can be spoken.
func vocabulary(n int) []string {
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, n)
	for i := range words {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte(consonants[r.IntN(len(consonants))])
			b.WriteByte(vowels[r.IntN(len(vowels))])
		}
		words[i] = b.String()
	}
	return words
}

func (t *talk) some(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.words[t.zipf.Uint64()]
	}
	return strings.Join(out, " ")
}

func (t *talk) sentence() string { return "I " + t.some(8+t.r.IntN(12)) + "." }

func (t *talk) question() string { return "What did I say about " + t.some(2+t.r.IntN(4)) + "?" }
