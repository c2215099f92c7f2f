package proxy

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/memory"
)

// forward sends a request unchanged to the upstream, and the response to the client.
func (d *Handler) forward(w http.ResponseWriter, r *http.Request) {
	if d.Upstream == nil {
		Refuse(w, r, memory.Errorf(memory.NotFound, "%s %s needs an upstream; set upstream.url (LOCI_UPSTREAM_URL)", r.Method, r.URL.Path))
		return
	}
	resp, err := d.sendUpstream(r, r.Method, httpx.UnreadBody(r))
	if err != nil {
		d.writeNoAnswerError(w, r, err)
		return
	}
	defer closeBody(resp)
	relayResponse(w, resp)
}

// sendUpstream sends a request to the upstream at the same path, and counts the outcome.
func (d *Handler) sendUpstream(r *http.Request, method string, body io.Reader) (*http.Response, error) {
	return d.sendUpstreamAt(r, method, upstreamPath(r), r.Header, body)
}

// sendUpstreamAt is sendUpstream with another path and other headers.
func (d *Handler) sendUpstreamAt(r *http.Request, method, path string, h http.Header, body io.Reader) (*http.Response, error) {
	begun := d.Now()
	resp, err := d.Upstream.Do(r.Context(), method, path, h, body)
	took, outcome := d.Now().Sub(begun), "failed"
	if err == nil {
		outcome = strconv.Itoa(resp.StatusCode)
	}
	if err != nil && r.Context().Err() != nil {
		outcome = "canceled"
	}
	if r.Context().Err() == nil { // otherwise the client disconnected
		d.lastUpstreamFailed.Store(err != nil || resp.StatusCode >= http.StatusInternalServerError)
	}
	httpx.AddUpstreamTime(r.Context(), took)
	d.Metrics.ObserveUpstream(outcome, took)
	return resp, err
}

// UpstreamFails reports whether the last request to the upstream failed.
func (d *Handler) UpstreamFails() bool { return d.lastUpstreamFailed.Load() }

// upstreamPath returns a request's path and query relative to the upstream's base URL, which ends in /v1.
func upstreamPath(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path
}

// builtInModel returns the entry of a built-in model in the list of models.
func (d *Handler) builtInModel(name string) chatapi.Model {
	return chatapi.Model{ID: name, OwnedBy: "loci", Created: d.Now()}
}

// getModel serves one entry of the list of models.
func (d *Handler) getModel(w http.ResponseWriter, r *http.Request) {
	switch name := r.PathValue("name"); name {
	case responder.Name, memory.EmbedModel:
		writeJSON(w, http.StatusOK, chatapi.EncodeModel(d.builtInModel(name)))
	default:
		d.forward(w, r)
	}
}

// listModels lists the upstream's models and the built-in chat model. It omits the embedder, since front ends offer
// every listed model for chats.
func (d *Handler) listModels(w http.ResponseWriter, r *http.Request) {
	own := d.builtInModel(responder.Name)
	if d.Upstream == nil {
		writeJSON(w, http.StatusOK, chatapi.EncodeModels(own))
		return
	}
	r.Header.Del("Accept-Encoding") // Loci adds a model to the list, so it needs the list uncompressed
	resp, err := d.sendUpstream(r, http.MethodGet, nil)
	if err != nil {
		d.Log.Warn("the list of models contains only Loci's models: the upstream did not answer", "request", httpx.RequestID(r.Context()), "err", err)
		w.Header().Set(HeaderWarning, "the upstream did not answer: its models are missing")
		writeJSON(w, http.StatusOK, chatapi.EncodeModels(own))
		return
	}
	defer closeBody(resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		d.writeUpstreamError(w, r, err, "the upstream's list of models was cut off")
		return
	}
	if resp.StatusCode == http.StatusOK {
		if added, err := chatapi.AddModels(body, own); err == nil {
			body = added
		}
	}
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body) // the client may have disconnected
}
