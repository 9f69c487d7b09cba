import enum


class RequestStatus(enum.IntEnum):
    WAITING = 1
    RUNNING = 2
    PREEMPTED = 3
    FINISHED_LENGTH_CAPPED = 4
    FINISHED_ABORTED = 5


class Request:
    def __init__(self, request_id, prompt_token_ids, max_tokens, arrival_time):
        self.request_id, self.prompt_token_ids, self.max_tokens = request_id, prompt_token_ids, max_tokens
        self.arrival_time, self.num_prompt_tokens = arrival_time, len(prompt_token_ids)
        self.status, self.num_computed_tokens, self.output_token_ids = RequestStatus.WAITING, 0, []

    @property
    def num_tokens(self):
        return self.num_prompt_tokens + len(self.output_token_ids)
