package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
)

// Setting is a setting as the page shows it.
type Setting = client.Setting

// Model is a model in use, or its replacement.
type Model struct {
	For  string // its task
	Name string
	Key  string // key of the setting that names it
	Why  string // why it was chosen
}

// settingsView is what a user has paused and, for admins, how the server is configured.
type settingsView struct {
	Here    string
	Pause   string
	Admin   bool
	Health  client.Health
	Groups  []group
	Waits   []string // which facts wait for a decision
	Users   []core.User
	Switch  bool // the user shown can be changed here; the audit record gets an entry
	More    bool // there are more users than listed
	Models  []Model
	Lacks   []string // models that the profile names and that are not available
	Prompts []promptFile
	Profile Setting
	Sets    []Setting // settings that the profile sets
}

// group is the settings whose keys have the same prefix; "" for those of the server itself.
type group struct {
	Name     string
	Settings []Setting
}

func (p *Page) settings(r *http.Request, v visit) (any, error) {
	view := settingsView{Here: here(r), Pause: string(p.engine.Paused(r.Context(), v.owner)), Admin: runs(r)}
	view.Waits = waits(p.setting("review.confidence").Value, p.setting("review.categories").Value, p.setting("review.conflicts").Value)
	if !view.Admin {
		return view, nil
	}
	users, next, err := p.engine.Users(r.Context(), httpx.IdentityOf(r.Context()).Namespace, "", maxUsers)
	if err != nil {
		return nil, err
	}
	view.Users, view.More = users, next != ""
	_, err = r.Cookie(sessionCookie)
	view.Switch = err == nil
	view.Lacks, view.Prompts, view.Profile = p.Lacks, p.prompts(), p.setting("profile")
	view.Health, view.Models = p.Health(r.Context()), p.Models()
	for _, s := range p.Settings() {
		name, _, dotted := strings.Cut(s.Key, ".")
		if !dotted {
			name = ""
		}
		if n := len(view.Groups); n == 0 || view.Groups[n-1].Name != name {
			view.Groups = append(view.Groups, group{Name: name})
		}
		last := &view.Groups[len(view.Groups)-1]
		last.Settings = append(last.Settings, s)
		if strings.HasPrefix(s.From, "profile ") {
			view.Sets = append(view.Sets, s)
		}
	}
	return view, nil
}

// maxUsers is the maximum number of users listed.
const maxUsers = 200

// runs reports whether the caller is an admin.
func runs(r *http.Request) bool { return httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin }

// setting returns the setting with a key, the zero Setting if there is none.
func (p *Page) setting(key string) Setting {
	all := p.Settings()
	if i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return all[i]
	}
	return Setting{}
}

// waits describes which facts wait for a decision, by the settings of review.
func waits(confidence, categories, conflicts string) (out []string) {
	if least, err := strconv.ParseFloat(confidence, 64); err == nil && least > 0 {
		out = append(out, "facts with a confidence below "+percent(least))
	}
	if categories != "" {
		out = append(out, "facts of the categories "+categories)
	}
	if conflicts == "true" {
		out = append(out, "facts that would replace a stored fact")
	}
	return out
}

// pauses are the messages about each pause.
var pauses = map[core.Pause]string{
	core.PauseNone: "Memory is on.", core.PauseLearning: "Learning is paused.", core.PauseMemory: "Memory is paused.",
}

func (p *Page) pause(r *http.Request, v visit) (done, error) {
	pause := core.Pause(r.PostFormValue("pause"))
	if err := p.engine.Pause(r.Context(), v.owner, pause, "", v.author); err != nil {
		return done{}, err
	}
	return done{Say: pauses[pause]}, nil
}
