package io.kafkapareto;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.util.Map;

/** The functions of librdkafka that a load needs. Pointers and sizes are {@code long}, as on 64-bit machines. */
final class Librdkafka {
    static final int PRODUCER = 0;
    static final int UNASSIGNED_PARTITION = -1;
    static final int COPY = 2;
    static final int BLOCK = 4;
    static final int QUEUE_FULL = -184;
    static final int AUTHENTICATION = -169;
    static final int TLS = -181;
    static final int FATAL = -150;
    static final int DELIVERY_REPORTS = 1;
    static final int ERROR = 8;
    static final int STATISTICS = 64;
    static final int OF_BOTH_QUEUES = 3;

    private static String loaded;

    private Librdkafka() {}

    /** Bind to a shared library, version 1.6 or later; a process can use only one. */
    static synchronized void load(String library) {
        if (loaded == null) {
            try {
                Native.register(
                        Librdkafka.class,
                        NativeLibrary.getInstance(library, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8")));
            } catch (UnsatisfiedLinkError error) {
                throw new IllegalArgumentException(
                        library + ": is not librdkafka 1.6 or later for this machine: " + error.getMessage(), error);
            }
            loaded = library;
        } else if (!loaded.equals(library)) {
            throw new IllegalStateException("this process uses " + loaded + "; start another for " + library);
        }
    }

    static native long rd_kafka_conf_new();

    static native int rd_kafka_conf_set(long conf, String name, String value, byte[] error, long errorBytes);

    static native void rd_kafka_conf_destroy(long conf);

    static native void rd_kafka_conf_set_events(long conf, int events);

    static native long rd_kafka_new(int type, long conf, byte[] error, long errorBytes);

    static native void rd_kafka_destroy(long client);

    static native int rd_kafka_flush(long client, int timeoutMs);

    static native int rd_kafka_purge(long client, int queues);

    static native long rd_kafka_topic_new(long client, String topic, long conf);

    static native void rd_kafka_topic_destroy(long topic);

    static native int rd_kafka_produce(
            long topic, int partition, int flags, byte[] value, long valueBytes, byte[] key, long keyBytes,
            long opaque);

    static native long rd_kafka_produceva(long client, long arguments, long count);

    static native int rd_kafka_last_error();

    static native String rd_kafka_err2name(int error);

    static native String rd_kafka_err2str(int error);

    static native int rd_kafka_error_code(long error);

    static native void rd_kafka_error_destroy(long error);

    static native long rd_kafka_headers_new(long count);

    static native int rd_kafka_header_add(long headers, String name, long nameBytes, byte[] value, long valueBytes);

    static native void rd_kafka_headers_destroy(long headers);

    static native long rd_kafka_queue_get_main(long client);

    static native long rd_kafka_queue_poll(long queue, int timeoutMs);

    static native void rd_kafka_queue_yield(long queue);

    static native void rd_kafka_queue_destroy(long queue);

    static native int rd_kafka_event_type(long event);

    static native long rd_kafka_event_message_count(long event);

    static native long rd_kafka_event_message_array(long event, long[] messages, long most);

    static native String rd_kafka_event_stats(long event);

    static native int rd_kafka_event_error(long event);

    static native String rd_kafka_event_error_string(long event);

    static native void rd_kafka_event_destroy(long event);
}
