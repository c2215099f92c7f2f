package assembly

import (
	"context"
	"io"
	"net/http"

	"github.com/loci-memory/loci/internal/api/proxy"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/model/llm"
)

// newUpstream returns nil, as an interface, where none is set.
func newUpstream(c config.Config, chats *core.ChatGate) (proxy.Upstream, error) {
	if c.Upstream.URL == "" {
		return nil, nil
	}
	f, err := llm.NewForwarder(llm.Options{BaseURL: c.Upstream.URL, Key: c.Upstream.Key, DropHeaders: c.Forward.Drop})
	if err != nil {
		return nil, err
	}
	return counted{f, chats}, nil
}

// counted is an upstream whose chats are under way until their answers are closed.
type counted struct {
	proxy.Upstream
	chats *core.ChatGate
}

func (u counted) Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	if method != http.MethodPost {
		return u.Upstream.Do(ctx, method, path, header, body)
	}
	end := u.chats.Begin()
	resp, err := u.Upstream.Do(ctx, method, path, header, body)
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &countedBody{resp.Body, end}
	return resp, nil
}

type countedBody struct {
	io.ReadCloser
	end func()
}

// Close ends the chat.
func (b *countedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
