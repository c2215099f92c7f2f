package httpx

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// assumedMemory is the assumed memory in bytes of a process without a limit.
const assumedMemory = 1 << 30

// BodyBudget returns the maximum bytes of request bodies in memory at a time: a quarter of the limit set by
// [LimitMemory] or GOMEMLIMIT, or of assumedMemory. A quarter, because decoding a chat needs three times its size.
func BodyBudget() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 4
	}
	return assumedMemory / 4
}

// LimitMemory sets the garbage collector's memory limit to nine tenths of the cgroup's limit, unless GOMEMLIMIT
// is set.
func LimitMemory() {
	if limit := cgroupMemory(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// cgroupMemory returns the memory limit in bytes of this process's cgroup (version 2), or 0 without a limit.
// root is the root of the file system.
func cgroupMemory(root fs.FS) int64 {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	group, isV2 := strings.CutPrefix(strings.TrimSpace(string(groups)), "0::")
	text, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", group, "memory.max"))
	limit, parseErr := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if !isV2 || err != nil || parseErr != nil { // "max" means that there is no limit
		return 0
	}
	return limit
}
