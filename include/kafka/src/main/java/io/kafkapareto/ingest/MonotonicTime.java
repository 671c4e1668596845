package io.kafkapareto.ingest;

import java.util.function.Supplier;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.Time;

/** The client's time without the wall clock: setting the clock does not change any wait. */
final class MonotonicTime implements Time {
    private final Time source;

    MonotonicTime(Time source) {
        this.source = source;
    }

    @Override
    public long milliseconds() {
        return hiResClockMs();
    }

    @Override
    public long nanoseconds() {
        return source.nanoseconds();
    }

    @Override
    public void sleep(long ms) {
        source.sleep(ms);
    }

    @Override
    public void waitObject(Object lock, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
        synchronized (lock) {
            while (!condition.get()) {
                long leftMs = deadlineMs - milliseconds();
                if (leftMs <= 0) {
                    throw new TimeoutException("the condition was not met before the deadline");
                }
                lock.wait(leftMs);
            }
        }
    }
}
