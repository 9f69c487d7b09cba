"""All ranks of a run in one verdict, on the machines of an engine: docs/cluster.md.

An engine maps `partial` over the traces, which makes bytes of each, and joins those with `merge`, in any order.
"""

import argparse
import os
import sys

from . import _core

FAN_IN = 16
RETRIES = 2


def _cores():
    """That this process may run on."""
    return len(os.sched_getaffinity(0))


def partial(path, threads=None):
    """The partial of one trace, as bytes. Of a file that cannot be read it says why, so that the verdict names it.

    It is made by no more than so many `threads`, by default one for each core: workers that share a machine take fewer."""
    return _core.partial(path, threads or _cores())


def merge(parts):
    """The union of partials."""
    return _core.merge(list(parts))


def _merge(*parts):
    return merge(parts)


def _size(part):
    return len(part)


def _joined(submit, parts):
    """Joins them by `submit`, which takes a few at a time."""
    while len(parts) > 1:
        parts = [submit(parts[first:first + FAN_IN]) for first in range(0, len(parts), FAN_IN)]
    return parts[0]


def threads_of_a_worker(workers, cluster):
    """For a trace. Schedulers count on a core for each piece of work; workers that we start share those of this machine."""
    return 1 if cluster else max(1, _cores() // workers)


def _tell(is_shown, done, count):
    if is_shown:
        print(f"\r{done:,} of {count:,} traces", end="\n" if done == count else "", file=sys.stderr, flush=True)


def _with_dask(paths, workers, cluster, is_shown):
    from dask import distributed
    # Work that its worker dies of is done again by another one, three times.
    with (distributed.Client(cluster) if cluster else
          distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)) as client:
        futures = client.map(partial, paths, threads=threads_of_a_worker(workers, cluster), pure=False)
        for done, _ in enumerate(distributed.as_completed(futures), 1):
            _tell(is_shown, done, len(paths))
        futures = [future if future.status == "finished" else client.submit(_core.abandoned, path, pure=False)
                   for path, future in zip(paths, futures)]
        return _joined(lambda few: client.submit(merge, few, pure=False), futures).result()


def _with_ray(paths, workers, cluster, is_shown):
    import ray
    is_ours = not ray.is_initialized()
    if is_ours:
        how = {"address": cluster} if cluster else {"num_cpus": workers, "include_dashboard": False}
        ray.init(log_to_driver=False, **how)
    try:
        map_one, join = ray.remote(max_retries=RETRIES)(partial), ray.remote(max_retries=RETRIES)(_merge)
        size = ray.remote(_size)
        threads = threads_of_a_worker(workers, cluster or not is_ours)
        parts = {map_one.remote(path, threads): number for number, path in enumerate(paths)}
        made, left = [None] * len(paths), list(parts)
        while left:
            (ready,), left = ray.wait(left)
            number = parts[ready]
            try:
                ray.get(size.remote(ready))
                made[number] = ready
            except ray.exceptions.RayError:
                made[number] = ray.put(_core.abandoned(paths[number]))
            _tell(is_shown, len(paths) - len(left), len(paths))
        return ray.get(_joined(lambda few: join.remote(*few), made))
    finally:
        if is_ours:
            ray.shutdown()


def _with_nothing(paths, workers, cluster, is_shown):
    made = []
    for path in paths:
        made.append(partial(path))
        _tell(is_shown, len(made), len(paths))
    return merge(made)


ENGINES = {"none": _with_nothing, "dask": _with_dask, "ray": _with_ray}


def partial_of(paths, engine="dask", workers=None, cluster=None, progress=False):
    """The partial of all the traces, as bytes: what `gprof-cli merge` and `gprof-cli ranks` read."""
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}")
    paths = sorted({os.path.abspath(os.fspath(path)) for path in paths})
    if not paths:
        raise ValueError("no traces given")
    return ENGINES[engine](paths, workers or _cores(), cluster, progress)


def analyze(paths, engine="dask", workers=None, cluster=None, progress=False, rows=100):
    """What `gprof-cli ranks --format json` prints of these traces, as a dict: "schema": "gprof.analyze/1".

    `engine` is "dask", "ray", or "none" for this process. `cluster` is the address of a scheduler (or, for Dask, a Cluster);
    without it, so many `workers` are started on this machine."""
    return _core.judge(partial_of(paths, engine, workers, cluster, progress), rows)


def main():
    """What `gprof-cli ranks --engine` starts."""
    parser = argparse.ArgumentParser(prog="gprof_cli.fleet")
    parser.add_argument("--engine", choices=list(ENGINES), required=True)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--cluster")
    parser.add_argument("list", help="a file with a path a line")
    parser.add_argument("output")
    options = parser.parse_args()
    try:
        with open(options.list, encoding="utf-8", errors="surrogateescape") as paths:
            made = partial_of(paths.read().splitlines(), options.engine, options.workers, options.cluster, sys.stderr.isatty())
    except ImportError as missing:
        sys.exit(f"{options.engine} is not installed for {sys.executable}: {missing}")
    with open(options.output, "wb") as output:
        output.write(made)
