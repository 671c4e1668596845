package io.kafkapareto.aggregator;

import java.util.ArrayDeque;
import java.util.Queue;
import org.apache.camel.AsyncCallback;
import org.apache.camel.Exchange;

/**
 * Answers exchanges in the order in which they came, in whichever order it becomes known what became of them.
 *
 * <p>Camel acknowledges a window of Beats as soon as the window's last event is answered, whatever has become of the
 * others. An event that has failed closes the connection, so that nothing behind it is acknowledged.
 */
final class AnswersInOrder {
    private final Queue<Pending> pending = new ArrayDeque<>();

    /** Returns the answer of an exchange that came behind all others so far. */
    synchronized Event.Answer expect(Exchange exchange, AsyncCallback callback) {
        Pending last = new Pending(exchange, callback);
        pending.add(last);
        return failure -> give(last, failure);
    }

    /** Calls back within the monitor, since the order of the calls is the point; Camel only leaves Netty a task then. */
    private synchronized void give(Pending answered, Exception failure) {
        answered.isKnown = true;
        answered.exchange.setException(failure);
        while (!pending.isEmpty() && pending.peek().isKnown) {
            pending.remove().callback.done(false);
        }
    }

    /** An exchange that is not answered yet. */
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
