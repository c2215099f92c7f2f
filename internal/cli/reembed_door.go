package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// door asks the running server or, where there is none, an engine opened for this one
// command, for what package client has no method for.
type door struct {
	http *http.Client
	base string
	key  string
	user string
}

// withDoor runs a command by a door.
func (g *global) withDoor(cmd *cobra.Command, do func(context.Context, *door) error) error {
	config, err := g.load(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	d := &door{http.DefaultClient, "http://" + config.Addr, config.APIKey, g.user}
	probe, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err = d.ask(probe, http.MethodGet, "/health", nil, nil)
	if err == nil {
		return do(ctx, d)
	}
	if !errors.Is(err, memory.Unavailable) {
		return err
	}
	if config.Log.Level == "info" {
		config.Log.Level = "warn" // one command is not a server's log
	}
	l, err := loci.Open(ctx, config, loci.Options{Log: cmd.ErrOrStderr()})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- l.Run(running) }()
	d.http, d.base = &http.Client{Transport: inProcess{l.Handler()}}, "http://localhost"
	err = do(ctx, d)
	stop()
	return errors.Join(err, <-finished, l.Close())
}

// ask sends in, unless it is nil, and reads the answer into out, unless that is nil.
func (d *door) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"X-Loci-Key": d.key, "X-Loci-User": d.user} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return &memory.Error{Code: memory.Unavailable, Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // nothing is lost with a body that was read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return memory.Errorf(memory.Unavailable, "read answer: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		var p client.Problem
		if json.Unmarshal(data, &p) != nil || p.Title == "" {
			return memory.Errorf(memory.Unavailable, "the server answered %d: %.200s", resp.StatusCode, data)
		}
		return &memory.Error{Code: p.Code, Err: errors.New(p.Detail)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return nil
}
