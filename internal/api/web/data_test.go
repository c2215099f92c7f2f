package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
)

// bring posts a file to be imported; fields stand before it.
func (r *rig) bring(do, name, content string, fields ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			r.t.Fatal(err)
		}
	}
	if name != "" {
		part, err := form.CreateFormFile("file", name)
		if err != nil {
			r.t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	_ = form.Close()
	req := httptest.NewRequest(http.MethodPost, "http://localhost/data/import"+do, &body)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return r.send(req)
}

func TestAnImportIsLookedAtWrittenAndUndone(t *testing.T) {
	r := newRig(t, "")
	r.fact("User lives in Lisbon")
	file := "- User likes figs\n- User lives in Lisbon\n- <b>User</b> plays the cello\n"
	w := r.bring("?do=look", "my <things>.txt", file, "format", "")
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "my &lt;things&gt;.txt would add") || !strings.Contains(body, "User likes figs") || !strings.Contains(body, "Nothing was stored yet") {
		t.Fatalf("status %d: %s", w.Code, body)
	}
	sound(t, "POST /data/import", body)
	if n := strings.Count(r.shows("/"), `class="row"`); n != 1 {
		t.Fatalf("looking left %d facts", n)
	}
	w = r.bring("", "things.txt", file, "format", "", "project", "atlas")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "things.txt was imported") || !strings.Contains(w.Body.String(), "take the facts out again") {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	r.shows("/", "User likes figs", "&lt;b&gt;User&lt;/b&gt; plays the cello")
	_, runs, _ := strings.Cut(w.Body.String(), `id="brought"`)
	_, run, _ := strings.Cut(runs, `name="run" value="`)
	run, _, _ = strings.Cut(run, `"`)
	r.sent("/undo", url.Values{"run": {run}, "back": {"/data"}})
	if body := r.shows("/"); strings.Contains(body, "figs") {
		t.Error("after the undo the facts are still there")
	}
}

func TestAFileThatCannotBeTakenSaysWhy(t *testing.T) {
	r := newRig(t, "")
	for name, c := range map[string]struct {
		w      *httptest.ResponseRecorder
		status int
		says   string
	}{
		"no file":        {r.bring("", "", ""), http.StatusBadRequest, "choose a file"},
		"unknown format": {r.bring("", "x.bin", "x", "format", "tarot"), http.StatusBadRequest, "tarot"},
		"broken lines":   {r.bring("?do=look", "x.jsonl", "{\nnonsense\n"), http.StatusOK, "line 2"},
		"too long":       {r.bring("", "x.txt", strings.Repeat("- User likes figs very much\n", 5000)), http.StatusOK, "loci import"},
	} {
		if c.w.Code != c.status || !strings.Contains(c.w.Body.String(), c.says) {
			t.Errorf("%s: status %d, want %d with %q: %s", name, c.w.Code, c.status, c.says, c.w.Body)
		}
	}
	if w := r.post("/data/import", url.Values{"x": {"y"}}); w.Code != http.StatusBadRequest {
		t.Errorf("no multipart form: status %d", w.Code)
	}
}

func TestAnExportIsAFile(t *testing.T) {
	r := newRig(t, "")
	r.fact("User lives in Lisbon")
	for query, want := range map[string][3]string{
		"": {"application/x-ndjson", ".jsonl\"", "User lives in Lisbon"}, "?format=markdown": {"text/markdown", ".md\"", "User lives in Lisbon"},
		"?format=zip": {"application/zip", ".zip\"", "PK"}, "?part=profile": {"application/x-ndjson", ".jsonl\"", `"format":"loci"`},
	} {
		w := r.get("/data/export" + query)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), want[0]) || !strings.HasSuffix(w.Header().Get("Content-Disposition"), want[1]) || !strings.Contains(w.Body.String(), want[2]) {
			t.Errorf("%s: status %d, %v: %.300s", query, w.Code, w.Header(), w.Body)
		}
	}
	if strings.Contains(r.get("/data/export?part=profile").Body.String(), "Lisbon") {
		t.Error("a part holds everything")
	}
	for _, bad := range []string{"?format=tarot", "?part=secrets"} {
		if w := r.get("/data/export" + bad); w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: status %d", bad, w.Code)
		}
	}
}

func TestNothingIsErasedBeforeThatIsTyped(t *testing.T) {
	r := newRig(t, "")
	key := r.fact("User hides the key under the blue flowerpot")
	r.fact("User lives in Lisbon")
	at := "/erase?id=" + key.ID
	body := r.shows(at, "blue flowerpot", "Erase 1 memory for good", `href="/memories/`+key.ID)
	sound(t, at, body)
	if strings.Contains(body, "Lisbon") {
		t.Error("more would be erased than was meant")
	}
	form := func(word string) url.Values { return eraseForm(t, body, word) }
	other := form("erase")
	other.Set("sum", "another")
	for what, f := range map[string]url.Values{"no word": form(""), "another word": form("yes"), "another sum": other} {
		if w := r.post("/erase", f); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Nothing was erased") || r.now(key.ID).Content == "" {
			t.Fatalf("%s: status %d: %s", what, w.Code, w.Body)
		}
	}
	if w := r.post("/erase", form("erase"), httpx.HeaderUser, "ben"); w.Code != http.StatusNotFound || r.now(key.ID).Content == "" {
		t.Fatalf("ben erases ana's: status %d", w.Code)
	}
	to := r.sent("/erase", form(" Erase "))
	receipt := r.shows(to, "1 memory, whose text is erased", key.ID, "<dd>an admin, as ana</dd>")
	sound(t, to, receipt)
	if r.now(key.ID).Content != "" || strings.Contains(r.get("/data/export").Body.String(), "flowerpot") {
		t.Errorf("the words are still there: %+v", r.now(key.ID))
	}
	if w := r.get(to, httpx.HeaderUser, "ben"); w.Code != http.StatusNotFound {
		t.Errorf("ben sees ana's receipt: status %d", w.Code)
	}
	r.shows("/erase?q=nothing+of+that+kind", "nothing to erase")
	r.shows("/erase?q=everything", "Lisbon")
	if w := r.get("/erase"); w.Code != http.StatusBadRequest {
		t.Errorf("nothing asked for: status %d", w.Code)
	}
	r.shows("/memories/" + key.ID)
}

func TestTheProfileIsWrittenAndUndone(t *testing.T) {
	r := newRig(t, "")
	r.shows("/profile", "There is nothing yet", "Nothing yet.")
	r.engine.Opts.Recall.CoreTokens = 800
	dog := r.fact("User has a dog named Rex")
	sound(t, "/profile", r.shows("/profile", "What every conversation begins with", `href="/memories/`+dog.ID, "User has a dog named Rex"))
	r.sent("/profile", url.Values{"do": {"set"}, "key": {"time<zone>"}, "value": {"Europe/Lisbon"}})
	sound(t, "/profile", r.shows("/profile", "time&lt;zone&gt;", "Europe/Lisbon"))
	sound(t, "/profile", r.shows("/profile?edit=time%3Czone%3E", `name="value"`, ">Europe/Lisbon</textarea>"))
	r.sent("/profile", url.Values{"do": {"set"}, "key": {"time<zone>"}, "value": {"Europe/Lisbon"}})
	r.shows("/profile", "Nothing changed.")
	r.sent("/profile", url.Values{"do": {"drop"}, "key": {"time<zone>"}})
	runs := r.runs()
	if body := r.shows("/profile"); strings.Contains(body, "Lisbon</p>") {
		t.Error("it is still there")
	}
	r.sent("/undo", url.Values{"run": runs})
	r.shows("/profile", "Europe/Lisbon")
	r.sent("/settings", url.Values{"pause": {"learning"}})
	if body := r.shows("/profile"); strings.Contains(body, "loci.pause") {
		t.Error("Loci's own entries are in the profile")
	}
	for _, bad := range []url.Values{
		{"do": {"set"}, "key": {""}, "value": {"x"}}, {"do": {"fly"}},
		{"do": {"set"}, "key": {"loci.pause"}, "value": {"garbage"}}, {"do": {"set"}, "key": {" loci.pause"}, "value": {"memory"}}, {"do": {"drop"}, "key": {"loci.pause"}},
	} {
		if w := r.post("/profile", bad); w.Code != http.StatusBadRequest {
			t.Errorf("%v: status %d", bad, w.Code)
		}
	}
}

func TestJobsTellHowFarVectorsAre(t *testing.T) {
	r := newRig(t, "")
	r.fact("User likes figs")
	if body := r.shows("/jobs"); strings.Contains(body, "Vectors") {
		t.Error("nothing lacks a vector, and the page speaks of them")
	}
	sound(t, "/jobs?vectors=1", r.shows("/jobs?vectors=1", "1 of 1 memory have a vector of"))
	furnish(r)
	r.shows("/jobs?vectors=1", "3 of 5 memories have a vector of", "Compute the missing vectors")
	r.sent("/jobs", url.Values{"back": {"/jobs"}})
	r.shows("/jobs", "3 of 5 memories have a vector of", "the others are being computed", "<progress", "2 memories will get vectors.")
}
