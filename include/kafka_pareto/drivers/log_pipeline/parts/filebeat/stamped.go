package main

import (
	"context"
	"time"

	"github.com/elastic/beats/v7/libbeat/beat"
	"github.com/elastic/beats/v7/libbeat/common"
	"github.com/elastic/beats/v7/libbeat/outputs"
	_ "github.com/elastic/beats/v7/libbeat/outputs/logstash"
	"github.com/elastic/beats/v7/libbeat/publisher"
)

// Top-level field with the milliseconds since 1970.
const sentField = "t2"

func init() {
	outputs.RegisterType("stamped_logstash", makeStampedLogstash)
}

// Wraps the clients of `output.logstash` to timestamp their batches.
func makeStampedLogstash(
	indices outputs.IndexManager, info beat.Info, observer outputs.Observer, settings *common.Config,
) (outputs.Group, error) {
	group, err := outputs.FindFactory("logstash")(indices, info, observer, settings)
	if err != nil {
		return group, err
	}
	for i, client := range group.Clients {
		// The pipeline connects and reconnects only a NetworkClient.
		group.Clients[i] = stampedClient{client.(outputs.NetworkClient)}
	}
	return group, nil
}

type stampedClient struct {
	outputs.NetworkClient
}

// Publish timestamps the events, again at each retry, and passes them on.
func (client stampedClient) Publish(ctx context.Context, batch publisher.Batch) error {
	now := time.Now().UnixMilli()
	events := batch.Events()
	for i := range events {
		events[i].Content.Fields[sentField] = now
	}
	return client.NetworkClient.Publish(ctx, batch)
}
