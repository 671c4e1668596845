package io.kafkapareto.ingest;

/** Says in one line why an ingestion cannot be done as it was asked for, before or while it sends. */
final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    Refused(String reason) {
        super(reason);
    }
}
