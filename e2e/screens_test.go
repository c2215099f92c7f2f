package e2e

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var screens = flag.String("screens", "", "folder to write pictures of the page to; none: they are not taken")

// TestScreens takes the pictures that are in docs. `make screens` runs it.
func TestScreens(t *testing.T) {
	if *screens == "" {
		t.Skip("make screens takes pictures of the page")
	}
	if err := os.MkdirAll(*screens, 0o755); err != nil {
		t.Fatal(err)
	}
	l := demo(t)
	moved := ""
	for _, f := range l.facts(t, nil) {
		if f.Content == "User lives in Lisbon" {
			moved = f.ID
		}
	}
	desk := browse(t, l, deskWidth, deskHeight)
	desk.take("life", "/memories/"+moved)
	desk.open("/playground")
	desk.chat("Where do I live now?")
	desk.chat("And what am I allergic to?")
	desk.keep("playground")
	desk.l = serve(t, t.TempDir(), "LOCI_REVIEW_CONFLICTS=true", "LOCI_REVIEW_CATEGORIES=health")
	waiting(t, desk.l)
	desk.take("review", "/review")
	vaultScreens(t, desk)
}

// vaultScreens takes what the page says once a file of the vault was edited.
func vaultScreens(t *testing.T, desk *browser) {
	t.Helper()
	folder := t.TempDir()
	l := serve(t, t.TempDir(), "LOCI_VAULT="+folder)
	desk.l = l
	for _, content := range []string{"User lives in Porto", "User has a sister named Mia", "User prefers tea to coffee"} {
		l.post(t, "/api/memory", map[string]any{"content": content, "category": "personal", "tags": []string{"home"}})
	}
	rewrite(t, l.fileOf(t, folder, "entries", "User lives in Porto"), "Porto", "Braga")
	l.knows(t, "User lives in Braga", true)
	for _, f := range l.facts(t, nil) {
		if f.Content == "User lives in Braga" {
			desk.take("vault-edited", "/memories/"+f.ID)
			return
		}
	}
	t.Fatal("the edited fact is not there")
}

func (b *browser) take(name, path string) {
	b.t.Helper()
	b.open(path)
	b.until("the script runs", `document.documentElement.classList.contains("js") && document.readyState === "complete"`)
	b.keep(name)
}

func (b *browser) keep(name string) {
	b.t.Helper()
	picture, err := small(b.shot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*screens, name+".png"), picture, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// chat says something in the playground and waits for what is learned or given.
func (b *browser) chat(words string) {
	b.t.Helper()
	b.say(words)
	b.until("it is answered", `speaking === null && document.querySelectorAll(".beside h2").length > 0`)
}

// projects adds what a person might have the same fact in several projects of them.
func projects(t *testing.T, l *loci) {
	t.Helper()
	for project, says := range map[string][]string{
		"atlas": {"User writes the tests first", "User prefers tabs to spaces", "User's team meets on Monday"},
		"orion": {"User writes the tests first", "User's team meets on Thursday"},
	} {
		for _, content := range says {
			l.post(t, "/api/memory", map[string]any{"content": content, "project": project, "category": "work", "tags": []string{"habits"}})
		}
	}
}

// submit posts a form as the page does.
func (l *loci) submit(t *testing.T, path string, form url.Values) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("POST %s: status %d", path, resp.StatusCode)
	}
}

// demo starts a server that remembers the chats of loci demo, from twelve days ago on.
func demo(t *testing.T) *loci {
	t.Helper()
	l := &loci{cmd: exec.Command(binary, "demo", "--addr", "127.0.0.1:0"), log: &transcript{address: make(chan string, 1), ended: make(chan struct{})}}
	l.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	stdout, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start loci demo: %v", err)
	}
	go l.log.follow(stdout)
	t.Cleanup(func() { l.stop(t) })
	select {
	case l.url = <-l.log.address:
	case <-time.After(patience):
		t.Fatalf("loci demo did not say where it listens:\n%s", l.log)
	}
	return l
}

// waiting lets a server that is set to ask learn what it asks about.
func waiting(t *testing.T, l *loci) {
	t.Helper()
	for _, says := range []string{"I live in Berlin and my name is Ana.", "I moved to Lisbon in May, the light is wonderful.", "I'm allergic to peanuts."} {
		l.post(t, "/api/memory/add", map[string]any{"wait": true, "text": says})
	}
}

func (l *loci) post(t *testing.T, path string, body any) []byte {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := l.request(t, http.MethodPost, path, data, nil)
	if status >= 300 {
		t.Fatalf("POST %s: status %d: %s", path, status, answer)
	}
	return answer
}
