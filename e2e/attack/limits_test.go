package attack

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	limitsMemory  = "GOMEMLIMIT=1GiB"
	limitsMessage = 28_000_000
)

// limitsLine is a message of so many bytes in one line, of words that repeat.
func limitsLine(size int, seed string) string {
	words := "I live in Lisbon with my sister " + seed + " and like to swim in the river "
	return strings.Repeat(words, size/len(words)+1)[:size]
}

func limitsChat(words string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + words + `"}]}`
}

// limitsWatch measures the server's memory during and after an attack: up to a minute, or
// until it is within half above what it was.
func limitsWatch(t *testing.T, s *server, name string, attack func()) {
	t.Helper()
	before := s.rss(t)
	most, done := before, make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-s.ended:
				return
			case <-time.After(20 * time.Millisecond):
				most = max(most, s.rss(t))
			}
		}
	})
	began := time.Now()
	attack()
	took := time.Since(began)
	ended := time.Now()
	after := s.rss(t)
	for after*2 > before*3 && time.Since(ended) < time.Minute {
		time.Sleep(time.Second)
		after = s.rss(t)
	}
	close(done)
	watching.Wait()
	t.Logf("%s: took %.1f s; resident before %d MiB, at most %d MiB, %.0f s after %d MiB (%.2f x)",
		name, took.Seconds(), before, most, time.Since(ended).Seconds(), after, float64(after)/float64(before))
	if after*2 > before*3 {
		t.Errorf("%s: %d MiB a minute later, more than 1.5 x the %d before", name, after, before)
	}
}

// limitsWarm makes the server do what it does every day, so that what is measured is not
// its start.
func limitsWarm(t *testing.T, s *server) {
	t.Helper()
	for i := range 50 {
		if status, answer := s.do(http.MethodPost, "/v1/chat/completions", limitsChat(fmt.Sprintf("My friend %d likes tea.", i)), nil); status != http.StatusOK {
			t.Fatalf("chat: %d %s", status, answer)
		}
	}
	limitsLearned(t, s, time.Minute)
}

// limitsLearned waits until no job waits or runs, and returns how long that took.
func limitsLearned(t *testing.T, s *server, most time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		status, jobs := s.do(http.MethodGet, "/api/jobs", "", nil)
		if status == http.StatusOK && !strings.Contains(jobs, `"queued"`) && !strings.Contains(jobs, `"running"`) {
			if strings.Contains(jobs, `"parked"`) {
				t.Errorf("jobs are parked: %.300s", jobs)
			}
			return time.Since(began)
		}
		if time.Since(began) > most {
			t.Errorf("after %v jobs still wait: %d %.300s", most, status, jobs)
			return time.Since(began)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestLimitsHugeMessages sends 8 messages of 28 MB at once, learns from them, and sends one
// of them again with what follows.
func TestLimitsHugeMessages(t *testing.T) {
	s := start(t, t.TempDir(), limitsMemory, "LOCI_UPSTREAM_URL="+upstream(t, "Noted."))
	limitsWarm(t, s)
	limitsWatch(t, s, "8 messages of 28 MB at once", func() {
		var sending sync.WaitGroup
		for i := range 8 {
			sending.Go(func() {
				if status, answer := s.do(http.MethodPost, "/v1/chat/completions", limitsChat(limitsLine(limitsMessage, fmt.Sprint("Ana", i))), nil); status != http.StatusOK {
					t.Errorf("message %d: %d %.200s", i, status, answer)
				}
			})
		}
		sending.Wait()
		t.Logf("learned from them in %.1f s", limitsLearned(t, s, 3*time.Minute).Seconds())
	})
}

// TestLimitsUnfinishedBodies opens 60 connections that announce 28 MB each, send half of
// it, and stall. Meanwhile ordinary requests are answered.
func TestLimitsUnfinishedBodies(t *testing.T) {
	s := start(t, t.TempDir(), limitsMemory, "LOCI_UPSTREAM_URL="+upstream(t, "Noted."))
	limitsWarm(t, s)
	address := strings.TrimPrefix(s.url, "http://")
	half := []byte(limitsChat(limitsLine(limitsMessage, "Ana")))[:limitsMessage/2]
	for _, path := range []string{"/v1/chat/completions", "/api/memory"} {
		limitsWatch(t, s, "60 unfinished bodies of 28 MB at "+path, func() {
			var open []net.Conn
			for range 60 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				open = append(open, conn)
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, address, limitsMessage)
				_, _ = conn.Write(half) // refused midway once the budget is used up
			}
			refused, slowest := 0, time.Duration(0)
			for range 20 {
				at := time.Now()
				if status, _ := s.do(http.MethodPost, "/v1/chat/completions", limitsChat("I like tea."), nil); status != http.StatusOK {
					refused++
				}
				slowest = max(slowest, time.Since(at))
			}
			status, _ := s.do(http.MethodPost, "/api/memory/search", `{"query":"tea"}`, nil)
			t.Logf("beside them: %d of 20 chats refused, the slowest took %v; a search is answered %d", refused, slowest.Round(time.Millisecond), status)
			began := time.Now()
			for { // until a large request has room again, though the others stay open
				status, _ := s.do(http.MethodPost, "/api/memory/search", `{"query":"`+limitsLine(5_000_000, "Bob")+`"}`, nil)
				if status != http.StatusServiceUnavailable {
					t.Logf("after %.1f s a request of 5 MB is answered %d", time.Since(began).Seconds(), status)
					break
				}
				if time.Since(began) > 2*time.Minute {
					t.Error("no room for a request of 5 MB after 2 minutes")
					break
				}
				time.Sleep(time.Second)
			}
			for _, conn := range open {
				conn.Close()
			}
		})
	}
}

// TestLimitsZipThatUnpacksTo8GB imports an archive of some 8 MB that unpacks to 8 GB, with
// the command and over HTTP.
func TestLimitsZipThatUnpacksTo8GB(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb.zip")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	w, err := z.Create("conversations.json")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, `[{"title":"x","mapping":{"a":{"message":{"author":{"role":"user"},"content":{"parts":["`)
	piece := bytes.Repeat([]byte("a"), 1<<20)
	for range 8 << 10 {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir(), limitsMemory)
	limitsWatch(t, s, "a zip that unpacks to 8 GB, the server", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, "import", "--addr", s.url, file)
		cmd.Env = []string{"HOME=" + t.TempDir(), limitsMemory}
		began := time.Now()
		said, err := cmd.CombinedOutput()
		most := int64(0)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			most = usage.Maxrss / 1024
		}
		t.Logf("loci import: %v after %.1f s, at most %d MiB: %.300s", err, time.Since(began).Seconds(), most, said)
		if err == nil || ctx.Err() != nil || most > 200 {
			t.Errorf("want it refused with less than 200 MiB")
		}
	})
}

// TestLimitsKillLoop kills the server whenever it learns, until the job is parked.
func TestLimitsKillLoop(t *testing.T) {
	asked, over := make(chan struct{}, 100), make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	defer model.Close()
	defer close(over)
	data := t.TempDir()
	settings := []string{"LOCI_UPSTREAM_URL=" + upstream(t, "Noted."), "LOCI_LEARN_URL=" + model.URL + "/v1", "LOCI_LEARN_MODEL=m", "LOCI_LEARN_TRUST=always"}
	s := start(t, data, settings...)
	if status, answer := s.do(http.MethodPost, "/v1/chat/completions", limitsChat("I live in Lisbon and work as a nurse."), nil); status != http.StatusOK {
		t.Fatalf("chat: %d %s", status, answer)
	}
	kills := 0
	for ; kills < 10; kills++ {
		select {
		case <-asked:
		case <-time.After(15 * time.Second):
			t.Logf("after %d kills the job is not claimed any more", kills)
			command := exec.Command(binary, "jobs", "--addr", s.url)
			command.Env = []string{"HOME=" + t.TempDir()}
			listed, err := command.CombinedOutput()
			t.Logf("loci jobs: %v\n%s", err, listed)
			_, jobs := s.do(http.MethodGet, "/api/jobs", "", nil)
			if kills != 3 || !strings.Contains(string(listed), "parked") || !strings.Contains(jobs, `"parked"`) {
				t.Errorf("want it parked and shown after 3 kills: %s", jobs)
			}
			return
		}
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = s.cmd.Wait()
		s = start(t, data, settings...)
	}
	t.Errorf("the job is still claimed after %d kills", kills)
}
