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

// The field with the milliseconds since 1970, at the event's top level.
const handedOut = "t2"

func init() {
	outputs.RegisterType("stamped_logstash", makeStampedLogstash)
}

// Makes the clients of `output.logstash`, by the same settings, and lets each stamp its batches.
func makeStampedLogstash(
	indices outputs.IndexManager, info beat.Info, observer outputs.Observer, settings *common.Config,
) (outputs.Group, error) {
	group, err := outputs.FindFactory("logstash")(indices, info, observer, settings)
	if err != nil {
		return group, err
	}
	for i, client := range group.Clients {
		// The pipeline connects, and connects again, only what is a NetworkClient.
		group.Clients[i] = stampedClient{client.(outputs.NetworkClient)}
	}
	return group, nil
}

type stampedClient struct {
	outputs.NetworkClient
}

// Publish stamps the events, again each time that a batch is retried, and hands them to the original client.
func (client stampedClient) Publish(ctx context.Context, batch publisher.Batch) error {
	now := time.Now().UnixMilli()
	events := batch.Events()
	for i := range events {
		events[i].Content.Fields[handedOut] = now
	}
	return client.NetworkClient.Publish(ctx, batch)
}
