"""Computes up to 4 tokens of prompts a step, beside what decodes. A token takes one of the cache."""
import types

from sglang.srt.managers.schedule_batch import FINISH_ABORT, FINISH_LENGTH, ForwardMode, Req, ScheduleBatch
from stubs import VERSION, drop_what_is_lacking

_ranks = types.SimpleNamespace(attn_tp_rank=0, pp_rank=0)


def get_parallel():
    return _ranks


class Scheduler:
    def __init__(self, tokens, rank=0, has_overlap=False):
        _ranks.attn_tp_rank = rank
        if VERSION < (0, 5, 13):
            self.attn_tp_rank, self.pp_rank = rank, 0
        elif VERSION < (0, 5, 20):
            self.ps = _ranks
        self.enable_overlap, self.waiting_queue, self.running, self.chunked_req = has_overlap, [], [], None
        self.max_total_num_tokens = tokens
        self.token_to_kv_pool_allocator = types.SimpleNamespace(available_size=lambda: tokens - self._used() - 2)
        self.tree_cache = types.SimpleNamespace(evictable_size=lambda: 2)
        self.result_queue = []

    def _used(self):
        return sum(request.computed for request in self.running) + (self.chunked_req.computed if self.chunked_req else 0)

    def handle_generate_request(self, recv_req):
        self.waiting_queue.append(Req(recv_req.rid, recv_req.input_ids, recv_req.max_new_tokens))

    def abort_request(self, recv_req):
        for request in [request for request in self.waiting_queue if request.rid.startswith(recv_req.rid)]:
            self.waiting_queue.remove(request)
        for request in self.running:
            request.to_abort |= request.rid.startswith(recv_req.rid)

    def _retract(self):
        while self._used() + len(self.running) > self.max_total_num_tokens:
            request = self.running.pop()
            request.reset_for_retract()
            self.waiting_queue.insert(0, request)

    def get_next_batch_to_run(self, is_mixed):
        request = self.chunked_req or (self.waiting_queue[0] if self.waiting_queue else None)
        wanted = 0 if request is None else len(request.origin_input_ids) + len(request.output_ids) - request.computed
        if request is not None and self._used() + wanted + len(self.running) < self.max_total_num_tokens:
            return self._extend(request, wanted, is_mixed)
        self._retract()
        for other in self.running:
            other.computed += 1
        return ScheduleBatch(ForwardMode.DECODE, self.running[:]) if self.running else None

    def _extend(self, request, wanted, is_mixed):
        if request is not self.chunked_req:
            self.waiting_queue.remove(request)
        request.is_retracted = False
        tokens, behind = min(wanted, 4), request.computed
        request.computed += tokens
        self.chunked_req = request if tokens < wanted else None
        decoding = self.running[:] if is_mixed else []
        lengths = [len(other.origin_input_ids) + len(other.output_ids) - 1 for other in decoding]
        for other in decoding:
            other.computed += 1
        if self.chunked_req is None:
            self.running.append(request)
        mode = ForwardMode.MIXED if decoding else ForwardMode.EXTEND
        return ScheduleBatch(mode, [request, *decoding], [tokens] + [1] * len(decoding), [behind, *lengths],
                             decoding or None, self.chunked_req)

    def run_batch(self, batch, pp_proxy_tensors=None):
        if any(request.rid == "explosive" for request in batch.reqs):
            raise MemoryError("out of memory, says the engine")
        return "result"

    def process_batch_result(self, batch, result, launch_done=None):
        for request in batch.reqs:
            if request.finished() or request.is_retracted or request is batch.chunked_req:
                continue
            request.output_ids.append(7)
            if request.to_abort:
                request.finished_reason = FINISH_ABORT()
            elif len(request.output_ids) >= request.max_new_tokens:
                request.finished_reason = FINISH_LENGTH()
            if request.finished() and request in self.running:
                self.running.remove(request)
        return [(request.rid, len(request.output_ids), request.finished()) for request in batch.reqs]


drop_what_is_lacking(globals())
