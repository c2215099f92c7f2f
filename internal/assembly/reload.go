package assembly

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/api/web"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// guardUpdater returns a function that rebuilds l.guardedHandler, the guard in front of next, with new settings.
func (l *Loci) guardUpdater(guard httpx.Options, page *web.Page, next http.Handler) func(config.Config) error {
	return func(c config.Config) (err error) {
		g := guard
		if g.TrustedAddresses, g.Proxies, err = c.Networks(); err != nil {
			return err
		}
		g.Hosts, g.Limits = c.Hosts, httpx.Limits{Requests: c.Limits.Requests, Tokens: c.Limits.Tokens, Concurrent: c.Limits.Concurrent}
		front := httpx.CORS(c.CORS.Origins, page.Owns, page.WithSession(httpx.Guard(g, next)))
		l.guardedHandler.Store(&front)
		return nil
	}
}

// Reload applies the settings that a running server can change, and reads the prompts again. After an
// error it has changed nothing.
func (l *Loci) Reload(next config.Config) (client.Reloaded, error) {
	l.reloadMutex.Lock()
	defer l.reloadMutex.Unlock()
	applied, appliedKeys, restartKeys := l.asConfigured.Reload(next)
	prompts, err := openPrompts(l.asConfigured.Prompts)
	if err != nil {
		return client.Reloaded{}, err
	}
	level := l.logLevel.Level()
	if err := level.UnmarshalText([]byte(applied.Log.Level)); err != nil {
		return client.Reloaded{}, memory.Errorf(memory.Invalid, "log.level: %w", err)
	}
	if err := l.updateGuard(applied); err != nil {
		return client.Reloaded{}, err
	}
	l.logLevel.Set(level)
	l.auditRetentionDays.Store(int64(applied.Audit.Keep))
	l.engine.Prompts.ReplaceWith(prompts)
	l.asConfigured = applied
	out := client.Reloaded{Applied: append([]string{}, appliedKeys...), AfterRestart: append([]string{}, restartKeys...)}
	l.log.Info("settings reloaded", "applied", out.Applied, "need a restart", out.AfterRestart)
	return out, nil
}

// reloadFromAPI reloads the settings for an API request.
func (l *Loci) reloadFromAPI(ctx context.Context) (client.Reloaded, error) {
	if l.readSettings == nil {
		return client.Reloaded{}, memory.Errorf(memory.Invalid, "this server cannot reload its settings, because the program did not set Options.Reload")
	}
	if err := l.audit.Note(ctx, memory.AuditEntry{Act: "reload"}); err != nil {
		return client.Reloaded{}, err
	}
	next, err := l.readSettings()
	if err != nil {
		return client.Reloaded{}, err
	}
	return l.Reload(next)
}
