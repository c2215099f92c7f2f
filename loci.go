// Package loci is long-term memory for LLM applications.
package loci
