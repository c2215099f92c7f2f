package obs

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
)

// release is the version that the next release will have. The linker sets it in a release.
var release = "0.1.0"

// Build says what this program was built from.
type Build struct {
	Version  string `json:"version"`          // the release and, if the commit is known, its first digits
	Commit   string `json:"commit,omitempty"` // "" if the program was not built in a repository
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Built reads the build information once: it is text that has to be parsed.
var Built = sync.OnceValue(func() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, _ := debug.ReadBuildInfo()
	for _, s := range cmp.Or(info, &debug.BuildInfo{}).Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			b.Commit, b.Version = s.Value, release+"+"+s.Value[:7]
		}
	}
	return b
})

// Version returns what this build is: the release and, if it is known, the commit.
func Version() string { return Built().Version }
