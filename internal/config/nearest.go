package config

import (
	"cmp"
	"slices"
	"strings"
)

const (
	mostNearest = 5 // settings that are named where a name is of none
	mostEdits   = 2 // letters that a setting's name may differ by
)

// calledElsewhere are words that other programs have for what a setting is called here.
var calledElsewhere = map[string]string{"port": "addr", "listen": "addr", "bind": "addr", "address": "addr", "host": "addr", "folder": "data", "db": "store", "database": "store"}

// nearest returns the keys that one which is not a setting's may be meant for: those that differ in
// few letters, else those that it is a part of or begins with.
func nearest(name string) (near []string) {
	if len(name) <= mostEdits {
		return nil
	}
	name = cmp.Or(calledElsewhere[name], name)
	var parts []string
	for _, s := range settings() {
		switch {
		case edits(name, s.Key) <= mostEdits:
			near = append(near, s.Key)
		case strings.Contains("."+s.Key+".", "."+name+"."), strings.HasPrefix(name, s.Key+"."):
			parts = append(parts, s.Key)
		}
	}
	if len(near) == 0 {
		near = parts
	}
	return near[:min(len(near), mostNearest)]
}

// nearMiss reports whether a variable's name is one letter off that of a setting, or the beginning of
// one.
func nearMiss(env string) bool {
	return slices.ContainsFunc(settings(), func(s Setting) bool {
		return strings.HasPrefix(s.Env, env+"_") || edits(env, s.Env) == 1
	})
}

// edits returns how many letters are to be put in, left out, put for another or swapped with
// the next to make b of a.
func edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range to {
		rows[0][j+1] = j + 1
	}
	for i, x := range from {
		for j, y := range to {
			other := rows[i][j]
			if x != y {
				other++
			}
			if i > 0 && j > 0 && x == to[j-1] && y == from[i-1] {
				other = min(other, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = min(rows[i][j+1]+1, rows[i+1][j]+1, other)
		}
	}
	return rows[len(from)][len(to)]
}
