//go:build demo

package backup

import "github.com/loci-memory/loci/memory"

func openBucket(string) (place, error) {
	return nil, memory.Errorf(memory.Invalid, "a demo build does not support S3")
}
