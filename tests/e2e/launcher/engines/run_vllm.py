"""A server with a stub of vLLM: EngineCore here, its worker here as well or in a process of its own (`spawn`, `fork`)."""
import multiprocessing
import sys
import time

from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request, RequestStatus
from vllm.v1.worker.gpu_worker import AsyncOutput, Worker


def compute(worker, output):
    result = worker.execute_model(output)
    if result is None:
        result = worker.sample_tokens(None)
    return result.get_output() if isinstance(result, AsyncOutput) else result


def work(pipe, is_async):
    worker = Worker(is_async)
    while (output := pipe.recv()) is not None:
        pipe.send(compute(worker, output))


class Remote:
    def __init__(self, method, is_async):
        context = multiprocessing.get_context(method)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, is_async))
        self._process.start()

    def compute(self, output):
        self._pipe.send(output)
        return self._pipe.recv()

    def close(self):
        self._pipe.send(None)
        self._process.join()
        print("worker", self._process.exitcode)


class Local:
    def __init__(self, is_async, drafts):
        self._worker = Worker(is_async, drafts)

    def compute(self, output):
        return compute(self._worker, output)

    def close(self):
        print("worker 0")


def step(scheduler, worker):
    output = scheduler.schedule()
    for of_client in scheduler.update_from_output(output, worker.compute(output)).values():
        for row in of_client.outputs:
            print(row.request_id, row.new_token_ids, row.finish_reason)


def without_arrival(begin):
    def __init__(request, *args):
        begin(request, *args)
        del request.arrival_time
    return __init__


def main(kind, *options):
    is_async = "async" in options
    worker = Remote(kind, is_async) if kind != "local" else Local(is_async, 1 if "drafts" in options else 0)
    scheduler = Scheduler(blocks=11)
    if "explode" in options:
        scheduler.add_request(Request("explosive", [1], 1, time.time()))
        return step(scheduler, worker)
    scheduler.add_request(Request("long", [1] * 6, 4, time.time() - 5))
    if "no-field" in options:
        Request.__init__ = without_arrival(Request.__init__)
    scheduler.add_request(request=Request("short", [1] * 3, 3, time.time() - 5))
    for number in range(40):
        if number == 1:
            scheduler.add_request(Request("unwanted", [1] * 3, 9, time.time() - 5))
        if number == 2:
            scheduler.finish_requests(["unwanted"], RequestStatus.FINISHED_ABORTED)
        step(scheduler, worker)
        if not scheduler.requests:
            break
    step(scheduler, worker)  # says which are over, and has none to compute
    worker.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
