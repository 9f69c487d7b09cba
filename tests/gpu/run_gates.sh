#!/usr/bin/env bash
# Makes the results that docs/ci.md shows, on a machine with a GPU: sets of five runs of the four normalise programs, what
# diff, check, baseline and compare say about them, and the measurements as small documents.
#
#   tests/gpu/run_gates.sh OUT [BUILD]     BUILD is build/release by default
#
# OUT/gates.tar.gz   traces, run files, baselines, budgets, and every result as text, Markdown, JSON and JUnit
# OUT/gates.log      every command with what it said and its exit code; the last lines say which was not as expected
#
# Variables: GATES_HOST  host name to record in place of the machine's own (needs root)
#            GATES_RUNS  runs of each set, 5 by default; more find smaller changes
#            GATES_DOUBLE  go on without a GPU: BUILD has a double of gprof-cli (tests/ci/test_run_gates.py)
# Exit code: 0 all as expected, 1 not, 2 usage, 77 there is no GPU or nothing was built.
set -uo pipefail

if [[ -n ${GATES_HOST:-} && -z ${GATES_INSIDE:-} ]] && unshare --uts true 2>/dev/null; then
  export GATES_INSIDE=1
  # shellcheck disable=SC2016
  exec unshare --uts bash -c 'hostname "$GATES_HOST" && exec bash "$0" "$@"' "$0" "$@"
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if (($# < 1)); then
  echo "usage: tests/gpu/run_gates.sh OUT [BUILD]" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
build=$(cd "${2:-$root/build/release}" 2>/dev/null && pwd) || {
  echo "skipped: there is no build in ${2:-build/release}"
  exit 77
}
examples=$build/share/gprof-cli/examples
export PATH=$build/bin:$PATH NO_COLOR=1 COLUMNS=100 LC_ALL=C.UTF-8
if [[ ! -e /dev/nvidiactl && -z ${GATES_DOUBLE:-} ]]; then
  echo "skipped: there is no GPU"
  exit 77
fi
for program in "$build/bin/gprof-cli" "$examples"/normalise_{v1_pageable,v2_pinned_nvtx,v3_streams,v3_bug}; do
  if [[ ! -x $program ]]; then
    echo "skipped: ${program##*/} was not built"
    exit 77
  fi
done

runs=${GATES_RUNS:-5}
log=$out/gates.log
work=$(mktemp -d)/gates
trap 'rm -rf "${work%/gates}"' EXIT
mkdir -p "$work/results"
cp "$examples"/normalise_{v1_pageable,v2_pinned_nvtx,v3_streams,v3_bug} "$work" && cd "$work" || exit 1
: >"$log"
surprises=()

# run EXPECTED COMMAND...: into the log, with the exit code; EXPECTED is a code, several with | between, or "any".
run() {
  local expected=$1 code=0 output
  shift
  output=$(timeout 150 "$@" 2>&1 </dev/null) || code=$?
  printf '$ %s\n%s\n[exit %d]\n\n' "$*" "$output" "$code" >>"$log"
  if [[ $expected != any && "|$expected|" != *"|$code|"* ]]; then surprises+=("exit $code, not $expected: $*"); fi
}

# save NAME EXPECTED COMMAND...: the same, and stdout goes to results/NAME.
save() {
  local name=$1 expected=$2 code=0
  shift 2
  timeout 150 "$@" >"results/$name" 2>"results/$name.stderr" </dev/null || code=$?
  printf '$ %s > results/%s\n%s\n[exit %d]\n\n' "$*" "$name" "$(cat "results/$name.stderr")" "$code" >>"$log"
  [[ -s results/$name.stderr ]] || rm -f "results/$name.stderr"
  if [[ $expected != any && "|$expected|" != *"|$code|"* ]]; then surprises+=("exit $code, not $expected: $* > $name"); fi
}

# record NAME PROGRAM ARGS...: programs lie here, so that no path of this machine gets into a trace.
record() {
  local name=$1 program=$2
  shift 2
  run 0 gprof-cli profile --repeat "$runs" --warmup 1 -f -o "$name.trace" -- "./$program" "$@"
}

# judge BASE NEW EXPECTED: the difference in all formats. A verdict of one figure, then for people and programs.
judge() {
  local base=$1 new=$2 expected=$3 name=$1-$2
  run "$expected" gprof-cli diff "$base.runs.json" "$new.runs.json"
  save "$name.diff.txt" "$expected" gprof-cli diff "$base.runs.json" "$new.runs.json"
  save "$name.diff.md" "$expected" gprof-cli diff "$base.runs.json" "$new.runs.json" --format md
  save "$name.diff.json" "$expected" gprof-cli diff "$base.runs.json" "$new.runs.json" --format json
}

# gate NAME EXPECTED ARGS...: a check in all formats.
gate() {
  local name=$1 expected=$2
  shift 2
  run "$expected" gprof-cli check "$@"
  save "$name.check.txt" "$expected" gprof-cli check "$@" --verbose --annotations github \
    --junit "results/$name.junit.xml" --summary "results/$name.summary.md" \
    --gitlab-codequality "results/$name.quality.json" --gitlab-metrics "results/$name.metrics.txt"
  save "$name.check.json" "$expected" gprof-cli check "$@" --format json
}

date -u '+%Y-%m-%d %H:%M UTC' >>"$log"
run any nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
run 0 gprof-cli version
run any gprof-cli doctor

record v1 normalise_v1_pageable
record v2 normalise_v2_pinned_nvtx
record v3 normalise_v3_streams -s 8
record v3_bug normalise_v3_bug -s 4
record v3_again normalise_v3_streams -s 8
record v3_four normalise_v3_streams -s 4

judge v1 v2 0
judge v2 v3 0
judge v3 v3_bug 1
judge v3 v3_again 0
judge v3_four v3_bug 1

# Baselines: the measurements that docs/ci.md rests on.
for name in v1 v2 v3 v3_bug v3_again v3_four; do
  run 0 gprof-cli baseline save "$name" "$name.runs.json" --dir baselines --by run_gates --reason "five runs of one build"
done
run 0 gprof-cli baseline list --dir baselines
run 0 gprof-cli baseline show v3 --dir baselines
save baseline_v3.txt 0 gprof-cli baseline show v3 --dir baselines
cp -r baselines accepted
run 0 gprof-cli baseline accept v2 v3.runs.json --dir accepted --by run_gates --reason "copies and kernels overlap in streams now"
save baseline_accepted.txt 0 gprof-cli baseline show v2 --dir accepted

# A budget made from one set holds for another set of the same build, and catches the bug.
run 0 gprof-cli check v3.runs.json --init v3.budget.json
gate v3_again-budget 0 v3_again.runs.json --budget v3.budget.json
gate v3_bug-budget 1 v3_bug.runs.json --budget v3.budget.json

# The hand-written one of the examples.
cp "$root/examples/ci/perf-budget.json" .
gate v3-example 0 v3.runs.json --budget perf-budget.json
gate v3_bug-example 1 v3_bug.runs.json --budget perf-budget.json
gate v1-example 1 v1.runs.json --budget perf-budget.json

# Against a baseline: what got slower than it was, by a share and by an absolute time.
cat >increase.budget.json <<'BUDGET'
{
  "schema": "gprof.budget/1",
  "name": "no slower than the baseline",
  "rules": {
    "gpu.window_ns": {"max_increase": "5%", "and": "200us", "reason": "the GPU part of a run is what users wait for"},
    "kernels.count": {"max_increase": 0},
    "memcpy.pageable_bytes": {"max_increase": 0}
  }
}
BUDGET
gate v3_again-baseline '0|4' v3_again.runs.json --budget increase.budget.json --baseline v3 --dir baselines
gate v3_bug-baseline 1 v3_bug.runs.json --budget increase.budget.json --baseline v3 --dir baselines
one_run=(v1-*.trace)
gate v1-one_run-baseline '1|4' "${one_run[0]}" --budget increase.budget.json --baseline v3 --dir baselines

# Interleaved.
compare() {
  local name=$1 expected=$2
  shift 2
  save "$name.compare.txt" "$expected" gprof-cli compare -n "$runs" --warmup 1 -q -f -o "compare-$name" "$@"
  cat "results/$name.compare.txt" >>"$log"
}
compare v2-v3 0 -- ./normalise_v2_pinned_nvtx ::: ./normalise_v3_streams -s 8
compare same '0|4' -- ./normalise_v3_streams -s 8 ::: ./normalise_v3_streams -s 8
rm -f normalise_*

{
  printf '%d surprises\n' "${#surprises[@]}"
  if ((${#surprises[@]})); then printf '  %s\n' "${surprises[@]}"; fi
} | tee -a "$log"
cp "$log" gates.log
tar -C "${work%/gates}" -czf "$out/gates.tar.gz" gates || exit 1
((${#surprises[@]} == 0))
