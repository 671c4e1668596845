package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedDeque;

/** Reads one range of the file and sends its rows: one producer of the ingestion. */
final class Instance {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Job job;
    private final FileRange range;
    private final RowSink sink;
    private final ByteLimit limit;
    private long cpuNs;
    private long linesBefore = -1;
    private volatile boolean stopped;

    /** {@code limit} limits what all instances send together. */
    Instance(Job job, FileRange range, RowSink sink, ByteLimit limit) {
        this.job = job;
        this.range = range;
        this.sink = sink;
        this.limit = limit;
    }

    /** Sends all rows of the range, and returns once they are acknowledged, or one has failed. */
    void run() throws IOException, InterruptedException {
        long cpuBeganNs = THREADS.getCurrentThreadCpuTime();
        try (RowSource rows = job.reader().open(range, job.file().delimiter())) {
            if (job.senders().isSequential()) {
                inOrder(rows);
            } else {
                inThreads(rows);
            }
            sink.flush();
        } finally {
            cpuNs = THREADS.getCurrentThreadCpuTime() - cpuBeganNs;
        }
    }

    private void inOrder(RowSource rows) throws IOException {
        Worker worker = new Worker();
        Partitioning partitioning = job.partitioning();
        while (!stopped && rows.next()) {
            if (rows.isBlank()) {
                continue;
            }
            if (partitioning != null && partitioning.has(rows.offset())) {
                job.counts().skippedRows().increment();
                continue;
            }
            worker.take(rows.array(), rows.from(), rows.to(), rows.offset(), rows.line());
        }
    }

    private void inThreads(RowSource rows) throws IOException, InterruptedException {
        ConcurrentLinkedDeque<Worker> idle = new ConcurrentLinkedDeque<>();
        job.senders().forEach(rows, row -> {
            if (stopped || row.bytes().length == 0) {
                return;
            }
            Worker worker = idle.poll();
            worker = worker == null ? new Worker() : worker;
            worker.take(row.bytes(), 0, row.bytes().length, row.offset(), row.line());
            idle.push(worker);
        });
    }

    /** Checks, encodes and sends rows; for one thread at a time. */
    private final class Worker {
        private final RowCheck check = job.file().newCheck();
        private final RowEncoder encoder = job.file().newEncoder();

        void take(byte[] array, int from, int to, long offset, long line) {
            job.counts().rows().increment();
            job.counts().bytes().add(to - from + 1L);
            limit.awaitRoomFor(to - from);
            Fault fault = check.faultOf(array, from, to);
            byte[] encoded = fault == null && encoder != null ? encoder.encode(array, from, to) : null;
            if (fault == null && encoder != null && encoded == null) {
                fault = Fault.NUMBER;
            } else if (encoded != null && encoded.length > job.file().mostRowBytes()) {
                fault = Fault.TOO_LARGE;
            }
            if (fault != null) {
                setAside(fault, array, from, to, offset, line);
                return;
            }
            Partitioning partitioning = job.partitioning();
            byte[] key = partitioning == null ? null : Partitioning.key(offset);
            int partition = partitioning == null ? -1 : partitioning.partitionOf(offset);
            if (encoded == null) {
                sink.send(array, from, to, key, partition);
            } else {
                sink.send(encoded, 0, encoded.length, key, partition);
            }
            if (sink.hasFailed()) {
                stopped = true;
            }
        }
    }

    private void setAside(Fault fault, byte[] array, int from, int to, long offset, long line) {
        byte[] copy = Arrays.copyOfRange(array, from, to);
        if (!job.malformed().add(fault, copy, offset, lineNumber(line), job.counts().allRows())) {
            stopped = true;
        }
    }

    /** Returns the line's number in the file, from 1 on; counts those before the range once it is needed. */
    private synchronized long lineNumber(long line) {
        if (linesBefore < 0) {
            try {
                linesBefore = range.linesBefore();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
        return linesBefore + line + 1;
    }

    /** Returns the CPU time of the thread that read. */
    long readingCpuNs() {
        return cpuNs;
    }

    RowSink sink() {
        return sink;
    }
}
