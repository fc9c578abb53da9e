// Both ends of the matrix: `serve` plays servers, `probe` is a client. What either is to do comes as JSON in its argument.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	switch os.Args[1] {
	case "serve":
		var plan servePlan
		must(json.Unmarshal([]byte(os.Args[2]), &plan))
		serve(plan)
	case "probe":
		text, err := os.ReadFile(os.Args[2])
		must(err)
		var rows []row
		must(json.Unmarshal(text, &rows))
		must(json.NewEncoder(os.Stdout).Encode(probe(rows)))
	}
}
