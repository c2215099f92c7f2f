package config

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	mostNearest  = 5    // settings that are named where a name is of none
	leastNearest = 0.45 // how much of two names is alike where one may be meant by the other
	behindBest   = 0.15 // how much less alike than the nearest another may be
)

// calledElsewhere are words that other programs have for what a setting is called here.
var calledElsewhere = map[string]string{
	"port": "addr", "listen": "addr", "bind": "addr", "address": "addr", "host": "addr",
	"dir": "data", "folder": "data", "home": "data", "db": "store", "database": "store",
}

// nearest returns the keys that one which is not a setting's may be meant for, the likeliest first.
func nearest(name string) []string {
	type near struct {
		key  string
		like float64
	}
	var all []near
	typed := wordsOfKey(name)
	for _, s := range settings() {
		if like := likeness(typed, wordsOfKey(s.Key)); like >= leastNearest {
			all = append(all, near{s.Key, like})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.like, a.like) })
	var out []string
	for _, n := range all[:min(len(all), mostNearest)] {
		if n.like >= all[0].like-behindBest {
			out = append(out, n.key)
		}
	}
	return out
}

// nearMiss reports whether a variable's name is one letter off that of a setting, or the beginning of
// one.
func nearMiss(env string) bool {
	return slices.ContainsFunc(settings(), func(s Setting) bool {
		return strings.HasPrefix(s.Env, env+"_") || edits(env, s.Env) == 1
	})
}

func wordsOfKey(key string) []string {
	return strings.FieldsFunc(strings.ToLower(key), func(r rune) bool { return strings.ContainsRune("._- ", r) })
}

// likeness is how much of two keys is alike, word by word, from 0 to 1.
func likeness(a, b []string) float64 {
	sum := 0.0
	for _, word := range a {
		best := 0.0
		for _, other := range b {
			best = max(best, wordLikeness(word, other))
		}
		sum += best
	}
	return 2 * sum / float64(len(a)+len(b))
}

func wordLikeness(a, b string) float64 {
	const shortest = 3 // letters that a beginning has to have
	switch {
	case a == b:
		return 1
	case calledElsewhere[a] == b:
		return 0.9
	case min(len(a), len(b)) >= shortest && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)), edits(a, b) <= utf8.RuneCountInString(a)/4:
		return 0.8
	}
	return 0
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
