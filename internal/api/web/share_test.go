package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAFactIsSharedAndNoLonger(t *testing.T) {
	r := newRig(t, "")
	f := r.fact("The gate code is 4711")
	at := "/memories/" + f.ID
	r.shows(at, "It is not shared.")
	r.sent(at+"/share", url.Values{"do": {"share"}, "to": {"user"}, "name": {"ben"}, "back": {at}})
	body := r.shows(at, "Shared with ben.", "No longer")
	sound(t, at, body)
	for _, at := range []string{at, "/time"} {
		if body := r.shows(at, "shared with user/ben"); strings.Contains(body, "loci.share") || strings.Contains(body, "default/user/ben") {
			t.Errorf("%s shows how Loci keeps what is shared:\n%s", at, body)
		}
	}
	bens := func() string { return r.get("/", "X-Loci-User", "ben").Body.String() }
	if strings.Contains(bens(), "4711") {
		t.Error("ben sees what he did not accept")
	}
	review := r.get("/review", "X-Loci-User", "ben").Body.String()
	sound(t, "/review", review)
	if !strings.Contains(review, "shared by user/ana") || !strings.Contains(review, `name="seen-`+f.ID+`" value="The gate code is 4711"`) || strings.Contains(review, "edit="+f.ID) {
		t.Errorf("ben's review of it:\n%s", review)
	}
	decide := func(seen string) int {
		return r.post("/review", url.Values{"do": {"approve"}, "id": {f.ID}, "seen-" + f.ID: {seen}, "back": {"/review"}}, "X-Loci-User", "ben").Code
	}
	if got := decide("The gate code is 1234"); got != http.StatusConflict {
		t.Errorf("approved by other words: status %d", got)
	}
	if got := decide(f.Content); got != http.StatusSeeOther {
		t.Errorf("approved: status %d", got)
	}
	if !strings.Contains(bens(), "4711") {
		t.Error("ben does not see what is shared")
	}
	if theirs := r.get(at, "X-Loci-User", "ben").Body.String(); !strings.Contains(theirs, "hidden only from you") || strings.Contains(theirs, "Share it") {
		t.Errorf("ben's page of it:\n%s", theirs)
	}
	r.sent(at+"/share", url.Values{"do": {"end"}, "to": {"user/ben"}, "back": {at}})
	r.shows(at, "It is not shared.", "No longer shared with ben.")
	if strings.Contains(bens(), "4711") {
		t.Error("ben sees what is no longer shared")
	}
	for _, bad := range []url.Values{{"do": {"share"}, "to": {"user"}}, {"do": {"give"}, "to": {"user/ben"}}, {"do": {"share"}, "to": {"user/ana"}}} {
		if w := r.post(at+"/share", bad); w.Code != http.StatusBadRequest {
			t.Errorf("POST %v: status %d", bad, w.Code)
		}
	}
}
