"""Has serving engines say what happens to their requests and what their steps are: vLLM, SGLang, and what Transformers
calls continuous batching. sitecustomize.py runs it where GPROF_SERVING=1 is in the environment.

A hook is put around a method of the engine once the module that has it was loaded. It passes everything through as it
is, exceptions as well, and raises nothing. An engine whose parts are not called what they are called here, or whose
version nobody has read, is left alone, and one line on stderr says so; the same goes for one whose hooks find
something else than they expect while it runs.

A step lasts until its tokens are known. Where an engine prepares the next step before it has them (vLLM's asynchronous
scheduling, SGLang's overlapped schedule, asynchronous batching of Transformers), a step ends once its work was
launched, so that no two steps of a thread overlap.
"""
import functools
import re
import sys
import time

import gprof_serving as serving

# What was read: the interface of the first and the last version, and of some between them. Within the range, the parts
# that are needed must be there under their names.
_KNOWN = {
    "vllm": ("vLLM", "0.9.2", "0.33"),  # also 0.11.0 and 0.20.2
    "sglang": ("SGLang", "0.4.10", "0.5.23"),  # also 0.5.6 and 0.5.13
    "transformers": ("Transformers", "5.0", "5.24"),  # also 5.3, 5.10.4 and 5.17
}


def _numbers_in(version):
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found.group().split("."))) if found else ()


class _Engine:
    """What is known of an engine in this process. It is off once anything was not as expected."""

    def __init__(self, package):
        self._package = package
        self._title, self._first, self._last = _KNOWN[package]
        self.is_off = False

    @functools.cached_property
    def version(self):
        version = getattr(sys.modules.get(self._package), "__version__", None)
        if version is None:  # its package is still being loaded
            try:
                from importlib import metadata
                version = metadata.version(self._package)
            except Exception:
                version = "of an unknown version"
        return str(version)

    def _is_read(self):
        version, last = _numbers_in(self.version), _numbers_in(self._last)
        return _numbers_in(self._first) <= version and version[:len(last)] <= last

    def has(self, *parts):
        """Whether the engine has these: (class, its methods). Asked before a module's first hook: it's all or none."""
        if self.is_off:
            return False
        for kind, methods in parts:
            missing = [method for method in methods.split() if not callable(getattr(kind, method, None))]
            if missing:
                return self.refuse(f"{kind.__name__} has no {missing[0]}")
        return self._is_read() or self.refuse("nobody has read this version")

    def refuse(self, why):
        if not self.is_off:
            self.is_off = True
            print(f"gprof-cli: requests of {self._title} {self.version} are not recorded: {why}; known are "
                  f"{self._first} to {self._last}", file=sys.stderr, flush=True)
        return False

    def hook(self, kind, name, before=None, after=None, argument=None):
        """Has before(self, argument) called in front of the method, and after(self, argument, what before() returned,
        what the method returned) behind it, unless it raises. argument: (its position, its name)."""
        call = getattr(kind, name)
        place, keyword = argument or (0, None)

        @functools.wraps(call)
        def hooked(instance, *args, **keywords):
            if self.is_off:
                return call(instance, *args, **keywords)
            noted = given = None
            try:
                if keyword is not None:
                    given = args[place] if len(args) > place else keywords[keyword]
                if before is not None:
                    noted = before(instance, given)
            except Exception as error:
                self.fail(error)
                return call(instance, *args, **keywords)
            result = call(instance, *args, **keywords)
            if after is not None:
                try:
                    after(instance, given, noted, result)
                except Exception as error:
                    self.fail(error)
            return result
        setattr(kind, name, hooked)

    def fail(self, error):
        self.refuse(f"{type(error).__name__}: {error}")


_ENGINES = {package: _Engine(package) for package in _KNOWN}


def _ours(owner, kind):
    """What is ours of an object of the engine, made on first use."""
    ours = owner.__dict__.get("_gprof_cli")
    if ours is None:
        ours = owner._gprof_cli = kind()
    return ours


def _tell_tokens(names, counts):
    """Lists. Of those that got none nothing is told."""
    if 0 in counts:
        names, counts = [name for name, count in zip(names, counts) if count], list(filter(None, counts))
    if names:
        serving.handed_out(names, counts)


class _Step:
    """One that has begun. The rows are columns, as end_step() takes them."""

    __slots__ = ("begin", "names", "tokens", "cached", "tokens_out", "is_prefill", "about")

    def __init__(self, begin, names, tokens, cached, tokens_out, is_prefill, about):
        self.begin, self.names, self.tokens, self.cached = begin, names, tokens, cached
        self.tokens_out, self.is_prefill, self.about = tokens_out, is_prefill, about

    def end(self):
        serving.end_step(self.begin, self.names, self.tokens, self.cached, self.tokens_out, self.is_prefill, *self.about)


# vLLM. Requests live in the process of EngineCore, whose Scheduler says what becomes of them. The GPU's work is that of
# the Workers, which may be processes of their own and get what the scheduler decided as a SchedulerOutput. What a worker
# does not know travels there as an attribute of it, `gprof_about`: (waiting, blocks used, blocks, {request: how many
# tokens it must compute before it gets a new one}) with an entry for each that begins or is resumed.

def _hook_vllm_scheduler(module):
    engine, kind = _ENGINES["vllm"], module.Scheduler
    if not engine.has((kind, "add_request schedule update_from_output finish_requests _free_request get_request_counts")):
        return
    engine.hook(kind, "add_request", _vllm_is_new, _vllm_arrived, (0, "request"))
    if hasattr(kind, "_preempt_request"):
        engine.hook(kind, "schedule", None, _vllm_scheduled)
        engine.hook(kind, "_preempt_request", None, _vllm_preempted, (0, "request"))
    else:
        engine.hook(kind, "schedule", _vllm_running, _vllm_scheduled)
    engine.hook(kind, "update_from_output", None, _vllm_updated)
    engine.hook(kind, "_free_request", None, _vllm_ended, (0, "request"))
    engine.hook(kind, "finish_requests", None, _vllm_tell_ended)


def _vllm_is_new(scheduler, request):
    return request.request_id not in scheduler.requests


def _vllm_arrived(_, request, is_new, __):
    if is_new:  # otherwise it is more of the input of one that is known
        waited = max(time.time() - request.arrival_time, 0)
        serving.request_by_ns(request.request_id, serving.ARRIVED, request.num_prompt_tokens, int(waited * 1e9))


def _vllm_running(scheduler, _):
    return scheduler.running[:]


def _vllm_scheduled(scheduler, _, were_running, output):
    if were_running:
        preempted = type(were_running[0].status).PREEMPTED
        for request in [request for request in were_running if request.status is preempted]:
            _vllm_preempted(scheduler, request)
    cached = output.scheduled_cached_reqs
    resumed = getattr(cached, "resumed_req_ids", None)
    if resumed is None:
        resumed = [name for name, is_resumed in zip(cached.req_ids, cached.resumed_from_preemption) if is_resumed]
    begun = [request.req_id for request in output.scheduled_new_reqs]
    requests, pool = scheduler.requests, scheduler.kv_cache_manager.block_pool
    blocks = pool.num_gpu_blocks
    output.gprof_about = (scheduler.get_request_counts()[1], blocks - pool.get_num_free_blocks(), blocks,
                          {name: requests[name].num_tokens for name in (*begun, *resumed)})


def _vllm_preempted(_, request, *__):
    serving.request_by_ns(request.request_id, serving.PREEMPTED, 0, 0)


def _vllm_updated(scheduler, _, __, of_clients):
    outputs = [output for of_one in of_clients.values() for output in of_one.outputs]
    _tell_tokens([output.request_id for output in outputs], [len(output.new_token_ids) for output in outputs])
    _vllm_tell_ended(scheduler)


def _vllm_ended(scheduler, request, *_):
    """It's told behind the last tokens."""
    status = request.status.name
    is_aborted = "ABORT" in status or "ERROR" in status
    _ours(scheduler, list).append((request.request_id, serving.ABORTED if is_aborted else serving.FINISHED))


def _vllm_tell_ended(scheduler, *_):
    ended = _ours(scheduler, list)
    for name, kind in ended:
        serving.request_by_ns(name, kind, 0, 0)
    ended.clear()


def _hook_vllm_worker(module):
    engine, kind = _ENGINES["vllm"], module.Worker
    if not engine.has((kind, "execute_model")):
        return
    engine.hook(kind, "execute_model", _vllm_begin, _vllm_executed, (0, "scheduler_output"))
    if hasattr(kind, "sample_tokens"):
        engine.hook(kind, "sample_tokens", None, _vllm_sampled)


class _VllmSteps:
    """Of a worker: its step, and the prompts that it has computed in part, with their lengths."""

    def __init__(self):
        self.step, self.partial = None, {}

    def begin(self, output):
        about = getattr(output, "gprof_about", (0, 0, 0, {}))
        for name in output.finished_req_ids:
            self.partial.pop(name, None)
            serving.forget(name)
        tokens = output.num_scheduled_tokens
        if not tokens:
            return
        names = list(tokens)
        cached = self._cached(output, names, about[3])
        tokens_out, is_prefill = self._prefills(names, tokens, cached)
        begin = serving.begin_step()
        if begin:
            self.step = _Step(begin, names, list(tokens.values()), cached, tokens_out, is_prefill, about[:3])

    def _cached(self, output, names, wanted):
        """How many tokens of each request are computed already."""
        known, new = output.scheduled_cached_reqs, output.scheduled_new_reqs
        for request in new:
            self.partial[request.req_id] = len(request.prompt_token_ids or ())
        self.partial.update(wanted)
        if known.req_ids == names:  # all decode, which is what most steps are
            return known.num_computed_tokens
        cached = dict(zip(known.req_ids, known.num_computed_tokens))
        cached.update((request.req_id, request.num_computed_tokens) for request in new)
        return [cached[name] for name in names]

    def _prefills(self, names, tokens, cached):
        """A request that is not in `partial` decodes, and gets a token."""
        tokens_out, is_prefill = [1] * len(names), [0] * len(names)
        if not self.partial.keys().isdisjoint(tokens):
            for place, name in enumerate(names):
                wanted = self.partial.get(name)
                if wanted is not None:
                    is_prefill[place] = 1
                    if cached[place] + tokens[name] < wanted:
                        tokens_out[place] = 0
                    else:
                        del self.partial[name]
        return tokens_out, is_prefill

    def end(self, result):
        step, self.step = self.step, None
        if step is None:
            return
        found, names = getattr(result, "sampled_token_ids", None), getattr(result, "req_ids", None)
        if isinstance(found, list) and found and names:  # else they are on their way; drafted ones that were accepted count
            counts = [len(tokens) for tokens in found]
            if names != step.names:
                by_name = dict(zip(names, counts))
                counts = [by_name.get(name, 0) for name in step.names]
            step.tokens_out = counts
        step.end()


def _vllm_begin(worker, output):
    steps = _ours(worker, _VllmSteps)
    steps.end(None)  # no tokens were asked for
    steps.begin(output)


def _vllm_executed(worker, _, __, result):
    if result is not None or not hasattr(worker, "sample_tokens"):
        _ours(worker, _VllmSteps).end(result)


def _vllm_sampled(worker, _, __, result):
    _ours(worker, _VllmSteps).end(result)


# SGLang. Scheduler and model are in one process, one for each rank, and all ranks do the same: the first one tells of the
# requests.

def _hook_sglang(module):
    engine, kind = _ENGINES["sglang"], module.Scheduler
    _SglangSteps.module = module
    request = sys.modules["sglang.srt.managers.schedule_batch"].Req
    if not engine.has((kind, "run_batch process_batch_result handle_generate_request abort_request"),
                      (request, "reset_for_retract")):
        return
    engine.hook(kind, "handle_generate_request", _sglang_arrived, None, (0, "recv_req"))
    engine.hook(kind, "run_batch", _sglang_begin, _sglang_launched, (0, "batch"))
    engine.hook(kind, "process_batch_result", _sglang_state, _sglang_processed, (0, "batch"))
    engine.hook(kind, "abort_request", _sglang_waiting, _sglang_aborted)
    engine.hook(request, "reset_for_retract", None, _sglang_preempted)


class _SglangSteps:
    module = None  # that of the Scheduler

    def __init__(self):
        self.step = self.batch = self.lengths = self.is_first_rank = None
        self.alive = set()


_sglang_is_first_rank = True  # a request that is retracted does not know its scheduler


def _sglang_steps(scheduler):
    global _sglang_is_first_rank
    steps = _ours(scheduler, _SglangSteps)
    if steps.is_first_rank is None:
        ranks = scheduler if hasattr(scheduler, "attn_tp_rank") else getattr(scheduler, "ps", None)
        if ranks is None:
            ranks = steps.module.get_parallel()
        _sglang_is_first_rank = steps.is_first_rank = ranks.attn_tp_rank == ranks.pp_rank == 0
    return steps


def _sglang_tell(steps, name, kind, tokens=0):
    if steps.is_first_rank:
        serving.request_by_ns(name, kind, tokens, 0)


def _sglang_end(steps, name, kind):
    """Once: with an overlapped schedule a request that is over may be in one more batch."""
    if name in steps.alive:
        steps.alive.discard(name)
        _sglang_tell(steps, name, kind)
        if not steps.is_first_rank:
            serving.forget(name)


def _sglang_arrived(scheduler, request):
    steps = _sglang_steps(scheduler)
    steps.alive.add(request.rid)
    _sglang_tell(steps, request.rid, serving.ARRIVED, len(request.input_ids or ()))


def _sglang_preempted(request, *_):
    if _sglang_is_first_rank:
        serving.request_by_ns(request.rid, serving.PREEMPTED, 0, 0)


def _sglang_begin(scheduler, batch):
    steps, mode = _sglang_steps(scheduler), batch.forward_mode
    if steps.step is not None:  # nobody processed its result before the next one, as with pipelines
        steps.step.end()
        steps.step = None
    if not batch.reqs or not (mode.is_decode() or mode.is_extend()):
        return
    begin = serving.begin_step()
    if begin:
        steps.lengths = [len(request.output_ids) for request in batch.reqs]
        rows = _sglang_prompts(batch) if mode.is_extend() else _sglang_decodes(batch.reqs, steps.lengths)
        steps.step = _Step(begin, [request.rid for request in batch.reqs], *rows, _sglang_about(scheduler))
        steps.batch = batch


def _sglang_decodes(requests, lengths):
    """All that was found is in the cache but the last token; an overlapped schedule may not know of the last but one."""
    cached = [len(request.origin_input_ids) + length - 1 for request, length in zip(requests, lengths)]
    return [1] * len(cached), cached, [1] * len(cached), [0] * len(cached)


def _sglang_prompts(batch):
    """Those that decode are the last ones of a mixed batch. One prompt at most goes on in a later batch."""
    decoding = len(batch.decoding_reqs or ()) if batch.forward_mode.is_mixed() else 0
    prompts = len(batch.reqs) - decoding
    tokens_out = [1] * len(batch.reqs)
    for place, request in enumerate(batch.reqs if batch.chunked_req is not None else ()):
        if request is batch.chunked_req:
            tokens_out[place] = 0
    return list(batch.extend_lens), list(batch.prefix_lens), tokens_out, [1] * prompts + [0] * decoding


def _sglang_about(scheduler):
    """The cache in tokens. What its tree keeps for later requests is free; some kinds of caches say nothing of that."""
    waiting = len(scheduler.waiting_queue)
    try:
        total = int(scheduler.max_total_num_tokens)
        free = int(scheduler.token_to_kv_pool_allocator.available_size()) + int(scheduler.tree_cache.evictable_size())
        return waiting, max(total - free, 0), total
    except Exception:
        return waiting, 0, 0


def _sglang_launched(scheduler, *_):
    steps = _ours(scheduler, _SglangSteps)
    if steps.step is not None and scheduler.enable_overlap:
        steps.step.end()
        steps.step = None


def _sglang_state(scheduler, batch):
    """Who is in the batch, and how many tokens each had found before."""
    steps, requests = _ours(scheduler, _SglangSteps), list(batch.reqs)
    if steps.step is not None and steps.batch is batch and len(steps.lengths) == len(requests):
        return requests, steps.lengths
    return requests, [len(request.output_ids) for request in requests]


def _sglang_processed(scheduler, batch, state, __):
    (requests, lengths), steps, step = state, _sglang_steps(scheduler), None
    found = [len(request.output_ids) - length for request, length in zip(requests, lengths)]
    if steps.step is not None:
        step, steps.step = steps.step, None
    if step is not None and steps.batch is batch and len(step.names) == len(found):
        names, step.tokens_out = step.names, found
    else:
        names = [request.rid for request in requests]
    if step is not None:
        step.end()
    if steps.is_first_rank:
        _tell_tokens(names, found)
    for request in [request for request in requests if request.finished_reason is not None]:
        is_aborted = "ABORT" in type(request.finished_reason).__name__
        _sglang_end(steps, request.rid, serving.ABORTED if is_aborted else serving.FINISHED)


def _sglang_waiting(scheduler, _):
    return list(scheduler.waiting_queue)


def _sglang_aborted(scheduler, _, waited, __):
    """Those that run are aborted by their next step."""
    waiting, steps = set(map(id, scheduler.waiting_queue)), _sglang_steps(scheduler)
    for request in waited:
        if id(request) not in waiting:
            _sglang_end(steps, request.rid, serving.ABORTED)


# Transformers. One thread prepares a batch, runs it and updates its requests; their arrival is what add_request() noted.

def _hook_transformers(module):
    engine, package = _ENGINES["transformers"], module.__name__.rpartition(".")[0]
    schedulers = sys.modules[package + ".scheduler"]
    processor, scheduler = module.ContinuousBatchProcessor, schedulers.Scheduler
    concrete = [schedulers.FIFOScheduler, schedulers.PrefillFirstScheduler]
    if not engine.has((processor, "_generation_step update_batch _handle_request_error"),
                      (scheduler, "add_waiting_request clear_cancelled_requests"),
                      *((kind, "schedule_batch") for kind in concrete)):
        return
    engine.hook(scheduler, "add_waiting_request", None, _transformers_queued, (0, "state"))
    engine.hook(scheduler, "clear_cancelled_requests", _transformers_cancelled, _transformers_aborted)
    for kind in concrete:
        engine.hook(kind, "schedule_batch", None, _transformers_begin)
    engine.hook(processor, "_generation_step", None, _transformers_launched)
    engine.hook(processor, "update_batch", _transformers_state, _transformers_updated)
    engine.hook(processor, "_handle_request_error", None, _transformers_failed, (1, "state"))


class _TransformersSteps:
    def __init__(self):
        self.step, self.alive = None, set()


def _transformers_queued(scheduler, state, *_):
    """A request that comes here again was taken out of its batch, for want of blocks."""
    alive = _ours(scheduler, _TransformersSteps).alive
    if state.request_id in alive:
        serving.request_by_ns(state.request_id, serving.PREEMPTED, 0, 0)
        return
    alive.add(state.request_id)
    waited = max(time.perf_counter() - state.created_time, 0)
    serving.request_by_ns(state.request_id, serving.ARRIVED, len(state.initial_tokens), int(waited * 1e9))


def _transformers_end(scheduler, name, kind):
    alive = _ours(scheduler, _TransformersSteps).alive
    if name in alive:
        alive.discard(name)
        serving.request_by_ns(name, kind, 0, 0)


def _transformers_cancelled(scheduler, _):
    return list(scheduler._requests_to_cancel)


def _transformers_aborted(scheduler, _, names, __):
    for name in names:
        _transformers_end(scheduler, name, serving.ABORTED)


def _transformers_failed(processor, state, *_):
    _transformers_end(processor.scheduler, state.request_id, serving.ABORTED)


def _transformers_begin(scheduler, _, __, batch):
    """Copies to the GPU that prepare the batch are a part of its step."""
    steps = _ours(scheduler, _TransformersSteps)
    batch = batch[0] if isinstance(batch, tuple) else batch
    begin = serving.begin_step() if batch else 0
    steps.step = None
    if begin:
        if hasattr(batch[0], "state"):  # from 5.3 on
            states, tokens_out = [future.state for future in batch], [future.has_new_token for future in batch]
        else:
            states, tokens_out = batch, [not state.remaining_prefill_tokens for state in batch]
        cached = [state.position_offset for state in states]
        steps.step = _Step(begin, [state.request_id for state in states],
                           [len(state.tokens_to_process) for state in states], cached, tokens_out,
                           [len(state.initial_tokens) > done for state, done in zip(states, cached)],
                           _transformers_about(scheduler))


def _transformers_about(scheduler):
    waiting, cache = len(scheduler.waiting_requests), scheduler.cache
    try:
        return waiting, cache.num_blocks - cache.get_num_free_blocks(), cache.num_blocks
    except Exception:  # some versions have kinds of blocks that have no common number
        return waiting, 0, 0


def _transformers_launched(processor, *_):
    if getattr(processor, "use_async_batching", False):
        _transformers_end_step(processor)


def _transformers_end_step(processor):
    steps = _ours(processor.scheduler, _TransformersSteps)
    step, steps.step = steps.step, None
    if step is not None:
        step.end()


def _transformers_state(processor, _):
    """Whatever gets a token is active until then, also where its batch is not the last one."""
    states = list(processor.scheduler.active_requests.values())
    return states, [len(state.generated_tokens) for state in states]


def _transformers_updated(processor, _, before, __):
    if not getattr(processor, "use_async_batching", False):
        _transformers_end_step(processor)
    states, lengths = before
    found = [len(state.generated_tokens) - length for state, length in zip(states, lengths)]
    _tell_tokens([state.request_id for state in states], found)
    finished = type(states[0]._status).FINISHED if states else None
    for state in [state for state in states if state._status is finished]:
        _transformers_end(processor.scheduler, state.request_id, serving.FINISHED)


# What sitecustomize.py waits for, and what is to be called with the module once it was loaded.
AWAITED = {
    "vllm.v1.core.sched.scheduler": ("vllm", _hook_vllm_scheduler),
    "vllm.v1.worker.gpu_worker": ("vllm", _hook_vllm_worker),
    "sglang.srt.managers.scheduler": ("sglang", _hook_sglang),
    "transformers.generation.continuous_batching.continuous_api": ("transformers", _hook_transformers),
}


def loaded(name):
    package, put_hooks = AWAITED[name]
    try:
        put_hooks(sys.modules[name])
    except Exception as error:
        _ENGINES[package].fail(error)
