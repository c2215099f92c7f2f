package httpx

import (
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestCgroupMemory(t *testing.T) {
	files := func(pairs ...string) fstest.MapFS {
		root := fstest.MapFS{}
		for i := 0; i < len(pairs); i += 2 {
			root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1] + "\n")}
		}
		return root
	}
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"no cgroups":    {files(), 0},
		"a container's": {files("proc/self/cgroup", "0::/", "sys/fs/cgroup/memory.max", "2147483648"), 2 << 30},
		"no limit":      {files("proc/self/cgroup", "0::/a", "sys/fs/cgroup/a/memory.max", "max"), 0},
		"a service's":   {files("proc/self/cgroup", "0::/system.slice/loci.service", "sys/fs/cgroup/system.slice/loci.service/memory.max", "4096"), 4096},
		"version 1":     {files("proc/self/cgroup", "4:memory:/", "sys/fs/cgroup/memory/memory.limit_in_bytes", "4096"), 0},
	} {
		if got := cgroupMemory(c.root); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestBodyBudgetIsAQuarterOfGOMEMLIMIT(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	if got := BodyBudget(); got != 256<<20 {
		t.Errorf("got %d, want %d", got, 256<<20)
	}
}
