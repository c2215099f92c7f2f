package doctor

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci/client"
)

// warnings are mistakes in the configuration that requests have revealed. Each is logged once. Health and
// doctor list them.
type warnings struct {
	mu   sync.Mutex // guards seen
	seen []client.Finding
}

// UnverifiedToken, ChatOfNobody and UserIgnored are these mistakes.
var (
	UnverifiedToken = client.Finding{
		Part: "users", What: "requests carry X-OpenWebUI-User-Jwt, but jwt_secret is not set: the token is not checked and names no user",
		Do: "set jwt_secret (LOCI_JWT_SECRET) to Open WebUI's FORWARD_USER_INFO_HEADER_JWT_SECRET",
	}
	UserIgnored = client.Finding{
		Part: "users", What: "a chat names its user in the field user, which users=single ignores: all chats share one memory",
		Do: "set users=multi (LOCI_USERS=multi) if several people use this server",
	}
	ChatOfNobody = client.Finding{
		Part: "users", What: "a chat has no user, so with users=multi it gets no memory",
		Do: "let the client name its user: a key of the role user, X-Loci-User or X-OpenWebUI-User-Id with an admin or front key, or a signed X-OpenWebUI-User-Jwt",
	}
)

// Warn returns a function to call for each request that reveals the mistake.
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

// seen returns the revealed mistakes, unavailable models and late backups.
func (d *Doctor) seen() []client.Finding {
	d.warnings.mu.Lock()
	found := slices.Clone(d.warnings.seen)
	d.warnings.mu.Unlock()
	if wrong := d.Learner.Learns().Wrong; wrong != "" {
		found = append(found, client.Finding{Part: "learn.model", What: wrong, Do: "check its server, or set learn.model to a model that the server lists, or to auto"})
	}
	if why := d.Learner.Learns().Distrust; why != "" {
		found = append(found, client.Finding{Part: "learn.trust", What: why, Do: "name a stronger model as learn.model, or set learn.trust to always; loci models try repeats the trial"})
	}
	if _, wrong := d.Embeds.Now(); wrong != "" {
		found = append(found, client.Finding{Part: "embedder", What: wrong, Do: "make sure that the upstream runs, or set embedder"})
	}
	_, late := d.Schedule.Report()
	return append(found, late...)
}

// Warnings returns the revealed mistakes, and models that questions are answered without.
func (d *Doctor) Warnings() []client.Finding {
	return append(d.seen(), d.missing(func(string, ...any) {})...)
}
