package rest

import (
	"encoding/json"
	"testing"
)

func TestContextsAndChatsOverHTTP(t *testing.T) {
	r := newRig(t).furnish()
	do := func(method, path, body string, status int, has []string, lacks ...string) string {
		t.Helper()
		w := r.answers(row{"", method, path, body, status, has, lacks})
		var made struct {
			ID  string `json:"id"`
			Run string `json:"run"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return made.ID + made.Run
	}
	do("GET", "/api/contexts", "", 200, []string{`{"contexts":[]}`})
	do("POST", "/api/contexts", `{"title":"Style"}`, 400, []string{"content"})
	style := do("POST", "/api/contexts", `{"title":"Style","content":"Short sentences."}`, 201, []string{`"title":"Style"`, "Short sentences."}, "owner", "status")
	do("PATCH", "/api/contexts/"+style, `{"content":"Short words."}`, 200, []string{"Short words.", `"title":"Style"`})
	do("GET", "/api/contexts/"+style, "", 200, []string{"Short words."})
	do("GET", "/api/contexts/none", "", 404, []string{"not_found"})

	do("POST", "/api/chats", `{"contexts":["none"]}`, 400, []string{"none"})
	chat := do("POST", "/api/chats", `{"title":"Trip","contexts":["`+style+`"],"rules":"Be brief."}`, 201, []string{`"title":"Trip"`, style, "Be brief.", `"message_count":0`}, "owner", "status")
	do("GET", "/api/chats", "", 200, []string{chat, "Trip"})
	do("PATCH", "/api/chats/"+chat, `{"title":"Journey"}`, 200, []string{"Journey", style, "Be brief."}, "Trip")
	do("GET", "/api/chats/"+chat, "", 200, []string{"Journey", `"messages":[]`})
	run := do("DELETE", "/api/chats/"+chat, "", 200, []string{`"changes":1`})
	do("GET", "/api/chats/"+chat, "", 404, []string{"not_found"})
	do("GET", "/api/chats", "", 200, []string{`"chats"`}, chat)
	do("POST", "/api/changes/undo", `{"run":"`+run+`"}`, 200, nil)
	do("GET", "/api/chats/"+chat, "", 200, []string{"Journey"})

	do("DELETE", "/api/contexts/"+style, "", 200, []string{`"changes":1`})
	do("GET", "/api/contexts", "", 200, []string{`{"contexts":[]}`})
	do("DELETE", "/api/contexts/"+style+"?erase=true", "", 200, []string{`"changes":1`})
	do("GET", "/api/changes", "", 200, nil, "Short words.", "Short sentences.")
	do("DELETE", "/api/contexts/"+style+"?erase=true", "", 404, []string{"not_found"})
}
