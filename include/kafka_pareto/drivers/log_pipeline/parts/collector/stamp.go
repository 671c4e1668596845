package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

var errNotParsed = errors.New("the record's body is not a map: the pipeline's first stamp must have parse: true")

// Settings of a processor that writes a timestamp (whole milliseconds since 1970) into the body of each log record.
type stampConfig struct {
	// Key in the body, such as t2.
	Name string `mapstructure:"name"`
	// For the first timestamp: parse the entry's text, and use the time at which the receiver read it instead of the current one.
	Parse bool `mapstructure:"parse"`
	// Delay of each call, for tests.
	PlantedDelayMs int64 `mapstructure:"planted_delay_ms"`
}

// Validate returns the first broken rule.
func (config *stampConfig) Validate() error {
	if config.Name == "" {
		return errors.New("name: must be the key of the timestamp in the body, such as t2")
	}
	if config.PlantedDelayMs < 0 {
		return fmt.Errorf("planted_delay_ms: %d: must be at least 0", config.PlantedDelayMs)
	}
	return nil
}

func newStampFactory() processor.Factory {
	return processor.NewFactory(
		component.MustNewType("stamp"),
		func() component.Config { return &stampConfig{} },
		processor.WithLogs(newStamp, component.StabilityLevelStable),
	)
}

func newStamp(
	ctx context.Context, settings processor.Settings, config component.Config, next consumer.Logs,
) (processor.Logs, error) {
	return processorhelper.NewLogs(
		ctx, settings, config, next, config.(*stampConfig).stamp,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}),
	)
}

// Retried records pass again and get new timestamps.
func (config *stampConfig) stamp(ctx context.Context, logs plog.Logs) (plog.Logs, error) {
	if err := config.delay(ctx); err != nil {
		return logs, err
	}
	now := time.Now().UnixMilli()
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				if err := config.stampRecord(record, now); err != nil {
					return logs, err
				}
			}
		}
	}
	return logs, nil
}

func (config *stampConfig) stampRecord(record plog.LogRecord, now int64) error {
	body, at := record.Body(), now
	if config.Parse {
		at = record.ObservedTimestamp().AsTime().UnixMilli()
		if body.Type() == pcommon.ValueTypeStr {
			readEntry(body)
		}
	}
	if body.Type() != pcommon.ValueTypeMap {
		return consumererror.NewPermanent(fmt.Errorf("%s: %w", config.Name, errNotParsed))
	}
	body.Map().PutInt(config.Name, at)
	return nil
}

func (config *stampConfig) delay(ctx context.Context) error {
	if config.PlantedDelayMs == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(config.PlantedDelayMs) * time.Millisecond):
		return nil
	}
}
