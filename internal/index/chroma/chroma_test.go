package chroma_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/index/chroma/chromatest"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const model = "vectors of the test"

var question = []float32{1, 0, 0.5}

func open(t *testing.T, source chroma.Source, at string) *chroma.Index {
	t.Helper()
	x := chroma.New(source, chroma.Options{URL: at, Collection: "loci", Model: model, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// say writes turns with vectors, the first nearest to the question.
func say(t *testing.T, s memory.Store, owner memory.Owner, conversation string, n int) (ids []string) {
	t.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(conversation, " word ", i)
	}
	b := memtest.Batch(owner, conversation, 0, texts...)
	for i, turn := range b.Turns {
		ids = append(ids, turn.ID)
		b.Vectors = append(b.Vectors, memory.Vector{Memory: turn.ID, Model: model, Values: []float32{1, float32(i) / 100, 0.5}})
	}
	noError(t)(s.Append(t.Context(), owner, b))
	return ids
}

// eventually waits until the copy has what ok wants.
func eventually(t *testing.T, x *chroma.Index, owner memory.Owner, ok func(ids []string) bool) {
	t.Helper()
	var ids []string
	var err error
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if ids, err = search(t, x, owner, nil, 1000); err == nil && ok(ids) {
			return
		}
	}
	t.Fatalf("got %d memories at last (%v)", len(ids), err)
}

func search(t *testing.T, x *chroma.Index, owner memory.Owner, among []string, n int) (ids []string, err error) {
	t.Helper()
	near, err := x.Nearest(t.Context(), owner, model, question, among, n)
	for _, k := range near {
		ids = append(ids, k.ID)
	}
	return ids, err
}

func TestCopyFollowsTheStore(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	first := say(t, store, memtest.Ana, "before", 700)
	say(t, store, memtest.Ben, "before", 3)
	x := open(t, store, server.URL)
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 700 })
	if got, err := search(t, x, memtest.Ana, nil, 3); err != nil || !slices.Equal(got, first[:3]) {
		t.Errorf("got %v, %v; want %v", got, err, first[:3])
	}
	if got, err := search(t, x, memtest.Ana, append([]string{"another"}, first[400:]...), 2); err != nil || !slices.Equal(got, first[400:402]) {
		t.Errorf("among some: got %v, %v; want %v", got, err, first[400:402])
	}
	near, err := x.Nearest(t.Context(), memtest.Ana, model, question, nil, 1)
	if err != nil || len(near) != 1 || near[0].Owner != memtest.Ana || near[0].Cosine < 0.9999 {
		t.Errorf("got %+v, %v; want a cosine of 1", near, err)
	}
	vectors, err := x.Vectors(t.Context(), memtest.Ana, model, []string{first[1], "another"})
	if err != nil || len(vectors) != 1 || len(vectors[first[1]]) != 3 {
		t.Errorf("vectors: got %v, %v; want one of three values", vectors, err)
	}
	late := say(t, store, memtest.Ana, "late", 1)
	eventually(t, x, memtest.Ana, func(ids []string) bool { return slices.Contains(ids, late[0]) })
	noError(t)(store.Apply(t.Context(), memtest.Ana, memtest.Run("branch"), memtest.TurnChange(memory.ActionRetire, first[0], memory.Retired)))
	eventually(t, x, memtest.Ana, func(ids []string) bool { return !slices.Contains(ids, first[0]) && len(ids) == 700 })
	if c, err := x.Compare(t.Context()); err != nil || c != (chroma.Comparison{Memories: 703}) {
		t.Errorf("compared: got %+v, %v; want 703 memories and no difference", c, err)
	}
	noError(t)(store.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), first[1]))
	noError(t)(x.Drop(memtest.Ana))
	if n := records(t, server.URL, x.Name(), memtest.Ana, first[1]); n > 0 {
		t.Error("the erased vector is on the server")
	}
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 699 })
}

// records counts the records of a memory on the server.
func records(t *testing.T, server, name string, owner memory.Owner, id string) int {
	t.Helper()
	var got struct {
		IDs []string `json:"ids"`
	}
	call(t, http.MethodPost, server+collectionIDs+"/"+collectionID(t, server, name)+"/get", fmt.Sprintf(`{"ids":[%q],"include":[]}`, string(owner)+"/"+id), &got)
	return len(got.IDs)
}

const collectionIDs = "/api/v2/tenants/default_tenant/databases/default_database/collections"

func collectionID(t *testing.T, server, name string) string {
	t.Helper()
	var is struct {
		ID string `json:"id"`
	}
	call(t, http.MethodGet, server+collectionIDs+"/"+name, "", &is)
	return is.ID
}

func call(t *testing.T, method, at, body string, out any) {
	t.Helper()
	r := try(http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))).orFail(t)
	r.Header.Set("Content-Type", "application/json")
	answer := try(http.DefaultClient.Do(r)).orFail(t)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, at, answer.StatusCode, data, err)
	}
	if out != nil {
		noError(t)(json.Unmarshal(data, out))
	}
}

// TestCopyOutlivesBothServers restarts Chroma and Loci, in turns.
func TestCopyOutlivesBothServers(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	ids := say(t, store, memtest.Ana, "c", 20)
	x := open(t, store, server.URL)
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 20 })
	server.Stop(t)
	if _, err := search(t, x, memtest.Ana, nil, 3); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("while it is away: got %v", err)
	}
	late := say(t, store, memtest.Ana, "late", 5)
	server.Restart(t)
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 25 && slices.Contains(ids, late[4]) })
	if c, err := x.Compare(t.Context()); err != nil || c.Missing+c.Extra > 0 { // which waits for the mark
		t.Fatalf("compared: got %+v, %v", c, err)
	}
	noError(t)(x.Close())
	var counted counter
	again := open(t, store, counted.before(t, server.URL))
	eventually(t, again, memtest.Ana, func(got []string) bool { return len(got) == 25 && got[0] == ids[0] })
	if n := counted.of("/upsert"); n > 0 {
		t.Errorf("after a start nothing was new, and it wrote %d times", n)
	}
}

// counter is a proxy that counts requests and can fail them.
type counter struct {
	mu    sync.Mutex
	asked []string
	fail  func(path string) int // the status to answer instead; 0: none
}

func (c *counter) of(suffix string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range c.asked {
		if strings.HasSuffix(path, suffix) {
			n++
		}
	}
	return n
}

func (c *counter) before(t *testing.T, server string) string {
	t.Helper()
	to := try(url.Parse(server)).orFail(t)
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, r.URL.Path)
		status := 0
		if c.fail != nil {
			status = c.fail(r.URL.Path)
		}
		c.mu.Unlock()
		if status > 0 {
			http.Error(w, `{"error":"InternalError","message":"it is busy"}`, status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// sharedStore is a store that others erase from.
type sharedStore struct {
	*inmem.Store
	tell func(memory.Owner) // of the index that was opened last
}

func (s *sharedStore) OnErase(tell func(memory.Owner)) { s.tell = tell }

// TestErasedElsewhereIsNotWrittenAgain holds a write until another Loci has erased what is in it.
func TestErasedElsewhereIsNotWrittenAgain(t *testing.T) {
	server, store := chromatest.Start(t), &sharedStore{Store: inmem.Open(inmem.Options{})}
	here := open(t, store, server.URL)
	eventually(t, here, memtest.Ana, func(ids []string) bool { return len(ids) == 0 })
	reached, release := make(chan struct{}), make(chan struct{})
	held := false
	slow := &counter{fail: func(path string) int {
		if strings.HasSuffix(path, "/upsert") && !held {
			held = true
			close(reached)
			<-release
		}
		return 0
	}}
	there := open(t, store, slow.before(t, server.URL))
	ids := say(t, store, memtest.Ana, "c", 3)
	there.Warm(memtest.Ana)
	<-reached
	eventually(t, here, memtest.Ana, func(got []string) bool { return len(got) == 3 })
	noError(t)(store.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids[0]))
	noError(t)(here.Drop(memtest.Ana))
	eventually(t, here, memtest.Ana, func(got []string) bool { return len(got) == 2 })
	store.tell(memtest.Ana)
	close(release)
	written := func() int { return slow.of("/upsert") }
	for until := time.Now().Add(time.Minute); written() < 2 || records(t, server.URL, here.Name(), memtest.Ana, ids[0]) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the erased vector is on the server, after %d writes there", written())
		}
	}
	eventually(t, here, memtest.Ana, func(got []string) bool { return len(got) == 2 })
}

func TestDeletedCollectionIsFilledAgain(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	say(t, store, memtest.Ana, "c", 20)
	for _, suffix := range []string{"", "-marks"} {
		x := open(t, store, server.URL)
		eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 20 })
		call(t, http.MethodDelete, server.URL+collectionIDs+"/"+x.Name()+suffix, "", nil)
		if suffix == "" {
			if _, err := search(t, x, memtest.Ana, nil, 3); err == nil || !strings.Contains(err.Error(), "is missing on the Chroma server and is being rebuilt") {
				t.Errorf("got %v", err)
			}
		}
		say(t, store, memtest.Ana, "more"+suffix, 1)
		eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) >= 21 })
		if c, err := x.Compare(t.Context()); err != nil || c.Missing+c.Extra > 0 {
			t.Errorf("compared: got %+v, %v", c, err)
		}
		noError(t)(x.Close())
		call(t, http.MethodDelete, server.URL+collectionIDs+"/"+x.Name(), "", nil)
		store = inmem.Open(inmem.Options{})
		say(t, store, memtest.Ana, "c", 20)
	}
}

// TestAnotherStoreIsCopiedAnew gives the collection a store that is as far as the one before.
func TestAnotherStoreIsCopiedAnew(t *testing.T) {
	server := chromatest.Start(t)
	for _, conversation := range []string{"first", "second"} {
		store := inmem.Open(inmem.Options{})
		var want []string
		for i := range 3 {
			want = append(want, say(t, store, memtest.Ana, fmt.Sprint(conversation, i), 2)...)
		}
		x := open(t, store, server.URL)
		slices.Sort(want)
		eventually(t, x, memtest.Ana, func(ids []string) bool { slices.Sort(ids); return slices.Equal(ids, want) })
		noError(t)(x.Close())
	}
}

func TestDifferencesAreFoundAndMended(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	ids := say(t, store, memtest.Ana, "c", 20)
	x := open(t, store, server.URL)
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 20 })
	id := collectionID(t, server.URL, x.Name())
	call(t, http.MethodPost, server.URL+collectionIDs+"/"+id+"/delete", fmt.Sprintf(`{"ids":[%q]}`, string(memtest.Ana)+"/"+ids[3]), nil)
	call(t, http.MethodPost, server.URL+collectionIDs+"/"+id+"/upsert", fmt.Sprintf(`{"ids":["%s/x","%[1]s/y"],"embeddings":[[1,0,0],[1,0,0]],"metadatas":[{"owner":%[2]q},{"owner":%[2]q}]}`, memtest.Ana, string(memtest.Ana)), nil)
	if c, err := x.Compare(t.Context()); err != nil || c != (chroma.Comparison{Memories: 20, Missing: 1, Extra: 2}) {
		t.Errorf("got %+v, %v; want one missing and two too many", c, err)
	}
	eventually(t, x, memtest.Ana, func(got []string) bool { return len(got) == 20 && slices.Contains(got, ids[3]) })
}

func TestStrangeCollectionsAreLeftAlone(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	say(t, store, memtest.Ana, "c", 2)
	first := open(t, store, server.URL)
	eventually(t, first, memtest.Ana, func(ids []string) bool { return len(ids) == 2 })
	noError(t)(first.Close())
	call(t, http.MethodPut, server.URL+collectionIDs+"/"+collectionID(t, server.URL, first.Name()), fmt.Sprintf(`{"new_metadata":{"loci":2,"embedder":%q}}`, model), nil)
	x := open(t, store, server.URL)
	if _, err := search(t, x, memtest.Ana, nil, 3); !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "delete it, or set chroma.collection") {
		t.Errorf("got %v", err)
	}
}

// TestBusyServerIsAskedAgain has each write fail twice.
func TestBusyServerIsAskedAgain(t *testing.T) {
	server, store := chromatest.Start(t), inmem.Open(inmem.Options{})
	say(t, store, memtest.Ana, "c", 10)
	failed := map[string]int{}
	busy := &counter{fail: func(path string) int {
		if failed[path]++; strings.HasSuffix(path, "/upsert") && failed[path] <= 2 {
			return http.StatusServiceUnavailable
		}
		return 0
	}}
	x := open(t, store, busy.before(t, server.URL))
	eventually(t, x, memtest.Ana, func(ids []string) bool { return len(ids) == 10 })
}

func TestOtherServersAreTold(t *testing.T) {
	store := inmem.Open(inmem.Options{})
	say(t, store, memtest.Ana, "c", 2)
	for status, want := range map[int]string{
		http.StatusNotFound: "has no version 2 of Chroma's API", http.StatusUnauthorized: "see chroma.key", http.StatusOK: "does not answer like version 2 of Chroma's API",
		http.StatusBadRequest: "Chroma answered 400: <html>",
	} {
		x := open(t, store, page(t, status))
		if _, err := x.Compare(t.Context()); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: got %v, want %q", status, err, want)
		}
	}
}

// page is a server that is no Chroma.
func page(t *testing.T, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", status) }))
	t.Cleanup(s.Close)
	return s.URL
}

// TestNobodyWaitsForAServerThatHangs closes an index whose server never answers.
func TestNobodyWaitsForAServerThatHangs(t *testing.T) {
	ended := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer hangs.Close()
	defer close(ended)
	store := inmem.Open(inmem.Options{})
	say(t, store, memtest.Ana, "c", 2)
	x := open(t, store, hangs.URL)
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if _, err := x.Nearest(ctx, memtest.Ana, model, question, nil, 3); err == nil {
		t.Error("got no error")
	}
	noError(t)(x.Close())
}
