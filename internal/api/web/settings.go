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

// Model is a task for a model, and the model or built-in function that does the task.
type Model struct {
	For  string // the model's task
	Name string
	Key  string // key of the setting that names the model
	Why  string // reason for the choice, or where the model runs
}

// settingsView shows the user's pause and, to admins, the configuration of the server.
type settingsView struct {
	Here            string // path and query of this view
	Pause           string // "none", "learning" or "memory"
	Admin           bool   // the user is an admin
	Health          client.Health
	Groups          []settingGroup
	PendingRules    []string // descriptions of the facts that wait for a decision
	Users           []core.User
	CanSwitchUser   bool // an admin can switch to another user's memory
	HasMore         bool // there are more users than listed
	Models          []Model
	MissingModels   []string // messages about unavailable models of the profile
	Prompts         []promptFile
	Profile         Setting
	ProfileSettings []Setting // settings that the profile sets
}

// settingGroup contains the settings with the same key prefix; the name "" is for keys without a prefix.
type settingGroup struct {
	Name     string
	Settings []Setting
}

func (p *Page) settingsView(r *http.Request, v visit) (any, error) {
	view := settingsView{Here: viewURL(r), Pause: string(p.engine.CurrentPause(r.Context(), v.owner)), Admin: isAdmin(r)}
	view.PendingRules = pendingRules(p.settingByKey("review.confidence").Value, p.settingByKey("review.categories").Value, p.settingByKey("review.conflicts").Value)
	if !view.Admin {
		return view, nil
	}
	users, next, err := p.engine.Users(r.Context(), httpx.IdentityOf(r.Context()).Namespace, "", maxListedUsers)
	if err != nil {
		return nil, err
	}
	view.Users, view.HasMore = users, next != ""
	_, err = r.Cookie(sessionCookie)
	view.CanSwitchUser = err == nil
	view.MissingModels, view.Prompts, view.Profile = p.MissingModels, p.promptFiles(), p.settingByKey("profile")
	view.Health, view.Models = p.Health(r.Context()), p.Models()
	for _, s := range p.Settings() {
		name, _, dotted := strings.Cut(s.Key, ".")
		if !dotted {
			name = ""
		}
		if n := len(view.Groups); n == 0 || view.Groups[n-1].Name != name {
			view.Groups = append(view.Groups, settingGroup{Name: name})
		}
		last := &view.Groups[len(view.Groups)-1]
		last.Settings = append(last.Settings, s)
		if strings.HasPrefix(s.From, "profile ") {
			view.ProfileSettings = append(view.ProfileSettings, s)
		}
	}
	return view, nil
}

const maxListedUsers = 200

func isAdmin(r *http.Request) bool { return httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin }

// settingByKey returns the setting with a key, or the zero Setting if no setting has the key.
func (p *Page) settingByKey(key string) Setting {
	all := p.Settings()
	if i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return all[i]
	}
	return Setting{}
}

// pendingRules describes which facts wait for a decision, according to the review settings.
func pendingRules(confidence, categories, conflicts string) (out []string) {
	if threshold, err := strconv.ParseFloat(confidence, 64); err == nil && threshold > 0 {
		out = append(out, "facts with a confidence below "+formatPercent(threshold))
	}
	if categories != "" {
		out = append(out, "facts of the categories "+categories)
	}
	if conflicts == "true" {
		out = append(out, "facts that would replace a stored fact")
	}
	return out
}

// pauseMessages confirm each kind of pause.
var pauseMessages = map[core.Pause]string{
	core.PauseNone: "Memory is on.", core.PauseLearning: "Learning is paused.", core.PauseMemory: "Memory is paused.",
}

func (p *Page) setPause(r *http.Request, v visit) (formResult, error) {
	pause := core.Pause(r.PostFormValue("pause"))
	if err := p.engine.SetPause(r.Context(), v.owner, pause, "", v.author); err != nil {
		return formResult{}, err
	}
	return formResult{Message: pauseMessages[pause]}, nil
}
