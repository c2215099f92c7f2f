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

// usualMemory is what the process is taken to have where nothing limits it.
const usualMemory = 1 << 30

// BodyBudget returns how many bytes of request bodies are held in memory at a time: a
// quarter of what [LimitMemory] or GOMEMLIMIT says, else of usualMemory. A chat takes up to three
// times its body while it is read.
func BodyBudget() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 4
	}
	return usualMemory / 4
}

// LimitMemory has the garbage collector keep below nine tenths of the cgroup's memory limit, unless
// GOMEMLIMIT says another number.
func LimitMemory() {
	if limit := cgroupMemory(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// cgroupMemory returns the memory limit of this process's cgroup (version 2), 0 for none.
// root is the file system's.
func cgroupMemory(root fs.FS) int64 {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	group, isSecond := strings.CutPrefix(strings.TrimSpace(string(groups)), "0::")
	text, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", group, "memory.max"))
	limit, notNumber := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if !isSecond || err != nil || notNumber != nil { // "max" where there is none
		return 0
	}
	return limit
}
