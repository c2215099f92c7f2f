package obs

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
)

// release is the version of the next release. Release builds set this variable with a linker flag.
var release = "0.1.0"

// Build describes the build of this program.
type Build struct {
	Version  string `json:"version"`          // the release and, if known, the first letters of the commit
	Commit   string `json:"commit,omitempty"` // hash; empty if the program was not built in a repository
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// BuildInfo returns the build of this program; it parses the information only once.
var BuildInfo = sync.OnceValue(func() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, _ := debug.ReadBuildInfo()
	for _, s := range cmp.Or(info, &debug.BuildInfo{}).Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			b.Commit, b.Version = s.Value, release+"+"+s.Value[:7]
		}
	}
	return b
})

// Version returns the release and, if known, the commit.
func Version() string { return BuildInfo().Version }
