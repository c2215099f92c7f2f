package hub

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Limits of a model added from a local copy, in bytes.
const (
	maxArchiveBytes   = 16 << 30 // total size of an archive's files, in bytes
	maxWeightsBytes   = 8 << 30
	maxOtherFileBytes = 64 << 20 // size of any file other than the weights, in bytes
)

// Adder adds models from local copies.
type Adder struct {
	Dir   string                  // folder of the models
	Check func(path string) error // rejects a model before it is added; nil accepts all
}

// Add copies a model from a folder or an archive (zip, wheel, tar or tar.gz) and returns its local name. An
// empty name means the base name of source. The model may be in a subfolder. Add copies only [Files]. It
// returns [memory.Invalid] for an archive with an unsafe path, or with a link in place of one of these files;
// it follows links in a folder.
func (a Adder) Add(source, name string) (string, error) {
	if name == "" {
		name = defaultName(source)
	}
	if organisation, last, ok := strings.Cut(name, "/"); !isPlainName(organisation) || ok && !isPlainName(last) {
		return "", memory.Errorf(memory.Invalid, "invalid model name %q; choose NAME or ORGANISATION/NAME with --name", name)
	}
	target := filepath.Join(a.Dir, filepath.FromSlash(name))
	if _, err := os.Stat(target); err == nil {
		return "", memory.Errorf(memory.Conflict, "%s already exists in %s; to replace it, first run loci models remove %s", name, target, name)
	}
	if err := a.addFrom(source, target); err != nil {
		return "", fmt.Errorf("add %s: %w", name, err)
	}
	return name, nil
}

func defaultName(source string) string {
	name := filepath.Base(filepath.Clean(source))
	for _, ending := range []string{".gz", ".tgz", ".tar", ".zip", ".whl"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

func (a Adder) addFrom(copyPath, target string) (err error) {
	source, err := openCopy(copyPath)
	if err != nil {
		return err
	}
	root, err := findModel(source)
	if err != nil {
		return err
	}
	pulls := filepath.Join(a.Dir, pullFolder)
	if err := os.MkdirAll(pulls, 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(pulls, filepath.Base(target)+"@")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(staging))
		_ = os.Remove(pulls) // fails, as it should, if a download uses the folder
	}()
	m := Manifest{Source: filepath.Base(filepath.Clean(copyPath))}
	if err := source.eachFile(func(e copiedFile) error {
		name, ok := relativeTo(root, e.name)
		if !ok || !slices.Contains(Files, name) {
			return nil
		}
		if slices.ContainsFunc(m.Files, func(f ManifestFile) bool { return f.Name == name }) {
			return memory.Errorf(memory.Invalid, "the copy contains %s twice", e.name)
		}
		f, err := copyFile(e, name, filepath.Join(staging, filepath.FromSlash(name)))
		m.Files = append(m.Files, f)
		return err
	}); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(staging, manifestFile), append(data, '\n'), 0o644); err != nil {
		return err
	}
	if a.Check != nil {
		if err := a.Check(staging); err != nil {
			return memory.Errorf(memory.Invalid, "%v", err)
		}
	}
	if err := errors.Join(os.Chmod(staging, 0o755), os.MkdirAll(filepath.Dir(target), 0o755)); err != nil {
		return err
	}
	return os.Rename(staging, target)
}

// relativeTo returns the name of a file relative to the folder root, and whether the file is in that folder.
func relativeTo(root, name string) (string, bool) {
	if root == "." {
		return name, true
	}
	return strings.CutPrefix(name, root+"/")
}

// findModel returns the folder of the model in source, which must contain exactly one.
func findModel(source copySource) (string, error) {
	weights, configs := []string{}, map[string]bool{}
	if err := source.eachFile(func(e copiedFile) error {
		switch path.Base(e.name) {
		case weightsFile:
			weights = append(weights, path.Dir(e.name))
		case "config.json":
			configs[path.Dir(e.name)] = true
		}
		return nil
	}); err != nil {
		return "", err
	}
	weights = slices.DeleteFunc(weights, func(dir string) bool { return !configs[dir] })
	switch len(weights) {
	case 0:
		return "", memory.Errorf(memory.Invalid, "the copy contains no model: no folder has both %s and config.json", weightsFile)
	case 1:
		return weights[0], nil
	}
	return "", memory.Errorf(memory.Invalid, "the copy contains several models (%s); add one of these folders", strings.Join(weights, ", "))
}

func copyFile(e copiedFile, name, target string) (ManifestFile, error) {
	if !e.mode.IsRegular() {
		return ManifestFile{}, memory.Errorf(memory.Invalid, "%s is not a regular file", e.name)
	}
	maxBytes := int64(maxOtherFileBytes)
	if name == weightsFile {
		maxBytes = maxWeightsBytes
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return ManifestFile{}, err
	}
	r, err := e.open()
	if err != nil {
		return ManifestFile{}, err
	}
	w, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return ManifestFile{}, errors.Join(err, r.Close())
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, maxBytes+1))
	if err := errors.Join(err, w.Close(), r.Close()); err != nil {
		return ManifestFile{}, fmt.Errorf("read %s: %w", e.name, err)
	}
	if n > maxBytes {
		return ManifestFile{}, memory.Errorf(memory.Invalid, "%s is larger than %d MiB", e.name, maxBytes>>20)
	}
	return ManifestFile{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// copiedFile is one file of a folder or archive that contains a model.
type copiedFile struct {
	name string // clean path with slashes
	mode fs.FileMode
	open func() (io.ReadCloser, error)
}

// copySource is a folder or archive that contains a model. eachFile may be called several times.
type copySource interface {
	eachFile(yield func(copiedFile) error) error
}

// openCopy returns the folder or archive at copyPath. It recognizes an archive's format by the content.
func openCopy(copyPath string) (copySource, error) {
	info, err := os.Stat(copyPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, memory.Errorf(memory.NotFound, "no such file or folder: %s", copyPath)
	case err != nil:
		return nil, err
	case info.IsDir():
		return folderCopy(copyPath), nil
	}
	f, err := os.Open(copyPath)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err = errors.Join(ignoreShortRead(err), f.Close()); err != nil {
		return nil, err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipCopy(copyPath), nil
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return tarCopy{copyPath, true}, nil
	case len(head) == 512 && bytes.HasPrefix(head[257:], []byte("ustar")):
		return tarCopy{copyPath, false}, nil
	}
	return nil, memory.Errorf(memory.Invalid, "%s is neither a folder nor a zip, wheel, tar or tar.gz archive", copyPath)
}

func ignoreShortRead(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// cleanEntryName returns the clean name of an archive's entry, or [memory.Invalid] if extracting the entry would
// write outside the target folder.
func cleanEntryName(name string) (string, error) {
	if clean := path.Clean(name); filepath.IsLocal(filepath.FromSlash(clean)) && !strings.Contains(name, `\`) {
		return clean, nil
	}
	return "", memory.Errorf(memory.Invalid, "unsafe path in the archive: %q", name)
}

type folderCopy string

func (dir folderCopy) eachFile(yield func(copiedFile) error) error {
	return fs.WalkDir(os.DirFS(string(dir)), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file := filepath.Join(string(dir), filepath.FromSlash(name))
		info, err := os.Stat(file) // follows links, of which the cache of Hugging Face's tools consists
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to a missing file
		}
		if err != nil {
			return err
		}
		return yield(copiedFile{name, info.Mode(), func() (io.ReadCloser, error) { return os.Open(file) }})
	})
}

type zipCopy string

func (archive zipCopy) eachFile(yield func(copiedFile) error) (err error) {
	r, err := zip.OpenReader(string(archive))
	if err != nil {
		return memory.Errorf(memory.Invalid, "read the archive: %v", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, f := range r.File {
		name, err := cleanEntryName(f.Name)
		if err != nil {
			return err
		}
		if f.FileInfo().IsDir() {
			continue
		}
		if err := yield(copiedFile{name, f.Mode(), f.Open}); err != nil {
			return err
		}
	}
	return nil
}

type tarCopy struct {
	path    string
	gzipped bool
}

func (archive tarCopy) eachFile(yield func(copiedFile) error) (err error) {
	f, err := os.Open(archive.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var packed io.Reader = f
	if archive.gzipped {
		if packed, err = gzip.NewReader(f); err != nil {
			return memory.Errorf(memory.Invalid, "read the archive: %v", err)
		}
	}
	left := &io.LimitedReader{R: packed, N: maxArchiveBytes}
	for r := tar.NewReader(left); ; {
		h, err := r.Next()
		switch {
		case left.N == 0:
			return memory.Errorf(memory.Invalid, "the archive is larger than %d GiB", maxArchiveBytes>>30)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return memory.Errorf(memory.Invalid, "read the archive: %v", err)
		}
		name, err := cleanEntryName(h.Name)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink { // copyFile would read a hard link as an empty file
			mode = fs.ModeIrregular
		}
		if err := yield(copiedFile{name, mode, func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}); err != nil {
			return err
		}
	}
}
