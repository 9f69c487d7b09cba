#!/usr/bin/env bash
# Cross-compiles unit tests of the offline code for aarch64 with CMake and runs them under qemu-user. Not a part of ctest: it compiles
# everything again, and emulation is slow. Exits with 77 where something is missing. Debian: dpkg --add-architecture arm64, then
#   apt-get install g++-aarch64-linux-gnu qemu-user-static {libfmt,libzstd,zlib1g,libsqlite3,libre2,libncurses,libgtest,libgmock}-dev:arm64
#
#   tests/package/aarch64_units.sh [FOLDER [TARGET...]]    build/aarch64 by default, and base_tests and unwind_tests; all: every one
#                                                          that can run. JOBS is how many files are compiled at a time, OPTIMISE
#                                                          the flags (-O2; aarch64_command.sh shares what is compiled the same)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-build/aarch64}")
build=$out/release
targets=("${@:2}")
((${#targets[@]})) || targets=(base_tests unwind_tests)
# Those of collect, launch and the tracer start programs, which the kernel would have to hand to qemu-user, or read their memory.
all=(base_tests trace_tests import_tests analysis_tests counters_tests fleet_tests gate_tests export_tests html_tests
     unwind_tests cli_tests)
[[ ${targets[*]} != all ]] || targets=("${all[@]}")
# They damage a trace at every byte, which takes too long under emulation.
slow=Damage.ACutAtEveryByteCostsOnlyTheChunkThatIsCut:Damage.EveryFlippedBitCostsOneChunkAndIsCounted
slow+=:Damage.EveryWrongByteInEveryKindCostsOneChunk

skip() { echo "skipped: $1"; exit 77; }
command -v aarch64-linux-gnu-g++ >/dev/null || skip "aarch64-linux-gnu-g++ is not installed"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-user is not installed"
for file in /usr/lib/aarch64-linux-gnu/{libz,libzstd,libsqlite3,libre2,libncursesw,libgtest,libgmock}.a /lib/ld-linux-aarch64.so.1; do
  [[ -e $file ]] || skip "there is no $file"
done

echo "== build"
mkdir -p "$out"
cmake --preset release -B "$build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$PWD/src/cmake/aarch64-linux-gnu.cmake" \
  -DGPROF_BUILD_TESTS=ON -DGPROF_BUILD_EXAMPLES=OFF "-DCMAKE_CXX_FLAGS_RELEASE=${OPTIMISE:--O2} -DNDEBUG" >"$out/units.log"
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target "${targets[@]}"

failed=()
for target in "${targets[@]}"; do
  echo "== $target"
  (cd tests/unit && "$qemu" "$build/tests/bin/$target" --gtest_brief=1 "--gtest_filter=-$slow") || failed+=("$target")
done
((${#failed[@]} == 0)) || { echo "failed: ${failed[*]}"; exit 1; }
