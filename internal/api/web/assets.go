package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed static/*
var staticFiles embed.FS

// asset is a file that pages load: a style sheet, a script or an icon.
type asset struct {
	body      []byte
	mediaType string
	hash      string // hash of the content, part of the file's address, so that browsers may cache the file forever
}

// mediaTypes are the media types of the assets by extension. Go's mime package depends on the system and reads
// half a megabyte of tables.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func assetNames() (names []string) {
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // the files are embedded, so reading them cannot fail
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// loadAssets reads all assets, by file name.
func loadAssets() map[string]asset {
	out := map[string]asset{}
	for _, name := range assetNames() {
		body, err := staticFiles.ReadFile(path.Join("static", name))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		out[name] = asset{body, mediaTypes[path.Ext(name)], hex.EncodeToString(sum[:6])}
	}
	return out
}

func (p *Page) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := p.assets()[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.mediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // the browser may have disconnected
}
