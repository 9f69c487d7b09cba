#!/usr/bin/env bash
# Records the programs of this folder on a machine with a GPU, PyTorch, CuPy, numba and JAX: the captures that corpus.json names.
#
#   tests/judgement/programs/record.sh GPROF_CLI OUT
#
# OUT/corpus.tgz   what belongs into tests/judgement/data: traces of gprof-cli, JSON of torch.profiler, exports of nsys
# OUT/record.log   what every program said, and which failed; the others are recorded all the same
#
# Variables: NSYS       Nsight Systems' command, for its captures; none are made without it
#            NSYS_LIBS  folder of libdw.so.1 and libelf.so.1, which nsys needs for its report
#            COMPILED   folder of cuda_variants, exam_variants, exam3_variants and exam4_variants; without it nvcc compiles them, or they are left out
#            ONLY       a regular expression: captures with such a name alone
#            SECONDS_IN_ALL  no program is started after this long, 220 by default
#            JOBS       programs that are started side by side, 6 by default
#            SECONDS_EACH    for one program, with waiting for the GPU and importing from a cold disk, 150 by default
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
labels=$here/../examination4.json
for program in cuda_variants exam_variants exam3_variants exam4_variants; do
  if [[ -n ${COMPILED:-} ]]; then
    cp "$COMPILED/$program" "$work"
  elif command -v nvcc >/dev/null; then
    nvcc -std=c++20 -O2 -cudart static -arch native -o "$work/$program" "$here/$program.cu"
  fi
done
cd "$work" || exit 1
: >"$log"
start=$(date +%s)
deadline=$((start + ${SECONDS_IN_ALL:-220}))
each=${SECONDS_EACH:-150}
export CUDA_CACHE_PATH=/tmp/ComputeCache CUPY_CACHE_DIR=/tmp/cupy TRITON_CACHE_DIR=/tmp/triton  # they get into traces, and are in somebody's home otherwise
export gprof log start deadline each most_bytes

# One capture: `record FILE HOW PROGRAM VARIANT [OPTION…]`. HOW says what records, and `loop:OPTION` and the like tell it an option.
record() {
  local file=$1 how=${2%%:*} recorder=() program=$3 variant=$4 words status=0 said bytes
  if [[ $2 == *:* ]]; then recorder=("${2#*:}"); fi
  shift 4
  if [[ ! $file =~ ${ONLY:-.} ]]; then return; fi
  if (($(date +%s) > deadline)); then
    echo "== $file: no time left" >>"$log"
    return
  fi
  words=(python3 -B "$program" "$variant" --lock gpu.lock "$@")
  if [[ $program == *_variants ]]; then words=("./$program" "$variant" --lock gpu.lock "$@"); fi
  if [[ $program == in_turn ]]; then words=(bash -c "for one in $variant $*; do ./cuda_variants \$one --lock gpu.lock; done"); fi
  local profile=(timeout "$each" "$gprof" profile -f -q -t cuda "${recorder[@]}" --compress -o "data/$file")
  case $how in
    loop) said=$("${profile[@]}" -c cudaProfilerApi -- "${words[@]}" 2>&1) || status=$? ;;
    whole) said=$("${profile[@]}" -- "${words[@]}" 2>&1) || status=$? ;;
    kineto) said=$(timeout "$each" "${words[@]}" --torch-profiler "data/$file" 2>&1) || status=$? ;;
    user) said=$(timeout "$each" "$gprof" profile -f -q "${recorder[@]}" --compress -o "data/$file" -- "${words[@]}" 2>&1) || status=$? ;;
    nsys) said=$(record_by_nsys "$file" -t cuda -c cudaProfilerApi --capture-range-end stop "${recorder[@]}" "${words[@]}" 2>&1) || status=$? ;;
    usernsys) said=$(record_by_nsys "$file" -t cuda,nvtx,osrt "${words[@]}" 2>&1) || status=$? ;;
  esac
  bytes=$(stat -c %s "data/$file" 2>/dev/null || echo 0)
  if ((status != 0 || bytes == 0 || bytes > most_bytes)); then
    echo "FAILED $file: exit code $status, $bytes bytes (at most $most_bytes): $(tail -n 3 <<<"$said" | tr '\n' ' ' | cut -c -400)" | tee -a "$log"
    rm -f "data/$file"
  fi
  printf '== %s (after %s s, %s bytes)\n%s\n' "$file" "$(($(date +%s) - start))" "$bytes" "$said" >>"$log"
}

record_by_nsys() {
  local file=$1 stem=${1%.sqlite.gz}
  shift
  export LD_LIBRARY_PATH=${NSYS_LIBS:+$NSYS_LIBS:}${LD_LIBRARY_PATH:-}
  timeout "$each" "$NSYS" profile -s none --cpuctxsw none -f true -o "$stem" "$@" || return
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
    echo "torch_launch_blocking.sqlite.gz nsys torch_variants.py launch_blocking --steps 20"
  fi
  for variant in $(python3 -B variants.py exam3_variants.py); do echo "exam3_$variant.trace user:-tcuda,nvtx,osrt exam3_variants.py $variant"; done
  if [[ -x exam3_variants ]]; then
    for variant in $(./exam3_variants); do
      local how=user
      if [[ $variant == managed* ]]; then how=user:--cuda-um-gpu-page-faults=true; fi
      echo "exam3_cuda_$variant.trace $how exam3_variants $variant"
    done
  fi
  exam4_captures
  for variant in good_train slow_loader decode_eager; do echo "torch_$variant.whole.trace whole torch_variants.py $variant"; done
  for variant in $(python3 -B variants.py exam_variants.py); do echo "exam_$variant.trace loop exam_variants.py $variant"; done
  if [[ -x cuda_variants ]]; then cuda_captures; fi
  if [[ -x exam_variants ]]; then
    for variant in $(./exam_variants); do echo "exam_cuda_$variant.trace loop exam_variants $variant"; done
  fi
}

cuda_captures() {
  local variant
  for variant in spin_for_flag round_trip_pinned small_copies malloc_each_step copies_in_line copies_overlapped six_streams_pageable \
    few_blocks blocks_of_16 sync_each_kernel default_stream_between pageable_input first_launches; do
    echo "cuda_$variant.trace loop cuda_variants $variant"
  done
  echo "cuda_tiny_kernels.trace loop cuda_variants tiny_kernels --steps 60"
  echo "cuda_tiny_kernels_graph.trace loop cuda_variants tiny_kernels_graph --steps 100"
  echo "cuda_managed_each_step.trace loop:--cuda-um-gpu-page-faults=true cuda_variants managed_each_step --steps 8"
  echo "cuda_in_turn.whole.trace whole in_turn sync_each_kernel pageable_input"
  if [[ -n ${NSYS:-} ]]; then
    for variant in six_streams_pageable spin_for_flag copies_in_line; do
      echo "cuda_$variant.sqlite.gz nsys cuda_variants $variant"
    done
    echo "cuda_tiny_kernels_graph.sqlite.gz nsys cuda_variants tiny_kernels_graph --steps 100"
    echo "cuda_managed_each_step.sqlite.gz nsys:--cuda-um-gpu-page-faults=true cuda_variants managed_each_step --steps 4"
  fi
}

# The labels say who records what: the end of the file's name tells.
exam4_captures() {
  local file variant program
  grep -o 'exam4_[a-z0-9_.]*' "$labels" | while read -r file; do
    variant=${file#exam4_} variant=${variant%%.*} program=exam4_variants.py
    if [[ $variant == cuda_* ]]; then variant=${variant#cuda_} program=exam4_variants; fi
    if [[ $program == *_variants && ! -x $program ]]; then continue; fi
    case $file in
      *.trace) echo "$file user:-tcuda,nvtx,osrt $program $variant" ;;
      *.json.gz) echo "$file kineto $program $variant" ;;
      *.sqlite.gz) if [[ -n ${NSYS:-} ]]; then echo "$file usernsys $program $variant"; fi ;;
    esac
  done
}

# shellcheck disable=SC2016
captures | xargs -P "${JOBS:-6}" -L 1 bash -c 'record "$@"' record
tar czf "$out/corpus.tgz" -C data .
echo "$(find data -type f | wc -l) captures, $(stat -c %s "$out/corpus.tgz") bytes in corpus.tgz, $(grep -c ^FAILED "$log") failed, $(($(date +%s) - start)) s"
rm -rf "$work"
