package rest

import (
	"net/url"
	"strings"
	"testing"
)

func unescape(t *testing.T, path string) string {
	t.Helper()
	plain, err := url.PathUnescape(path)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestOperations lists, for every operation, what the answer must and must not contain. All requests are
// ana's: no answer may contain anything of ben's.
func TestOperations(t *testing.T) {
	const none = "00000000-0000-7000-8000-000000000000"
	for _, c := range []row{
		{"list facts", "GET", "/api/memory", "", 200, []string{`"content":"Ana drinks oolong tea in the morning"`, `"kind":"fact"`, `"status":"active"`, `"tags":["drinks"]`, `"source":"manual"`}, []string{"cello", "climbing", "Madeira", `"owner"`, "$schema", "next_cursor"}},
		{"list turns", "GET", "/api/memory?kind=turn", "", 200, []string{"Madeira", `"role":"user"`, `"ref":"m1"`, `"conversation":"trip"`}, []string{"oolong"}},
		{"list both", "GET", "/api/memory?kind=turn,fact", "", 200, []string{"Madeira", "oolong"}, nil},
		{"list by status", "GET", "/api/memory?status=pending,retired", "", 200, []string{"cello", "climbing"}, []string{"oolong"}},
		{"list by tag", "GET", "/api/memory?tag=drinks", "", 200, []string{"oolong"}, nil},
		{"list every status", "GET", "/api/memory?status=all", "", 200, []string{"oolong", "cello", "climbing"}, nil},
		{"list every kind", "GET", "/api/memory?kind=all", "", 200, []string{"oolong", "Madeira"}, nil},
		{"list by another tag", "GET", "/api/memory?tag=sports", "", 200, []string{`{"memories":[]}`}, nil},
		{"list by category", "GET", "/api/memory?category=food", "", 200, []string{"oolong"}, nil},
		{"list by words", "GET", "/api/memory?q=OOLONG", "", 200, []string{"oolong"}, nil},
		{"list by conversation", "GET", "/api/memory?kind=turn&conversation=trip", "", 200, []string{"Madeira"}, nil},
		{"list the past", "GET", "/api/memory?as_of={before}&status=active,retired,pending", "", 200, []string{"oolong"}, []string{"cello", "climbing"}},
		{"list a page", "GET", "/api/memory?kind=turn&limit=1", "", 200, []string{"next_cursor", "Enjoy"}, []string{"We sail"}},
		{"list an unknown kind", "GET", "/api/memory?kind=thought", "", 400, []string{"kind", "thought", "fact turn summary"}, nil},
		{"list an unknown status", "GET", "/api/memory?status=lost", "", 400, []string{"status", "lost", "retired"}, nil},
		{"list too many", "GET", "/api/memory?limit=501", "", 422, []string{"limit", "500"}, nil},
		{"list none", "GET", "/api/memory?limit=0", "", 422, []string{"limit"}, nil},
		{"list in words", "GET", "/api/memory?limit=ten", "", 422, []string{"limit", "ten"}, nil},
		{"list from a bad cursor", "GET", "/api/memory?cursor=zzz", "", 400, []string{"cursor", "zzz"}, nil},
		{"list with an unknown parameter", "GET", "/api/memory?tags=drinks", "", 422, []string{"tags"}, nil},
		{"list at no time", "GET", "/api/memory?as_of=yesterday", "", 422, []string{"as_of"}, []string{"2006", "Z07"}},
		{"list by bytes", "GET", "/api/memory?q=%ff", "", 400, []string{"UTF-8"}, nil},
		{"list by half an escape", "GET", "/api/memory?q=%f", "", 400, []string{"query"}, nil},

		{"get a fact", "GET", "/api/memory/{tea}", "", 200, []string{`"id":"{tea}"`, "oolong"}, []string{"provenance"}},
		{"get a turn", "GET", "/api/memory/{turn}", "", 200, []string{`"kind":"turn"`, "We sail"}, nil},
		{"get what is gone", "GET", "/api/memory/{cello}", "", 200, []string{`"status":"retired"`}, nil},
		{"get nothing", "GET", "/api/memory/" + none, "", 404, []string{none, "not_found"}, nil},
		{"get ben's", "GET", "/api/memory/{secret}", "", 404, []string{"not_found"}, nil},
		{"get by bytes", "GET", "/api/memory/%ff", "", 400, []string{"UTF-8"}, nil},
		{"get by a long id", "GET", "/api/memory/" + strings.Repeat("x", 600), "", 422, []string{"id"}, nil},

		{"add", "POST", "/api/memory", `{"content":" Ana has two sisters ","tags":["family","family"," "],"confidence":0.5,"pinned":true,"project":"p","observed_at":"2025-01-02T03:04:05Z","metadata":{"k":1}}`, 201,
			[]string{`"content":"Ana has two sisters"`, `"tags":["family"]`, `"confidence":0.5`, `"pinned":true`, `"project":"p"`, `"observed_at":"2025-01-02T03:04:05Z"`, `"metadata":{"k":1}`}, nil},
		{"add the same again", "POST", "/api/memory", `{"content":"ana drinks oolong tea in the morning"}`, 200, []string{"{tea}"}, nil},
		{"add nothing", "POST", "/api/memory", `{"content":" "}`, 400, []string{"content", "empty"}, nil},
		{"add no content", "POST", "/api/memory", `{}`, 422, []string{"content"}, nil},
		{"add a number", "POST", "/api/memory", `{"content":7}`, 422, []string{"content", "string"}, nil},
		{"add an unknown field", "POST", "/api/memory", `{"content":"Ana likes rain","colour":"red"}`, 422, []string{"colour"}, nil},
		{"add past sureness", "POST", "/api/memory", `{"content":"Ana likes rain","confidence":2}`, 422, []string{"confidence"}, nil},
		{"add too much", "POST", "/api/memory", `{"content":"` + strings.Repeat("x", 2<<10) + `"}`, 413, []string{"content", "1024"}, nil},
		{"add a long tag", "POST", "/api/memory", `{"content":"Ana likes rain","tags":["` + strings.Repeat("x", 300) + `"]}`, 422, []string{"tags"}, nil},
		{"add metadata that is none", "POST", "/api/memory", `{"content":"Ana likes rain","metadata":[1]}`, 422, []string{"metadata"}, nil},
		{"add no JSON", "POST", "/api/memory", `{"content":`, 400, []string{"invalid"}, nil},
		{"add no body", "POST", "/api/memory", "", 400, []string{"body"}, nil},
		{"add bytes", "POST", "/api/memory", "{\"content\":\"\xff\"}", 400, []string{"UTF-8"}, nil},
		{"add a large body", "POST", "/api/memory", `{"content":"` + strings.Repeat("x", 70<<10) + `"}`, 413, []string{"65536"}, nil},
		{"add what nests deep", "POST", "/api/memory", `{"content":"Ana likes rain","metadata":` + strings.Repeat(`{"a":`, 12_000) + "1" + strings.Repeat("}", 12_000) + `}`, 413, nil, nil},
		{"add what nests deeper than JSON may", "POST", "/api/memory", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), 400, []string{"depth"}, nil},

		{"edit", "PATCH", "/api/memory/{tea}", `{"content":"Ana drinks sencha tea","tags":[],"confidence":0.9}`, 200, []string{"sencha", `"confidence":0.9`}, []string{"oolong", "drinks\""}},
		{"edit one field", "PATCH", "/api/memory/{tea}", `{"category":"habits"}`, 200, []string{"oolong", `"category":"habits"`, `"tags":["drinks"]`}, nil},
		{"edit what is gone", "PATCH", "/api/memory/{cello}", `{"content":"Ana plays the viola"}`, 409, []string{"retired", "conflict"}, nil},
		{"edit into another's words", "PATCH", "/api/memory/{climbing}", `{"content":"Ana drinks oolong tea in the morning"}`, 409, []string{"duplicate"}, nil},
		{"edit a turn", "PATCH", "/api/memory/{turn}", `{"content":"x"}`, 400, []string{"turn"}, nil},
		{"edit to nothing", "PATCH", "/api/memory/{tea}", `{"content":""}`, 400, []string{"content"}, nil},
		{"edit ben's", "PATCH", "/api/memory/{secret}", `{"content":"x"}`, 404, []string{"not_found"}, nil},
		{"edit an unknown field", "PATCH", "/api/memory/{tea}", `{"status":"retired"}`, 422, []string{"status"}, nil},

		{"delete", "DELETE", "/api/memory/{tea}", "", 200, []string{`"run":`, `"changes":1`}, []string{"oolong"}},
		{"erase", "DELETE", "/api/memory/{tea}?erase=true", "", 200, []string{`"run":`, `"changes":1`}, []string{"oolong"}},
		{"erase what is gone", "DELETE", "/api/memory/{cello}?erase=true", "", 200, []string{`"changes":1`}, []string{"cello"}},
		{"erase perhaps", "DELETE", "/api/memory/{tea}?erase=perhaps", "", 422, []string{"erase"}, nil},
		{"erase ben's", "DELETE", "/api/memory/{secret}?erase=true", "", 404, []string{"not_found"}, nil},
		{"delete nothing", "DELETE", "/api/memory/" + none, "", 404, []string{none}, nil},
		{"delete ben's", "DELETE", "/api/memory/{secret}", "", 404, []string{"not_found"}, nil},

		{"review", "GET", "/api/review", "", 200, []string{"climbing", `"status":"pending"`, `"author":{"kind":`}, []string{"oolong", "cello", `"quote"`, `"conflicts"`, "next_cursor"}},
		{"review a page", "GET", "/api/review?limit=1", "", 200, []string{"climbing"}, nil},
		{"review none", "GET", "/api/review?limit=0", "", 422, []string{"limit"}, nil},
		{"review from a bad cursor", "GET", "/api/review?cursor=zzz", "", 400, []string{"zzz"}, nil},
		{"judge: approve", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve"}]}`, 200, []string{`"status":"active"`, `"trust":"person"`, `"run":`, `"changes":1`}, nil},
		{"judge: approve in other words", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve","content":"Ana likes bouldering"}]}`, 200, []string{`"status":"active"`, "bouldering"}, []string{"climbing"}},
		{"judge: reject", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"reject"}]}`, 200, []string{`"status":"rejected"`}, nil},
		{"judge otherwise", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"retire"}]}`, 422, []string{"action"}, nil},
		{"judge nothing", "POST", "/api/review", `{"judgements":[]}`, 422, []string{"judgements"}, nil},
		{"judge twice", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve"},{"id":"{climbing}","action":"reject"}]}`, 400, []string{"two judgements"}, nil},
		{"judge what is in", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve"},{"id":"{tea}","action":"reject"}]}`, 409, []string{"{tea}", "active", "pending"}, nil},
		{"judge ben's", "POST", "/api/review", `{"judgements":[{"id":"{secret}","action":"approve"}]}`, 404, []string{"not_found"}, nil},
		{"judge into another's words", "POST", "/api/review", `{"judgements":[{"id":"{climbing}","action":"approve","content":"Ana drinks oolong tea in the morning"}]}`, 409, []string{"duplicate"}, nil},

		{"approve", "POST", "/api/memory/{climbing}/approve", "", 200, []string{`"status":"active"`, `"confidence":1`}, nil},
		{"approve what is", "POST", "/api/memory/{tea}/approve", "", 409, []string{"active", "pending"}, nil},
		{"reject", "POST", "/api/memory/{climbing}/reject", "", 200, []string{`"status":"rejected"`}, nil},
		{"restore", "POST", "/api/memory/{cello}/restore", "", 200, []string{`"status":"active"`}, nil},
		{"restore ben's", "POST", "/api/memory/{secret}/restore", "", 404, []string{"not_found"}, nil},
		{"decide otherwise", "POST", "/api/memory/{tea}/praise", "", 404, []string{"praise"}, nil},
		{"pin", "POST", "/api/memory/{tea}/pin", "", 200, []string{`"pinned":true`}, nil},
		{"pin with an empty body", "POST", "/api/memory/{tea}/pin", "{}", 200, []string{`"pinned":true`}, nil},
		{"unpin", "POST", "/api/memory/{tea}/pin", `{"pinned":false}`, 200, []string{"oolong"}, []string{`"pinned":true`}},
		{"core", "PATCH", "/api/memory/{tea}", `{"core":"never"}`, 200, []string{`"core":"never"`}, []string{"pinned"}},
		{"core of a pin", "PATCH", "/api/memory/{tea}", `{"pinned":true}`, 200, []string{`"core":"always"`, `"pinned":true`}, nil},
		{"core before a pin", "PATCH", "/api/memory/{tea}", `{"pinned":true,"core":"auto"}`, 200, []string{"oolong"}, []string{"pinned", `"core"`}},
		{"core of no kind", "PATCH", "/api/memory/{tea}", `{"core":"often"}`, 422, []string{"core", "never"}, nil},
		{"add with a core", "POST", "/api/memory", `{"content":"Ana has a key under the mat","core":"never"}`, 201, []string{`"core":"never"`}, []string{"pinned"}},
		{"pin nothing", "POST", "/api/memory/" + none + "/pin", "", 404, []string{none}, nil},

		{"search", "POST", "/api/memory/search", `{"query":"what tea does Ana drink?"}`, 200, []string{"oolong", `"score":`, `"trace":`, `"id":"{tea}"`}, []string{`"why"`, "cello", "climbing", `"degraded"`}},
		{"search and explain", "POST", "/api/memory/search", `{"query":"what tea does Ana drink?","explain":true}`, 200, []string{`"why":{"`}, nil},
		{"search turns", "POST", "/api/memory/search", `{"query":"Where do we sail?","kinds":["turn"]}`, 200, []string{"Madeira", `"ref":"m1"`, `"role":"user"`}, []string{"oolong"}},
		{"search nothing", "POST", "/api/memory/search", `{"query":"tea","top_k":0}`, 200, []string{`"hits":[]`}, nil},
		{"search by tag", "POST", "/api/memory/search", `{"query":"what tea does Ana drink?","filters":{"tag":"sports"}}`, 200, []string{`"hits":[]`}, nil},
		{"search the past", "POST", "/api/memory/search", `{"query":"Does Ana play the cello or drink oolong tea?","as_of":"{before}"}`, 200, []string{"oolong"}, []string{"cello"}},
		{"search for ben's", "POST", "/api/memory/search", `{"query":"Where does Ben hide the key?","score_threshold":0}`, 200, []string{`"hits":`}, []string{"flowerpot"}},
		{"search without words", "POST", "/api/memory/search", `{"query":""}`, 422, []string{"query"}, nil},
		{"search an unknown kind", "POST", "/api/memory/search", `{"query":"tea","kinds":["thought"]}`, 422, []string{"kinds"}, nil},
		{"search for too many", "POST", "/api/memory/search", `{"query":"tea","top_k":501}`, 422, []string{"top_k"}, nil},
		{"search over everything", "POST", "/api/memory/search", `{"query":"tea","owner":"ben"}`, 422, []string{"owner"}, nil},

		{"keep text", "POST", "/api/memory/add", `{"text":"I live in Lisbon.","project":"p"}`, 200, []string{`"conversation":`, `"turns":["`, `"job":"learn-`}, []string{"memories"}},
		{"keep messages", "POST", "/api/memory/add", `{"infer":false,"conversation":"trip","messages":[{"role":"user","content":"And home in July","created_at":"2026-01-01T00:00:00Z"}]}`, 200, []string{`"conversation":"trip"`}, []string{"job"}},
		{"keep nothing", "POST", "/api/memory/add", `{}`, 400, []string{"messages", "text"}, nil},
		{"keep both", "POST", "/api/memory/add", `{"text":"x","messages":[{"role":"user","content":"y"}]}`, 400, []string{"messages", "text"}, nil},
		{"keep an empty message", "POST", "/api/memory/add", `{"messages":[{"role":"user","content":"x"},{"role":"user","content":""}]}`, 400, []string{"messages[1].content"}, nil},
		{"keep a stranger's", "POST", "/api/memory/add", `{"messages":[{"role":"narrator","content":"x"}]}`, 422, []string{"role"}, nil},
		{"keep a long message", "POST", "/api/memory/add", `{"text":"` + strings.Repeat("x", 2<<10) + `"}`, 413, []string{"1024"}, nil},

		{"say what to forget", "POST", "/api/memory/forget", `{"query":"oolong tea","dry_run":true}`, 200, []string{"oolong", `"dry_run":true`}, []string{`"run"`}},
		{"forget", "POST", "/api/memory/forget", `{"query":"oolong tea"}`, 200, []string{"oolong", `"run":`, `"dry_run":false`}, nil},
		{"say what to erase", "POST", "/api/memory/forget", `{"query":"cello","erase":true,"dry_run":true}`, 200, []string{"cello", `"erased":true`, `"dry_run":true`}, []string{`"run"`, "oolong"}},
		{"erase by a query", "POST", "/api/memory/forget", `{"query":"oolong tea","erase":true}`, 200, []string{`"id":"{tea}"`, `"content":""`, `"erased":true`}, []string{"oolong", `"run"`}},
		{"forget by ids", "POST", "/api/memory/forget", `{"ids":["{tea}"]}`, 200, []string{"oolong", `"run":`}, nil},
		{"forget ben's", "POST", "/api/memory/forget", `{"ids":["{secret}"]}`, 404, []string{"not_found"}, nil},
		{"forget what?", "POST", "/api/memory/forget", `{}`, 400, []string{"query", "ids"}, nil},
		{"forget by both", "POST", "/api/memory/forget", `{"query":"x","ids":["y"]}`, 400, []string{"query", "ids"}, nil},

		{"history", "GET", "/api/memory/{cello}/history", "", 200, []string{`"action":"retire"`, `"action":"add"`, `"author":{"kind":"person","name":"ana","admin":true}`, "cello"}, []string{"oolong"}},
		{"history of nothing", "GET", "/api/memory/" + none + "/history", "", 404, []string{none}, nil},
		{"history of ben's", "GET", "/api/memory/{secret}/history", "", 404, []string{"not_found"}, nil},
		{"changes", "GET", "/api/changes", "", 200, []string{"oolong", "cello", "climbing"}, nil},
		{"changes of a fact", "GET", "/api/changes?fact={tea}", "", 200, []string{"oolong", `"target":"fact:{tea}"`}, []string{"cello"}},
		{"changes by action", "GET", "/api/changes?action=retire", "", 200, []string{"cello"}, []string{"oolong"}},
		{"changes of a run", "GET", "/api/changes?run={run}", "", 200, []string{"oolong"}, []string{"cello"}},
		{"changes by an unknown action", "GET", "/api/changes?action=explode", "", 422, []string{"action"}, nil},
		{"changes from a bad cursor", "GET", "/api/changes?cursor=zzz", "", 400, []string{"zzz"}, nil},
		{"changes since", "GET", "/api/changes?since={before}", "", 200, []string{"cello", "climbing"}, []string{"oolong"}},
		{"changes since no time", "GET", "/api/changes?since=yesterday", "", 422, []string{"since"}, []string{"2006", "Z07"}},
		{"say what an undo would change", "POST", "/api/changes/undo", `{"run":"{run}","dry_run":true}`, 200, []string{`"dry_run":true`, `"steps":[{`, `"action":"undo"`, "oolong", `"before":`, `"run":""`, `"changes":0`}, []string{`"later"`}},
		{"undo a change", "POST", "/api/changes/undo", `{"change":"{change}"}`, 200, []string{`"run":`, `"changes":1`}, nil},
		{"undo a run", "POST", "/api/changes/undo", `{"run":"{run}"}`, 200, []string{`"changes":1`}, nil},
		{"undo to a time", "POST", "/api/changes/undo", `{"to_time":"{before}","cascade":true}`, 200, []string{`"run":`}, nil},
		{"undo to no time", "POST", "/api/changes/undo", `{"to_time":"then"}`, 422, []string{"time"}, []string{"2006", "Z07"}},
		{"search at no time", "POST", "/api/memory/search", `{"query":"x","as_of":"yesterday"}`, 422, []string{"time"}, []string{"2006", "Z07"}},
		{"usage since no day", "GET", "/api/usage?since=2026-13-01", "", 422, []string{"time"}, []string{"2006", "Z07"}},
		{"undo nothing", "POST", "/api/changes/undo", `{}`, 400, []string{"change", "run", "to_time"}, nil},
		{"undo two things", "POST", "/api/changes/undo", `{"change":"x","run":"y"}`, 400, []string{"one of"}, nil},
		{"undo what is not there", "POST", "/api/changes/undo", `{"run":"nope"}`, 404, []string{"nope"}, nil},

		{"a trace of nothing", "GET", "/api/traces/" + none, "", 404, []string{"not_found"}, nil},
		{"stats", "GET", "/api/stats", "", 200, []string{`"facts":1`, `"pending":1`, `"turns":2`, `"conversations":1`}, nil},
		{"jobs", "GET", "/api/jobs", "", 200, []string{`{"jobs":[]}`}, nil},
		{"retry nothing", "POST", "/api/jobs/" + none + "/retry", "", 404, []string{"not_found"}, nil},

		{"health", "GET", "/health", "", 200, []string{`"status":"ok"`, `"models":["loci/recall"]`}, []string{"key"}},
		{"live", "GET", "/health/live", "", 204, nil, nil},
		{"ready", "GET", "/health/ready", "", 200, []string{`"status":"ready"`, `"problems":[]`}, nil},
		{"docs", "GET", "/docs", "", 200, []string{"/api/memory/search", "Ask memory a question"}, []string{"http://", "https://", "<script"}},
		{"the description", "GET", "/openapi.json", "", 200, []string{`"openapi":"3.1.0"`}, nil},
		{"nothing", "GET", "/api/nothing", "", 404, []string{"/api/nothing", "/docs"}, nil},
		{"another method", "PUT", "/api/memory", "{}", 404, []string{"PUT"}, nil},
	} {
		newRig(t).furnish().answers(c)
	}
}
