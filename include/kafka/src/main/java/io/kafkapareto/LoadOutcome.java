package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The outcome of a load, of one or several machines.
 *
 * @param parts in order of sending
 * @param writeBack the write-back between the parts; null without one
 */
record LoadOutcome(List<PartOutcome> parts, WriteBack.Wait writeBack) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Return one outcome for all machines; they have the same parts. */
    static LoadOutcome merged(List<LoadOutcome> machines) {
        int parts = machines.get(0).parts.size();
        return new LoadOutcome(
                IntStream.range(0, parts).mapToObj(part -> PartOutcome.merged(ofPart(machines, part))).toList(),
                WriteBack.Wait.longest(machines.stream().map(LoadOutcome::writeBack).toList()));
    }

    static List<PartOutcome> ofPart(List<LoadOutcome> machines, int part) {
        return machines.stream().map(machine -> machine.parts.get(part)).toList();
    }

    /** Return the figures, as the load generator prints them. */
    ObjectNode described() {
        ObjectNode described = JSON.createObjectNode();
        ArrayNode each = described.putArray("parts");
        parts.forEach(part -> each.add(part.described()));
        return withWriteBack(described);
    }

    /** Return everything, for another machine to merge; {@link #ofJson} reads it. */
    ObjectNode toJson() {
        ObjectNode all = JSON.createObjectNode();
        ArrayNode each = all.putArray("parts");
        parts.forEach(part -> each.add(part.toJson()));
        return withWriteBack(all);
    }

    static LoadOutcome ofJson(JsonNode all) throws IOException {
        List<PartOutcome> parts = new ArrayList<>();
        for (JsonNode part : all.get("parts")) {
            parts.add(PartOutcome.ofJson(part));
        }
        return new LoadOutcome(parts, WriteBack.Wait.ofJson(all.get("write_back")));
    }

    private ObjectNode withWriteBack(ObjectNode result) {
        if (writeBack != null) {
            result.putObject("write_back").put("waited_s", writeBack.waitedS()).put("settled", writeBack.settled());
        }
        return result;
    }
}
