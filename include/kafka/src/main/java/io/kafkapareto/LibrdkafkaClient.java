package io.kafkapareto;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.SslAuthenticationException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;

/**
 * librdkafka's producer, called as most programs call it: values and keys are copied.
 *
 * <p>If its queue is full, {@link #send} waits. A separate thread reads the delivery reports, as its users' poll loops
 * do. librdkafka would retry a refused login until the records time out; here it fails all records at once.
 */
final class LibrdkafkaClient implements LoadClient {
    private static final int ERROR_BYTES = 512;
    private static final int POLL_MS = 100;
    private static final int FLUSH_MS = 1_000;
    /** librdkafka's own granularity. */
    private static final String STATISTICS_MS = "1000";
    /** Offsets in librdkafka's {@code rd_kafka_message_t}. */
    private static final int MESSAGE_ERROR = 0;
    private static final int MESSAGE_OPAQUE = 64;
    /** Size of {@code rd_kafka_vu_t}, an argument of {@code rd_kafka_produceva}, and the offset of its value. */
    private static final int ARGUMENT_BYTES = 72;
    private static final int ARGUMENT_VALUE = 8;
    private static final int ARGUMENTS = 6;

    private final long client;
    private final long topic;
    private final long queue;
    private final Thread poller = new Thread(this::poll, "librdkafka-poller");
    private final LibrdkafkaStatistics statistics;
    private final long queueBytes;
    private final Pending pending = new Pending();
    private final Memory arguments = new Memory((long) ARGUMENTS * ARGUMENT_BYTES);
    private Memory content = new Memory(1);
    private long waitedNs;
    private volatile boolean closed;
    /** The last error that concerns no record, such as a refused connection; empty if there was none. */
    private volatile String lastError = "";
    /** Why no record can be sent any more; null if they can. */
    private volatile RuntimeException unusable;

    /** Connect with librdkafka's own settings; a rejected one is an {@link IllegalArgumentException}. */
    LibrdkafkaClient(String library, String topic, Map<String, String> settings) {
        Librdkafka.load(library);
        statistics = new LibrdkafkaStatistics(!"0".equals(settings.get("acks")));
        queueBytes = 1024 * Long.parseLong(settings.getOrDefault("queue.buffering.max.kbytes", "1048576"));
        client = connected(settings);
        this.topic = Librdkafka.rd_kafka_topic_new(client, topic, 0);
        if (this.topic == 0) {
            RuntimeException reason = failure(Librdkafka.rd_kafka_last_error());
            Librdkafka.rd_kafka_destroy(client);
            throw reason;
        }
        queue = Librdkafka.rd_kafka_queue_get_main(client);
        poller.setDaemon(true);
        poller.start();
    }

    private static long connected(Map<String, String> settings) {
        byte[] error = new byte[ERROR_BYTES];
        long conf = Librdkafka.rd_kafka_conf_new();
        settings.forEach((name, value) -> set(conf, name, value));
        set(conf, "statistics.interval.ms", STATISTICS_MS);
        Librdkafka.rd_kafka_conf_set_events(
                conf, Librdkafka.DELIVERY_REPORTS | Librdkafka.ERROR | Librdkafka.STATISTICS);
        long client = Librdkafka.rd_kafka_new(Librdkafka.PRODUCER, conf, error, error.length);
        if (client == 0) {
            Librdkafka.rd_kafka_conf_destroy(conf);
            throw new IllegalArgumentException("librdkafka: " + Native.toString(error, "UTF-8"));
        }
        return client;
    }

    private static void set(long conf, String name, String value) {
        byte[] error = new byte[ERROR_BYTES];
        if (Librdkafka.rd_kafka_conf_set(conf, name, value, error, error.length) != 0) {
            Librdkafka.rd_kafka_conf_destroy(conf);
            throw new IllegalArgumentException("librdkafka: " + Native.toString(error, "UTF-8"));
        }
    }

    @Override
    public void send(ProducerRecord<byte[], byte[]> record, Consumer<Exception> completed) {
        if (unusable != null) {
            throw unusable;
        }
        long place = pending.add(completed);
        int error = produce(record, place, 0);
        if (error == Librdkafka.QUEUE_FULL && length(record.value()) <= queueBytes) {
            long startedNs = System.nanoTime();
            error = produce(record, place, Librdkafka.BLOCK);
            waitedNs += System.nanoTime() - startedNs;
        }
        if (error != 0) {
            pending.take(place);
            throw failure(error);
        }
        if (unusable != null) {
            purge(); // it may have become so since the check above
        }
    }

    private int produce(ProducerRecord<byte[], byte[]> record, long place, int flags) {
        byte[] value = record.value();
        byte[] key = record.key();
        if (length(value) > queueBytes) {
            return Librdkafka.QUEUE_FULL; // with BLOCK it would wait for ever
        }
        if (record.headers().iterator().hasNext()) {
            return produceWithHeaders(record, place, flags);
        }
        int result = Librdkafka.rd_kafka_produce(
                topic, Librdkafka.UNASSIGNED_PARTITION, Librdkafka.COPY | flags, value, length(value), key, length(key),
                place);
        return result == 0 ? 0 : Librdkafka.rd_kafka_last_error();
    }

    /** Send with headers, which need the function that takes a list of arguments. */
    private int produceWithHeaders(ProducerRecord<byte[], byte[]> record, long place, int flags) {
        long headers = Librdkafka.rd_kafka_headers_new(0);
        for (Header each : record.headers()) {
            Librdkafka.rd_kafka_header_add(headers, each.key(), -1, each.value(), length(each.value()));
        }
        byte[] value = record.value();
        byte[] key = record.key();
        if (content.size() < length(value) + length(key) + 1) {
            content = new Memory(length(value) + length(key) + 1);
        }
        argument(0, Argument.TOPIC).setLong(ARGUMENT_VALUE, topic);
        setBytes(argument(1, Argument.VALUE), value, 0);
        setBytes(argument(2, Argument.KEY), key, length(value));
        argument(3, Argument.OPAQUE).setLong(ARGUMENT_VALUE, place);
        argument(4, Argument.FLAGS).setInt(ARGUMENT_VALUE, Librdkafka.COPY | flags);
        argument(5, Argument.HEADERS).setLong(ARGUMENT_VALUE, headers);
        long error = Librdkafka.rd_kafka_produceva(client, Pointer.nativeValue(arguments), ARGUMENTS);
        if (error == 0) {
            return 0;
        }
        Librdkafka.rd_kafka_headers_destroy(headers); // an accepted record owns them
        int code = Librdkafka.rd_kafka_error_code(error);
        Librdkafka.rd_kafka_error_destroy(error);
        return code;
    }

    /** Kinds of arguments: {@code rd_kafka_vtype_t}. */
    private enum Argument {
        TOPIC(2), VALUE(4), KEY(5), OPAQUE(6), FLAGS(7), HEADERS(10);

        private final int number;

        Argument(int number) {
            this.number = number;
        }
    }

    private Pointer argument(int place, Argument kind) {
        Pointer argument = arguments.share((long) place * ARGUMENT_BYTES, ARGUMENT_BYTES);
        argument.setInt(0, kind.number);
        return argument;
    }

    private void setBytes(Pointer argument, byte[] bytes, long at) {
        if (bytes != null) {
            content.write(at, bytes, 0, bytes.length);
        }
        argument.setLong(ARGUMENT_VALUE, bytes == null ? 0 : Pointer.nativeValue(content) + at);
        argument.setLong(ARGUMENT_VALUE + Long.BYTES, length(bytes));
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    @Override
    public void flush() {
        // It counts a record until its delivery report is destroyed, that is, handled.
        while (Librdkafka.rd_kafka_flush(client, FLUSH_MS) != 0 && !Thread.currentThread().isInterrupted()) {
            if (unusable != null) {
                purge();
            }
        }
    }

    private void purge() {
        Librdkafka.rd_kafka_purge(client, Librdkafka.OF_BOTH_QUEUES);
    }

    @Override
    public void endWarmup() {
        statistics.reset();
        waitedNs = 0;
    }

    @Override
    public ClientMetrics.OfProducer metrics() {
        ClientMetrics.OfProducer found = statistics.read();
        found.metrics().put("bufferpool-wait-time-ns-total", waitedNs);
        return found;
    }

    @Override
    public void close() {
        closed = true;
        purge();
        Librdkafka.rd_kafka_queue_yield(queue);
        boolean interrupted = Thread.interrupted();
        while (poller.isAlive()) {
            try {
                poller.join();
            } catch (InterruptedException interruption) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        Librdkafka.rd_kafka_topic_destroy(topic);
        Librdkafka.rd_kafka_queue_destroy(queue);
        Librdkafka.rd_kafka_destroy(client);
    }

    private void poll() {
        while (!closed) {
            long event = Librdkafka.rd_kafka_queue_poll(queue, POLL_MS);
            if (event == 0) {
                continue;
            }
            try {
                handle(event);
            } catch (RuntimeException | Error failure) {
                end(new IllegalStateException("a delivery report or statistics cannot be handled", failure));
            } finally {
                Librdkafka.rd_kafka_event_destroy(event);
            }
        }
    }

    /** Fail all records, now and later. */
    private void end(RuntimeException reason) {
        unusable = reason;
        purge();
    }

    private void handle(long event) {
        switch (Librdkafka.rd_kafka_event_type(event)) {
            case Librdkafka.DELIVERY_REPORTS -> complete(event);
            case Librdkafka.STATISTICS -> statistics.add(Librdkafka.rd_kafka_event_stats(event));
            case Librdkafka.ERROR -> note(Librdkafka.rd_kafka_event_error(event), event);
            default -> { }
        }
    }

    private void note(int error, long event) {
        lastError = Librdkafka.rd_kafka_event_error_string(event);
        if (error == Librdkafka.AUTHENTICATION || error == Librdkafka.TLS || error == Librdkafka.FATAL) {
            end(failure(error));
        }
    }

    private void complete(long event) {
        long[] messages = new long[(int) Librdkafka.rd_kafka_event_message_count(event)];
        int count = (int) Librdkafka.rd_kafka_event_message_array(event, messages, messages.length);
        for (int each = 0; each < count; each++) {
            Pointer message = new Pointer(messages[each]);
            int error = message.getInt(MESSAGE_ERROR);
            Consumer<Exception> completed = pending.take(message.getLong(MESSAGE_OPAQUE));
            try {
                completed.accept(error == 0 ? null : failureOf(error));
            } catch (RuntimeException | Error failure) {
                end(new IllegalStateException("a delivery report cannot be handled", failure));
            }
        }
    }

    private RuntimeException failureOf(int error) {
        return unusable == null ? failure(error) : unusable;
    }

    /** Map errors of the protocol and of logins to Java's exceptions; name all others as librdkafka does. */
    private RuntimeException failure(int error) {
        String text = "librdkafka " + Librdkafka.rd_kafka_err2name(error) + ": " + Librdkafka.rd_kafka_err2str(error);
        String said = lastError.isEmpty() || error > 0 ? text : text + "; " + lastError;
        if (error > 0) {
            return Errors.forCode((short) error).exception(text);
        }
        return switch (error) {
            case Librdkafka.AUTHENTICATION -> new SaslAuthenticationException(said);
            case Librdkafka.TLS -> new SslAuthenticationException(said);
            default -> new KafkaException(said);
        };
    }

    /** Records that are not yet completed, by the number that librdkafka returns with each. */
    private static final class Pending {
        private Consumer<Exception>[] waiting = array(1 << 10);
        private int[] free = new int[waiting.length];
        private int freeCount;
        private int used;

        @SuppressWarnings({"rawtypes", "unchecked"})
        private static Consumer<Exception>[] array(int length) {
            return new Consumer[length];
        }

        synchronized long add(Consumer<Exception> completed) {
            if (freeCount == 0 && used == waiting.length) {
                waiting = Arrays.copyOf(waiting, 2 * used);
                free = Arrays.copyOf(free, 2 * used);
            }
            int place = freeCount > 0 ? free[--freeCount] : used++;
            waiting[place] = completed;
            return place;
        }

        synchronized Consumer<Exception> take(long place) {
            Consumer<Exception> completed = waiting[(int) place];
            waiting[(int) place] = null;
            free[freeCount++] = (int) place;
            return completed;
        }
    }
}
