package io.kafkapareto.audit;

import org.apache.kafka.common.compress.Compression;

/**
 * A codec and its level.
 *
 * @param level null for the codec's default
 */
record Codec(String name, Integer level) {
    Compression compression() {
        if (level == null) {
            return Compression.of(name).build();
        }
        return switch (name) {
            case "gzip" -> Compression.gzip().level(level).build();
            case "lz4" -> Compression.lz4().level(level).build();
            case "zstd" -> Compression.zstd().level(level).build();
            default -> throw new IllegalArgumentException("compression.type=" + name + " has no levels");
        };
    }
}
