//go:build demo

package backup

import "github.com/loci-memory/loci/memory"

func openBucket(string) (place, error) {
	return nil, memory.Errorf(memory.Invalid, "a build with the tag demo has no client of S3")
}
