package proxy

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/obs"
)

// askUpstream sends the request with memory. If the upstream responds that the request is too long, askUpstream
// retries with half of the memory. After a second or any other refusal, it sends the request without memory.
func (d *Handler) askUpstream(r *http.Request, c *call) (*http.Response, error) {
	if c.usesMemory {
		limitEncodings(r.Header)
	}
	if c.wantsHits {
		r.Header.Del("Accept-Encoding") // Loci adds an event to the stream
	}
	c.sentAt = d.Now()
	c.trace.StartUpstream(r.Header, c.sentAt, c.Model, providerName(c.dialect))
	resp, added, err := d.sendWithMemory(r, c)
	if err != nil || !added {
		return resp, err
	}
	refusal, refused := readRefusal(resp)
	if !refused {
		return resp, nil
	}
	d.Metrics.CountRefused(obs.RefusedMemory)
	status := resp.StatusCode
	if refusal.Kind == chatapi.RefusesLength {
		smaller, ok := c.exchange.ShrinkPrompt(r.Context(), fmt.Sprintf("the request was too long for the upstream (status %d): sent again with less memory", status))
		if ok {
			closeBody(resp)
			c.promptMemory = smaller
			if resp, _, err = d.sendWithMemory(r, c); err != nil {
				return nil, err
			}
			if _, refused := readRefusal(resp); !refused {
				return resp, nil
			}
			status = resp.StatusCode
		}
	}
	closeBody(resp)
	resp, err = d.sendRequest(r, c, c.WithoutExtras())
	if err != nil {
		return nil, err
	}
	reason := fmt.Sprintf("the upstream refused the request with memory, with status %d", status)
	if refusal.Kind == chatapi.RefusesRoles {
		reason += " and an error about message roles"
		if resp.StatusCode < http.StatusMultipleChoices && c.placement != chatapi.User {
			d.useUserPlacement(c, refusal)
		}
	}
	c.promptMemory = c.exchange.WithdrawMemory(r.Context(), reason)
	return resp, nil
}

// sendWithMemory sends the request with memory, and reports whether it differs from the client's request.
func (d *Handler) sendWithMemory(r *http.Request, c *call) (resp *http.Response, memoryAdded bool, err error) {
	body := c.WithBlock(c.promptMemory.Block, c.placement, c.promptMemory.KeptBlocks...)
	resp, err = d.sendRequest(r, c, body)
	return resp, !bytes.Equal(body, c.WithoutExtras()), err
}

// providerName returns the provider of a dialect, as OpenTelemetry's GenAI conventions name it.
func providerName(dialect *chatapi.Dialect) string {
	if dialect == chatapi.Messages {
		return "anthropic"
	}
	return "openai"
}

// recordAttempt records a request to the upstream, from start until the response's headers arrived at end. A nil
// resp means that the upstream did not answer.
func (c *call) recordAttempt(start, end time.Time, resp *http.Response) {
	c.answeredAt = end
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	c.trace.RecordTry(start, end.Sub(start), status)
}

func (d *Handler) sendRequest(r *http.Request, c *call, body []byte) (*http.Response, error) {
	if d.isTranslated(c.dialect) {
		return d.sendTranslated(r, c, body)
	}
	began := d.Now()
	resp, err := d.sendUpstream(r, http.MethodPost, bytes.NewReader(body))
	c.recordAttempt(began, d.Now(), resp)
	if err != nil || !isUnsupportedPath(resp, c) {
		return resp, err
	}
	return d.retryTranslated(r, c, body, resp)
}

// maxRefusal is the maximum number of bytes of an error response that are read to find its reason.
const maxRefusal = 64 << 10

// readRefusal reports whether a response is an error that the added memory may have caused, and the reason. The
// whole response can still be read.
func readRefusal(resp *http.Response) (refusal chatapi.Refusal, refused bool) {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return refusal, false
	}
	if plain, err := decodeBody(peekBody(resp), resp.Header.Get("Content-Encoding")); err == nil {
		refusal = chatapi.ReadRefusal(plain)
	}
	switch {
	case resp.StatusCode == http.StatusInternalServerError: // llama.cpp responds with 500 if a chat template fails
		return refusal, refusal.Kind != chatapi.RefusesOther
	case resp.StatusCode == http.StatusRequestEntityTooLarge && refusal.Kind == chatapi.RefusesOther:
		refusal.Kind = chatapi.RefusesLength
	}
	return refusal, true
}

// peekBody returns the beginning of a response body. The whole body can still be read.
func peekBody(resp *http.Response) []byte {
	read, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a later read returns the same error
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), resp.Body), resp.Body}
	return read
}

// limitEncodings removes the encodings that Loci cannot decode from Accept-Encoding.
func limitEncodings(h http.Header) {
	accepted := h.Values("Accept-Encoding")
	if len(accepted) == 0 {
		return
	}
	readable := "identity"
	for e := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(e, " ", ""), ";")
		refused := strings.TrimRight(quality, "0.") == "q="
		if (strings.EqualFold(name, "gzip") || name == "*") && !refused {
			readable = "gzip"
		}
	}
	h.Set("Accept-Encoding", readable)
}

// useUserPlacement makes Loci add memory to the user's message in later requests to the model, for strictTime.
func (d *Handler) useUserPlacement(c *call, refusal chatapi.Refusal) {
	if len(c.Model) > maxModelName {
		return
	}
	now, again := d.Now(), false
	until := now.Add(strictTime)
	d.strictModels.Update(strictModel{c.dialect.Path, c.Model}, func(previous time.Time, _ bool) (time.Time, bool) {
		again = now.Before(previous)
		return until, !again
	})
	if !again {
		d.Log.Warn("the model's template refuses memory in a separate message; Loci adds it to the user's message",
			"model", c.Model, "path", c.dialect.Path, "until", until.UTC().Format(time.RFC3339), "wording", refusal.Wording)
	}
}

// strictModel is a model with a chat template that is strict about roles. The path of the dialect is included,
// because the model may accept the same request in another dialect.
type strictModel struct{ path, model string }

const (
	// strictTime is how long Loci remembers a model's refusal. It then tries again, because templates may change.
	strictTime = 24 * time.Hour

	// maxModelName is the maximum length in bytes of a stored model name, because clients choose the names.
	maxModelName = 256
)

// StrictModels returns the models that refused memory in a separate message and therefore get memory in the
// user's message, sorted by path and name.
func (d *Handler) StrictModels() (out []client.StrictModel) {
	now := d.Now()
	d.strictModels.DeleteFunc(func(m strictModel, until time.Time) bool {
		if now.Before(until) {
			out = append(out, client.StrictModel{Path: m.path, Model: m.model, Until: until})
		}
		return !now.Before(until)
	})
	slices.SortFunc(out, func(a, b client.StrictModel) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Model, b.Model))
	})
	return out
}
