import dataclasses

from stubs import VERSION


@dataclasses.dataclass
class NewRequestData:
    req_id: str
    prompt_token_ids: list
    num_computed_tokens: int


@dataclasses.dataclass
class CachedRequestData:
    req_ids: list
    num_computed_tokens: list
    if VERSION >= (0, 12):
        resumed_req_ids: set
    else:
        resumed_from_preemption: list


@dataclasses.dataclass
class SchedulerOutput:
    scheduled_new_reqs: list
    scheduled_cached_reqs: CachedRequestData
    num_scheduled_tokens: dict
    total_num_scheduled_tokens: int
    finished_req_ids: set
