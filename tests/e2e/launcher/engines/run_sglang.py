"""A server with a stub of SGLang."""
import os
import sys
import types

from sglang.srt.managers.scheduler import Scheduler


def ask(rid, tokens, wanted):
    return types.SimpleNamespace(rid=rid, input_ids=[1] * tokens, max_new_tokens=wanted)


def step_normal(scheduler, is_mixed):
    batch = scheduler.get_next_batch_to_run(is_mixed)
    if batch is not None:
        print(scheduler.process_batch_result(batch, scheduler.run_batch(batch)))
    return batch is not None


def step_overlapped(scheduler, is_mixed):
    batch = scheduler.get_next_batch_to_run(is_mixed)
    if batch is not None:
        scheduler.result_queue.append((batch.copy(), scheduler.run_batch(batch)))
    if len(scheduler.result_queue) > (batch is not None):
        print(scheduler.process_batch_result(*scheduler.result_queue.pop(0)))
    return batch is not None or bool(scheduler.result_queue)


def step_in_pipeline(scheduler, is_mixed):
    """Two batches are under way before the first one's result is asked for."""
    for _ in range(2):
        batch = scheduler.get_next_batch_to_run(is_mixed)
        if batch is not None:
            scheduler.result_queue.append((batch, scheduler.run_batch(batch)))
    while scheduler.result_queue:
        print(scheduler.process_batch_result(*scheduler.result_queue.pop(0)))
    return batch is not None


def main(*options):
    rank = 1 if "rank1" in options else 0
    scheduler = Scheduler(12, rank, "overlap" in options)
    step = step_overlapped if "overlap" in options else step_in_pipeline if "pipeline" in options else step_normal
    if "no-field" in options:
        del scheduler.enable_overlap
    if "explode" in options:
        scheduler.handle_generate_request(ask("explosive", 1, 1))
        return step(scheduler, False)
    scheduler.handle_generate_request(ask("long", 6, 4))
    scheduler.handle_generate_request(recv_req=ask("short", 2, 4))
    for number in range(30):
        if number == 3:
            scheduler.handle_generate_request(ask("queued", 20, 1))
            scheduler.handle_generate_request(ask("patient", 1, 1))
            scheduler.abort_request(ask("queued", 0, 0))
        if number == 7:
            scheduler.handle_generate_request(ask("unwanted", 1, 9))
        if number == 11:
            scheduler.abort_request(ask("unwanted", 0, 0))
        if not step(scheduler, "mixed" in options) and number > 11:
            break


if __name__ == "__main__":
    if "fork" in sys.argv and os.fork() != 0:
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    main(*sys.argv[1:])
