package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// knownModels lists the models that can be named without their organisation. Encoders are ordered by quality;
// multilingual encoders come first, because only people who need other languages than English install them.
var knownModels = []struct{ name, repository string }{
	{"multilingual-e5-small", "intfloat/multilingual-e5-small"},
	{"paraphrase-multilingual-MiniLM-L12-v2", "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"},
	{"bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"},
	{"all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2"},
	{"all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"},
	{"potion-base-8M", "minishlab/potion-base-8M"},
	{"mmarco-mMiniLMv2-L12-H384-v1", "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1"},
	{"ms-marco-MiniLM-L-12-v2", "cross-encoder/ms-marco-MiniLM-L-12-v2"},
	{"ms-marco-MiniLM-L-6-v2", "cross-encoder/ms-marco-MiniLM-L-6-v2"},
}

// QualityRank returns a number by which encoders are sorted, the best first. For an encoder outside knownModels
// it is -1, because a person chose that encoder.
func QualityRank(name string) int {
	for i, p := range knownModels {
		if p.name == name {
			return i
		}
	}
	return -1
}

// Repository returns a model's repository on the hub and its local name. A name without an organisation must be
// in knownModels.
func Repository(name string) (repository, localName string, err error) {
	var names []string
	for _, p := range knownModels {
		if p.name == name {
			return p.repository, name, nil
		}
		names = append(names, p.name)
	}
	organisation, last, ok := strings.Cut(name, "/")
	if !ok || !isPlainName(organisation) || !isPlainName(last) {
		return "", "", memory.Errorf(memory.Invalid, "invalid model name %q: want ORGANISATION/NAME as on the hub, or one of %s",
			name, strings.Join(names, ", "))
	}
	return name, last, nil
}

// isPlainName reports whether a part of a model's name is valid as a folder's name and needs no escaping.
func isPlainName(s string) bool {
	return s != "" && s[0] != '.' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// Progress receives the downloaded size and the total size of a file.
type Progress func(file string, downloaded, size int64)

// Puller downloads models. All fields except Progress are required.
type Puller struct {
	Dir      string // folder of the models
	URL      string // base URL of the hub
	Client   *http.Client
	Progress Progress // receives progress reports; nil sends none
}

// NewClient returns a client for a hub. It limits the time until a response begins, but not the time of a
// download.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		ForceAttemptHTTP2:     true,
	}}
}

// Pull downloads a model and returns its local name. It resumes interrupted downloads and skips complete
// files. A file with a wrong hash is deleted.
func (p Puller) Pull(ctx context.Context, name string) (string, error) {
	repository, local, err := Repository(name)
	if err != nil {
		return "", err
	}
	target := filepath.Join(p.Dir, local)
	if _, err := os.Stat(target); err == nil {
		return "", memory.Errorf(memory.Conflict, "%s already exists in %s; loci models verify %s checks whether it is complete, loci models remove %s removes it", local, target, local, local)
	}
	m, err := p.requestManifest(ctx, repository)
	if err != nil {
		return "", p.withAdvice(err, local)
	}
	staging := filepath.Join(p.Dir, pullFolder, local+"@"+m.Commit)
	for _, f := range m.Files {
		if err := p.fetchFile(ctx, m, f, filepath.Join(staging, filepath.FromSlash(f.Name))); err != nil {
			return "", p.withAdvice(fmt.Errorf("%s: %w", f.Name, err), local)
		}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(staging, manifestFile), append(data, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("pull %s: %w", local, err)
	}
	if err := os.Rename(staging, target); err != nil {
		return "", fmt.Errorf("pull %s: %w", local, err)
	}
	_ = os.Remove(filepath.Join(p.Dir, pullFolder)) // fails, as it should, if another download uses the folder
	return local, nil
}

// unreachableError means that a hub cannot be reached or does not send a complete file.
type unreachableError struct{ cause error }

func (o *unreachableError) Error() string { return o.cause.Error() }
func (o *unreachableError) Unwrap() error { return o.cause }

// withAdvice adds the model's name to an error and, if the hub is unreachable, another way to get the files.
func (p Puller) withAdvice(err error, localName string) error {
	var unreachable *unreachableError
	if !errors.As(err, &unreachable) {
		return fmt.Errorf("pull %s: %w", localName, err)
	}
	return memory.Errorf(memory.Unavailable, "pull %s: %v. Repeat the command to continue the download. Without access to %s, set models_url (LOCI_MODELS_URL) to a mirror, or copy these files from a machine that has them into %s: %s",
		localName, err, p.URL, filepath.Join(p.Dir, localName), strings.Join(Files, ", "))
}

// maxListing is the maximum size in bytes of a hub's answer about a repository, far above real answers.
const maxListing = 8 << 20

// requestManifest requests the files of a repository's main branch.
func (p Puller) requestManifest(ctx context.Context, repository string) (*Manifest, error) {
	resp, err := p.request(ctx, p.URL+"/api/models/"+repository+"/revision/main?blobs=true", 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read, or is not needed
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusNotFound:
		return nil, memory.Errorf(memory.NotFound, "%s has no public model %s", p.URL, repository)
	default:
		return nil, &unreachableError{fmt.Errorf("%s answered %s", p.URL, resp.Status)}
	}
	var listing struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size int64  `json:"size"`
			Blob string `json:"blobId"`
			LFS  *struct {
				SHA256 string `json:"sha256"`
				Size   int64  `json:"size"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&listing); err != nil {
		return nil, fmt.Errorf("read the answer of %s about %s: %w", p.URL, repository, err)
	}
	if !isPlainName(listing.SHA) {
		return nil, fmt.Errorf("%s returned no commit for %s", p.URL, repository)
	}
	m := &Manifest{Repository: repository, Commit: listing.SHA}
	for _, s := range listing.Siblings {
		if !slices.Contains(Files, s.Name) {
			continue
		}
		f := ManifestFile{Name: s.Name, Size: s.Size, GitBlobSHA1: s.Blob}
		if s.LFS != nil {
			f = ManifestFile{Name: s.Name, Size: s.LFS.Size, SHA256: s.LFS.SHA256}
		}
		if h, _ := f.newHash(); h == nil || f.Size <= 0 {
			return nil, fmt.Errorf("%s returned no size or hash for %s", p.URL, s.Name)
		}
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return cmp.Compare(a.Size, b.Size) }) // small files first, so that errors appear early
	for _, name := range Files[:2] {
		if !slices.ContainsFunc(m.Files, func(f ManifestFile) bool { return f.Name == name }) {
			return nil, memory.Errorf(memory.Invalid, "%s has no %s: Loci cannot run it", repository, name)
		}
	}
	return m, nil
}

func (p Puller) request(ctx context.Context, address string, offset int64) (*http.Response, error) {
	if _, err := url.Parse(address); err != nil {
		return nil, memory.Errorf(memory.Invalid, "models_url: %v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "models_url: %v", err)
	}
	req.Header.Set("User-Agent", "loci")
	req.Header.Set("Accept-Encoding", "identity") // sizes and ranges refer to the file itself
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return resp, nil
}

// fetchFile downloads one file to target, unless target is already complete. It resumes an earlier attempt.
func (p Puller) fetchFile(ctx context.Context, m *Manifest, f ManifestFile, target string) error {
	if f.verify(target) == nil {
		p.reportProgress(f, f.Size)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	part := target + ".part"
	if err := p.resume(ctx, m, f, part); err != nil {
		return err
	}
	if err := f.verify(part); err != nil {
		return errors.Join(fmt.Errorf("%s sent a file that differs from the published one: %w", p.URL, err), os.Remove(part))
	}
	return os.Rename(part, target)
}

// resume downloads the missing bytes of a partial file.
func (p Puller) resume(ctx context.Context, m *Manifest, f ManifestFile, partial string) (err error) {
	w, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	offset, err := w.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if offset >= f.Size { // complete or invalid; fetchFile checks the hash
		return nil
	}
	resp, err := p.request(ctx, p.URL+"/"+m.Repository+"/resolve/"+m.Commit+"/"+f.Name, offset)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read, or is not needed
	switch {
	case resp.StatusCode == http.StatusPartialContent && offset > 0 && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)):
	case resp.StatusCode == http.StatusOK: // the server sends the whole file
		if offset, err = w.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := w.Truncate(0); err != nil {
			return err
		}
	default:
		return &unreachableError{fmt.Errorf("%s answered %s", p.URL, resp.Status)}
	}
	n, err := io.Copy(w, &progressReader{source: io.LimitReader(resp.Body, f.Size-offset), report: func(n int64) { p.reportProgress(f, offset+n) }})
	if err != nil {
		return &unreachableError{fmt.Errorf("the download stopped after %d of %d bytes: %w", offset+n, f.Size, err)}
	}
	if offset+n < f.Size {
		return &unreachableError{fmt.Errorf("the download stopped after %d of %d bytes", offset+n, f.Size)}
	}
	return nil
}

func (p Puller) reportProgress(f ManifestFile, downloaded int64) {
	if p.Progress != nil {
		p.Progress(f.Name, downloaded, f.Size)
	}
}

type progressReader struct {
	source    io.Reader
	bytesRead int64
	report    func(int64)
}

// Read implements [io.Reader].
func (t *progressReader) Read(b []byte) (int, error) {
	n, err := t.source.Read(b)
	t.bytesRead += int64(n)
	t.report(t.bytesRead)
	return n, err
}
