from stubs import VERSION, drop_what_is_lacking

from .requests import RequestState, RequestStatus
from .scheduler import FIFOScheduler


class Cache:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks

    def free_in(self, scheduler):
        self._scheduler = scheduler
        return self.num_blocks - sum(state.position_offset for state in scheduler.active_requests.values())

    if VERSION < (5, 20):
        def get_num_free_blocks(self):
            return self.free_in(self._scheduler)


class ContinuousBatchProcessor:
    def __init__(self, num_blocks, is_async):
        self.cache = Cache(num_blocks)
        self.scheduler = FIFOScheduler(self.cache)
        self.input_queue, self.batches = [], []
        if VERSION >= (5, 3):
            self.use_async_batching = is_async

    def prepare_next_batch(self):
        for state in self.input_queue:
            self.scheduler.add_waiting_request(state)
        self.input_queue.clear()
        self.scheduler.clear_cancelled_requests()
        batch = self.scheduler.schedule_batch(4, 99)
        batch = batch[0] if VERSION >= (5, 10) else batch
        if batch is None:
            self._soft_reset()
        if not batch:
            return False
        states = [future.state for future in batch] if VERSION >= (5, 3) else batch
        for state in states:
            state.position_offset += len(state.tokens_to_process)
        self.batches.append([(state, not state.remaining_prefill_tokens) for state in states])
        return True

    def _soft_reset(self):
        state = self.scheduler.active_requests[next(reversed(self.scheduler.active_requests))]
        state.status = RequestStatus.FINISHED
        self.scheduler.finish_request(state.request_id)
        self.scheduler.add_waiting_request(state.create_equivalent_initial_request())

    def _generation_step(self, model, *_):
        if model == "explosive":
            raise MemoryError("out of memory, says the engine")

    def update_batch(self):
        for state, has_token in self.batches.pop(0):
            if has_token and state.status != RequestStatus.FINISHED:
                state.tokens_to_process, state.status = [7], RequestStatus.DECODING
                if state.update_and_check_completion(7, *[None] * (VERSION >= (5, 10))):
                    self.scheduler.finish_request(state.request_id)
                print(state.request_id, state.generated_tokens)

    def _handle_request_error(self, error, state):
        state.status, state.error = RequestStatus.FAILED, str(error)
        print(state.request_id, "failed")

    def fail_all_requests(self, error):
        for state in [*self.scheduler.active_requests.values(), *self.scheduler.waiting_requests.values()]:
            self._handle_request_error(error, state)


class ContinuousBatchingManager:
    def __init__(self, num_blocks, is_async=False):
        self.batch_processor = ContinuousBatchProcessor(num_blocks, is_async)

    def add_request(self, input_ids, request_id=None, max_new_tokens=None):
        self.batch_processor.input_queue.append(RequestState(request_id, input_ids, max_new_tokens))
        return request_id


drop_what_is_lacking(globals())
