package doctor

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci/client"
)

// warnings are mistakes in the configuration that requests have revealed. Each mistake is logged once;
// the health check and loci doctor list them.
type warnings struct {
	mu       sync.Mutex // guards findings
	findings []client.Finding
}

// UnverifiedToken, UserIgnored and ChatWithoutUser are mistakes in the configuration that requests reveal.
var (
	UnverifiedToken = client.Finding{
		Part: "users", Problem: "requests have the header X-OpenWebUI-User-Jwt, but jwt_secret is not set, so Loci ignores the header",
		Fix: "set jwt_secret (LOCI_JWT_SECRET) to Open WebUI's FORWARD_USER_INFO_HEADER_JWT_SECRET",
	}
	UserIgnored = client.Finding{
		Part: "users", Problem: "a chat names its user in the field user, which users=single ignores: all chats share one memory",
		Fix: "set users=multi (LOCI_USERS=multi) if several people use this server",
	}
	ChatWithoutUser = client.Finding{
		Part: "users", Problem: "a chat names no user, so with users=multi the chat has no memory",
		Fix: "make the client name its user: by a key of the role user, by X-Loci-User or X-OpenWebUI-User-Id with an admin or front key, or by a signed X-OpenWebUI-User-Jwt",
	}
)

// Warn returns a function to call for each request that reveals the mistake; only the first call logs it.
func (d *Doctor) Warn(finding client.Finding) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			d.Log.Warn(finding.Problem, "do", finding.Fix)
			d.warnings.mu.Lock()
			defer d.warnings.mu.Unlock()
			d.warnings.findings = append(d.warnings.findings, finding)
		})
	}
}

// knownFindings returns the revealed mistakes, unavailable models and problems with backups.
func (d *Doctor) knownFindings() []client.Finding {
	d.warnings.mu.Lock()
	found := slices.Clone(d.warnings.findings)
	d.warnings.mu.Unlock()
	if wrong := d.Learner.Status().Problem; wrong != "" {
		found = append(found, client.Finding{Part: "learn.model", Problem: wrong, Fix: "check the model's server, or set learn.model to a model that the server lists, or to auto"})
	}
	if why := d.Learner.Status().DistrustReason; why != "" {
		found = append(found, client.Finding{Part: "learn.trust", Problem: why, Fix: "set learn.model to a stronger model, or learn.trust to always; loci models try repeats the trial"})
	}
	if _, wrong := d.EmbedderChoice.Current(); wrong != "" {
		found = append(found, client.Finding{Part: "embedder", Problem: wrong, Fix: "make sure that the upstream runs, or set embedder to another model"})
	}
	_, late := d.Schedule.Report()
	return append(found, late...)
}

// Warnings returns the known problems, and models that are skipped or did not answer for many questions.
func (d *Doctor) Warnings() []client.Finding {
	return append(d.knownFindings(), d.skippedModelFindings(func(string, ...any) {})...)
}
