//go:build demo

package backup

import "github.com/loci-memory/loci/memory"

func openBucket(string) (destination, error) {
	return nil, memory.Errorf(memory.Invalid, "this build supports only loci demo; for S3, build without -tags demo")
}
