package io.kafkapareto.aggregator;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;
import org.apache.camel.AsyncCallback;
import org.apache.camel.Exchange;

/**
 * Answers exchanges in order of arrival, regardless of the order in which their results become known.
 *
 * <p>Camel acknowledges a Beats window as soon as the window's last event is answered, regardless of the
 * results of the others. A failed event closes the connection, so nothing behind it is acknowledged.
 */
final class AnswersInOrder {
    private final Queue<Pending> pending = new ArrayDeque<>();

    /** Adds the latest exchange and returns the callback for its result. */
    synchronized Consumer<Exception> expect(Exchange exchange, AsyncCallback callback) {
        Pending last = new Pending(exchange, callback);
        pending.add(last);
        return failure -> give(last, failure);
    }

    /** Calls back inside the monitor to keep the order; each call only queues a task for Netty. */
    private synchronized void give(Pending answered, Exception failure) {
        answered.isKnown = true;
        answered.exchange.setException(failure);
        while (!pending.isEmpty() && pending.peek().isKnown) {
            pending.remove().callback.done(false);
        }
    }

    /** An unanswered exchange. */
    private static final class Pending {
        private final Exchange exchange;
        private final AsyncCallback callback;
        private boolean isKnown;

        Pending(Exchange exchange, AsyncCallback callback) {
            this.exchange = exchange;
            this.callback = callback;
        }
    }
}
