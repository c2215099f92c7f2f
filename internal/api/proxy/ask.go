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
func (d *Handler) ask(r *http.Request, c *call) (*http.Response, error) {
	if c.memory {
		readableEncodings(r.Header)
	}
	if c.hits {
		r.Header.Del("Accept-Encoding") // Loci adds an event to the stream
	}
	c.sent = d.Now()
	c.traced.Asked(r.Header, c.sent, c.Model, provider(c.dialect))
	resp, added, err := d.sendWith(r, c)
	if err != nil || !added {
		return resp, err
	}
	why, refused := readRefusal(resp)
	if !refused {
		return resp, nil
	}
	d.Metrics.Refused(obs.RefusedMemory)
	status := resp.StatusCode
	if why.Kind == chatapi.RefusesLength {
		smaller, ok := c.exchange.Shrink(r.Context(), fmt.Sprintf("too long for the upstream, which answered with status %d: sent again with less memory", status))
		if ok {
			closeBody(resp)
			c.prepared = smaller
			if resp, _, err = d.sendWith(r, c); err != nil {
				return nil, err
			}
			if _, refused := readRefusal(resp); !refused {
				return resp, nil
			}
			status = resp.StatusCode
		}
	}
	closeBody(resp)
	resp, err = d.send(r, c, c.Bare())
	if err != nil {
		return nil, err
	}
	reason := fmt.Sprintf("the upstream refused it with status %d", status)
	if why.Kind == chatapi.RefusesRoles {
		reason += ", with an error about message roles"
		if resp.StatusCode < http.StatusMultipleChoices && c.placement != chatapi.User {
			d.placeInUser(c, why)
		}
	}
	c.prepared = c.exchange.Withdraw(r.Context(), reason)
	return resp, nil
}

// sendWithMemory sends the request with memory, and reports whether it differs from the client's request.
func (d *Handler) sendWith(r *http.Request, c *call) (resp *http.Response, added bool, err error) {
	body := c.With(c.prepared.Block, c.placement, c.prepared.Kept...)
	resp, err = d.send(r, c, body)
	return resp, !bytes.Equal(body, c.Bare()), err
}

// providerName returns the provider of a dialect, as OpenTelemetry's GenAI conventions name it.
func provider(dialect *chatapi.Dialect) string {
	if dialect == chatapi.Messages {
		return "anthropic"
	}
	return "openai"
}

// noteResponse records the time at which the upstream's headers arrived; resp is nil if the upstream did
// not answer.
func (c *call) note(began, ended time.Time, resp *http.Response) {
	c.answered = ended
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	c.traced.UpstreamAsked(began, ended.Sub(began), status)
}

func (d *Handler) send(r *http.Request, c *call, body []byte) (*http.Response, error) {
	if d.isTranslated(c.dialect) {
		return d.sendTranslated(r, c, body)
	}
	began := d.Now()
	resp, err := d.do(r, http.MethodPost, bytes.NewReader(body))
	c.note(began, d.Now(), resp)
	if err != nil || !lacksPath(resp, c) {
		return resp, err
	}
	return d.sendInstead(r, c, body, resp)
}

// maxRefusal is the number of bytes of an error response that are read to find its reason.
const maxRefusal = 64 << 10

// readRefusal reports whether the added memory may have caused an error, and the reason. The whole response
// can still be read.
func readRefusal(resp *http.Response) (why chatapi.Refusal, refused bool) {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return why, false
	}
	if plain, err := decoded(peek(resp), resp.Header.Get("Content-Encoding")); err == nil {
		why = chatapi.ReadRefusal(plain)
	}
	switch {
	case resp.StatusCode == http.StatusInternalServerError: // llama.cpp responds with 500 if a chat template fails
		return why, why.Kind != chatapi.RefusesOther
	case resp.StatusCode == http.StatusRequestEntityTooLarge && why.Kind == chatapi.RefusesOther:
		why.Kind = chatapi.RefusesLength
	}
	return why, true
}

// peekBody returns the beginning of a response body. The whole body can still be read.
func peek(resp *http.Response) []byte {
	read, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a later read returns the same error
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), resp.Body), resp.Body}
	return read
}

// limitEncodings removes the encodings that Loci cannot decode from Accept-Encoding.
func readableEncodings(h http.Header) {
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

// useUserPlacement makes later requests to the model add memory to the user's message, for strictTime.
func (d *Handler) placeInUser(c *call, why chatapi.Refusal) {
	if len(c.Model) > maxModel {
		return
	}
	now, again := d.Now(), false
	until := now.Add(strictTime)
	d.strict.Update(strictModel{c.dialect.Path, c.Model}, func(was time.Time, _ bool) (time.Time, bool) {
		again = now.Before(was)
		return until, !again
	})
	if !again {
		d.Log.Warn("the model's template refuses memory in a separate message; Loci adds it to the user's message",
			"model", c.Model, "path", c.dialect.Path, "until", until.UTC().Format(time.RFC3339), "wording", why.Wording)
	}
}

// strictModel is a model with a chat template that is strict about roles. The path of the dialect is included,
// because the model may accept the same request in another dialect.
type strictModel struct{ path, model string }

const (
	// strictTime is the time for which a refusal counts, because templates and upstream servers may change.
	strictTime = 24 * time.Hour

	// maxModelName is the maximum length in bytes of a stored model name, because clients choose the names.
	maxModel = 256
)

// StrictModels returns the models that refused memory in a separate message and therefore get memory in the
// user's message, sorted by path and name.
func (d *Handler) StrictModels() (out []client.StrictModel) {
	now := d.Now()
	d.strict.DeleteFunc(func(m strictModel, until time.Time) bool {
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
