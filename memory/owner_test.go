package memory

import "testing"

func TestOwnersNeverMeet(t *testing.T) {
	names := []string{"a", "a/b", "a%2Fb", "", " ", "ö", "global", "user", ".", "..", "a\x00b", "default/user/a"}
	made := map[Owner]string{}
	check := func(o Owner, kind OwnerKind, namespace, name string, possible bool) {
		t.Helper()
		if !possible {
			if o.Valid() {
				t.Errorf("%s %q in %q is valid as %q, want nobody", kind, name, namespace, o)
			}
			return
		}
		if o.Namespace() != namespace || o.Kind() != kind || o.Name() != name || !o.Valid() {
			t.Errorf("%q reads back as %q %q %q (valid %v), want %q %q %q", o, o.Namespace(), o.Kind(), o.Name(), o.Valid(), namespace, kind, name)
		}
		key := string(kind) + "|" + namespace + "|" + name
		if was, ok := made[o]; ok && was != key {
			t.Errorf("%q stands for %s and for %s", o, was, key)
		}
		made[o] = key
	}
	for _, namespace := range names {
		check(Global(namespace), GlobalKind, namespace, "", namespace != "")
		for _, name := range names {
			check(User(namespace, name), UserKind, namespace, name, namespace != "" && name != "")
			check(Pool(namespace, name), PoolKind, namespace, name, namespace != "" && name != "")
		}
	}
}

func TestParseOwnerRefusesWhatNobodyMade(t *testing.T) {
	for _, s := range []string{"", "default", "default/user", "default/user/", "/user/a", "default/thing/a", "default/user/a/b", "default/global/x", "default/user/%zz", "de fault/user/a"} {
		if o, err := ParseOwner(s); err == nil {
			t.Errorf("ParseOwner(%q) = %q, want an error", s, o)
		}
	}
}

func TestScopeSees(t *testing.T) {
	ana, ben := User("default", "ana"), User("default", "ben")
	for _, c := range []struct {
		ask, has Scope
		want     bool
	}{
		{Scope{Owner: ana}, Scope{Owner: ana}, true},
		{Scope{Owner: ana}, Scope{Owner: ben}, false},
		{Scope{Owner: ana, Project: "p"}, Scope{Owner: ana}, true},
		{Scope{Owner: ana, Project: "p"}, Scope{Owner: ana, Project: "q"}, false},
		{Scope{Owner: ana}, Scope{Owner: ana, Project: "q"}, true},
		{Scope{Owner: ana, Conversation: "c"}, Scope{Owner: ana, Conversation: "d"}, false},
		{Scope{Owner: ana, Agent: "x", Project: "p"}, Scope{Owner: ana, Agent: "x"}, true},
	} {
		if got := c.ask.Sees(c.has); got != c.want {
			t.Errorf("%+v sees %+v = %v, want %v", c.ask, c.has, got, c.want)
		}
	}
}
