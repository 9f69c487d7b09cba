#!/usr/bin/env bash
# Cross-compiles all that is installed for aarch64 and runs it under qemu-user: the command prints and writes what the one of this
# machine does for every recorded trace, byte for byte. Makes the packages and the wheel as a release does, and looks into them.
# Not a part of ctest: it compiles everything again, and emulation is slow. Exits with 77 where something is missing. Debian:
# dpkg --add-architecture arm64, then
#   apt-get install g++-aarch64-linux-gnu qemu-user-static python3-pip {libfmt,libzstd,zlib1g,libsqlite3,libre2,libncurses}-dev:arm64
#
#   tests/package/aarch64_command.sh [FOLDER]    build/aarch64 by default; GPROF_CUDA_INCLUDE has the headers of CUDA,
#                                                GPROF_CLI the native gprof-cli, JOBS how many files are compiled at a time,
#                                                OPTIMISE the flags (-O2, as in a release; -O1 compiles faster)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-build/aarch64}")
build=$out/release
cuda=${GPROF_CUDA_INCLUDE:-/usr/local/cuda/include}
cli=${GPROF_CLI:-build/release/bin/gprof-cli}

skip() { echo "skipped: $1"; exit 77; }
command -v aarch64-linux-gnu-g++ >/dev/null || skip "aarch64-linux-gnu-g++ is not installed"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-user is not installed"
for file in "$cuda/cuda.h" /usr/lib/aarch64-linux-gnu/{libz,libzstd,libsqlite3,libre2,libncursesw}.a /lib/ld-linux-aarch64.so.1 "$cli"; do
  [[ -e $file ]] || skip "there is no $file"
done

echo "== build"
mkdir -p "$out"
cmake --preset release -B "$build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$PWD/src/cmake/aarch64-linux-gnu.cmake" \
  "-DGPROF_CUDA_INCLUDE=$cuda" -DGPROF_BUILD_TRACER=ON -DGPROF_BUILD_TESTS=OFF -DGPROF_BUILD_EXAMPLES=OFF \
  "-DCMAKE_CXX_FLAGS_RELEASE=${OPTIMISE:--O2} -DNDEBUG" >"$out/configure.log"
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target gprof-cli gprof_tracer gprof_cures completions manuals licences_gprof

echo "== the same output as here"
"$qemu" "$build/bin/gprof-cli" --version
python3 -B tests/package/same_output.py "$(realpath "$cli")" -- "$qemu" "$build/bin/gprof-cli"

echo "== .deb and archive"
rm -rf "$out/packages"
cpack --config "$build/CPackConfig.cmake" -G "DEB;TGZ" -B "$out/packages" -D CPACK_COMPONENTS_ALL=gprof >"$out/cpack.log"
[[ $(dpkg-deb -f "$out"/packages/*_arm64.deb Architecture) == arm64 ]]
ls "$out"/packages/*_arm64.deb "$out"/packages/gprof-cli-*-Linux-aarch64.tar.gz

echo "== wheel"
rm -rf "$out/wheel" && mkdir -p "$out/wheel"
(cd src/cmake/package && python3 -B -c 'import sys, native_wheel
native_wheel.build_wheel(sys.argv[1], {"build-dir": sys.argv[2], "tag": "manylinux_2_28_aarch64"})' "$out/wheel" "$build")
python3 -B tests/package/wheel_contents.py "$out"/wheel/*.whl aarch64

echo "== nvtx_cpu, recorded by what is in the wheel"
prefix=$out/wheel/prefix
mkdir "$prefix" && python3 -m zipfile -e "$out"/wheel/*.whl "$out/wheel/files"
mv "$out"/wheel/files/*.data/scripts "$prefix/bin" && mv "$out"/wheel/files/*.data/data/* "$prefix"
chmod +x "$prefix/bin/gprof-cli"
aarch64-linux-gnu-g++ -std=c++20 -O1 -Iinclude -Isrc -Iexamples "-I$build/include" -isystem "$cuda" -o "$out/nvtx_cpu" \
  examples/nvtx_cpu/nvtx_cpu.cpp examples/common/arguments.cpp examples/common/facts.cpp -static-libstdc++ -static-libgcc -lpthread -ldl
installed=("$qemu" "$prefix/bin/gprof-cli")
program=("$qemu" -E "NVTX_INJECTION64_PATH=$prefix/lib/gprof-cli/libgprof-tracer.so" "$out/nvtx_cpu")
rm -f "$out"/{run,killed}.trace
"${installed[@]}" profile --host-load off -o "$out/run.trace" -- "${program[@]}"
"${installed[@]}" report "$out/run.trace" | head -n 12
"${installed[@]}" check "$out/run.trace" --fail-if 'nvtx.ranges != 602' --fail-if 'step.count != 40' --fail-if 'health.complete != 1'

echo "== and killed"
# shellcheck disable=SC2016  # the shell that starts the program is to expand them
"${installed[@]}" profile --host-load off --flush-ms 60000 -o "$out/killed.trace" -- \
  sh -c '"$@" & sleep 3; kill -9 $!; wait' - "${program[@]}"
"${installed[@]}" check "$out/killed.trace" --fail-if 'nvtx.ranges < 10' --fail-if 'health.complete != 1'
