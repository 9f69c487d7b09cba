import enum
import time

from stubs import VERSION, drop_what_is_lacking


class RequestStatus(enum.IntEnum):
    PENDING = 0
    PREFILLING = 1
    DECODING = 2
    FINISHED = 3
    FAILED = 4


class RequestState:
    def __init__(self, request_id, initial_tokens, max_new_tokens, created_time=None):
        self.request_id, self.initial_tokens, self.max_new_tokens = request_id, initial_tokens, max_new_tokens
        self.remaining_prefill_tokens, self.tokens_to_process, self.generated_tokens = list(initial_tokens), [], []
        self.position_offset, self._status, self.error = 0, RequestStatus.PENDING, None
        self.created_time = time.perf_counter() - 5 if created_time is None else created_time

    @property
    def status(self):
        return self._status

    @status.setter
    def status(self, value):
        self._status = value

    def update_and_check_completion(self, token_id, *logprob):
        assert len(logprob) == (VERSION >= (5, 10))
        self.generated_tokens.append(token_id)
        if len(self.generated_tokens) >= self.max_new_tokens:
            self.status = RequestStatus.FINISHED
        return self.status == RequestStatus.FINISHED

    def create_equivalent_initial_request(self):
        left = self.max_new_tokens - len(self.generated_tokens)
        return RequestState(self.request_id, self.initial_tokens + self.generated_tokens, left, self.created_time)


class FutureRequestState:
    if VERSION >= (5, 10):
        __slots__ = ("state", "has_new_token", "complete_blocks", "query_length")
    else:
        __slots__ = ("state", "has_new_token", "complete_blocks")

    def __init__(self, state, has_new_token):
        self.state, self.has_new_token = state, has_new_token


drop_what_is_lacking(globals())
