package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what a figure was measured on.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"` // its model's name, "" where it is not known
	Procs int    `json:"gomaxprocs"`
}

// ThisMachine returns the machine that this runs on.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Procs: runtime.GOMAXPROCS(0)}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m // not Linux
	}
	m.CPU = field(string(info), "model name")
	return m
}

// field returns what a line "name : value" of a text says, "" if there is none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// resident returns how many bytes of a process are in memory, and the most that
// ever were; ok is false where the system does not say.
func resident(pid int) (rss, peak int64, ok bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0, false
	}
	rss, peak = kilobytes(field(string(status), "VmRSS")), kilobytes(field(string(status), "VmHWM"))
	return rss, peak, rss > 0
}

// kilobytes reads "123 kB" as bytes; 0 if it is none.
func kilobytes(s string) int64 {
	number, _, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
