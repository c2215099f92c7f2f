package web

import (
	"net/http"
	"slices"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/memory"
)

// contextChoice is a context that can be attached to a chat, and whether it is attached.
type contextChoice struct {
	document
	On bool
}

// contextChoices returns the contexts attached to a chat in their order, followed by the others if includeOthers.
func (p *Page) contextChoices(r *http.Request, v visit, chat memory.Conversation, includeOthers bool) ([]contextChoice, error) {
	if len(chat.Contexts) == 0 && !includeOthers {
		return nil, nil
	}
	contexts, err := p.engine.Contexts(r.Context(), v.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	var attached, others []contextChoice
	for _, id := range chat.Contexts {
		if i := slices.IndexFunc(contexts, func(c memory.Context) bool { return c.ID == id }); i >= 0 {
			attached = append(attached, contextChoice{p.documentOf(contexts[i]), true})
		}
	}
	for _, c := range contexts {
		if includeOthers && !slices.Contains(chat.Contexts, c.ID) {
			others = append(others, contextChoice{p.documentOf(c), false})
		}
	}
	return append(attached, others...), nil
}

// Attached returns the sum of the attached documents, to show their share of the prompt's budget.
func (v transcriptView) Attached() document {
	sum := document{}
	for _, d := range v.Documents {
		if sum.TokenLimit = d.TokenLimit; d.On {
			sum.Tokens += d.Tokens
		}
	}
	return sum
}

// changeChat applies the action that the user chose in a conversation's form.
func (p *Page) changeChat(r *http.Request, v visit) (formResult, error) {
	switch do := r.PostFormValue("do"); do {
	case "edit":
		previous, err := p.engine.Chats.Chat(r.Context(), v.owner, v.id)
		if err != nil {
			return formResult{}, err
		}
		e := chats.ChatEdit{Title: formField(r, "title"), Rules: formField(r, "rules")}
		e.Contexts = new(p.nextAttached(previous.Contexts, r.PostForm["shown"], r.PostForm["context"]))
		if _, err := p.engine.Chats.EditChat(r.Context(), v.owner, v.id, e, v.author); err != nil {
			return formResult{}, err
		}
		return p.itemResult(r, v, "Saved.", "conversation:"+v.id)
	case "delete":
		receipt, err := p.engine.Chats.DeleteChat(r.Context(), v.owner, v.id, r.PostFormValue("facts") != "", v.author)
		d := receiptResult("Deleted.", receipt)
		d.to = "/conversations"
		return d, err
	default:
		return formResult{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

// nextAttached returns the ids of the contexts to attach, after a form showed some contexts and the user ticked some.
// Attached contexts that the form did not show stay attached, because a removed context may be restored.
func (p *Page) nextAttached(previous, shown, ticked []string) []string {
	next := slices.DeleteFunc(slices.Clone(previous), func(id string) bool { return slices.Contains(shown, id) && !slices.Contains(ticked, id) })
	for _, id := range ticked {
		if !slices.Contains(next, id) {
			next = append(next, id)
		}
	}
	return next
}
