package proxy

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// TestBuiltInModelKeepsItsPromises checks answers to requests to remember or forget, by the stored facts and by
// what is paused.
func TestBuiltInModelKeepsItsPromises(t *testing.T) {
	const chat = `{"model":"loci/recall","messages":[{"role":"user","content":"SAID"}]}`
	for _, c := range []struct {
		name, request string
		pause         core.Pause
		mode          string
		want          string
	}{
		{"known", "Forget my job", core.PauseNone, "", "I will forget that."},
		{"known, asked politely", "Can you forget my job?", core.PauseNone, "", "I will forget that."},
		{"unknown", "Forget my diagnosis", core.PauseNone, "", "I found nothing to forget about “my diagnosis”."},
		{"an idiom", "Forget it, let's talk about something else", core.PauseNone, "", "Noted."},
		{"a name of somebody", "Forget about Rex", core.PauseNone, "", "I will forget that."},
		{"a name of nobody", "Forget about Paris", core.PauseNone, "", "Noted."},
		{"learning is paused", "Remember that I ski.", core.PauseLearning, "", "Learning is paused: I keep what you say and learn nothing from it."},
		{"learning is paused, a wish", "Forget my job", core.PauseLearning, "", "I will forget that."},
		{"memory is paused", "Remember that I ski.", core.PauseMemory, "", "Memory is paused, so this message is not stored."},
		{"memory is paused, a wish", "Forget my job", core.PauseMemory, "", "Memory is paused, so nothing is forgotten now"},
		{"read only", "I ski every winter.", core.PauseNone, "read", "This chat leaves nothing in memory, so this message is not stored."},
		{"off", "Remember that I ski.", core.PauseNone, "off", "Memory is off for this request, so this message is not stored."},
		{"as usual", "Remember that I ski.", core.PauseNone, "", "I will remember that."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) { s.alone = true })
			r.know("User works as a nurse")
			r.know("User has a dog named Rex")
			noError(t)(r.engine.SetPause(context.Background(), nobody, c.pause, "", memory.Author{Kind: memory.ByPerson}))
			var headers []string
			if c.mode != "" {
				headers = []string{"X-Loci-Mode", c.mode}
			}
			if _, got := r.chat(strings.Replace(chat, "SAID", c.request, 1), headers...); !strings.Contains(got, `"content":"`+c.want) {
				t.Errorf("answered\n%s\nwant %q", got, c.want)
			}
		})
	}
}

func TestBuiltInModelStreamsItsUsage(t *testing.T) {
	r := newRig(t, func(s *setup) { s.alone = true })
	for options, want := range map[string]string{`{"include_usage":true}`: `,"usage":{"prompt_tokens":`, `{"include_usage":false}`: "", `null`: "", `"x"`: ""} {
		_, got := r.chat(`{"model":"loci/recall","stream":true,"stream_options":` + options + `,"messages":[{"role":"user","content":"I ski every winter."}]}`)
		if want == "" && strings.Contains(got, "usage") || !strings.Contains(got, want) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
			t.Errorf("with %s the stream is\n%s\nwant %q in it", options, got, want)
		}
	}
}
