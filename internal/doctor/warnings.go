package doctor

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci/client"
)

// warnings are mistakes in the configuration that requests have revealed. Each mistake is logged once;
// the health check and loci doctor list them.
type warnings struct {
	mu   sync.Mutex // guards seen
	seen []client.Finding
}

// UnverifiedToken, UserIgnored and ChatWithoutUser are mistakes in the configuration that requests reveal.
var (
	UnverifiedToken = client.Finding{
		Part: "users", What: "requests have the header X-OpenWebUI-User-Jwt, but jwt_secret is not set, so Loci ignores the header",
		Do: "set jwt_secret (LOCI_JWT_SECRET) to Open WebUI's FORWARD_USER_INFO_HEADER_JWT_SECRET",
	}
	UserIgnored = client.Finding{
		Part: "users", What: "a chat names its user in the field user, which users=single ignores: all chats share one memory",
		Do: "set users=multi (LOCI_USERS=multi) if several people use this server",
	}
	ChatOfNobody = client.Finding{
		Part: "users", What: "a chat names no user, so with users=multi the chat has no memory",
		Do: "make the client name its user: by a key of the role user, by X-Loci-User or X-OpenWebUI-User-Id with an admin or front key, or by a signed X-OpenWebUI-User-Jwt",
	}
)

// Warn returns a function for the caller to call for each request that reveals the mistake.
func (d *Doctor) Warn(of client.Finding) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			d.Log.Warn(of.What, "do", of.Do)
			d.warnings.mu.Lock()
			defer d.warnings.mu.Unlock()
			d.warnings.seen = append(d.warnings.seen, of)
		})
	}
}

// knownProblems returns the revealed mistakes, unavailable models and problems with backups.
func (d *Doctor) seen() []client.Finding {
	d.warnings.mu.Lock()
	found := slices.Clone(d.warnings.seen)
	d.warnings.mu.Unlock()
	if wrong := d.Learner.Learns().Wrong; wrong != "" {
		found = append(found, client.Finding{Part: "learn.model", What: wrong, Do: "check the model's server, or set learn.model to a model that the server lists, or to auto"})
	}
	if why := d.Learner.Learns().Distrust; why != "" {
		found = append(found, client.Finding{Part: "learn.trust", What: why, Do: "set learn.model to a stronger model, or learn.trust to always; loci models try repeats the trial"})
	}
	if _, wrong := d.Embeds.Now(); wrong != "" {
		found = append(found, client.Finding{Part: "embedder", What: wrong, Do: "make sure that the upstream runs, or set embedder to another model"})
	}
	_, late := d.Schedule.Report()
	return append(found, late...)
}

// Warnings returns the known problems, and models that are skipped or were missing for many questions.
func (d *Doctor) Warnings() []client.Finding {
	return append(d.seen(), d.missing(func(string, ...any) {})...)
}
