#!/usr/bin/env bash
# Runs the report scripts and rules of Nsight Systems on our SQLite export of every trace in tests/data, and compares what
# they print with our report, to the nanosecond. Needs nsys, but no GPU.
#
#   tests/gpu/run_nsys_scripts.sh OUT [BUILD]     BUILD is build/release by default
#
# OUT/nsys_scripts.tar.gz   exports, reports, and everything that nsys wrote
# OUT/nsys_scripts.log      the commands that failed, then the table of comparisons
#
# Variables: GPROF_TEST_NSYS       path of nsys, where it is not found
#            GPROF_TEST_NSYS_LIBS  folder with libdw.so.1 and libelf.so.1, which nsys may need
# Exit code: 0 all equal, 1 not, 2 usage, 77 there is no nsys or nothing was built.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if (($# < 1)); then
  echo "usage: tests/gpu/run_nsys_scripts.sh OUT [BUILD]" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
build=$(cd "${2:-$root/build/release}" 2>/dev/null && pwd) || {
  echo "skipped: there is no build in ${2:-build/release}"
  exit 77
}
gprof=$build/bin/gprof-cli
if [[ ! -x $gprof ]]; then
  echo "skipped: gprof-cli was not built"
  exit 77
fi
nsys=$(cd "$root/tests/gpu" && python3 -B -c 'import nsys; print(nsys.find() or "")')
if [[ -z $nsys ]]; then
  echo "skipped: Nsight Systems was not found (GPROF_TEST_NSYS names it)"
  exit 77
fi
export NO_COLOR=1 COLUMNS=100 LC_ALL=C.UTF-8
export LD_LIBRARY_PATH=${GPROF_TEST_NSYS_LIBS:+$GPROF_TEST_NSYS_LIBS:}${LD_LIBRARY_PATH:-}
export gprof nsys
export reports=cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum,nvtx_sum,nvtx_gpu_proj_sum
export rules=cuda_memcpy_async:rows=-1,cuda_memcpy_sync:rows=-1,cuda_memset_sync:rows=-1,cuda_api_sync:rows=-1
export rules=$rules,gpu_gaps:gap=1:rows=-1,gpu_time_util

work=$(mktemp -d)/nsys_scripts
trap 'rm -rf "${work%/nsys_scripts}"' EXIT
mkdir -p "$work"
log=$out/nsys_scripts.log

# try NAME COMMAND...: what it says goes to NAME.txt, with its exit code.
try() {
  local name=$1 code=0
  shift
  timeout 60 "$@" >"$name.txt" 2>&1 </dev/null || code=$?
  printf '[exit %d] %s\n' "$code" "$*" >>"$name.txt"
  return "$code"
}
export -f try

one_trace() {
  local trace=$1 folder=$2/$(basename "$1" .trace)
  mkdir -p "$folder" && cd "$folder" || return 1
  try export_sqlite "$gprof" export "$trace" --format sqlite -o run.sqlite
  try export_csv "$gprof" export "$trace" --format csv -o csv
  try report "$gprof" report "$trace" --format json --top 0 -o report.json
  try stats "$nsys" stats --report "$reports" --format csv --output stats --force-overwrite true run.sqlite
  # Each rule by itself: one that fails must not hide the others.
  local rule
  for rule in ${rules//,/ }; do
    try "analyze_${rule%%:*}" "$nsys" analyze --rule "$rule" --format csv --output analyze --force-overwrite true run.sqlite
  done
  return 0
}
export -f one_trace

{
  echo "$("$nsys" --version 2>&1 | head -n 1), $("$gprof" --version 2>&1 | head -n 1)"
  printf '%s\0' "$root"/tests/data/*.trace | xargs -0 -P "$(nproc)" -I TRACE bash -c 'one_trace "$1" "$2"' _ TRACE "$work"
  python3 -B "$root/tests/gpu/compare_nsys_scripts.py" "$work"
} >"$log" 2>&1
code=$?
tar -C "${work%/nsys_scripts}" -czf "$out/nsys_scripts.tar.gz" nsys_scripts
cat "$log"
exit "$code"
