package io.kafkapareto.aggregator;

import java.time.InstantSource;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.camel.AsyncCallback;
import org.apache.camel.Exchange;
import org.apache.camel.support.AsyncProcessorSupport;

/** Stamps each event that comes out of the Beats protocol, and queues it. */
final class Receiver extends AsyncProcessorSupport {
    private static final long LOOK_MS = 10;

    private final EventQueue queue;
    private final boolean awaitsKafka;
    private final InstantSource clock;
    private final Counters counters;
    private final AnswersInOrder answers = new AnswersInOrder();
    private final AtomicLong unanswered = new AtomicLong();
    private volatile boolean hasEnded;

    /**
     * Makes a receiver.
     *
     * @param awaitsKafka true to answer an event once Kafka has acknowledged it, false to do so once it is queued
     */
    Receiver(EventQueue queue, boolean awaitsKafka, InstantSource clock, Counters counters) {
        this.queue = queue;
        this.awaitsKafka = awaitsKafka;
        this.clock = clock;
        this.counters = counters;
    }

    @Override
    public boolean process(Exchange exchange, AsyncCallback callback) {
        long receivedMs = clock.millis();
        Event.Answer answer = answers.expect(exchange, callback);
        unanswered.incrementAndGet();  // before it is asked whether this has ended, so that the end waits for the event
        if (hasEnded) {
            refuse(answer, new RejectedExecutionException("the aggregator is ending"));
            return false;
        }
        counters.received.increment();
        try {
            queue.put(new Event(exchange.getIn().getBody(), receivedMs, failure -> {
                unanswered.decrementAndGet();
                if (awaitsKafka) {
                    answer.give(failure);
                }
            }));
            if (!awaitsKafka) {
                answer.give(null);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            refuse(answer, error);
        }
        return false;
    }

    private void refuse(Event.Answer answer, Exception reason) {
        unanswered.decrementAndGet();
        answer.give(reason);
    }

    /** Takes no more events; tells whether Kafka has answered all that were taken before, within so many seconds. */
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
