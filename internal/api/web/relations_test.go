package web

import (
	"net/http"
	"net/url"
	"testing"
)

func TestFactsAreRelatedOnTheirPages(t *testing.T) {
	r := newRig(t, "")
	dog, fear := r.fact("User has a dog named Rex"), r.fact("Rex is afraid of thunder")
	at := "/memories/" + dog.ID
	r.shows(at, "tied to no other fact", "Add a relation")
	sound(t, at, r.shows(at+"?find=thunder", "Rex is afraid of thunder", `value="refines"`))
	r.shows(at+"?find=zzz", "No fact matches.")
	r.sent(at+"/relations", url.Values{"do": {"relate"}, "other": {fear.ID}, "kind": {"contradicts"}})
	body := r.shows(at, `class="ties"`, "contradicts", "Rex is afraid of thunder", `value="unrelate"`)
	sound(t, at, body)
	r.shows("/memories/"+fear.ID, "contradicts this", `name="way" value="in"`)
	r.sent("/memories/"+fear.ID+"/relations", url.Values{"do": {"unrelate"}, "other": {dog.ID}, "kind": {"contradicts"}, "way": {"in"}})
	runs := r.runs()
	r.shows(at, "tied to no other fact")
	r.sent("/undo", url.Values{"run": runs})
	r.shows(at, `class="ties"`)
	for _, bad := range []url.Values{{"other": {""}}, {"other": {dog.ID}, "kind": {"follows"}}, {"other": {fear.ID}, "kind": {"likes"}}} {
		if w := r.post(at+"/relations", bad); w.Code != http.StatusBadRequest {
			t.Errorf("%v: status %d", bad, w.Code)
		}
	}
}
