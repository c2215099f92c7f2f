// Command loci is long-term memory for LLM applications. See loci --help.
package main

import (
	"os"

	"github.com/loci-memory/loci/internal/cli"
)

func main() { os.Exit(cli.Main()) }
