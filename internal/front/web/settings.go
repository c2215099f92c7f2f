package web

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
)

// settingsView is how the server is set, and what a user puts on hold.
type settingsView struct {
	Here   string
	Pause  string
	Health client.Health
	Groups []group
}

func (settingsView) title() string { return "Settings" }

// group is the settings whose keys begin alike; "" for those of the server itself.
type group struct {
	Name     string
	Settings []Setting
}

func (p *Page) settings(r *http.Request, v visit) (any, error) {
	view := settingsView{Here: here(r), Pause: string(p.engine.Paused(r.Context(), v.owner))}
	if p.Health != nil {
		view.Health = p.Health(r.Context())
	}
	for _, s := range p.Settings {
		name, _, dotted := strings.Cut(s.Key, ".")
		if !dotted {
			name = ""
		}
		if n := len(view.Groups); n == 0 || view.Groups[n-1].Name != name {
			view.Groups = append(view.Groups, group{Name: name})
		}
		last := &view.Groups[len(view.Groups)-1]
		last.Settings = append(last.Settings, s)
	}
	return view, nil
}

// pauses are what is said of each.
var pauses = map[engine.Pause]string{
	engine.PauseNone: "Memory is on.", engine.PauseLearning: "Learning is paused.", engine.PauseMemory: "Memory is paused.",
}

func (p *Page) pause(r *http.Request, v visit) (done, error) {
	pause := engine.Pause(r.PostFormValue("pause"))
	if err := p.engine.Pause(r.Context(), v.owner, pause, "", v.author); err != nil {
		return done{}, err
	}
	return done{Say: pauses[pause]}, nil
}
