// Filebeat with the inputs and outputs of its core, and the output of stamped.go beside.
package main

import (
	"os"

	"github.com/elastic/beats/v7/filebeat/beater"
	v2 "github.com/elastic/beats/v7/filebeat/input/v2"
	"github.com/elastic/beats/v7/libbeat/beat"
	"github.com/elastic/beats/v7/libbeat/cmd/instance"
	"github.com/elastic/beats/v7/libbeat/logp"
)

func main() {
	if instance.Run(instance.Settings{Name: "filebeat"}, beater.New(noMoreInputs)) != nil {
		os.Exit(1)
	}
}

// The log input is part of the beater; the list has the inputs of the newer kind, of which none is needed.
func noMoreInputs(beat.Info, *logp.Logger, beater.StateStore) []v2.Plugin { return nil }
