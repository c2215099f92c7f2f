package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/prompt"
)

func TestEachPromptIsFilledWithSampleValues(t *testing.T) {
	r := newRig(t, "")
	for _, name := range prompt.Names() {
		sent, err := prompt.Default().Sample(name)
		if err != nil || sent.Name != name || sent.User == "" {
			t.Errorf("%s is filled as %q with %q, %v", name, sent.Name, sent.User, err)
		}
		sound(t, name, r.shows("/settings/prompts/"+name, "built in", sent.Hash, "loci prompts eject"))
		r.shows("/settings", `href="/settings/prompts/`+name+`"`)
	}
}

// TestHowTheServerIsSetIsForWhoRunsIt: of a user whom a front end signs in the page shows
// their own settings alone.
func TestHowTheServerIsSetIsForWhoRunsIt(t *testing.T) {
	r := newRig(t, "")
	r.page.Settings = func() []Setting {
		return []Setting{{Key: "addr", Value: "10.0.0.7:8080"}, {Key: "profile", Value: "assistant"}, {Key: "review.confidence", Value: "0.6"}}
	}
	r.page.Models = func() []Model { return []Model{{For: "Learns", Name: "wren", Key: "learn.model"}} }
	r.page.Health = func(context.Context) client.Health { return client.Health{Status: "ok", Vault: "/srv/vault"} }
	inner := []string{"10.0.0.7", "profile", "wren", "/srv/vault", "memory_extraction", "loci.yaml"}
	r.shows("/settings", inner...)

	r.handler = httpx.Guard(httpx.Options{Key: "k", JWTSecret: []byte("s"), MultiUser: true, Now: r.clock.Now}, r.page.WithFallback(http.NotFoundHandler()))
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"ana","exp":%d}`, r.clock.Now().Unix()+60))
	sum := hmac.New(sha256.New, []byte("s"))
	sum.Write([]byte(head))
	signed := []string{httpx.HeaderUser, "", httpx.HeaderOpenWebJWT, head + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))}

	w := r.get("/settings", signed...)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Pause learning") || !strings.Contains(w.Body.String(), "a confidence below 60") {
		t.Errorf("a user's settings: status %d:\n%s", w.Code, w.Body)
	}
	for _, word := range inner {
		if main := w.Body.String()[strings.Index(w.Body.String(), "<main"):]; strings.Contains(main, word) {
			t.Errorf("a user is shown %q", word)
		}
	}
	if w := r.get("/settings/prompts/extract", signed...); w.Code != http.StatusForbidden {
		t.Errorf("a prompt: status %d", w.Code)
	}
}
