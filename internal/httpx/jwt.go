package httpx

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// maxTokenBytes is the maximum number of bytes that are decoded before the signature is verified, far above the
	// size of front ends' tokens.
	maxTokenBytes = 8 << 10

	// clockSkew is the accepted error of the front end's clock.
	clockSkew = time.Minute
)

// claims are those claims of a user token that Loci reads.
type claims struct {
	Subject   string   `json:"sub"`
	ID        string   `json:"id"` // used in place of sub in Open WebUI's session tokens
	Name      string   `json:"name"`
	ExpiresAt *float64 `json:"exp"`
	NotBefore float64  `json:"nbf"`
}

// ValidToken reports whether a chat front end signed a token with this secret.
func ValidToken(token string, secret []byte, now time.Time) bool {
	_, err := verifyJWT(token, secret, now)
	return err == nil
}

// verifyJWT returns the claims, always with a subject, of a token that a chat front end signed with HMAC-SHA256.
// It accepts no other algorithm. It refuses tokens without an expiry, because a leaked token would be valid
// forever.
func verifyJWT(token string, secret []byte, now time.Time) (claims, error) {
	if len(token) > maxTokenBytes {
		return claims{}, memory.Errorf(memory.Unauthorized, "the user token is longer than %d bytes", maxTokenBytes)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, memory.Errorf(memory.Unauthorized, "the user token is not a JWT")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(signature, hmacSHA256(secret, parts[0]+"."+parts[1])) {
		return claims{}, memory.Errorf(memory.Unauthorized, "the user token has an invalid signature")
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if decodePart(parts[0], &header) != nil || header.Algorithm != "HS256" {
		return claims{}, memory.Errorf(memory.Unauthorized, "the user token is not signed with HS256")
	}
	var c claims
	if decodePart(parts[1], &c) != nil {
		return claims{}, memory.Errorf(memory.Unauthorized, "the user token has unreadable claims")
	}
	c.Subject = cmp.Or(c.Subject, c.ID)
	if err := c.validate(now); err != nil {
		return claims{}, err
	}
	return c, nil
}

func (c claims) validate(now time.Time) error {
	at := float64(now.UnixMicro()) / 1e6
	skew := clockSkew.Seconds()
	switch {
	case c.ExpiresAt == nil:
		return memory.Errorf(memory.Unauthorized, "the user token has no expiry")
	case at >= *c.ExpiresAt+skew:
		return memory.Errorf(memory.Unauthorized, "the user token has expired")
	case at < c.NotBefore-skew:
		return memory.Errorf(memory.Unauthorized, "the user token is not valid yet")
	case c.Subject == "":
		return memory.Errorf(memory.Unauthorized, "the user token names no user")
	}
	return nil
}

func hmacSHA256(secret []byte, text string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func decodePart(part string, target any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, target)
}
