"""What the words of a report must keep to, whatever it found."""

import re

LONGEST_MESSAGE = 160  # as src/analysis/findings/finding_words.h has it
LONGEST_KERNEL = 40  # as BriefNames in src/base/short_names.cpp
# "for 49% of the idle time" is a share of a share: a reader wants that of the run.
SHARE_OF_A_SHARE = re.compile(r"\d% of (the idle time|that|it)\b")


def faults(report):
    """Sentences, each with the finding that it is about."""
    for finding in report["findings"]:
        for fault in faults_of(finding):
            yield f"{finding['id']} {fault}: {finding['message']}"


def faults_of(finding):
    message, evidence, kernel = finding["message"], finding["evidence"], finding["subject"].get("kernel", "")
    if len(message) > LONGEST_MESSAGE:
        yield f"has {len(message)} characters"
    if evidence and "…" in message and len(evidence[0]) > LONGEST_MESSAGE and evidence[0][:LONGEST_KERNEL] == message[:LONGEST_KERNEL]:
        yield "was cut"
    if len(kernel) > LONGEST_KERNEL and kernel in message:
        yield "has the signature of a kernel"
    if SHARE_OF_A_SHARE.search(message) and finding["gain_ns"] > 0:
        yield "has a share of a share"
    if any(not line or line.endswith((".", ";", ",")) or line[0] in " ;,." for line in evidence):
        yield f"has evidence that is no line of its own ({evidence})"
    if len(evidence) != len(set(evidence)):
        yield "says something twice"
