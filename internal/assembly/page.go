package assembly

import (
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/api/mem0"
	"github.com/loci-memory/loci/internal/api/proxy"
	"github.com/loci-memory/loci/internal/api/rest"
	"github.com/loci-memory/loci/internal/api/web"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/prompt"
)

// pageOptions returns the options of the web page.
func (l *Loci) pageOptions(c config.Config, learner *models.Learner, upstream proxy.Upstream) web.Options {
	query := c.Chats.Model
	if query == "" && c.Learn.URL == "" {
		query = learner.WantedModel()
	}
	inUse := func() *prompt.Set {
		return l.engine.Prompts.ForModels(prompt.Models{Learn: learner.WantedModel(), Query: query, Chats: query})
	}
	o := web.Options{
		Key: c.APIKey, MultiUser: c.Users == "multi", RecencyWeight: c.Recall.RecencyWeight, DocumentTokens: c.Recall.Contexts, Health: l.health, Settings: func() []client.Setting { return l.currentConfig().ListSettings() },
		Models: func() []web.Model {
			is, _ := l.embedderChoice.Current()
			return modelList(l.currentConfig(), learner.Status(), is)
		}, MissingModels: c.MissingModels(), PromptDir: c.Prompts, ActivePrompts: inUse,
		OtherAPIPaths: []string{"/api/", "/v1/", "/docs", "/openapi", "/health", "/metrics", "/query"},
	}
	if upstream != nil {
		o.Upstream, o.ChatModel = upstream, rest.NewChatModel(upstream, nil, true)
	}
	if c.JWTSecret != "" {
		o.ValidToken = func(token string) bool { return httpx.ValidToken(token, []byte(c.JWTSecret), l.engine.Now()) }
	}
	return o
}

// ssoOptions returns the options for users who sign in at a reverse proxy or an OpenID server.
func ssoOptions(c config.SSOConfig) httpx.SSO {
	header := append(slices.Clone(c.Header), "", "")
	return httpx.SSO{UserHeader: header[0], GroupsHeader: header[1], Admins: c.Admins}
}

// openIDIssuer returns the OpenID Connect server for signing in, or nil.
func openIDIssuer(c config.SSOConfig, sso httpx.SSO) *web.Issuer {
	if c.Issuer == "" {
		return nil
	}
	return &web.Issuer{URL: c.Issuer, ClientID: c.ClientID, Secret: c.Secret, UserClaim: c.User, SSO: sso}
}

// modelList lists the models in use, with the reasons for their choice.
func modelList(c config.Config, learning models.LearnerStatus, choice models.EmbedderChoice) []web.Model {
	return []web.Model{learnerInfo(learning), embedderInfo(c, choice), rerankerInfo(c), answererInfo(c)}
}

func learnerInfo(learning models.LearnerStatus) web.Model {
	why := []rune(learning.Why)
	return web.Model{For: "Learns", Name: learning.Description, Key: "learn.model", Why: strings.ToUpper(string(why[:1])) + string(why[1:]) + "."}
}

func embedderInfo(c config.Config, choice models.EmbedderChoice) web.Model {
	m := web.Model{For: "Computes vectors", Name: c.Embedder, Key: "embedder", Why: locationText(c.Embedder, "Search by words only, without a model.")}
	if choice.Suggestion != "" {
		m.Why += " Better: " + choice.Suggestion + "."
	}
	return m
}

func rerankerInfo(c config.Config) web.Model {
	return web.Model{For: "Reranks hits", Name: c.Reranker, Key: "reranker", Why: locationText(c.Reranker, "No reranking.")}
}

// locationText describes where a model runs. If modelName names no local or remote model, it returns fallback.
func locationText(modelName, fallback string) string {
	switch {
	case strings.HasPrefix(modelName, config.LocalModel):
		return "Runs in this process, from the folder of models."
	case strings.HasPrefix(modelName, config.RemoteModel):
		return "Runs on another server."
	}
	return fallback
}

func answererInfo(c config.Config) web.Model {
	if c.Upstream.URL == "" {
		return web.Model{For: "Answers chats", Name: responder.Name, Key: "upstream.url", Why: "No upstream is configured: Loci answers from memory, without a model."}
	}
	return web.Model{For: "Answers chats", Name: "the model that each chat names", Key: "upstream.url", Why: "At " + c.Upstream.RedactedURL() + ", in addition to the built-in " + responder.Name + "."}
}

// errorWriter returns a function that writes an error in the format of the requested API.
func errorWriter(page *web.Page) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		switch {
		case proxy.IsReserved(r.URL.Path), strings.HasPrefix(r.URL.Path, mem0.Prefix+"/"):
			mem0.Refuse(w, r, err)
		case proxy.IsServed(r.URL.Path):
			proxy.Refuse(w, r, err)
		case page.Owns(r):
			page.Refuse(w, r, err)
		default:
			httpx.WriteError(w, r, err)
		}
	}
}
