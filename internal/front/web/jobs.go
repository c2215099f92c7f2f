package web

import (
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
)

// jobsView is work that is under way, waiting or parked.
type jobsView struct {
	Here string
	Jobs []client.Job
}

func (jobsView) title() string { return "Jobs" }

func (p *Page) jobs(r *http.Request, v visit) (any, error) {
	jobs, err := p.engine.Jobs(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view := jobsView{Here: here(r)}
	for _, j := range jobs {
		view.Jobs = append(view.Jobs, client.ViewJob(j))
	}
	return view, nil
}

// retry lets a parked job run again.
func (p *Page) retry(r *http.Request, v visit) (done, error) {
	id, err := httpx.PathValue(r, "id")
	if err != nil {
		return done{}, err
	}
	return done{Say: "It is tried again."}, p.engine.RetryJob(r.Context(), v.owner, id)
}
