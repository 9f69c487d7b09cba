"""Computes up to 4 tokens a step, each of which takes a block of the cache."""
import collections
import types

from stubs import VERSION, drop_what_is_lacking
from vllm.v1.core.sched.output import CachedRequestData, NewRequestData, SchedulerOutput
from vllm.v1.request import RequestStatus

Output = collections.namedtuple("EngineCoreOutput", "request_id new_token_ids finish_reason")
Outputs = collections.namedtuple("EngineCoreOutputs", "outputs")


class Scheduler:
    def __init__(self, blocks):
        self.requests, self.waiting, self.running, self.finished_req_ids = {}, [], [], set()
        pool = types.SimpleNamespace(num_gpu_blocks=blocks, get_num_free_blocks=lambda: blocks - self._used())
        self.kv_cache_manager = types.SimpleNamespace(block_pool=pool)
        self._pool = pool
        if VERSION >= (0, 20):
            self.skipped_waiting = []

    def _used(self):
        return sum(request.num_computed_tokens for request in self.running)

    def add_request(self, request):
        if request.request_id in self.requests:
            return  # VERSION >= (0, 20): more input for a request that is known
        self.waiting.append(request)
        self.requests[request.request_id] = request

    def get_request_counts(self):
        return len(self.running), len(self.waiting) + len(getattr(self, "skipped_waiting", ()))

    if VERSION >= (0, 12):
        def _preempt_request(self, request, timestamp):
            self._put_back(request)
    else:
        def _put_back_inline(self, request):
            self._put_back(request)

    def _put_back(self, request):
        request.status, request.num_computed_tokens = RequestStatus.PREEMPTED, 0
        self.waiting.insert(0, request)

    def _preempt_for(self, tokens):
        has_preempted = False
        while tokens > self._pool.get_num_free_blocks() and len(self.running) > 1:
            request = self.running.pop()
            self._preempt_request(request, 1.5) if VERSION >= (0, 12) else self._put_back_inline(request)
            has_preempted = True
        return has_preempted

    def schedule(self, *throttle):
        budget, scheduled, new, cached = 4, {}, [], []
        has_preempted = self._preempt_for(len(self.running))
        for request in self.running:
            scheduled[request.request_id] = tokens = min(budget, request.num_tokens - request.num_computed_tokens)
            budget -= tokens
            cached.append((request, False))
        while self.waiting and not has_preempted and budget and len(self.running) < 3:
            request = self.waiting.pop(0)
            tokens = min(budget, request.num_tokens)
            if tokens + len(self.running) > self._pool.get_num_free_blocks():
                self.waiting.insert(0, request)
                break
            if request.status == RequestStatus.PREEMPTED:
                cached.append((request, True))
            else:
                new.append(NewRequestData(request.request_id, request.prompt_token_ids, 0))
            request.status = RequestStatus.RUNNING
            self.running.append(request)
            scheduled[request.request_id] = tokens
            budget -= tokens
        output = SchedulerOutput(new, self._cached(cached), scheduled, sum(scheduled.values()), self.finished_req_ids)
        self.finished_req_ids = set()
        for name, tokens in scheduled.items():
            self.requests[name].num_computed_tokens += tokens
        return output

    def _cached(self, rows):
        names = [request.request_id for request, _ in rows]
        computed = [request.num_computed_tokens for request, _ in rows]
        resumed = [is_resumed for _, is_resumed in rows]
        if VERSION >= (0, 12):
            resumed = {name for name, is_resumed in zip(names, resumed) if is_resumed}
        return CachedRequestData(names, computed, resumed)

    def update_from_output(self, scheduler_output, model_runner_output):
        outputs = []
        for name in scheduler_output.num_scheduled_tokens:
            request = self.requests.get(name)
            if request is None:
                continue
            tokens = model_runner_output.sampled_token_ids[model_runner_output.req_id_to_index[name]]
            request.output_token_ids.extend(tokens)
            is_over = len(request.output_token_ids) >= request.max_tokens
            if is_over:
                request.status = RequestStatus.FINISHED_LENGTH_CAPPED
                self.running.remove(request)
                self._free_request(request)
            if tokens:
                outputs.append(Output(name, tokens, 1 if is_over else None))
        return {0: Outputs(outputs)}

    def finish_requests(self, request_ids, finished_status):
        for name in [request_ids] if isinstance(request_ids, str) else request_ids:
            request = self.requests[name]
            (self.running if request in self.running else self.waiting).remove(request)
            request.status = finished_status
            self._free_request(request)

    def _free_request(self, request, delay_free_blocks=False):
        self.finished_req_ids.add(request.request_id)
        del self.requests[request.request_id]
        return {"of": request.request_id}


drop_what_is_lacking(globals())
