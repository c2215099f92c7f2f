package obs

import (
	"runtime/debug"
	"sync"
)

// release is the version that the next release will have.
const release = "0.1.0"

// Version returns what this build is: the release and, where it is known, the
// commit.
func Version() string { return version() }

// version is read once: the build information is text that has to be parsed.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return release + "+" + s.Value[:7]
		}
	}
	return release
})
