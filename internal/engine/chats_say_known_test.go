package engine

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/responder"
)

func TestInAChatTheBuiltInModelKnowsWhatWasSaidInIt(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		said := ""
		chat := try(r.Chats.NewChat(t.Context(), ana, "", chats.ChatEdit{})).orFail(t)
		for _, content := range []string{"I live in Turin.", "Where do I live?"} {
			noError(t)(r.Chats.Say(t.Context(), chats.SayRequest{Owner: ana, Chat: chat.ID, Content: content, Model: responder.Name}, nil, chats.ReplyListener{
				OnRecalled: func(retrieve.PromptMemory) { said = "" }, OnText: func(piece string) { said += piece },
			}))
		}
		if !strings.Contains(said, "Turin") {
			t.Errorf("it answers %q, want Turin", said)
		}
	})
}
