"""A server with a stub of Transformers' continuous batching."""
import os
import sys

from transformers.generation.continuous_batching.continuous_api import ContinuousBatchingManager


def main(*options):
    is_async = "async" in options
    manager = ContinuousBatchingManager(11, is_async)
    processor = manager.batch_processor
    manager.add_request([1] * 6, "long", 4)
    if "no-field" in options:
        del processor.input_queue[0].created_time
    manager.add_request([1] * 2, request_id="short", max_new_tokens=4)
    for number in range(20):
        if number == 1:
            manager.add_request([1] * 9, "unwanted", 9)
        if number == 2:
            processor.scheduler.set_request_cancellation("unwanted")
        is_there = processor.prepare_next_batch()
        if is_there:
            processor._generation_step("explosive" if "explode" in options else "model")
        if processor.batches and (number > 0 or not is_async):
            processor.update_batch()
    manager.add_request([1], "failing", 5)
    processor.prepare_next_batch()
    processor.fail_all_requests(ValueError("no such layer"))


if __name__ == "__main__":
    if "fork" in sys.argv and os.fork() != 0:
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    main(*sys.argv[1:])
