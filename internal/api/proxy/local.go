package proxy

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/translate"
	"github.com/loci-memory/loci/memory"
)

// answerLocally answers with the built-in model, as a stream if the request asks for a stream.
func (d *Handler) answerLocally(w http.ResponseWriter, r *http.Request, c *call) {
	if err := c.CheckPlainText(); err != nil {
		Refuse(w, r, err)
		return
	}
	reply := responder.Respond(c.Question(1), c.promptMemory.Hits, c.memoryEffect(r.Context()))
	a := chatapi.Answer{
		Role: memory.RoleAssistant, Text: reply, FinishReason: "stop", Model: responder.Name,
		ID:           c.dialect.AnswerIDPrefix + httpx.RequestID(r.Context()),
		InputTokens:  inputTokens(c),
		OutputTokens: text.EstimateTokens(reply),
		ReportUsage:  c.ReportUsage,
	}
	a.Digest = chatapi.Digest(a.Role, a.Text, "", "")
	c.setMemoryHeaders(w.Header())
	if c.usesMemory {
		c.exchange.RecordQuestion(r.Context())
	}
	if c.Stream {
		d.streamLocally(w, r, c, a)
		return
	}
	d.recordAnswer(r.Context(), c, a)
	body, err := encodeAnswer(c.dialect, a, d.Now())
	if err != nil {
		Refuse(w, r, err)
		return
	}
	body, _ = c.withHits(body)
	writeJSON(w, http.StatusOK, body)
}

// encodeAnswer encodes an answer in any dialect.
func encodeAnswer(dialect *chatapi.Dialect, a chatapi.Answer, now time.Time) ([]byte, error) {
	if dialect.EncodeAnswer != nil {
		return dialect.EncodeAnswer(a, now), nil
	}
	return translate.NewAnswer(dialect, a, now).Answer(chatapi.EncodeAnswer(a, now))
}

// memoryEffect returns whether this chat will be stored, and if not, why; the built-in model tells the user.
func (c *call) memoryEffect(ctx context.Context) responder.MemoryEffect {
	if !c.usesMemory || c.memoryOff {
		return responder.MemoryEffect{NotStoredReason: "Memory is off for this request"}
	}
	return c.exchange.PredictEffect(ctx)
}

func inputTokens(c *call) int {
	n := text.EstimateTokens(c.promptMemory.Block)
	for _, m := range c.Messages {
		n += text.EstimateTokens(m.Text)
	}
	return n
}

// streamLocally streams the answer word by word.
func (d *Handler) streamLocally(w http.ResponseWriter, r *http.Request, c *call, a chatapi.Answer) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	now := d.Now()
	out := flusher{w}
	dialect, translated := c.dialect, func(events []byte) []byte { return events }
	if dialect.EncodePiece == nil {
		dialect, translated = chatapi.Completions, translate.NewAnswer(dialect, a, now).Stream().Write
		a.ReportUsage = true // translated streams always have token counts
	}
	for i, word := range strings.SplitAfter(a.Text, " ") {
		out.write(translated(dialect.EncodePiece(a, now, word, i)))
	}
	d.recordAnswer(r.Context(), c, a)
	end := translated(dialect.EncodeEnd(a, now))
	if hits := c.hitsEvent(a, now); hits != nil {
		out.write(bytes.TrimSuffix(end, []byte(chatapi.StreamEnd)))
		out.write(hits)
		end = []byte(chatapi.StreamEnd)
	}
	out.write(end)
}
