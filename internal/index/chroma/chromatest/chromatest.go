// Package chromatest starts Chroma servers for tests.
package chromatest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startTimeout is how long a server may take to answer.
const startTimeout = time.Minute

// Server is a Chroma server. Its data folder remains after it stops.
type Server struct {
	URL     string
	program string
	port    int
	dir     string
	process *exec.Cmd
}

// Start starts a server for a test. It skips the test if Chroma is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	program := programPath()
	if program == "" {
		t.Skip("there is no Chroma server: make setup installs one in tmp/chroma")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{program: program, port: free.Addr().(*net.TCPAddr).Port, dir: t.TempDir()}
	s.URL = "http://127.0.0.1:" + strconv.Itoa(s.port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// programPath returns the path of the server's program in the module's tmp folder, or "" if it is missing.
func programPath() string {
	dir, err := os.Getwd()
	for err == nil {
		if path := filepath.Join(dir, "tmp", "chroma", "bin", "chroma"); exists(path) {
			return path
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Stop kills the server.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.process.Wait() // the error is expected, since the process was killed
	s.process = nil
}

// Restart starts the server with the same data folder, and waits until it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.process = exec.Command(s.program, "run", "--host", "127.0.0.1", "--port", strconv.Itoa(s.port), "--path", s.dir)
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(s.URL + "/api/v2/heartbeat")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(until) {
			t.Fatalf("Chroma does not answer: %v", err)
		}
	}
}

// Records counts an owner's records in a collection.
func (s *Server) Records(t testing.TB, collection, owner string) int {
	t.Helper()
	at := s.URL + "/api/v2/tenants/default_tenant/databases/default_database/collections/"
	var is struct {
		ID  string   `json:"id"`
		IDs []string `json:"ids"`
	}
	answer, err := http.Get(at + collection)
	for _, body := range []string{fmt.Sprintf(`{"where":{"owner":%q},"include":[]}`, owner), ""} {
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(answer.Body).Decode(&is)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", collection, answer.Status, err)
		}
		if body != "" {
			answer, err = http.Post(at+is.ID+"/get", "application/json", strings.NewReader(body))
		}
	}
	return len(is.IDs)
}
