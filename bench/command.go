package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// global holds the flags that say which settings are measured.
type global struct {
	config, profile string
	set             []string
}

func (g *global) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&g.config, "config", "", "settings file (YAML)")
	f.StringVar(&g.profile, "profile", "", "settings that are loaded together")
}

// load reads the settings, as loci does.
func (g *global) load() (config.Config, error) {
	flags := map[string]string{}
	if g.profile != "" {
		flags["profile"] = g.profile
	}
	for _, pair := range g.set {
		key, value, _ := strings.Cut(pair, "=")
		flags[key] = value
	}
	return config.Load(config.Sources{Flags: flags, Env: os.Environ(), File: g.config})
}

// setOr adds the flag --set. It names a data set; in the form key=value it is a setting.
func setOr(g *global, cmd *cobra.Command, into *string, fallback, help string) {
	*into = fallback
	cmd.Flags().Var(&setFlag{g, into}, "set", help+"; or a setting, as key=value")
}

type setFlag struct {
	g    *global
	name *string
}

// String implements pflag.Value.
func (s *setFlag) String() string {
	if s.name == nil {
		return ""
	}
	return *s.name
}

// Set implements pflag.Value.
func (s *setFlag) Set(value string) error {
	if strings.Contains(value, "=") {
		s.g.set = append(s.g.set, value)
	} else {
		*s.name = value
	}
	return nil
}

// Type implements pflag.Value.
func (s *setFlag) Type() string { return "string" }

// modelServer is the server whose models are measured, and what they cost.
type modelServer struct {
	url, key string
	prices   eval.Prices
}

// flags adds those that name the server; without --key, its key is in a variable.
func (m *modelServer) flags(cmd *cobra.Command, does, variable string) {
	f := cmd.Flags()
	f.StringVar(&m.url, "url", "", "base URL of an OpenAI-compatible server that "+does)
	f.StringVar(&m.key, "key", "", "key for it ("+variable+" unless given)")
	f.Float64Var(&m.prices.Input, "input-price", 0, "what a million tokens cost that a model reads")
	f.Float64Var(&m.prices.Output, "output-price", 0, "and those that it writes")
}

// check refuses prices that cannot be.
func (m *modelServer) check() error {
	if min(m.prices.Input, m.prices.Output) < 0 {
		return memory.Errorf(memory.Invalid, "--input-price and --output-price are not below 0")
	}
	return nil
}

// withTarget runs a server in this process while do runs: on a memory of its own, with the models
// of the settings.
func withTarget(ctx context.Context, c config.Config, do func(context.Context, *eval.Server) error) (err error) {
	own, err := c.ForBench(map[string]string{"store": "memory"})
	if err != nil {
		return err
	}
	l, err := loci.Open(ctx, own, loci.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- l.Run(running) }()
	server := httptest.NewServer(l.Handler())
	defer func() {
		server.Close()
		stop()
		err = errors.Join(err, <-stopped, l.Close())
	}()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	target := &eval.Server{URL: server.URL, Models: eval.ModelsOf(l.Config()), HTTP: &http.Client{Transport: transport}}
	if strings.HasPrefix(target.Models.Embedder, "remote:") {
		target.Settle = l.Settle
	}
	return do(ctx, target)
}

// printDifferences writes what changed since the run that a file has, if it was compared with.
func printDifferences[T any](w io.Writer, list []T, than string) {
	if len(list) > 0 {
		fmt.Fprintf(w, "\nless the run of %s\n", than)
	}
	for _, d := range list {
		fmt.Fprintln(w, d)
	}
}

// printRows writes a line of JSON for each figure.
func printRows[T any](w io.Writer, rows []T) error {
	enc := json.NewEncoder(w)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
