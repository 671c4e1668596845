package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedDeque;

/** Read one range of the file and send its rows: one producer of the ingestion. */
final class Instance {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** A topic that loses rows more often than this has a defect. */
    private static final int MOST_RESUMPTIONS = 10;

    private final Job job;
    private final RowSink sink;
    private final ByteLimit limit;
    private FileRange range;
    private Partitioning partitioning;
    private int resumptions;
    private long lastRead = -1;
    private long readUpTo = -1;
    private long cpuNs;
    private long linesBefore = -1;
    private volatile boolean stopped;

    /** {@code limit} limits what all instances send together. */
    Instance(Job job, FileRange range, RowSink sink, ByteLimit limit) {
        this.job = job;
        this.range = range;
        partitioning = job.partitioning();
        this.sink = sink;
        this.limit = limit;
    }

    /** Send all rows of the range, and return once they are acknowledged, or one has failed. */
    void run() throws IOException, InterruptedException {
        long cpuBeganNs = THREADS.getCurrentThreadCpuTime();
        try {
            sendRange();
            while (mayResume()) {
                resume();
                sendRange();
            }
        } finally {
            cpuNs = THREADS.getCurrentThreadCpuTime() - cpuBeganNs;
        }
    }

    private void sendRange() throws IOException, InterruptedException {
        try (RowSource rows = job.reader().open(range, job.file().delimiter())) {
            if (job.senders().isSequential()) {
                inOrder(rows);
            } else {
                inThreads(rows);
            }
            sink.flush();
        }
    }

    private boolean mayResume() {
        return partitioning != null && sink.hasLostRows() && job.malformed().mayGoOn() && resumptions < MOST_RESUMPTIONS;
    }

    /** Resume as after a kill: after each partition's last row, as another producer. */
    private void resume() throws IOException {
        partitioning = new Partitioning(job.lastRows().read());
        FileRange rows = job.file().rows();
        range = rows.startingAt(partitioning.allBefore(rows.from()));
        linesBefore = -1;
        // Unacknowledged rows are read and counted again.
        job.counts().rows().add(sink.acknowledgedRows() + job.malformed().total() - job.counts().rows().sum());
        readUpTo = Math.max(readUpTo, lastRead);
        stopped = false;
        resumptions++;
        sink.renew();
    }

    private void inOrder(RowSource rows) throws IOException {
        Worker worker = new Worker();
        while (!stopped && rows.next()) {
            if (!rows.isBlank()) {
                worker.take(rows.array(), rows.from(), rows.to(), rows.offset(), rows.line());
            }
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

    /** Check, encode and send rows; for one thread at a time. */
    private final class Worker {
        private final RowCheck check = job.file().newCheck();
        private final RowEncoder encoder = job.file().newEncoder();
        private final RowEncoder keys = job.file().newKeyEncoder(job.keyColumns());

        /** Send the row, unless the topic has it. */
        void take(byte[] array, int from, int to, long offset, long line) {
            if (partitioning == null) {
                send(array, from, to, offset, line, null, -1);
                return;
            }
            byte[] key = keys == null ? null : keys.encode(array, from, to);
            boolean isUnkeyed = keys != null && key == null;  // a malformed row, which goes to no partition
            int partition = isUnkeyed ? -1 : partitioning.partitionOf(offset, key);
            if (!isUnkeyed && partitioning.has(offset, partition)) {
                if (offset > readUpTo) {
                    job.counts().skippedRows().increment();
                }
                return;
            }
            lastRead = offset;
            send(array, from, to, offset, line, key, partition);
        }

        private void send(byte[] array, int from, int to, long offset, long line, byte[] key, int partition) {
            job.counts().rows().increment();
            job.counts().bytes().add(to - from + 1L);
            Fault fault = check.faultOf(array, from, to);
            byte[] encoded = fault == null && encoder != null ? encoder.encode(array, from, to) : null;
            int bytes = (encoded == null ? to - from : encoded.length) + (key == null ? 0 : key.length);
            limit.awaitRoomFor(bytes);
            if (fault == null && (encoder != null && encoded == null || keys != null && key == null)) {
                fault = Fault.TYPE;
            }
            if (fault == null && bytes > job.file().mostRowBytes()) {
                fault = Fault.TOO_LARGE;
            }
            if (fault != null) {
                setAside(fault, array, from, to, offset, line);
                return;
            }
            byte[] rowOffset = partitioning == null ? null : Partitioning.bytesOf(offset);
            byte[] header = keys == null ? null : rowOffset;
            byte[] sentKey = keys == null ? rowOffset : key;
            if (encoded == null) {
                sink.send(array, from, to, sentKey, header, partition);
            } else {
                sink.send(encoded, 0, encoded.length, sentKey, header, partition);
            }
            if (sink.hasFailed()) {
                stopped = true;
            }
        }
    }

    private void setAside(Fault fault, byte[] array, int from, int to, long offset, long line) {
        if (offset <= readUpTo) {  // sent and counted before the ingestion resumed
            job.counts().rows().decrement();
            return;
        }
        byte[] copy = Arrays.copyOfRange(array, from, to);
        if (!job.malformed().add(fault, copy, offset, lineNumber(line), job.counts().allRows())) {
            stopped = true;
        }
    }

    /** Return the line's number in the file, from 1; count the lines before the range on first use. */
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

    /** Return the CPU time of the reading thread. */
    long readingCpuNs() {
        return cpuNs;
    }

    /** Return how many times it resumed after a loss of rows. */
    int resumptions() {
        return resumptions;
    }

    RowSink sink() {
        return sink;
    }
}
