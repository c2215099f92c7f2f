package web

import (
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxChatsRead is the number of most recently used chats that are searched for attached contexts.
const maxChatsRead = 500

// document is a context with its length as part of a prompt.
type document struct {
	memory.Context
	Tokens     int
	TokenLimit int // tokens available for all documents of a prompt
	Chats      int // number of recently used chats to which the context is attached
}

// Share returns the share of the available tokens that the context uses, 0 to 1.
func (d document) Share() float64 { return min(1, float64(d.Tokens)/float64(max(1, d.TokenLimit))) }

// Usage describes Share in words.
func (d document) Usage() string {
	switch share := d.Share(); {
	case d.TooLong():
		return "over the limit for documents"
	case share < 0.01:
		return "under 1 % of the limit for documents"
	default:
		return formatPercent(share) + " of the limit for documents"
	}
}

// TooLong reports whether the document alone exceeds the available tokens.
func (d document) TooLong() bool { return d.Tokens > d.TokenLimit }

// Name is the title or, if there is none, the beginning of the text.
func (d document) Name() string {
	if d.Title != "" {
		return clip(120, d.Title)
	}
	return clip(80, d.Content)
}

func (p *Page) documentOf(c memory.Context) document {
	d := document{Context: c, TokenLimit: p.DocumentTokens}
	for line := range strings.SplitSeq(strings.TrimSpace(c.Content), "\n") {
		d.Tokens += text.EstimateTokens(line) + 1 // counts tokens as the prompt does
	}
	return d
}

type contextsView struct {
	Here       string // path and query of this view
	Documents  []document
	TokenLimit int // tokens available for all documents of a prompt
}

func (p *Page) contextsView(r *http.Request, v visit) (any, error) {
	view := contextsView{Here: viewURL(r), TokenLimit: p.DocumentTokens}
	all, err := p.engine.Contexts(r.Context(), v.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	chats, err := p.engine.Chats.ListChats(r.Context(), v.owner, memory.ConversationQuery{Limit: maxChatsRead})
	if err != nil {
		return nil, err
	}
	attached := map[string]int{}
	for _, c := range chats.Conversations {
		for _, id := range c.Contexts {
			attached[id]++
		}
	}
	for _, c := range all {
		d := p.documentOf(c)
		d.Chats = attached[c.ID]
		view.Documents = append(view.Documents, d)
	}
	return view, nil
}

// contextView is one context with its text and the chats to which it is attached.
type contextView struct {
	document
	Here      string       // path and query of this view
	Editing   bool         // the context is open for editing
	RemovedBy string       // id of the change that removed the context; "" if it was not removed
	Attached  []chatChoice // chats to which the context is attached
	Changes   []historyStep
}

func (v contextView) title() string { return v.Name() }

func (p *Page) contextView(r *http.Request, v visit) (any, error) {
	journal, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{Target: "context:" + v.id})
	if err != nil {
		return nil, err
	}
	view := contextView{Here: viewURL(r)}
	c, err := p.engine.Context(r.Context(), v.owner, v.id, memory.At{})
	if errors.Is(err, memory.NotFound) && len(journal.Changes) > 0 {
		if was := journal.Changes[0].After.Context; was != nil && was.Content != "" { // an erased context has no text
			c, view.RemovedBy, err = *was, journal.Changes[0].ID, nil
		}
	}
	if err != nil {
		return nil, err
	}
	view.document = p.documentOf(c)
	view.Editing = r.FormValue("edit") != "" && view.RemovedBy == ""
	for _, change := range journal.Changes {
		s := historyStepOf(change)
		s.Was, s.Is = "", "" // the page shows the context's text above the history
		view.Changes = append(view.Changes, s)
	}
	chats, err := p.engine.Chats.ListChats(r.Context(), v.owner, memory.ConversationQuery{Limit: maxChatsRead})
	if err != nil {
		return nil, err
	}
	for _, chat := range chats.Conversations {
		if slices.Contains(chat.Contexts, v.id) {
			view.Attached = append(view.Attached, p.chatChoiceOf(chat))
		}
	}
	view.Chats = len(view.Attached)
	return view, nil
}

// addContext stores a context from typed text or from a file.
func (p *Page) addContext(r *http.Request, v visit) (formResult, error) {
	title, content := strings.TrimSpace(r.PostFormValue("title")), r.PostFormValue("content")
	if strings.TrimSpace(content) == "" {
		name, words, err := formFile(r)
		if err != nil {
			return formResult{}, err
		}
		content = words
		if title == "" {
			title = strings.TrimSuffix(name, path.Ext(name))
		}
	}
	c, err := p.engine.Curate.AddContext(r.Context(), v.owner, curate.ContextEdit{Title: &title, Content: &content}, v.author)
	if err != nil {
		return formResult{}, err
	}
	d, err := p.itemResult(r, v, "Added: "+p.documentOf(c).Name(), "context:"+c.ID)
	d.to = "/contexts/" + c.ID
	return d, err
}

// formFile reads the file of a form. Browsers send the file if scripts are off.
func formFile(r *http.Request) (name, content string, err error) {
	file, header, err := r.FormFile("file")
	if err != nil {
		return "", "", memory.Errorf(memory.Invalid, "paste a text, or choose a file of text")
	}
	defer func() { _ = file.Close() }() // the file was only read
	words, err := io.ReadAll(file)
	if err != nil {
		return "", "", explainTooLong(err)
	}
	return clip(120, header.Filename), string(words), nil
}

// changeContext applies the action that the user chose in a context's form.
func (p *Page) changeContext(r *http.Request, v visit) (formResult, error) {
	switch do := r.PostFormValue("do"); do {
	case "edit":
		e := curate.ContextEdit{Title: formField(r, "title"), Content: formField(r, "content")}
		if _, err := p.engine.Curate.EditContext(r.Context(), v.owner, v.id, e, v.author); err != nil {
			return formResult{}, err
		}
		return p.itemResult(r, v, "Saved.", "context:"+v.id)
	case "drop":
		receipt, err := p.engine.Curate.RemoveContext(r.Context(), v.owner, v.id, false, v.author)
		return receiptResult("Removed.", receipt), err
	case "erase":
		if r.PostFormValue("word") != eraseWord {
			return formResult{}, memory.Errorf(memory.Invalid, "nothing was erased: type “%s” to confirm", eraseWord)
		}
		_, err := p.engine.Curate.RemoveContext(r.Context(), v.owner, v.id, true, v.author)
		return formResult{Message: "Its text was permanently erased.", to: "/contexts"}, err
	case "chat":
		chat, err := p.engine.Chats.NewChat(r.Context(), v.owner, "", chats.ChatEdit{Contexts: &[]string{v.id}})
		return formResult{to: p.playgroundURL(chat.ID, r.PostFormValue("model"))}, err
	default:
		return formResult{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

// itemResult returns message with the latest run that changed a target, such as "context:ID".
func (p *Page) itemResult(r *http.Request, v visit, message, target string) (formResult, error) {
	page, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{Target: target, Limit: 1})
	d := formResult{Message: message}
	if err == nil && len(page.Changes) > 0 {
		d.Runs = []string{page.Changes[0].Run}
	}
	return d, err
}
