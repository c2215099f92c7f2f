//go:build !unix

package pgtest

import "os/exec"

// asNobody does nothing: there is no root here.
func asNobody(*exec.Cmd, string) error { return nil }
