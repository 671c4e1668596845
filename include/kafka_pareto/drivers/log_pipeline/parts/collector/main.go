// An OpenTelemetry Collector with the components of the log pipeline and the processor in stamp.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/filelogreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

const (
	command  = "collector"
	pollEach = 10 * time.Millisecond
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		// A configuration's errors span several lines.
		fmt.Fprintf(os.Stderr, "error: %s\n", strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}

// Runs the collector until SIGTERM or SIGINT; it then sends its remaining entries.
func run(arguments []string) error {
	place, err := configPlace(arguments)
	if err != nil {
		return err
	}
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories,
		BuildInfo: component.BuildInfo{Command: command, Description: "kafka-pareto's collector", Version: "1"},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{place},
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go reportReady(collector, ended)
	return collector.Run(context.Background())
}

// Reads the standard options --config and --feature-gates.
func configPlace(arguments []string) (string, error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // report the error only
	place := flags.String("config", "", "location of the configuration, such as file:/agent.yaml")
	featuregate.GlobalRegistry().RegisterFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return "", err
	}
	if *place == "" || flags.NArg() > 0 {
		return "", errors.New("usage: collector --config file:/path.yaml")
	}
	return *place, nil
}

// Reports on standard output when all components have started.
func reportReady(collector *otelcol.Collector, ended <-chan struct{}) {
	looks := time.NewTicker(pollEach)
	defer looks.Stop()
	for collector.GetState() != otelcol.StateRunning {
		select {
		case <-ended:
			return
		case <-looks.C:
		}
	}
	fmt.Println(`{"ready": true}`)
}

func factories() (otelcol.Factories, error) {
	receivers, receiversErr := otelcol.MakeFactoryMap[receiver.Factory](filelogreceiver.NewFactory(), otlpreceiver.NewFactory())
	processors, processorsErr := otelcol.MakeFactoryMap[processor.Factory](batchprocessor.NewFactory(), newStampFactory())
	exporters, exportersErr := otelcol.MakeFactoryMap[exporter.Factory](otlpexporter.NewFactory(), kafkaexporter.NewFactory())
	extensions, extensionsErr := otelcol.MakeFactoryMap[extension.Factory](filestorage.NewFactory())
	return otelcol.Factories{
		Receivers:  receivers,
		Processors: processors,
		Exporters:  exporters,
		Extensions: extensions,
		Telemetry:  otelconftelemetry.NewFactory(),
	}, errors.Join(receiversErr, processorsErr, exportersErr, extensionsErr)
}
