package io.kafkapareto.audit;

import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still until it is set. */
final class SimulatedTime implements Time {
    private long nowUs;

    void setUs(long us) {
        nowUs = us;
    }

    @Override
    public long milliseconds() {
        return nowUs / 1000;
    }

    @Override
    public long nanoseconds() {
        return nowUs * 1000;
    }

    @Override
    public void sleep(long ms) {
        nowUs += ms * 1000;
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException();
    }
}
