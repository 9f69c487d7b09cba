#!/usr/bin/env bash
# Sets up what gprof-cli needs, builds it, and runs or tests it. `./setup.sh help` lists the subcommands.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$PWD
build=$root/build/release
examples=$build/share/gprof-cli/examples
cuda=$root/build/cuda
logs=$root/build/logs
cuda_example=normalise_v2_pinned_nvtx
recording=tests/data/normalise_v1.trace

# What the program is built with, and what its tests and the Python module need besides.
packages=(g++ make cmake ninja-build git binutils python3 libcli11-dev libfmt-dev nlohmann-json3-dev libzstd-dev zlib1g-dev
          libprotozero-dev libsqlite3-dev libre2-dev libncurses-dev esbuild)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev libxml2-utils python3-yaml)

# cuda_headers.txt and cuda_compiler.txt: NVIDIA's redistributable wheels of one CUDA release, headers for the tracer, and the
# compiler where there is a GPU.
requirements=$root/src/cmake/requirements

usage() {
  cat <<'TEXT'
usage: ./setup.sh COMMAND

  run     install dependencies, build, and run the demo: profile a bundled program and show the report
  test    install dependencies, build, and run all tests; the exit code is that of ctest
  build   install dependencies and build
  deps    install dependencies: Debian packages, and NVIDIA's header wheels if there is no CUDA Toolkit

The build is in build/release, logs are in build/logs, and only missing Debian packages are installed outside this folder.
Variables: JOBS=N            number of parallel jobs (default: number of processors, half as many again for tests)
           GPROF_TRACER=OFF  build only the offline commands, without CUDA headers
           GPROF_NO_TOOLKIT=1  use NVIDIA's wheels even if a CUDA Toolkit is installed
TEXT
}

say() { printf '== %s\n' "$*"; }

fail() {
  printf 'setup.sh: %s\n' "$1" >&2
  shift
  if (($#)); then printf 'hint: %s\n' "$@" >&2; fi
  exit 1
}

# quietly NAME COMMAND...: the output goes to a log, and to the terminal when the command fails.
quietly() {
  local log=$logs/$1.log code=0
  shift
  mkdir -p "$logs"
  "$@" >"$log" 2>&1 </dev/null || code=$?
  ((code == 0)) && return 0
  tail -n 100 "$log" >&2
  printf 'setup.sh: failed with %d: %s\nsetup.sh: full output in %s\n' "$code" "$*" "${log#"$root"/}" >&2
  return "$code"
}

# ---- Debian packages ----

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

apt_install() {
  local missing=() package
  for package in "$@"; do is_installed "$package" || missing+=("$package"); done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail "packages are missing and cannot be installed without root or sudo: ${missing[*]}" \
      "run as root: apt-get install ${missing[*]}"
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300)
  quietly apt-update as_root "${apt[@]}" update || say "apt-get update failed; continuing with the existing package lists"
  quietly apt-install as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install: ${missing[*]}" "see the messages above; nothing was built"
}

# What single tests need; without it they are skipped.
install_test_packages() {
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 0
  (apt_install valgrind) || say "Continuing without valgrind: the instruction-count test is skipped"
  (apt_install chromium chromium-driver python3-selenium node-typescript) ||
    say "Continuing without a browser and TypeScript: the HTML page tests are skipped"
  (apt_install libjemalloc2 libtcmalloc-minimal4) || say "Continuing without other allocators: programs with them are not tested"
  (apt_install openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran) || say "Continuing without MPI: programs with it are not tested"
  (apt_install tmux) || say "Continuing without tmux: the full screen is not tested"
  (apt_install rpm shellcheck) || say "Continuing without rpm and shellcheck: the .rpm and the shell recipes are not tested"
}

# install_packages PACKAGE...: these, and what the program is built with.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: continuing with what is installed. Required packages: ${packages[*]} $*"
    return 0
  fi
  apt_install "${packages[@]}" "$@"
}

check_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [[ -n $version ]] || fail "cmake was not found" "install CMake 3.25 or newer"
  [[ $(printf '%s\n3.25\n' "$version" | sort -V | head -n 1) == 3.25 ]] ||
    fail "CMake $version is too old, 3.25 is needed" "python3 -m pip install --user cmake, with ~/.local/bin in front in PATH"
}

# ---- CUDA headers ----

has_headers() { [[ -f $1/include/cuda.h && -f $1/include/nvtx3/nvToolsExt.h ]] && has_cupti "$1"; }
has_cupti() { [[ -f $1/include/cupti.h || -f $1/extras/CUPTI/include/cupti.h ]]; }

find_toolkit() {
  local folder
  [[ ${GPROF_NO_TOOLKIT:-} != 1 ]] || return 1
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [[ -n $folder ]] && has_headers "$folder"; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  return 1
}

has_gpu() { [[ -e /dev/nvidiactl ]] && command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

find_pip() {
  if python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip)
    return 0
  fi
  command -v apt-get >/dev/null || fail "pip was not found; it is needed to download NVIDIA's header wheels"
  apt_install python3-pip
  pip=(/usr/bin/python3 -m pip)
}

# fetch_wheels NAME: unpacks the wheels of cuda_NAME.txt over each other, so that build/cuda looks like a CUDA Toolkit.
fetch_wheels() {
  local name=$1 wheel
  local file=$requirements/cuda_$name.txt
  if cmp -s "$file" "$cuda/.$name"; then return 0; fi
  say "No CUDA Toolkit: fetching NVIDIA's wheels ($name) into build/cuda"
  find_pip
  rm -rf "$cuda/wheels"
  mkdir -p "$cuda/wheels"
  quietly "wheels-$name" "${pip[@]}" download --no-deps --only-binary :all: --retries 5 -d "$cuda/wheels" --require-hashes -r "$file" ||
    fail "cannot download NVIDIA's wheels of ${file#"$root"/}" \
      "install the CUDA Toolkit, or build only the offline commands: GPROF_TRACER=OFF ./setup.sh build"
  for wheel in "$cuda"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$cuda/wheels"; done
  cp -r "$cuda"/wheels/nvidia/cu*/. "$cuda"
  mkdir -p "$cuda/dist-info"
  cp -r "$cuda"/wheels/*.dist-info "$cuda/dist-info"  # the licences
  # nvcc and CMake look for libraries where, and under the names that, a Toolkit has them.
  ln -sfn lib "$cuda/lib64"
  local library
  for library in "$cuda"/lib/lib*.so.*; do ln -sf "${library##*/}" "${library%.so.*}.so"; done
  if [[ -d $cuda/bin ]]; then chmod -R u+x "$cuda/bin"; fi
  if [[ -d $cuda/nvvm/bin ]]; then chmod -R u+x "$cuda/nvvm/bin"; fi
  rm -rf "$cuda/wheels"
  cp "$file" "$cuda/.$name"
}

# Sets cmake_cuda to what CMake has to be told about CUDA.
prepare_cuda() {
  local toolkit
  # Whatever an earlier configuration found is looked for again.
  cmake_cuda=(-U 'GPROF_*_INCLUDE' -U GPROF_BUILD_TRACER)
  if [[ ${GPROF_TRACER:-ON} == OFF ]]; then
    say "Tracer: not built (GPROF_TRACER=OFF); the offline commands need no CUDA headers"
    cmake_cuda+=(-DGPROF_BUILD_TRACER=OFF)
  elif toolkit=$(find_toolkit); then
    say "CUDA headers: CUDA Toolkit in $toolkit"
    cmake_cuda+=("-DGPROF_CUDA_INCLUDE=$toolkit/include" -DGPROF_BUILD_TRACER=ON)
  else
    fetch_wheels headers
    cmake_cuda+=("-DGPROF_CUDA_INCLUDE=$cuda/include" -DGPROF_BUILD_TRACER=ON)
    if has_gpu; then
      fetch_wheels compiler
      cmake_cuda+=("-DCMAKE_CUDA_COMPILER=$cuda/bin/nvcc")
    fi
    say "CUDA headers: NVIDIA's wheels in build/cuda"
  fi
}

# ---- build, run, test ----

set_up() {
  install_packages "$@"
  check_cmake
  prepare_cuda
}

set_up_all() { set_up "${test_packages[@]}"; }

# build WITH_TESTS TARGET...: ON or OFF, and what is built; all there is without a target.
build() {
  local generator=() jobs=${JOBS:-$(nproc)} with_tests=$1 target targets=()
  for target in "${@:2}"; do targets+=(--target "$target"); done
  if [[ ! -f $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  say "Configuring (build/release)"
  quietly configure cmake --preset release "${generator[@]}" "-DGPROF_BUILD_TESTS=$with_tests" "${cmake_cuda[@]}" || exit
  say "Building with $jobs jobs"
  quietly build cmake --build "$build" --parallel "$jobs" "${targets[@]}" || exit
}

main_build() {
  set_up_all
  build ON
  say "Built build/release/bin/gprof-cli"
}

main_test() {
  set_up_all
  install_test_packages
  build ON
  # Many tests wait for a program more than they compute, so half as many again run at a time.
  local jobs=${JOBS:-$(($(nproc) * 3 / 2))} code=0
  say "Testing with $jobs jobs"
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$jobs" --timeout 600 </dev/null || code=$?
  exit "$code"
}

# ---- the main job ----

# shown COMMAND...: prints the command as one would type it here, then runs it so.
shown() {
  local words=("${@//"$root"\//}")
  printf '\n$ %s\n' "${words[*]}"
  "${words[@]}"
}

run_cuda_example() {
  local trace=$root/build/run/$cuda_example.trace
  say "This machine has a GPU: profiling the bundled CUDA example"
  shown "$build/bin/gprof-cli" profile -f -o "$trace" -- "$examples/$cuda_example"
  shown "$build/bin/gprof-cli" report "$trace"
}

run_cpu_example() {
  local trace=$root/build/run/nvtx_cpu.trace
  say "$1: profiling the bundled CPU program nvtx_cpu, which records real NVTX ranges"
  shown "$build/bin/gprof-cli" profile -f -o "$trace" -- "$examples/nvtx_cpu"
  shown "$build/bin/gprof-cli" report "$trace"
}

report_recording() {
  local trace=$root/$recording
  if [[ ! -f $trace ]]; then
    say "No trace of a GPU run in tests/data"
    return 0
  fi
  say "Report of a GPU run, from a bundled trace recorded on an H200"
  shown "$build/bin/gprof-cli" report "$trace"
}

main_run() {
  local target=for_run
  set_up
  if has_gpu; then target=for_gpu_run; fi
  build OFF "$target"
  mkdir -p "$root/build/run"
  if [[ ${GPROF_TRACER:-ON} == OFF ]]; then
    say "The tracer was not built, so nothing is profiled"
    report_recording
  elif ! has_gpu; then
    run_cpu_example "This machine has no GPU (nvidia-smi lists none)"
    report_recording
  elif [[ ! -x $examples/$cuda_example ]]; then
    run_cpu_example "This machine has a GPU, but no nvcc was found to build the CUDA examples"
    report_recording
  else
    run_cuda_example
  fi
}

case ${1:-help} in
  run) main_run ;;
  test) main_test ;;
  build) main_build ;;
  deps) set_up_all ;;
  help | -h | --help) usage ;;
  *)
    usage >&2
    fail "unknown command '$1'"
    ;;
esac
