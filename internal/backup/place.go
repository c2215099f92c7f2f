package backup

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// place keeps scheduled backups.
type place interface {
	list(ctx context.Context) ([]string, error)                         // names, oldest first
	put(ctx context.Context, name string, from *made) error             // whole or not at all
	get(ctx context.Context, name, dir string) (file string, err error) // in dir if it is not on this machine
	remove(ctx context.Context, name string) error
	path(name string) string // without secrets
}

// Scheduled backups have names that sort by time. Other files of a place are left alone.
const nameForm = "loci-2006-01-02T15-04-05Z.zip"

var scheduledName = regexp.MustCompile(`^loci-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.zip(\.age)?$`)

const s3Scheme = "s3://"

func openPlace(address string) (place, error) {
	if strings.HasPrefix(address, s3Scheme) {
		return openBucket(address)
	}
	dir, err := filepath.Abs(address)
	return folder(dir), err
}

// folder is a place on this machine. It is not made: one that is gone may be a disk that is not mounted.
type folder string

func (d folder) path(name string) string { return filepath.Join(string(d), name) }

func (d folder) list(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		if scheduledName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d folder) put(_ context.Context, name string, from *made) error {
	half := d.path("loci-backup.half") // written over if a crash left one
	out, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.Rename(half, d.path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return disk.SyncFolder(string(d))
}

func (d folder) get(_ context.Context, name, _ string) (string, error) { return d.path(name), nil }

func (d folder) remove(_ context.Context, name string) error { return os.Remove(d.path(name)) }

// bucket is a place on an S3 server.
type bucket struct {
	client          *minio.Client
	host, name, dir string // dir "" or with a slash at its end
}

func openBucket(address string) (*bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" || strings.Contains(u.Path, "@") { // the error may quote the secret
		return nil, memory.Errorf(memory.Invalid, "invalid S3 address (example: s3://KEY:SECRET@s3.eu-central-1.amazonaws.com/bucket/prefix; in SECRET write %%2F for / and %%2B for +)")
	}
	b := &bucket{host: u.Host}
	b.name, b.dir, _ = strings.Cut(strings.Trim(u.Path, "/"), "/")
	b.dir = strings.TrimPrefix(b.dir+"/", "/")
	o := &minio.Options{Creds: credentials.NewEnvAWS(), Secure: u.Query().Get("tls") != "false", Region: u.Query().Get("region"), MaxRetries: 3}
	if secret, ok := u.User.Password(); ok {
		o.Creds = credentials.NewStaticV4(u.User.Username(), secret, "")
	}
	b.client, err = minio.New(u.Host, o)
	return b, err
}

func (b *bucket) path(name string) string {
	return s3Scheme + path.Join(b.host, b.name, b.dir, name)
}

func (b *bucket) list(ctx context.Context) (names []string, err error) {
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.dir}) { // in order
		if name := strings.TrimPrefix(o.Key, b.dir); scheduledName.MatchString(name) {
			names = append(names, name)
		}
		err = errors.Join(err, o.Err)
	}
	return names, err
}

func (b *bucket) put(ctx context.Context, name string, from *made) error {
	_, err := b.client.PutObject(ctx, b.name, b.dir+name, from.File, from.Size, minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: true})
	return err
}

func (b *bucket) get(ctx context.Context, name, dir string) (string, error) {
	file := filepath.Join(dir, name)
	return file, b.client.FGetObject(ctx, b.name, b.dir+name, file, minio.GetObjectOptions{})
}

func (b *bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.dir+name, minio.RemoveObjectOptions{})
}
