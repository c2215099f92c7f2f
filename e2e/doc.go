// Package e2e drives a built loci binary as its users do: with a real OpenAI SDK
// in front and an upstream behind it that answers from a script and keeps what it
// was sent, and with a headless Chromium that looks at the page. It is a module of
// its own, since its dependencies are other people's clients, and it sees nothing
// of Loci but the process and what goes over HTTP. It holds no tests of single
// packages; those stand beside them.
package e2e
