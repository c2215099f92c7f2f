package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

var sessionRules = []rule{
	{"SessionIsKeptUntilRemoved", sessionIsKeptUntilRemoved},
	{"ExpiredSessionsGoWithTheNext", expiredSessionsGoWithTheNext},
	{"SessionIsNoKey", sessionIsNoKey},
}

// sessions returns the store of a rule that keeps sessions; stores around stores need not.
func sessions(r *rig) memory.Sessions {
	s, ok := r.Store.(memory.Sessions)
	if !ok {
		r.Skip("this store keeps no sessions")
	}
	return s
}

func session(hash, user string, created time.Time) memory.Session {
	return memory.Session{Hash: strings.Repeat(hash, 64), User: user, CreatedAt: created, ExpiresAt: created.Add(time.Hour)}
}

func sessionIsKeptUntilRemoved(r *rig) {
	s, now := sessions(r), r.clock.Now()
	anas, bens := session("a", "ana", now), session("b", "", now)
	for _, one := range []memory.Session{anas, bens} {
		r.must("add a session", s.AddSession(r.Context(), "default", one))
	}
	if err := s.AddSession(r.Context(), "default", session("a", "ben", now)); !errors.Is(err, memory.Conflict) {
		r.Errorf("a hash that is there: got %v, want a conflict", err)
	}
	for range 2 {
		r.must("remove a session", s.RemoveSession(r.Context(), "default", bens.Hash))
	}
	r.must("remove another namespace's session", s.RemoveSession(r.Context(), "other", anas.Hash))
	if got, err := s.Session(r.Context(), "default", anas.Hash); err != nil || got != anas {
		r.Errorf("got %+v, %v; want %+v", got, err, anas)
	}
	for _, at := range [][2]string{{"default", bens.Hash}, {"other", anas.Hash}, {"default", ""}, {"default", anas.Hash[:16]}} {
		if got, err := s.Session(r.Context(), at[0], at[1]); !errors.Is(err, memory.NotFound) {
			r.Errorf("session %q of %s: got %+v, %v; want none", at[1], at[0], got, err)
		}
	}
}

func expiredSessionsGoWithTheNext(r *rig) {
	s, now := sessions(r), r.clock.Now()
	r.must("add a session", s.AddSession(r.Context(), "default", session("a", "ana", now)))
	r.must("add a session", s.AddSession(r.Context(), "other", session("a", "ana", now)))
	r.must("add a session", s.AddSession(r.Context(), "default", session("b", "ana", now.Add(time.Minute))))
	r.must("add a session", s.AddSession(r.Context(), "default", session("c", "ana", now.Add(time.Hour+time.Minute/2))))
	for at, kept := range map[[2]string]bool{{"default", "a"}: false, {"other", "a"}: true, {"default", "b"}: true, {"default", "c"}: true} {
		if _, err := s.Session(r.Context(), at[0], strings.Repeat(at[1], 64)); (err == nil) != kept || err != nil && !errors.Is(err, memory.NotFound) {
			r.Errorf("session %s of %s: got %v, want it kept: %v", at[1], at[0], err, kept)
		}
	}
}

func sessionIsNoKey(r *rig) {
	s, now := sessions(r), r.clock.Now()
	keys, ok := r.Store.(memory.Keys)
	if !ok {
		r.Skip("this store keeps no keys")
	}
	one := session("a", "ana", now)
	key := memory.Key{Hash: strings.Repeat("b", 64), Name: "laptop", Role: memory.KeyAdmin, CreatedAt: now}
	r.must("add a session", s.AddSession(r.Context(), "default", one))
	r.must("add a key", keys.AddKey(r.Context(), "default", key))
	if got, err := keys.Keys(r.Context(), "default"); err != nil || len(got) != 1 || got[0] != key {
		r.Errorf("keys: got %+v, %v; want the key alone", got, err)
	}
	if err := keys.RemoveKey(r.Context(), "default", memory.Key{Hash: one.Hash}.ID()); !errors.Is(err, memory.NotFound) {
		r.Errorf("remove the session as a key: got %v, want that there is none", err)
	}
	if got, err := s.Session(r.Context(), "default", key.Hash); !errors.Is(err, memory.NotFound) {
		r.Errorf("the key as a session: got %+v, %v; want none", got, err)
	}
	r.must("remove the key as a session", s.RemoveSession(r.Context(), "default", key.Hash))
	if got, err := keys.Keys(r.Context(), "default"); err != nil || len(got) != 1 {
		r.Errorf("keys: got %+v, %v; want the key", got, err)
	}
}
