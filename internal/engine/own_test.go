package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// TestWishesOfUserAndProjectReachTheModel: what a user wants remembered, a project's wish before
// it, and the time zone of the client or else of the profile are in the prompt.
func TestWishesOfUserAndProjectReachTheModel(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		for key, value := range map[string]string{
			"learn.instructions":        "only what concerns recipes",
			"learn.instructions@apollo": "only what concerns rockets",
			"learn.categories":          "health, work",
			"timezone":                  "Asia/Tokyo",
		} {
			noError(t)(r.SetProfileEntry(ctx, ana, key, value, her))
		}
		for project, want := range map[string]string{
			"":       "only what concerns recipes\nOnly facts of these kinds: health, work",
			"apollo": "only what concerns rockets\nOnly facts of these kinds: health, work",
			"other":  "only what concerns recipes\nOnly facts of these kinds: health, work",
		} {
			own, err := r.LearningSettingsFor(ctx, memory.Scope{Owner: ana, Project: project}, "")
			if err != nil || own.Instructions != want || own.TimeZone.String() != "Asia/Tokyo" {
				t.Errorf("project %q: wishes %q in %s, %v; want %q in Asia/Tokyo", project, own.Instructions, own.TimeZone, err, want)
			}
		}

		m := &opsModel{}
		r.LLM, r.Opts.LearnModel = m, "ops"
		r.Opts.Learn.MessagesPerLesson, r.Opts.Learn.ContextMessages = 1, 8
		s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "c"}}
		say := func(words string) string {
			t.Helper()
			asked := len(m.asked)
			noError(t)(s.step("user ana: " + words))
			if len(m.asked) == asked {
				t.Fatal("the model was not asked")
			}
			return m.asked[len(m.asked)-1].User
		}
		tokyo, _ := time.LoadLocation("Asia/Tokyo")
		if p := say("I play the cello btw"); !strings.Contains(p, "only what concerns recipes") || !strings.Contains(p, r.clock.Now().In(tokyo).Format("15:04")) {
			t.Errorf("the prompt is without the wish or the time in Tokyo:\n%s", p)
		}
		lima, _ := time.LoadLocation("America/Lima")
		r.LastClients.Record(ana, core.ClientInfo{TimeZone: lima})
		if p := say("I am allergic to celery"); !strings.Contains(p, r.clock.Now().In(lima).Format("15:04")) {
			t.Errorf("the prompt is without the client's time in Lima:\n%s", p)
		}
		if own, err := r.LearningSettingsFor(ctx, memory.Scope{Owner: ben}, ""); err != nil || own.Instructions != "" || own.TimeZone != time.Local {
			t.Errorf("another user has wishes %q in %s, %v", own.Instructions, own.TimeZone, err)
		}
	})
}
