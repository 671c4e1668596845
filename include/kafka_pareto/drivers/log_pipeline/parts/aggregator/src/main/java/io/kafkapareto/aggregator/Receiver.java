package io.kafkapareto.aggregator;

import java.time.InstantSource;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.camel.AsyncCallback;
import org.apache.camel.Exchange;
import org.apache.camel.support.AsyncProcessorSupport;

/** Timestamps each event received by the Beats protocol, and queues it. */
final class Receiver extends AsyncProcessorSupport {
    private static final long LOOK_MS = 10;

    private final EventQueue queue;
    private final boolean awaitsKafka;
    private final InstantSource clock;
    private final Counters counters;
    private final AnswersInOrder answers = new AnswersInOrder();
    private final AtomicLong unanswered = new AtomicLong();
    private volatile boolean hasEnded;

    /** With {@code awaitsKafka}, answers an event once Kafka has acknowledged it, otherwise once it is queued. */
    Receiver(EventQueue queue, boolean awaitsKafka, InstantSource clock, Counters counters) {
        this.queue = queue;
        this.awaitsKafka = awaitsKafka;
        this.clock = clock;
        this.counters = counters;
    }

    @Override
    public boolean process(Exchange exchange, AsyncCallback callback) {
        long receivedMs = clock.millis();
        Consumer<Exception> answer = answers.expect(exchange, callback);
        unanswered.incrementAndGet();  // before hasEnded is read, so end() waits for the event
        if (hasEnded) {
            refuse(answer, new RejectedExecutionException("the aggregator is ending"));
            return false;
        }
        counters.received.increment();
        try {
            queue.put(new Event(exchange.getIn().getBody(), receivedMs, failure -> {
                unanswered.decrementAndGet();
                if (awaitsKafka) {
                    answer.accept(failure);
                }
            }));
            if (!awaitsKafka) {
                answer.accept(null);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            refuse(answer, error);
        }
        return false;
    }

    private void refuse(Consumer<Exception> answer, Exception reason) {
        unanswered.decrementAndGet();
        answer.accept(reason);
    }

    /** Stops accepting events; returns whether all earlier ones are answered in time. */
    boolean end(long withinS) throws InterruptedException {
        hasEnded = true;
        long beganNs = System.nanoTime();
        while (unanswered.get() > 0) {
            if (System.nanoTime() - beganNs > TimeUnit.SECONDS.toNanos(withinS)) {
                return false;
            }
            Thread.sleep(LOOK_MS);
        }
        return true;
    }
}
