package io.kafkapareto.aggregator;

import java.util.function.Consumer;

/**
 * An event received by the Beats protocol.
 *
 * @param payload its fields, as read by Camel
 * @param receivedMs when it was received (t3), in milliseconds since 1970
 * @param answer called once: with null when Kafka has acknowledged the event, or with the failure
 */
record Event(Object payload, long receivedMs, Consumer<Exception> answer) {
}
