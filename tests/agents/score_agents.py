#!/usr/bin/env python3
"""Whether a scripted agent finds the cause of captures whose label is known, in how many calls and tokens.

    score_agents.py [--captures 30] [--samples FOLDER] [--hidden] [--beside FOLDER]

The agent is no model: it asks for the brief, has the first finding explained, and runs the check that the explanation names. It
names the id of that finding as the cause. Tokens are characters / 4, of all it sends and receives. The captures are chosen by a
hash of their names, from each mechanism in turn, among those that are not in this tree and whose label is not `none`.

--hidden: captures of the hidden sets instead, of which only totals are printed (tests/judgement/README.md).

--beside: a folder with NAME.txt for each SQLite capture, what `nsys-ai diagnose NAME.sqlite` printed. All of that text counts: a cause
that is named anywhere in it, by one of the words in WORDS, is found.
"""

import argparse
import collections
import fnmatch
import hashlib
import json
import pathlib
import re
import sys

import support

sys.path.insert(0, str(support.SOURCE / "tests" / "judgement"))
import score  # noqa: E402

LABELS = json.loads((support.SOURCE / "tests" / "judgement" / "labels.json").read_text(encoding="utf-8"))
MOST_CALLS, MOST_TOKENS = 3, 6000
# What a text has to say for each mechanism, generously.
WORDS = {"pageable": "pageable|pinned|pin_memory", "overlap": "overlap", "copy_bound": "copy-bound|transfer-bound|memcpy-bound", "round_trip": "round.?trip|back and forth",
         "sync": "synchroni[sz]", "launch_bound": "small kernel|launch overhead|launch-bound", "kernel_bound": "gpu-compute-bound|compute-bound",
         "managed": "managed|unified memory|page fault", "allocation": "alloc|cudaFree|memory pool", "small_copies": "small (copies|transfers|h2d|d2h)",
         "launch_blocking": "LAUNCH_BLOCKING|blocking launch", "blocking_copy": "blocking cop|synchronous cop", "host_code": "cpu-bound|host-bound"}


def ids_of(label):
    return [one for word in label for one in (LABELS["mechanisms"][word]["findings"] if "." not in word else [word])]


def chosen(captures, count, are_hidden):
    queues = collections.defaultdict(list)
    for capture in captures:
        is_hidden = capture["name"].partition("/")[0] in score.HIDDEN
        if capture["first"] != ["none"] and capture["file"].startswith("judgement/") and is_hidden == are_hidden:
            queues[capture["first"][0]].append(capture)
    for queue in queues.values():
        queue.sort(key=lambda capture: hashlib.sha256(capture["name"].encode()).hexdigest())
    found = []
    while len(found) < count and any(queues.values()):
        for mechanism in sorted(queues):
            if queues[mechanism] and len(found) < count:
                found.append(queues[mechanism].pop(0))
    return found


def ask(path, words):
    done = support.run(*words[:1], path, *words[1:])
    return done.stdout if done.returncode in (0, support.CANNOT_TELL) else done.stderr


def agent(path):
    """(cause, calls, tokens)"""
    sent = [["report", "--format", "brief"]]
    answers = [ask(path, sent[0])]
    findings = json.loads(answers[0])["findings"]
    if findings:
        sent.append(["explain", findings[0]["evidence"], "--format", "json"])
        answers.append(ask(path, sent[1]))
        check = json.loads(answers[1]).get("check")
        if check:
            sent.append(["query", check["sql"], "--format", "json", "--most", "20"])
            answers.append(ask(path, sent[2]))
    characters = sum(map(len, answers)) + sum(len(" ".join(words)) for words in sent)
    return findings[0]["id"] if findings else "none", len(sent), characters / 4


def named_beside(capture, text):
    return any(re.search(WORDS.get(word, "(?!)"), text, re.I) for word in capture["first"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--captures", type=int, default=30)
    parser.add_argument("--samples", type=pathlib.Path, default=support.SOURCE.parent / "shared" / "samples")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--beside", type=pathlib.Path)
    wanted = parser.parse_args()
    captures = chosen(LABELS["captures"], wanted.captures, wanted.hidden)
    if wanted.beside:
        captures = [c for c in LABELS["captures"] if c["file"].startswith("judgement/") and c["file"].endswith(".sqlite.gz")]
    right, most_tokens, sizes, theirs, read, their_tokens = 0, 0, [], 0, 0, []
    for capture in captures:
        with support.Readable(wanted.samples / capture["file"]) as path:
            cause, calls, tokens = agent(path)
        is_right = any(fnmatch.fnmatchcase(cause, pattern) for pattern in ids_of(capture["first"]))
        right += is_right and calls <= MOST_CALLS and tokens <= MOST_TOKENS
        sizes.append(tokens)
        line = f"{'right' if is_right else 'WRONG':6} {calls} calls {tokens:6.0f} tokens  {capture['name']}: {cause} ({', '.join(capture['first'])})"
        if wanted.beside:
            text = (wanted.beside / (pathlib.Path(capture["file"]).name.removesuffix(".sqlite.gz") + ".txt")).read_text()
            read += bool(text)
            theirs += named_beside(capture, text)
            their_tokens.append(len(text) / 4)
            line += f"; nsys-ai: {'named' if named_beside(capture, text) else 'not named' if text else 'not read'}, {len(text) / 4:.0f} tokens"
        if not wanted.hidden:
            print(line)
    print(f"{right} of {len(captures)} right within {MOST_CALLS} calls and {MOST_TOKENS} tokens; tokens: median {sorted(sizes)[len(sizes) // 2]:.0f}, most {max(sizes):.0f}")
    if wanted.beside:
        print(f"nsys-ai diagnose: {theirs} named of {read} that it reads; tokens: median {sorted(their_tokens)[len(their_tokens) // 2]:.0f}, most {max(their_tokens):.0f}")


if __name__ == "__main__":
    main()
