package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import net.sourceforge.argparse4j.inf.Namespace;
import org.junit.jupiter.api.Test;

/** Measures the client's ceilings briefly: every codec and the generator get a rate above zero. */
class ClientCeilingsTest {
    @Test
    void everyCodecAndTheGeneratorAreMeasured() throws Exception {
        ObjectNode found = ClientCeilings.measure(
                new Namespace(Map.of("record_size", 100, "batch_size", 16_384, "seconds", 0.02)));

        Set<String> codecs = new TreeSet<>();
        found.get("codec_mib_s").fieldNames().forEachRemaining(codecs::add);
        assertEquals(Set.of("gzip", "snappy", "lz4", "zstd"), codecs);
        found.get("codec_mib_s").forEach(rate -> assertTrue(rate.asDouble() > 0));
        assertTrue(found.get("generator_records_s").asDouble() > 0);
    }
}
