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
// quarter of GOMEMLIMIT, else of the cgroup's memory limit, else of usualMemory. A chat
// takes up to three times its body while it is read.
func BodyBudget() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = cgroupMemory(os.DirFS("/"))
	}
	if limit <= 0 {
		limit = usualMemory
	}
	return limit / 4
}

// cgroupMemory returns the least memory limit of this process's cgroup and those above it,
// 0 for none. root is the file system's.
func cgroupMemory(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(groups)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		dir, name := "sys/fs/cgroup", "memory.max"
		switch {
		case controllers == "memory":
			dir, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case id != "0":
			continue
		}
		for at := path.Join("/", group); ; at = path.Dir(at) {
			if limit := readLimit(root, path.Join(dir, at, name)); limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// readLimit returns the number in a file, 0 for none: "max", or one beyond any memory, which
// is how the older cgroups say so.
func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit > 1<<50 {
		return 0
	}
	return limit
}
