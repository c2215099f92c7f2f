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

// Model is a model in use, or what stands in for one.
type Model struct {
	For  string // what it does
	Name string
	Key  string // of the setting that names it
	Why  string // it and no other
}

// settingsView is what a user puts on hold, and how the server is set, for who runs it.
type settingsView struct {
	Here    string
	Pause   string
	Admin   bool
	Health  client.Health
	Groups  []group
	Waits   []string // what waits for a person
	Users   []core.User
	Switch  bool // whose memory is shown can be changed here, which is on record
	More    bool // there are other users
	Models  []Model
	Lacks   []string // models that the profile names and that are not at hand
	Prompts []promptFile
	Profile Setting
	Sets    []Setting // what the profile set
}

// group is the settings whose keys begin alike; "" for those of the server itself.
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
	users, next, err := p.engine.Users(r.Context(), httpx.IdentityOf(r.Context()).Namespace, "", mostUsers)
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

// mostUsers is how many users are listed.
const mostUsers = 200

// runs reports whether who asks runs the server.
func runs(r *http.Request) bool { return httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin }

// setting returns one by its key, the zero Setting if there is none.
func (p *Page) setting(key string) Setting {
	all := p.Settings()
	if i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return all[i]
	}
	return Setting{}
}

// waits says in words what the settings of review let wait for a person.
func waits(confidence, categories, conflicts string) (out []string) {
	if least, err := strconv.ParseFloat(confidence, 64); err == nil && least > 0 {
		out = append(out, "what is less sure than "+percent(least))
	}
	if categories != "" {
		out = append(out, "anything of the categories "+categories)
	}
	if conflicts == "true" {
		out = append(out, "what would take the place of something known")
	}
	return out
}

// pauses are what is said of each.
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
