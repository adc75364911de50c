"""The metrics of a running service."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def samples(client):
    text = client.get("/metrics").text
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
