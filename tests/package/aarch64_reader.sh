#!/usr/bin/env bash
# Cross-compiles the reader of traces for aarch64 with CMake and runs it under qemu-user: its dump of every recorded trace is that of
# the native gprof-cli, byte for byte. Not a part of ctest: emulation is slow. Exits with 77 where something is missing.
# Debian: dpkg --add-architecture arm64, then
#   apt-get install g++-aarch64-linux-gnu qemu-user-static {libfmt,libzstd,zlib1g,libsqlite3}-dev:arm64
#
#   tests/package/aarch64_reader.sh [FOLDER]    build/aarch64 by default; GPROF_CLI is the native gprof-cli,
#                                               JOBS how many files are compiled at a time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-build/aarch64}")
cli=${GPROF_CLI:-build/release/bin/gprof-cli}

skip() { echo "skipped: $1"; exit 77; }
command -v aarch64-linux-gnu-g++ >/dev/null || skip "aarch64-linux-gnu-g++ is not installed"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-user is not installed"
for file in /usr/lib/aarch64-linux-gnu/{libz,libzstd,libsqlite3}.a /lib/ld-linux-aarch64.so.1 "$cli"; do
  [[ -e $file ]] || skip "there is no $file"
done

echo "== build"
mkdir -p "$out"
cmake --preset release -B "$out/release" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$PWD/src/cmake/aarch64-linux-gnu.cmake" \
  -DGPROF_BUILD_TRACER=OFF -DGPROF_BUILD_TESTS=OFF -DGPROF_BUILD_EXAMPLES=OFF >"$out/configure.log"
cmake --build "$out/release" --parallel "${JOBS:-$(nproc)}" --target gprof_trace
aarch64-linux-gnu-g++ -std=c++20 -O2 -Iinclude -Isrc "-I$out/release/include" -static-libstdc++ -static-libgcc \
  -o "$out/dump_trace" tests/unit/trace/dump_trace.cpp "$out/release/src/trace/libgprof_trace.a" \
  "$out/release/src/base/libgprof_base.a" -l:libzstd.a -l:libz.a -lpthread

echo "== dumps"
count=0
for trace in tests/data/*.trace; do
  cmp <("$qemu" "$out/dump_trace" "$trace") <("$cli" dump "$trace") || { echo "$trace: another dump than here"; exit 1; }
  count=$((count + 1))
done
((count > 0))
echo "$count dumps are the same"
