package io.kafkapareto.aggregator;

/**
 * Holds a delay of each batch that a test plants, so as to see whether it is found where it is.
 *
 * @param place where it is: before the batch's events are stamped (t4), or between that and {@code send()}
 * @param ms 0 for none
 */
record PlantedDelay(Place place, long ms) {
    enum Place { RECEIVE, SEND }

    /** Sleeps if the delay is at this place. */
    void sleepAt(Place reached) throws InterruptedException {
        if (place == reached && ms > 0) {
            Thread.sleep(ms);
        }
    }
}
