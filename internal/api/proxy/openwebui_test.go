package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// TestRecordedOpenWebUI replays requests of Open WebUI with its default headers. Only text by the person may be
// stored as the user's, and tasks leave nothing.
func TestRecordedOpenWebUI(t *testing.T) {
	byHeader := map[string]bool{"title_custom.json": true} // nothing in the body identifies the task
	files, err := filepath.Glob("testdata/openwebui/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		data := try(os.ReadFile(file)).orFail(t)
		var recording struct {
			Requests []struct {
				Path    string
				Headers map[string]string
				Body    json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &recording); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := newRig(t, func(s *setup) { s.guard = httpx.Options{MultiUser: true} })
		r.upstream.answers(says("All right."))
		owner, errand := nobody, false
		for _, q := range recording.Requests {
			if q.Path != chatPath {
				continue
			}
			user := cmp.Or(q.Headers["X-OpenWebUI-User-Id"], "ana") // some recordings have a signed user
			owner = memory.User(memory.DefaultNamespace, user)
			headers := []string{"X-OpenWebUI-User-Id", user, "X-OpenWebUI-Chat-Id", q.Headers["X-OpenWebUI-Chat-Id"]}
			if errand = q.Headers["X-Loci-Task"] != ""; errand && byHeader[name] {
				headers = append(headers, headerTask, q.Headers["X-Loci-Task"])
			}
			r.chat(string(q.Body), headers...)
		}
		r.engine.Close()
		turns := try(r.store.Turns(t.Context(), owner, memory.TurnQuery{})).orFail(t)
		none := errand || strings.HasPrefix(name, "channel") || strings.HasPrefix(name, "temporary")
		if none != (len(turns) == 0) {
			t.Errorf("%s: %d turns are stored, want none: %v", name, len(turns), none)
		}
		for _, turn := range turns {
			for _, mark := range []string{"### ", "<context>", "<source", "attached_files", "Sigrid", "chat_history", "USER:"} {
				if strings.Contains(turn.Content, mark) {
					t.Errorf("%s: stored as %s's words: %.200q", name, turn.Role, turn.Content)
				}
			}
		}
	}
}

// openWebUI is a chat of Open WebUI with the headers of our guide.
type openWebUI struct {
	*rig
	answers int
}

// asks sends JSON messages after the answer with an id, and returns the request that the upstream got.
func (c *openWebUI) asks(parent string, messages ...string) string {
	c.t.Helper()
	c.answers++
	c.chat(`{"model":"m","messages":[`+strings.Join(messages, ",")+`]}`,
		"X-OpenWebUI-Chat-Id", "chat", headerMessage, fmt.Sprint("a", c.answers), headerParent, parent)
	c.engine.Background.Wait()
	return c.upstream.last().body
}

func user(words string) string { return `{"role":"user","content":"` + words + `"}` }

// TestEditedFirstMessageReplacesTheFirst sends an empty parent id.
func TestEditedFirstMessageReplacesTheFirst(t *testing.T) {
	c := &openWebUI{rig: newRig(t, func(s *setup) { s.keep = true })}
	c.upstream.answers(says("I see."))
	c.asks("", user("I have a sister called Marta."))
	c.asks("a1", user("I have a sister called Marta."), `{"role":"assistant","content":"I see."}`, user("I live in Lisbon."))
	if sent := c.asks("", user("I have a sister called Paula. What is she called?")); strings.Contains(sent, "Marta") || strings.Contains(sent, "Lisbon") {
		t.Errorf("the edit gets the message that it replaces: %s", sent)
	}
	c.wantTurns("user: I have a sister called Paula. What is she called?", "assistant: I see.")
}
