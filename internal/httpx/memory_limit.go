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

// usualMemory is the assumed memory of the process if nothing limits it.
const usualMemory = 1 << 30

// BodyBudget returns how many bytes of request bodies may be in memory at a time: a quarter of the limit from
// [LimitMemory] or GOMEMLIMIT, or of usualMemory. A chat takes up to three times its body while it is read.
func BodyBudget() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 4
	}
	return usualMemory / 4
}

// LimitMemory makes the garbage collector stay below nine tenths of the cgroup's memory limit, unless
// GOMEMLIMIT is set.
func LimitMemory() {
	if limit := cgroupMemory(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// cgroupMemory returns the memory limit of this process's cgroup (version 2), 0 if there is none. root is the
// root of the file system.
func cgroupMemory(root fs.FS) int64 {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	group, isSecond := strings.CutPrefix(strings.TrimSpace(string(groups)), "0::")
	text, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", group, "memory.max"))
	limit, notNumber := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if !isSecond || err != nil || notNumber != nil { // "max" means that there is no limit
		return 0
	}
	return limit
}
