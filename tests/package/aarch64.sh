#!/usr/bin/env bash
# Cross-compiles for aarch64 what needs no library but libc, and runs it under qemu-user: the tracer, which records the example
# nvtx_cpu, and the unit tests of src/tracer. Not a part of ctest: emulation is slow. Exits with 77 where
# something is missing (Debian: g++-aarch64-linux-gnu qemu-user-static libgtest-dev libgmock-dev libfmt-dev).
#
#   tests/package/aarch64.sh [FOLDER]    build/aarch64 by default; GPROF_CUDA_INCLUDE has the headers of CUDA,
#                                        GPROF_CLI the native gprof-cli that profiles and reads the trace
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-build/aarch64}")
cuda=${GPROF_CUDA_INCLUDE:-/usr/local/cuda/include}
cli=${GPROF_CLI:-build/release/bin/gprof-cli}
sysroot=/usr/aarch64-linux-gnu
gtest=/usr/src/googletest

need() { [[ -e $1 ]] || { echo "skipped: there is no $1"; exit 77; }; }
compiler=$(command -v aarch64-linux-gnu-g++) || { echo "skipped: aarch64-linux-gnu-g++ is not installed"; exit 77; }
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "skipped: qemu-user is not installed"; exit 77; }
for path in "$sysroot/lib" "$cuda/cuda.h" "$cuda/nvtx3/nvToolsExt.h" "$gtest/googletest" /usr/include/fmt; do need "$path"; done

# Libraries that are headers alone; the other headers of this machine are for its own processor.
mkdir -p "$out/include/gprof" "$out/objects"
for name in fmt nlohmann; do if [[ -d /usr/include/$name ]]; then ln -sfn "/usr/include/$name" "$out/include/$name"; fi; done
sed -E 's/@[A-Za-z_]+@/0/g' src/cmake/version.h.in >"$out/include/gprof/version.h"

common=(-std=c++20 -O1 -fPIC -DFMT_HEADER_ONLY -Iinclude -Isrc "-I$out/include" -isystem "$out/include" -isystem "$cuda"
        -DNVTX_NO_IMPL -DGPROF_OLD_GLIBC=1 '-DGPROF_VERSION="aarch64"')
# compile FOLDER FLAGS... -- SOURCES...: objects, as many at a time as there are processors; those that are there and newer stay.
compile() {
  local folder=$out/objects/$1 flags=() source
  shift
  while [[ $1 != -- ]]; do flags+=("$1"); shift; done
  shift
  mkdir -p "$folder"
  # shellcheck disable=SC2016  # bash -c is to expand them
  for source in "$@"; do printf '%s\0%s\0' "$source" "$folder/${source//\//_}.o"; done |
    xargs -0 -n 2 -P "$(nproc)" bash -c '[[ ${*: -1} -nt ${*: -2:1} ]] || "${@:1:$#-2}" -c "${*: -2:1}" -o "${*: -1}"' \
      compile "$compiler" "${common[@]}" "${flags[@]}"
}

# With the cross compiler's loader, libraries of an installed arm64 architecture would be found: threads hang then.
qemu=("$qemu")
[[ -e /lib/ld-linux-aarch64.so.1 ]] || qemu+=(-L "$sysroot")

echo "== tracer"
mapfile -t sources < <(find src/tracer -name '*.cpp' ! -name arena_end.cpp | sort)
sources=(src/unwind/cfi.cpp "${sources[@]}")
hidden=(-fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden -fvisibility-inlines-hidden
        -ftls-model=initial-exec -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE -ffunction-sections)
compile tracer -O2 "${hidden[@]}" -- "${sources[@]}" src/tracer/store/memory/arena_end.cpp src/glibc/forward.cpp src/glibc/replace.cpp
objects=()
# The last source of store has to be the last of all.
for source in src/glibc/forward.cpp src/glibc/replace.cpp "${sources[@]}" src/tracer/store/memory/arena_end.cpp; do
  objects+=("$out/objects/tracer/${source//\//_}.o")
done
aarch64-linux-gnu-gcc -shared -o "$out/libgprof-tracer.so" "${objects[@]}" -static-libgcc -Wl,-z,nodelete -Wl,-z,defs -Wl,-z,now \
  -Wl,--gc-sections -Wl,--as-needed -Wl,--version-script=src/tracer/exports.map -L"$sysroot/lib" -Wl,--push-state,--no-as-needed \
  -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state
python3 -B src/cmake/package/platform_tag.py --tag manylinux_2_28_aarch64 "$out/libgprof-tracer.so"

echo "== nvtx_cpu, recorded under emulation"
compile example -UNVTX_NO_IMPL -Iexamples -- examples/nvtx_cpu/nvtx_cpu.cpp examples/common/arguments.cpp examples/common/facts.cpp
"$compiler" -o "$out/nvtx_cpu" "$out"/objects/example/*.o -static-libstdc++ -static-libgcc -lpthread -ldl
rm -f "$out/run.trace"
if [[ -x $cli ]]; then
  "$cli" profile --host-load off -o "$out/run.trace" -- "${qemu[@]}" -E "NVTX_INJECTION64_PATH=$out/libgprof-tracer.so" "$out/nvtx_cpu"
  "$cli" report "$out/run.trace" | head -n 12
  "$cli" check "$out/run.trace" --fail-if 'nvtx.ranges != 602' --fail-if 'step.count != 40' --fail-if 'health.complete != 1'
else
  echo "skipped: there is no $cli to record with"
fi

echo "== unit tests"
compile gtest "-I$gtest/googletest" "-I$gtest/googlemock" "-isystem$gtest/googletest/include" "-isystem$gtest/googlemock/include" -- \
  "$gtest/googletest/src/gtest-all.cc" "$gtest/googlemock/src/gmock-all.cc" "$gtest/googlemock/src/gmock_main.cc"
with_gtest=("-isystem$gtest/googletest/include" "-isystem$gtest/googlemock/include")
mapfile -t tests < <(find tests/unit/tracer -name '*.cpp' | sort)
mapfile -t sources < <(grep -o 'src/tracer/[a-z_/]*\.cpp' tests/unit/tracer/CMakeLists.txt)
compile tracer_tests "${with_gtest[@]}" -- "${tests[@]}" "${sources[@]}"
"$compiler" -o "$out/tracer_tests" "$out"/objects/tracer_tests/*.o "$out"/objects/gtest/*.o -lpthread
"${qemu[@]}" "$out/tracer_tests" --gtest_brief=1
