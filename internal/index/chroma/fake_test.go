package chroma_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake is a Chroma server as far as an index asks one. Its searches find all of an owner.
type fake struct {
	*httptest.Server

	mu   sync.Mutex // guards what follows
	away bool       // it breaks connections off
	all  []*fakeCollection
	made int
}

type fakeCollection struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Metadata map[string]any `json:"metadata"`
	records  map[string]fakeRecord
}

type fakeRecord struct {
	embedding []float32
	metadata  map[string]any
}

func startFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+collectionIDs, f.list)
	mux.HandleFunc("POST "+collectionIDs, f.create)
	mux.HandleFunc("GET "+collectionIDs+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.on(w, r.PathValue("name"), func(c *fakeCollection) any { return c })
	})
	mux.HandleFunc("DELETE "+collectionIDs+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.on(w, r.PathValue("name"), func(c *fakeCollection) any {
			f.all = slices.DeleteFunc(f.all, func(other *fakeCollection) bool { return other == c })
			return struct{}{}
		})
	})
	mux.HandleFunc("POST "+collectionIDs+"/{id}/{verb}", f.records)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.away {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) setAway(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// names returns what collections there are.
func (f *fake) names() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// ids returns the ids of the records in a collection.
func (f *fake) ids(name string) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		if c.Name == name {
			ids = c.sorted()
		}
	}
	return ids
}

func (c *fakeCollection) sorted() (ids []string) {
	for id := range c.records {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	from := min(offset, len(f.all))
	_ = json.NewEncoder(w).Encode(f.all[from:min(from+limit, len(f.all))])
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	f.made++
	c := &fakeCollection{ID: fmt.Sprint("c", f.made), records: map[string]fakeRecord{}}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.all = append(f.all, c)
	_ = json.NewEncoder(w).Encode(c)
}

// on answers what do says of the collection of a name or id.
func (f *fake) on(w http.ResponseWriter, of string, do func(*fakeCollection) any) {
	for _, c := range f.all {
		if of == c.Name || of == c.ID {
			_ = json.NewEncoder(w).Encode(do(c))
			return
		}
	}
	http.Error(w, `{"error":"NotFoundError","message":"no such collection"}`, http.StatusNotFound)
}

func (f *fake) records(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IDs           []string
		Embeddings    [][]float32
		Metadatas     []map[string]any
		Where         map[string]any
		Limit, Offset int
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.on(w, r.PathValue("id"), func(c *fakeCollection) any {
		if r.PathValue("verb") == "upsert" {
			for i, id := range in.IDs {
				c.records[id] = fakeRecord{in.Embeddings[i], in.Metadatas[i]}
			}
			return true
		}
		chosen := slices.DeleteFunc(c.sorted(), func(id string) bool {
			return in.IDs != nil && !slices.Contains(in.IDs, id) || in.Where != nil && c.records[id].metadata["owner"] != in.Where["owner"]
		})
		if in.Limit > 0 {
			from := min(in.Offset, len(chosen))
			chosen = chosen[from:min(from+in.Limit, len(chosen))]
		}
		switch r.PathValue("verb") {
		case "delete":
			for _, id := range chosen {
				delete(c.records, id)
			}
			return struct{}{}
		case "query":
			return map[string]any{"ids": [][]string{chosen}, "distances": [][]float32{make([]float32, len(chosen))}}
		}
		metadatas, embeddings := []map[string]any{}, [][]float32{}
		for _, id := range chosen {
			metadatas, embeddings = append(metadatas, c.records[id].metadata), append(embeddings, c.records[id].embedding)
		}
		return map[string]any{"ids": chosen, "metadatas": metadatas, "embeddings": embeddings}
	})
}

// of keeps those records that are of an owner.
func of(ids []string, owner string) (some []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, owner+"/") {
			some = append(some, id)
		}
	}
	return some
}
