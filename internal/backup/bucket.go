//go:build !demo

package backup

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/loci-memory/loci/memory"
)

// s3Bucket stores backups on an S3 server.
type s3Bucket struct {
	client                      *minio.Client
	host, bucketName, keyPrefix string // keyPrefix, the prefix of object keys, is empty or ends with a slash
}

func openBucket(address string) (destination, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" || strings.Contains(u.Path, "@") { // an error of url.Parse may contain the secret
		return nil, memory.Errorf(memory.Invalid, "invalid S3 address (example: s3://KEY:SECRET@s3.eu-central-1.amazonaws.com/bucket/prefix; in SECRET write %%2F for / and %%2B for +)")
	}
	b := &s3Bucket{host: u.Host}
	b.bucketName, b.keyPrefix, _ = strings.Cut(strings.Trim(u.Path, "/"), "/")
	b.keyPrefix = strings.TrimPrefix(b.keyPrefix+"/", "/")
	o := &minio.Options{Creds: credentials.NewEnvAWS(), Secure: u.Query().Get("tls") != "false", Region: u.Query().Get("region"), MaxRetries: 3}
	if secret, ok := u.User.Password(); ok {
		o.Creds = credentials.NewStaticV4(u.User.Username(), secret, "")
	}
	b.client, err = minio.New(u.Host, o)
	return b, err
}

func (b *s3Bucket) displayPath(name string) string {
	return s3Scheme + path.Join(b.host, b.bucketName, b.keyPrefix, name)
}

func (b *s3Bucket) list(ctx context.Context) (names []string, err error) {
	for o := range b.client.ListObjects(ctx, b.bucketName, minio.ListObjectsOptions{Prefix: b.keyPrefix}) { // in the order of names
		if name := strings.TrimPrefix(o.Key, b.keyPrefix); scheduledNamePattern.MatchString(name) {
			names = append(names, name)
		}
		err = errors.Join(err, o.Err)
	}
	return names, err
}

func (b *s3Bucket) upload(ctx context.Context, name string, backup *tempBackup) error {
	_, err := b.client.PutObject(ctx, b.bucketName, b.keyPrefix+name, backup.File, backup.Size, minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: true})
	return err
}

func (b *s3Bucket) fetch(ctx context.Context, name, dir string) (string, error) {
	file := filepath.Join(dir, name)
	return file, b.client.FGetObject(ctx, b.bucketName, b.keyPrefix+name, file, minio.GetObjectOptions{})
}

func (b *s3Bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.bucketName, b.keyPrefix+name, minio.RemoveObjectOptions{})
}
