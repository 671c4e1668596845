package io.kafkapareto.aggregator;

import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes batches of events and sends them to the topic.
 *
 * <p>Like Logstash's Kafka output, it takes the next batch once Kafka has answered each record of the last, so the
 * producer holds at most one batch per worker.
 */
record Worker(
        EventQueue queue, Producer<byte[], byte[]> producer, String topic, PlantedDelay delay, InstantSource clock,
        Counters counters) implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);

    /** Works until it is interrupted. */
    @Override
    public void run() {
        try {
            while (true) {
                List<Event> batch = queue.take();
                if (!batch.isEmpty()) {
                    send(batch);
                }
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private void send(List<Event> batch) throws InterruptedException {
        counters.countBatch(batch.size());
        List<LogRecord> records = batch.stream().map(LogRecord::of).toList();
        delay.sleepAt(PlantedDelay.Place.RECEIVE);
        List<byte[]> values = new ArrayList<>(batch.size());
        for (LogRecord record : records) {
            counters.malformed.add(record.isMalformed() ? 1 : 0);
            values.add(record.value(clock.millis()));
        }
        delay.sleepAt(PlantedDelay.Place.SEND);
        Outcome outcome = new Outcome(batch.size());
        for (int place = 0; place < batch.size(); place++) {
            send(values.get(place), batch.get(place), outcome);
        }
        outcome.unanswered.await();
        if (outcome.failure != null) {
            LOG.warn("failed to send part of a batch (size {}): {}", batch.size(), outcome.failure.toString());
        }
    }

    private void send(byte[] value, Event event, Outcome outcome) {
        counters.sent.increment();
        try {
            producer.send(new ProducerRecord<>(topic, value), (metadata, failure) -> answer(event, failure, outcome));
        } catch (RuntimeException failure) {  // the producer is closed, or the thread interrupted
            answer(event, failure, outcome);
        }
    }

    private void answer(Event event, Exception failure, Outcome outcome) {
        if (failure == null) {
            counters.acknowledged.increment();
        } else {
            counters.failed.increment();
            outcome.failure = failure;
        }
        event.answer().accept(failure);
        outcome.unanswered.countDown();
    }

    /** The result of a batch. */
    private static final class Outcome {
        private final CountDownLatch unanswered;
        private volatile Exception failure;

        Outcome(int events) {
            unanswered = new CountDownLatch(events);
        }
    }
}
