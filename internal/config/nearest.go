package config

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxSuggestions = 5 // maximum number of suggested settings for an unknown name
	maxEdits       = 2 // maximum edit distance of a suggestion
)

// keySynonyms maps usual names of settings in other programs to Loci's keys.
var keySynonyms = map[string]string{"port": "addr", "listen": "addr", "bind": "addr", "address": "addr", "host": "addr", "folder": "data", "db": "store", "database": "store"}

// suggestKeys suggests keys for an unknown name: keys within maxEdits of the name or, if there are none,
// keys that contain the name as a part or are the beginning of the name.
func suggestKeys(name string) (suggestions []string) {
	if len(name) <= maxEdits {
		return nil
	}
	name = cmp.Or(keySynonyms[name], name)
	var parts []string
	for _, s := range settings() {
		switch {
		case editDistance(name, s.Key) <= maxEdits:
			suggestions = append(suggestions, s.Key)
		case strings.Contains("."+s.Key+".", "."+name+"."), strings.HasPrefix(name, s.Key+"."):
			parts = append(parts, s.Key)
		}
	}
	if len(suggestions) == 0 {
		suggestions = parts
	}
	return suggestions[:min(len(suggestions), maxSuggestions)]
}

// isTypo reports whether a variable's name differs by one letter from a setting's variable, or is the
// beginning of a setting's variable.
func isTypo(env string) bool {
	return slices.ContainsFunc(settings(), func(s Setting) bool {
		return strings.HasPrefix(s.Env, env+"_") || editDistance(env, s.Env) == 1
	})
}

// editDistance returns the edit distance of a and b: the number of inserted, deleted, replaced or
// swapped letters.
func editDistance(a, b string) int {
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
			substituted := rows[i][j]
			if x != y {
				substituted++
			}
			if i > 0 && j > 0 && x == to[j-1] && y == from[i-1] {
				substituted = min(substituted, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = min(rows[i][j+1]+1, rows[i+1][j]+1, substituted)
		}
	}
	return rows[len(from)][len(to)]
}
