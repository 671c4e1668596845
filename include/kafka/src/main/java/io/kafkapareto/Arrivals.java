package io.kafkapareto;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/** Inter-arrival times: each record's due time, in mean gaps since the first record. The pattern repeats. */
final class Arrivals {
    static final String CONSTANT = "constant";
    static final String POISSON = "poisson";
    static final String RECORDED = "recorded";
    static final List<String> NAMES = List.of(CONSTANT, POISSON, RECORDED);
    private static final int POISSON_RECORDS = 1 << 16;

    private final double[] positions;
    private final double scale;

    private Arrivals(double[] positions, double scale) {
        this.positions = positions;
        this.scale = scale;
    }

    /** Return arrivals at equal intervals. */
    static Arrivals constant() {
        return new Arrivals(new double[1], 1);
    }

    /** Return Poisson arrivals from a fixed seed. */
    static Arrivals poisson() {
        SplittableRandom random = new SplittableRandom(0);
        double[] gaps = new double[POISSON_RECORDS];
        Arrays.setAll(gaps, each -> -Math.log(1 - random.nextDouble()));
        return ofGaps(gaps);
    }

    /** Return arrivals with the gaps between these times; at equal intervals if all times are equal. */
    static Arrivals recorded(LongStream timestampsMs) {
        long[] sorted = timestampsMs.sorted().toArray();
        int last = sorted.length - 1;
        if (last < 1 || sorted[last] == sorted[0]) {
            return constant();
        }
        double[] gaps = new double[sorted.length];
        Arrays.setAll(gaps, each -> each < last ? sorted[each + 1] - sorted[each] : 0);
        gaps[last] = (double) (sorted[last] - sorted[0]) / last; // the mean, up to the pattern's next repetition
        return ofGaps(gaps);
    }

    private static Arrivals ofGaps(double[] gaps) {
        double perRecord = Arrays.stream(gaps).sum() / gaps.length;
        double[] positions = new double[gaps.length];
        for (int each = 1; each < gaps.length; each++) {
            positions[each] = positions[each - 1] + gaps[each - 1] / perRecord;
        }
        return new Arrivals(positions, 1);
    }

    /** Return the same pattern, scaled so that this number of records takes as long as at equal intervals. */
    Arrivals scaledTo(long records) {
        double taken = unscaled(records);
        return taken > 0 ? new Arrivals(positions, records / taken) : this;
    }

    double position(long record) {
        return scale * unscaled(record);
    }

    private double unscaled(long record) {
        int length = positions.length;
        return length == 1 ? record : record / length * length + positions[(int) (record % length)];
    }
}
