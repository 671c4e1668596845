package io.kafkapareto;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's MockProducer; {@code send()} takes simulated time and records its call times. */
final class PacedProducer extends MockProducer<byte[], byte[]> {
    final List<Long> calledNs = new ArrayList<>();
    private final SimulatedClock clock;
    private final LongUnaryOperator blockedNs;
    private long failsAt = Long.MAX_VALUE;
    private boolean failsLater;
    private RuntimeException failure;

    /** Block the n-th {@code send()}, counted from 0, for {@code blockedNs} of n, then acknowledge it immediately. */
    PacedProducer(SimulatedClock clock, LongUnaryOperator blockedNs) {
        super(false, null, new ByteArraySerializer(), new ByteArraySerializer());
        this.clock = clock;
        this.blockedNs = blockedNs;
    }

    PacedProducer(SimulatedClock clock) {
        this(clock, index -> 0);
    }

    PacedProducer throwingAt(long index, RuntimeException thrown) {
        failsAt = index;
        failure = thrown;
        return this;
    }

    PacedProducer failingAt(long index, RuntimeException answered) {
        failsLater = true;
        return throwingAt(index, answered);
    }

    @Override
    public synchronized Future<RecordMetadata> send(ProducerRecord<byte[], byte[]> record, Callback callback) {
        long index = calledNs.size();
        calledNs.add(clock.nanoTime());
        clock.advance(blockedNs.applyAsLong(index));
        if (index == failsAt && !failsLater) {
            throw failure;
        }
        Future<RecordMetadata> sent = super.send(record, callback);
        if (index == failsAt) {
            errorNext(failure);
        } else {
            completeNext();
        }
        return sent;
    }
}
