package io.kafkapareto.aggregator;

/**
 * Holds an event as it came out of the Beats protocol.
 *
 * @param payload its fields, as Camel has read them
 * @param receivedMs when it came out of the protocol (t3), in milliseconds since 1970
 * @param answer is given once, when it is known what became of the event
 */
record Event(Object payload, long receivedMs, Answer answer) {
    /** Takes what became of an event. */
    interface Answer {
        /** Is given null once Kafka has acknowledged the event, or why it will not. */
        void give(Exception failure);
    }
}
