package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// formResult is the effect of a form. The next page shows its message once.
type formResult struct {
	Message string   `json:"say"`
	Runs    []string `json:"runs,omitempty"` // runs that an undo reverts, oldest first
	to      string   // path to show next; "" returns to the form's page
}

// formResultCookie contains a formResult during the redirect. The cookie needs no signature: its content is
// shown as text, and runs of other owners cannot be undone.
const formResultCookie = "loci_done"

// setCookie sets the cookie. Browsers limit a cookie to 4 kB, so a long list of runs is omitted.
func (d formResult) setCookie(w http.ResponseWriter, r *http.Request) {
	if d.Message == "" {
		return
	}
	data, err := json.Marshal(d)
	if err != nil || len(data) > 2900 {
		data, _ = json.Marshal(formResult{Message: d.Message})
	}
	http.SetCookie(w, newCookie(r, formResultCookie, base64.RawURLEncoding.EncodeToString(data), time.Minute))
}

// takeFormResult returns the effect of the last form and deletes the cookie, so that the page shows it once.
func takeFormResult(w http.ResponseWriter, r *http.Request) *formResult {
	c, err := r.Cookie(formResultCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, newCookie(r, formResultCookie, "", -time.Second))
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	var d formResult
	if err != nil || json.Unmarshal(data, &d) != nil || d.Message == "" {
		return nil
	}
	return &d
}
