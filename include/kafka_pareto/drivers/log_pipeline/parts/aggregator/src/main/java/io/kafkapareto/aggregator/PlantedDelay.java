package io.kafkapareto.aggregator;

/** A delay of each batch, for tests: before its events get their timestamp t4, or between that and {@code send()}. */
record PlantedDelay(Place place, long ms) {
    enum Place { RECEIVE, SEND }

    /** Sleeps if the delay is at this place. */
    void sleepAt(Place reached) throws InterruptedException {
        if (place == reached && ms > 0) {
            Thread.sleep(ms);
        }
    }
}
