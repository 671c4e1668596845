package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"
)

var observed = time.UnixMilli(1732617183500)

func logsOf(text string) plog.Logs {
	logs := plog.NewLogs()
	record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.SetObservedTimestamp(pcommon.NewTimestampFromTime(observed.Add(999 * time.Microsecond)))
	record.Body().SetStr(text)
	return logs
}

func body(logs plog.Logs) map[string]any {
	return logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Map().AsRaw()
}

func send(t *testing.T, config stampConfig, logs plog.Logs) error {
	t.Helper()
	next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	factory := newStampFactory()
	made, err := factory.CreateLogs(t.Context(), processortest.NewNopSettings(factory.Type()), &config, next)
	if err != nil {
		t.Fatal(err)
	}
	return made.ConsumeLogs(t.Context(), logs)
}

func TestTheFirstTimestampIsTheReadTime(t *testing.T) {
	logs := logsOf(entryOnOneLine)
	if err := send(t, stampConfig{Name: "t1", Parse: true, PlantedDelayMs: 20}, logs); err != nil {
		t.Fatal(err)
	}
	if found := body(logs); found["t1"] != observed.UnixMilli() || found["request_id"] != "6f1c" {
		t.Errorf("%v", found)
	}
}

func TestALaterTimestampIsTakenAfterTheDelay(t *testing.T) {
	logs := logsOf("no request")
	started := time.Now()
	for _, config := range []stampConfig{{Name: "t1", Parse: true}, {Name: "t2", PlantedDelayMs: 30}} {
		if err := send(t, config, logs); err != nil {
			t.Fatal(err)
		}
	}
	found := body(logs)
	t2, _ := found["t2"].(int64)
	if t2 < started.UnixMilli()+30 || t2 > time.Now().UnixMilli() || found["malformed"] != "no request" {
		t.Errorf("%v", found)
	}
}

func TestRetriedRecordsGetNewTimestamps(t *testing.T) {
	logs := logsOf(entryOnOneLine)
	var stamps []any
	for range 2 {
		for _, config := range []stampConfig{{Name: "t1", Parse: true}, {Name: "t2", PlantedDelayMs: 5}} {
			if err := send(t, config, logs); err != nil {
				t.Fatal(err)
			}
		}
		stamps = append(stamps, body(logs)["t2"])
	}
	found := body(logs)
	if stamps[0] == stamps[1] || found["t1"] != observed.UnixMilli() || found["uri"] != "/a?b=1&c=<d>" {
		t.Errorf("%v", found)
	}
}

func TestAnUnparsedTextIsRejected(t *testing.T) {
	err := send(t, stampConfig{Name: "t2"}, logsOf(entryOnOneLine))
	if err == nil || !consumererror.IsPermanent(err) || !strings.Contains(err.Error(), "t2") {
		t.Errorf("%v", err)
	}
}

func TestInvalidSettingsAreRejected(t *testing.T) {
	for rule, config := range map[string]stampConfig{"name": {}, "planted_delay_ms": {Name: "t2", PlantedDelayMs: -1}} {
		if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), rule) {
			t.Errorf("%v", err)
		}
	}
}
