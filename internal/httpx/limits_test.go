package httpx

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestLimitsAreOfEachUser counts requests, tokens and what runs at once, of each user and of a key
// behind which nobody is named.
func TestLimitsAreOfEachUser(t *testing.T) {
	refused := func(err error, setting string) bool {
		var p *Problem
		return errors.As(err, &p) && p.Status == http.StatusTooManyRequests && strings.Contains(p.Detail, setting) && p.GetHeaders().Get("Retry-After") != ""
	}
	l := limiter{Limits: Limits{Requests: 2}}
	for n := range 3 {
		_, err := l.begin("ana", "", noon)
		if over := n == 2; over != refused(err, "limits.requests is 2") {
			t.Errorf("request %d: %v", n, err)
		}
	}
	if _, err := l.begin("ben", "", noon); err != nil {
		t.Errorf("ben: %v", err)
	}
	if _, err := l.begin("ana", "", noon.Add(time.Minute)); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	l = limiter{Limits: Limits{Tokens: 1000}}
	end, err := l.begin("", "front key", noon)
	if err != nil {
		t.Fatal(err)
	}
	end(2500, noon) // a minute's, and what is owed
	for after, over := range map[time.Duration]bool{0: true, time.Minute: true, 2 * time.Minute: false} {
		if _, err := l.begin("", "front key", noon.Add(after)); over != refused(err, "limits.tokens is 1000") {
			t.Errorf("%v after 2500 tokens: %v", after, err)
		}
	}
	l = limiter{Limits: Limits{Concurrent: 1}}
	for range 2 {
		end, err := l.begin("ana", "", noon)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.begin("ana", "", noon); !refused(err, "limits.concurrent is 1") {
			t.Errorf("a second at once: %v", err)
		}
		end(0, noon)
	}
	for range 2 { // many people may be behind a key
		if _, err := l.begin("", "front key", noon); err != nil {
			t.Errorf("by a key: %v", err)
		}
	}
}
