#!/usr/bin/env bash
# Records the programs of this folder on a machine with a GPU, PyTorch, CuPy and JAX: the captures that corpus.json names.
#
#   tests/judgement/programs/record.sh GPROF_CLI OUT
#
# OUT/corpus.tgz   what belongs into tests/judgement/data: traces of gprof-cli, JSON of torch.profiler, exports of nsys
# OUT/record.log   what every program said, and which failed; the others are recorded all the same
#
# Variables: NSYS       Nsight Systems' command, for its captures; none are made without it
#            NSYS_LIBS  folder of libdw.so.1 and libelf.so.1, which nsys needs for its report
#            ONLY       a regular expression: captures with such a name alone
#            SECONDS_IN_ALL  no program is started after this long, 220 by default
# Programs are started side by side, as importing takes most of their time; a lock lets one at a time use the GPU.
set -uo pipefail

if (($# != 2)); then
  echo "usage: record.sh GPROF_CLI OUT" >&2
  exit 2
fi
# The name of the machine is in every trace; a made-up one says nothing about anybody.
# shellcheck disable=SC2016
if [[ -z ${JUDGEMENT_INSIDE:-} ]] && unshare --uts true 2>/dev/null; then
  export JUDGEMENT_INSIDE=1
  exec unshare --uts bash -c 'hostname gpu && exec bash "$0" "$@"' "$0" "$@"
fi

gprof=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
log=$out/record.log
most_bytes=1048576
work=$(mktemp -d)  # so that no path of the machine gets into a command line
mkdir "$work/data"
cp "$here"/*.py "$work"
cd "$work" || exit 1
: >"$log"
start=$(date +%s)
deadline=$((start + ${SECONDS_IN_ALL:-220}))
export gprof log start deadline most_bytes

# One capture: `record FILE HOW PROGRAM VARIANT [OPTION…]`
record() {
  local file=$1 how=$2 program=$3 variant=$4 words status=0 said bytes
  shift 4
  if [[ ! $file =~ ${ONLY:-.} ]]; then return; fi
  if (($(date +%s) > deadline)); then
    echo "== $file: no time left" >>"$log"
    return
  fi
  words=(python3 -B "$program" "$variant" --lock gpu.lock "$@")
  case $how in
    loop) said=$(timeout 90 "$gprof" profile -f -q -t cuda -c cudaProfilerApi --compress -o "data/$file" -- "${words[@]}" 2>&1) || status=$? ;;
    whole) said=$(timeout 90 "$gprof" profile -f -q -t cuda --compress -o "data/$file" -- "${words[@]}" 2>&1) || status=$? ;;
    kineto) said=$(timeout 90 "${words[@]}" --torch-profiler "data/$file" 2>&1) || status=$? ;;
    nsys) said=$(record_by_nsys "$file" "${words[@]}" 2>&1) || status=$? ;;
  esac
  bytes=$(stat -c %s "data/$file" 2>/dev/null || echo 0)
  if ((status != 0 || bytes == 0 || bytes > most_bytes)); then
    echo "FAILED $file: exit code $status, $bytes bytes (at most $most_bytes)" | tee -a "$log"
    rm -f "data/$file"
  fi
  printf '== %s (after %s s, %s bytes)\n%s\n' "$file" "$(($(date +%s) - start))" "$bytes" "$said" >>"$log"
}

record_by_nsys() {
  local file=$1 stem=${1%.sqlite.gz}
  shift
  export LD_LIBRARY_PATH=${NSYS_LIBS:+$NSYS_LIBS:}${LD_LIBRARY_PATH:-}
  timeout 120 "$NSYS" profile -t cuda -s none --cpuctxsw none -c cudaProfilerApi --capture-range-end stop -f true -o "$stem" "$@" || return
  timeout 60 "$NSYS" export --type sqlite --force-overwrite true -o "$stem.sqlite" "$stem.nsys-rep" || return
  python3 -B clean_nsys.py "$stem.sqlite" && gzip -9 -c "$stem.sqlite" >"data/$file"
}
export -f record record_by_nsys

captures() {
  local variant
  for variant in $(python3 -B variants.py torch_variants.py); do echo "torch_$variant.trace loop torch_variants.py $variant"; done
  for variant in good_train item_each_step slow_loader; do echo "torch_$variant.json.gz kineto torch_variants.py $variant"; done
  for variant in $(python3 -B variants.py array_variants.py); do echo "$variant.trace loop array_variants.py $variant"; done
  if [[ -n ${NSYS:-} ]]; then
    echo "torch_pageable_loader.sqlite.gz nsys torch_variants.py pageable_loader --steps 40"
    echo "torch_decode_eager.sqlite.gz nsys torch_variants.py decode_eager --steps 30"
    echo "torch_back_and_forth.sqlite.gz nsys torch_variants.py back_and_forth"
    echo "torch_two_streams_pageable.sqlite.gz nsys torch_variants.py two_streams_pageable"
  fi
  for variant in good_train slow_loader decode_eager; do echo "torch_$variant.whole.trace whole torch_variants.py $variant"; done
}

# shellcheck disable=SC2016
captures | xargs -P 4 -L 1 bash -c 'record "$@"' record
tar czf "$out/corpus.tgz" -C data .
echo "$(find data -type f | wc -l) captures, $(stat -c %s "$out/corpus.tgz") bytes in corpus.tgz, $(grep -c ^FAILED "$log") failed, $(($(date +%s) - start)) s"
rm -rf "$work"
