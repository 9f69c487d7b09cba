"""Computes up to 4 tokens a step, each of which takes a block of the cache."""
from stubs import VERSION, drop_what_is_lacking

from .requests import FutureRequestState, RequestStatus


class Scheduler:
    def __init__(self, cache):
        self.cache, self.active_requests, self.waiting_requests, self._requests_to_cancel = cache, {}, {}, set()

    def add_waiting_request(self, state):
        self.waiting_requests[state.request_id] = state

    def set_request_cancellation(self, request_id):
        self._requests_to_cancel.add(request_id)

    def clear_cancelled_requests(self):
        for name in self._requests_to_cancel:
            self.active_requests.pop(name, None)
            self.waiting_requests.pop(name, None)
        self._requests_to_cancel = set()

    def finish_request(self, request_id):
        self.active_requests.pop(request_id, None)


class FIFOScheduler(Scheduler):
    def schedule_batch(self, token_budget, cache_budget):
        batch, free = [], self.cache.free_in(self)
        for state in [*self.active_requests.values(), *self.waiting_requests.values()]:
            left = state.remaining_prefill_tokens or state.tokens_to_process
            tokens = min(len(left), token_budget)
            if tokens == 0:
                continue
            if tokens > free:
                if state.request_id in self.active_requests:
                    return None if VERSION < (5, 10) else (None, False, 0, 0)
                break
            state.tokens_to_process, state.remaining_prefill_tokens = left[:tokens], left[tokens:]
            token_budget, free = token_budget - tokens, free - tokens
            self.waiting_requests.pop(state.request_id, None)
            self.active_requests[state.request_id] = state
            if state.status == RequestStatus.PENDING:
                state.status = RequestStatus.PREFILLING
            batch.append(FutureRequestState(state, not state.remaining_prefill_tokens) if VERSION >= (5, 3) else state)
        return batch if VERSION < (5, 10) else (batch, False, 0, 0)


class PrefillFirstScheduler(Scheduler):
    def schedule_batch(self, token_budget, cache_budget):
        raise NotImplementedError("no program here asks for it")


drop_what_is_lacking(globals())
