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
from itertools import repeat
from operator import attrgetter, gt, ne, sub

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
    """counts may be 0: of those nothing is told."""
    told = [pair for pair in zip(names, counts) if pair[1] > 0]
    if told:
        serving.handed_out(*zip(*told))


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
        tokens, cached = output.num_scheduled_tokens, self._cached(output, about[3])
        if not tokens:
            return
        tokens_out, is_prefill = self._prefills(tokens, cached)
        begin = serving.begin_step()
        if begin:
            self.step = _Step(begin, list(tokens), list(tokens.values()), list(map(cached.__getitem__, tokens)),
                              tokens_out, is_prefill, about[:3])

    def _cached(self, output, wanted):
        """What is computed already, by request."""
        known = output.scheduled_cached_reqs
        cached = dict(zip(known.req_ids, known.num_computed_tokens))
        for request in output.scheduled_new_reqs:
            cached[request.req_id] = request.num_computed_tokens
            self.partial[request.req_id] = len(request.prompt_token_ids or ())
        self.partial.update(wanted)
        return cached

    def _prefills(self, tokens, cached):
        """A request that is not in `partial` decodes, and gets a token."""
        of_prompts = self.partial.keys() & tokens.keys()
        if not of_prompts:
            return [1] * len(tokens), [0] * len(tokens)
        tokens_out, is_prefill = dict.fromkeys(tokens, 1), dict.fromkeys(tokens, 0)
        for name in of_prompts:
            is_prefill[name] = 1
            if cached[name] + tokens[name] < self.partial[name]:
                tokens_out[name] = 0
            else:
                del self.partial[name]
        return list(tokens_out.values()), list(is_prefill.values())

    def end(self, result):
        step, self.step = self.step, None
        if step is None:
            return
        found, names = getattr(result, "sampled_token_ids", None), getattr(result, "req_ids", None)
        if found and names and isinstance(found, list):  # drafted tokens that were accepted count too
            step.tokens_out = list(map(dict(zip(names, map(len, found))).get, step.names, repeat(0)))
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
    def __init__(self):
        self.step = self.is_first_rank = None


_sglang_is_first_rank = True  # a request that is retracted does not know its scheduler


def _sglang_steps(scheduler):
    global _sglang_is_first_rank
    steps = _ours(scheduler, _SglangSteps)
    if steps.is_first_rank is None:
        ranks = scheduler if hasattr(scheduler, "attn_tp_rank") else getattr(scheduler, "ps", None)
        if ranks is None:
            ranks = sys.modules[type(scheduler).__module__].get_parallel()
        _sglang_is_first_rank = steps.is_first_rank = ranks.attn_tp_rank == ranks.pp_rank == 0
    return steps


def _sglang_tell(steps, name, kind, tokens=0):
    if steps.is_first_rank:
        serving.request_by_ns(name, kind, tokens, 0)
    elif kind in (serving.FINISHED, serving.ABORTED):
        serving.forget(name)


def _sglang_arrived(scheduler, request):
    _sglang_tell(_sglang_steps(scheduler), request.rid, serving.ARRIVED, len(request.input_ids or ()))


def _sglang_preempted(request, *_):
    if _sglang_is_first_rank:
        serving.request_by_ns(request.rid, serving.PREEMPTED, 0, 0)


_outputs, _inputs, _rids = attrgetter("output_ids"), attrgetter("origin_input_ids"), attrgetter("rid")
_reasons = attrgetter("finished_reason")


def _sglang_begin(scheduler, batch):
    steps, mode = _sglang_steps(scheduler), batch.forward_mode
    if steps.step is not None:  # nobody processed its result before the next one, as with pipelines
        steps.step.end()
        steps.step = None
    if not batch.reqs or not (mode.is_decode() or mode.is_extend()):
        return
    begin = serving.begin_step()
    if begin:
        rows = _sglang_prompts(batch) if mode.is_extend() else _sglang_decodes(batch.reqs)
        steps.step = _Step(begin, list(map(_rids, batch.reqs)), *rows, _sglang_about(scheduler))


def _sglang_decodes(requests):
    """All that was found is in the cache but the last token; an overlapped schedule may not know of the last but one."""
    cached = [prompt + found - 1 for prompt, found in zip(map(len, map(_inputs, requests)), map(len, map(_outputs, requests)))]
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


def _sglang_state(_, batch):
    requests = list(batch.reqs)
    return requests, list(map(len, map(_outputs, requests))), list(map(_reasons, requests))


def _sglang_processed(scheduler, _, state, __):
    (requests, lengths, reasons), steps = state, _sglang_steps(scheduler)
    found = list(map(sub, map(len, map(_outputs, requests)), lengths))
    names = list(map(_rids, requests))
    if steps.step is not None:
        if steps.step.names == names:
            steps.step.tokens_out = list(map(max, found, repeat(0)))
        steps.step.end()
        steps.step = None
    if steps.is_first_rank:
        _tell_tokens(names, found)
    if any(map(ne, map(_reasons, requests), reasons)):
        _sglang_tell_ended(steps, requests, reasons)


def _sglang_tell_ended(steps, requests, reasons):
    for request, reason in zip(requests, reasons):
        if reason is None and request.finished_reason is not None:
            is_aborted = "ABORT" in type(request.finished_reason).__name__
            _sglang_tell(steps, request.rid, serving.ABORTED if is_aborted else serving.FINISHED)


def _sglang_waiting(scheduler, _):
    return list(scheduler.waiting_queue)


def _sglang_aborted(scheduler, _, waited, __):
    """Those that run are aborted by their next step."""
    waiting, steps = set(map(id, scheduler.waiting_queue)), _sglang_steps(scheduler)
    for request in waited:
        if id(request) not in waiting:
            _sglang_tell(steps, request.rid, serving.ABORTED)


# Transformers. One thread prepares a batch, runs it and updates its requests; their arrival is what add_request() noted.

def _hook_transformers(module):
    engine, package = _ENGINES["transformers"], module.__name__.rpartition(".")[0]
    schedulers, requests = sys.modules[package + ".scheduler"], sys.modules[package + ".requests"]
    processor, scheduler = module.ContinuousBatchProcessor, schedulers.Scheduler
    concrete = [schedulers.FIFOScheduler, schedulers.PrefillFirstScheduler]
    if not engine.has((processor, "_generation_step update_batch _handle_request_error"),
                      (scheduler, "add_waiting_request clear_cancelled_requests"),
                      *((kind, "schedule_batch") for kind in concrete),
                      (requests.RequestState, "update_and_check_completion")):
        return
    engine.hook(scheduler, "add_waiting_request", None, _transformers_queued, (0, "state"))
    engine.hook(scheduler, "clear_cancelled_requests", _transformers_cancelled, _transformers_aborted)
    for kind in concrete:
        engine.hook(kind, "schedule_batch", None, _transformers_begin)
    engine.hook(processor, "_generation_step", None, _transformers_launched)
    engine.hook(processor, "update_batch", None, _transformers_updated)
    engine.hook(processor, "_handle_request_error", None, _transformers_failed, (1, "state"))
    _note_tokens(engine, requests.RequestState)


_found = []  # (request, whether it is complete) for each token since the last update_batch()


def _note_tokens(engine, kind):
    """Called for each token of each request: as little as can be."""
    call, note = kind.update_and_check_completion, _found.append

    @functools.wraps(call)
    def hooked(state, *args, **keywords):
        is_complete = call(state, *args, **keywords)
        if not engine.is_off:
            try:
                note((state.request_id, is_complete))
            except Exception as error:
                engine.fail(error)
        return is_complete
    kind.update_and_check_completion = hooked


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


_states, _names, _has_token = attrgetter("state"), attrgetter("request_id"), attrgetter("has_new_token")
_offsets, _prompts, _queries = attrgetter("position_offset"), attrgetter("initial_tokens"), attrgetter("tokens_to_process")


def _transformers_begin(scheduler, _, __, batch):
    """Copies to the GPU that prepare the batch are a part of its step."""
    steps = _ours(scheduler, _TransformersSteps)
    batch = batch[0] if isinstance(batch, tuple) else batch
    begin = serving.begin_step() if batch else 0
    steps.step = None
    if begin:
        if hasattr(batch[0], "state"):  # from 5.3 on
            states, tokens_out = list(map(_states, batch)), list(map(int, map(_has_token, batch)))
        else:
            states, tokens_out = batch, [int(not state.remaining_prefill_tokens) for state in batch]
        cached = list(map(_offsets, states))
        steps.step = _Step(begin, list(map(_names, states)), list(map(len, map(_queries, states))), cached, tokens_out,
                           list(map(gt, map(len, map(_prompts, states)), cached)), _transformers_about(scheduler))


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


def _transformers_updated(processor, *_):
    if not getattr(processor, "use_async_batching", False):
        _transformers_end_step(processor)
    found = _found[:]
    _found.clear()
    _tell_tokens([name for name, _ in found], repeat(1))
    for name, is_complete in found:
        if is_complete:
            _transformers_end(processor.scheduler, name, serving.FINISHED)


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
