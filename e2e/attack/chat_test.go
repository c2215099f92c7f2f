package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestLongChatDelaysNobody sends one chat of LOCI_ATTACK_MESSAGES messages (100,000), twice
// as a client resends it, and logs how long the writes and chats of another user wait.
func TestLongChatDelaysNobody(t *testing.T) {
	n := 100_000
	if s := os.Getenv("LOCI_ATTACK_MESSAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, t.TempDir(), "LOCI_UPSTREAM_URL="+upstream(t, "Noted."), "LOCI_LEARN_MODEL=none")
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	chat := func(user string, msgs []message) (int, time.Duration) {
		body, err := json.Marshal(map[string]any{"model": "m", "messages": msgs})
		if err != nil {
			t.Error(err)
		}
		began := time.Now()
		status, _ := s.do(http.MethodPost, "/v1/chat/completions", string(body), http.Header{"X-Loci-User": {user}})
		return status, time.Since(began)
	}
	var long []message
	for i := range n {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		long = append(long, message{role, fmt.Sprintf("message %d of a long chat", i)})
	}
	long = append(long, message{"user", "and I live in Porto"})

	alone := func(what string) time.Duration {
		var worst time.Duration
		for i := range 20 {
			began := time.Now()
			s.do(http.MethodPost, "/api/memory", fmt.Sprintf(`{"content":"%s fact number %d of the other"}`, what, i), http.Header{"X-Loci-User": {"other"}})
			worst = max(worst, time.Since(began))
		}
		return worst
	}
	t.Logf("a write alone: at most %v", alone("before"))

	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range 2 {
			status, took := chat("attacker", long)
			t.Logf("the chat of %d messages: status %d after %v", len(long), status, took)
			time.Sleep(5 * time.Second) // recording may go on after the answer
			long = append(long, message{"assistant", "Noted."}, message{"user", "and I work in Braga"})
		}
	})
	var worst, worstChat time.Duration
	writes, refused := 0, 0
	for i := 0; ; i++ {
		select {
		case <-done:
		default:
			began := time.Now()
			status, answer := s.do(http.MethodPost, "/api/memory", fmt.Sprintf(`{"content":"fact number %d of the other user"}`, i), http.Header{"X-Loci-User": {"other"}})
			worst = max(worst, time.Since(began))
			if writes++; status != http.StatusCreated {
				refused++
				t.Logf("a write was answered %d: %.200s", status, answer)
			}
			_, took := chat("other", []message{{"user", fmt.Sprintf("this is chat number %d", i)}})
			worstChat = max(worstChat, took)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		break
	}
	wg.Wait()
	_, metrics := s.do(http.MethodGet, "/metrics", "", nil)
	t.Logf("beside it: %d writes, the slowest %v, %d refused; the slowest chat %v; %s", writes, worst, refused, worstChat, line(metrics, "loci_record_failed_total"))
	if refused > 0 {
		t.Errorf("%d of %d writes of another user were refused", refused, writes)
	}
}
