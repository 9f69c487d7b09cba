import collections

from stubs import VERSION, drop_what_is_lacking

ModelRunnerOutput = collections.namedtuple("ModelRunnerOutput", "req_ids req_id_to_index sampled_token_ids")


class Untouchable:
    """An array that is still being copied: to ask for its truth or its length is an error."""

    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")

    __len__ = __bool__


class AsyncOutput:
    """Its tokens are not on the host yet."""

    def __init__(self, output):
        self._output, self.req_ids, self.sampled_token_ids = output, output.req_ids, Untouchable()

    def get_output(self):
        return self._output


class Worker:
    def __init__(self, is_async=False, drafts=0):
        self._lengths, self._computed, self._is_async, self._drafts, self._state = {}, {}, is_async, drafts, None

    def execute_model(self, scheduler_output):
        if scheduler_output.num_scheduled_tokens.get("explosive"):
            raise MemoryError("out of memory, says the engine")
        for request in scheduler_output.scheduled_new_reqs:
            self._lengths[request.req_id] = len(request.prompt_token_ids)
            self._computed[request.req_id] = 0
        cached = scheduler_output.scheduled_cached_reqs
        self._computed.update(zip(cached.req_ids, cached.num_computed_tokens))
        self._state = scheduler_output
        if VERSION >= (0, 12) and scheduler_output.num_scheduled_tokens:
            return None
        return self._sample()

    if VERSION >= (0, 12):
        def sample_tokens(self, grammar_output):
            return self._sample()

    def _sample(self):
        names, found = list(self._state.num_scheduled_tokens), []
        for name, tokens in self._state.num_scheduled_tokens.items():
            is_known = self._computed[name] + tokens < self._lengths[name]
            found.append([] if is_known else [7] * (1 + self._drafts))
            self._lengths[name] += len(found[-1])
        names.reverse()  # the rows of a worker have an order of their own
        found.reverse()
        output = ModelRunnerOutput(names, {name: place for place, name in enumerate(names)}, found)
        return AsyncOutput(output) if self._is_async and VERSION >= (0, 11) else output


drop_what_is_lacking(globals())
