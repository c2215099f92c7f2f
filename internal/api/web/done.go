package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// done says what a form did, on the page that is shown next, once.
type done struct {
	Say  string   `json:"say"`
	Runs []string `json:"runs,omitempty"` // to take it back by, first to last
	to   string   // where to go; "": where the form was
}

// doneCookie carries done over the redirect. What it holds is shown as text, and
// runs that are not the owner's undo nothing, so it needs no signature.
const doneCookie = "loci_done"

// keep sets the cookie. Browsers hold 4 kB of one: what does not fit is not said.
func (d done) keep(w http.ResponseWriter, r *http.Request) {
	if d.Say == "" {
		return
	}
	data, err := json.Marshal(d)
	if err != nil || len(data) > 2900 {
		data, _ = json.Marshal(done{Say: d.Say})
	}
	http.SetCookie(w, cookie(r, doneCookie, base64.RawURLEncoding.EncodeToString(data), time.Minute))
}

// takeDone returns what was done last, nil if it was said already.
func takeDone(w http.ResponseWriter, r *http.Request) *done {
	c, err := r.Cookie(doneCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, cookie(r, doneCookie, "", -time.Second))
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	var d done
	if err != nil || json.Unmarshal(data, &d) != nil || d.Say == "" {
		return nil
	}
	return &d
}
