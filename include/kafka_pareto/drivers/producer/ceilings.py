"""Measure the machine's ceilings without Kafka, once per comparison, and store them with the campaign."""

from __future__ import annotations

import logging
import time

from kafka_pareto.bottleneck.ceilings import measure_ceilings
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.producer.payload import payload_text
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import LoadToolError
from kafka_pareto.settings import Settings
from kafka_pareto.study.compare import Compare

log = logging.getLogger(__name__)

# At most 15 s in total, 3 s of them outside the client; about 5 s on an idle machine.
_CLIENT_TIMEOUT_S = 12.0


def keep_ceilings(campaign: Campaign, case: str, testbed: Testbed, settings: Settings) -> None:
    """Measure the ceilings before anything is sent, unless the campaign has them or only tunes.

    They are meaningless if brokers or senders run on other machines. If they cannot be measured, the comparison
    continues.
    """
    study, key = ProducerStudy.of(campaign.study), campaign.keys.ceilings()
    if not isinstance(study, Compare) or study.protocol.load_machines or campaign.store.tag(key) is not None:
        return
    machine = campaign.read_record(campaign.keys.fingerprint(case), Fingerprint)
    if not machine.load_and_brokers_share_a_machine:
        return
    reference = study.baseline_configuration()
    load = study.load_of(case, reference)
    node = next(iter(testbed.brokers.nodes.values()), None) if testbed.brokers else None
    log.info("measuring this machine's ceilings without Kafka, up to 15 s: loopback, disk, codecs, load generator")
    began_s = time.monotonic()
    try:
        found = measure_ceilings(
            node.data_folder if node else None,
            settings,
            record_size_bytes=load.record_size_bytes,
            batch_size_bytes=int(study.effective(reference)["batch.size"]),
            payload_file=testbed.payloads.file_of(load),
            client_timeout_s=_CLIENT_TIMEOUT_S,
            client_cores=machine.client_cores,
            payload="random" if load.made_payload == "zeros" else payload_text(load.payload),
        )
    except (LoadToolError, OSError) as error:
        log.warning("the machine's ceilings could not be measured; the comparison continues without them: %s", error)
        return
    campaign.write_record(key, found)
    log.info(
        "ceilings (%.1f s): loopback %.0f MiB/s, disk %s, codecs on one core %s, one generator thread %.0f records/s",
        time.monotonic() - began_s,
        found.loopback_mib_s,
        "not measured" if found.disk_write_mib_s is None else f"{found.disk_write_mib_s:.0f} MiB/s",
        ", ".join(f"{codec} {mib_s:.0f} MiB/s" for codec, mib_s in found.codec_mib_s.items()),
        found.generator_records_s,
    )
