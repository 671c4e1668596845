// Filebeat with the core's inputs and outputs, and the output in stamped.go.
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

// The beater includes the log input; this function lists inputs of the newer kind.
func noMoreInputs(beat.Info, *logp.Logger, beater.StateStore) []v2.Plugin { return nil }
