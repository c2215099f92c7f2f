package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDemoCompilesNothingThatItDoesNotUse holds the build with the tag demo, which a newcomer waits
// for, to what the demo runs on. Every other build has all of it.
func TestDemoCompilesNothingThatItDoesNotUse(t *testing.T) {
	deps := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, append(args, ".")...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	demo, whole := deps("-tags", "demo"), deps()
	for _, module := range []string{
		"go.mongodb.org/mongo-driver/v2", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/minio/minio-go/v7", "github.com/prometheus/client_golang",
		"github.com/modelcontextprotocol/go-sdk", "github.com/klauspost/compress",
	} {
		if strings.Contains(demo, module+"/") {
			t.Errorf("with the tag demo %s is compiled", module)
		}
		if !strings.Contains(whole, module+"/") {
			t.Errorf("without a tag %s is missing", module)
		}
	}
	if !strings.Contains(demo, "modernc.org/sqlite\n") {
		t.Error("the demo has no SQLite")
	}
}
