package httpx

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// signed makes a token of any header and claims.
func signed(secret []byte, header, claims string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(header)) + "." + b64([]byte(claims))
	return text + "." + b64(hmacSHA256(secret, text))
}

func TestTokens(t *testing.T) {
	secret := []byte("s3cret")
	const head = `{"alg":"HS256","typ":"JWT"}`
	now := noon.Unix()
	claims := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	good := signed(secret, head, claims(`{"sub":"ana","exp":%d}`, now+60))
	for _, tt := range []struct {
		name, token, want, says string
	}{
		{"valid", good, "ana", ""},
		{"a session's of Open WebUI", signed(secret, head, claims(`{"id":"ana","exp":%d}`, now+60)), "ana", ""},
		{"sub before id", signed(secret, head, claims(`{"sub":"ana","id":"ben","exp":%d}`, now+60)), "ana", ""},
		{"with a fraction of a second", signed(secret, head, claims(`{"sub":"ana","exp":%d.5}`, now+60)), "ana", ""},
		{"just expired, within the skew", signed(secret, head, claims(`{"sub":"ana","exp":%d}`, now-59)), "ana", ""},
		{"expired", signed(secret, head, claims(`{"sub":"ana","exp":%d}`, now-60)), "", "expired"},
		{"not valid yet", signed(secret, head, claims(`{"sub":"ana","exp":%d,"nbf":%d}`, now+600, now+61)), "", "not valid yet"},
		{"no expiry", signed(secret, head, `{"sub":"ana"}`), "", "no expiry"},
		{"expiry null", signed(secret, head, `{"sub":"ana","exp":null}`), "", "no expiry"},
		{"no user", signed(secret, head, claims(`{"exp":%d}`, now+60)), "", "names no user"},
		{"user of another type", signed(secret, head, claims(`{"sub":7,"exp":%d}`, now+60)), "", "unreadable claims"},
		{"no algorithm", signed(secret, `{"alg":"none"}`, claims(`{"sub":"ana","exp":%d}`, now+60)), "", "not signed with HS256"},
		{"another algorithm", signed(secret, `{"alg":"HS512"}`, claims(`{"sub":"ana","exp":%d}`, now+60)), "", "not signed with HS256"},
		{"another secret", signed([]byte("other"), head, claims(`{"sub":"ana","exp":%d}`, now+60)), "", "signature"},
		{"signature cut off", good[:strings.LastIndexByte(good, '.')+1], "", "signature"},
		{"two parts", "a.b", "", "not a JWT"},
		{"four parts", "a." + good, "", "not a JWT"},
		{"nothing", "", "", "not a JWT"},
		{"too long", strings.Repeat("a", maxTokenBytes+1), "", "longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verifyJWT(tt.token, secret, noon)
			if got.Subject != tt.want {
				t.Errorf("verifyJWT(%q) = %+v, %v; want %q", tt.token, got, err, tt.want)
			}
			if tt.says != "" && (!errors.Is(err, memory.Unauthorized) || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("verifyJWT(%q): %v; want unauthorized, saying %q", tt.token, err, tt.says)
			}
		})
	}
}

// FuzzJWT: no token but one signed with the secret names a user.
func FuzzJWT(f *testing.F) {
	secret := []byte("s3cret")
	f.Add(signed(secret, `{"alg":"HS256"}`, `{"sub":"ana","exp":99999999999}`))
	f.Add("a.b.c")
	f.Add(`eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEifQ.`)
	f.Fuzz(func(t *testing.T, token string) {
		c, err := verifyJWT(token, secret, noon)
		user := c.Subject
		if (user == "") == (err == nil) {
			t.Fatalf("verifyJWT(%q) = %q, %v; want either a user or an error", token, user, err)
		}
		if err != nil {
			return
		}
		last := strings.LastIndex(token, ".")
		if raw, _ := base64.RawURLEncoding.DecodeString(token[last+1:]); !bytes.Equal(raw, hmacSHA256(secret, token[:last])) {
			t.Fatalf("verifyJWT(%q) named %q without the right signature", token, user)
		}
	})
}
