package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed static/*
var staticFiles embed.FS

// asset is a file that pages load: a style, a script, an icon.
type asset struct {
	body   []byte
	packed []byte // gzip
	kind   string
	mark   string // of its bytes: a part of its address, so that browsers keep it for good
}

func assets() map[string]asset {
	out := map[string]asset{}
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, f := range files {
		body, err := staticFiles.ReadFile(path.Join("static", f.Name()))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		out[f.Name()] = asset{body, packed.Bytes(), mime.TypeByExtension(path.Ext(f.Name())), hex.EncodeToString(sum[:6])}
	}
	return out
}

func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := p.files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := a.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	_, _ = w.Write(body)
}
