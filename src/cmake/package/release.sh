#!/usr/bin/env bash
# The steps of a release, as .github/workflows/release.yml takes them.
#
#   release.sh packages DIST        on each kind of machine: .deb, .rpm, archive, wheel and list of parts of what is built
#   release.sh publish TAG DIST     once, when the packages of all machines are in DIST: source archive, recipes, captures,
#                                   checksums; the notes are printed
#   release.sh rehearse DIST        both on this machine, with the tag that the version in CMakeLists.txt will have and the
#                                   unreleased changes for notes, which go to DIST/notes.md; nothing is tagged or published
#
# Variables: BUILD=build/release     what is packed
#            COMPONENTS=all          which packages of it, as CPack calls them
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../../.." && pwd)
build=$(realpath -m "${BUILD:-$source/build/release}")
components=${COMPONENTS:-all}
machine=$(uname -m)

# The last commit whose tree has all labelled captures of tests/judgement: 86 MB that a clone of today's tree need not carry.
captures_commit=e0aaf905ca3d2f79619f8f5e95351e43b13b61d7

say() { printf '== %s\n' "$*" >&2; }
release() { python3 -B "$here/release.py" "$@"; }

make_packages() {
  local work generator selected=()
  work=$(mktemp -d)
  if [[ $components != all ]]; then selected=(-D "CPACK_COMPONENTS_ALL=$components"); fi
  for generator in DEB RPM TGZ; do
    say "$generator"
    cpack --config "$build/CPackConfig.cmake" -G "$generator" -B "$work" "${selected[@]}" >"$work/log" || { cat "$work/log" >&2; return 1; }
  done
  find "$work" -maxdepth 1 -type f ! -name log -exec cp -t "$1" {} +
  rm -rf "$work"
}

make_wheel() {
  say "wheel"
  (cd "$here" && python3 -B -c 'import sys, native_wheel
native_wheel.build_wheel(*sys.argv[1:2], {"build-dir": sys.argv[2], "tag": sys.argv[3]})' \
    "$1" "$build" "manylinux_2_28_$machine")
}

packages() {
  mkdir -p "$1"
  say "licences"
  python3 -B "$here/licences.py" --strict >/dev/null
  make_packages "$1"
  make_wheel "$1"
  say "list of parts"
  python3 -B "$here/sbom.py" >"$1/gprof-cli-$machine.cdx.json"
}

captures() {
  say "labelled captures"
  git -C "$source" cat-file -e "$captures_commit" 2>/dev/null || { say "left out: this clone lacks the history that has them"; return 0; }
  git -C "$source" archive --format=tar --prefix=judgement/ -o "$1" "$captures_commit:tests/judgement/data"
}

# publish TAG DIST SECTION: the section of the changelog is that of the version, or the unreleased one.
publish() {
  local version
  version=$(release version "$1")
  say "source archive, recipes, checksums"
  (cd "$here" && python3 -B -c 'import sys, native_wheel; native_wheel.build_sdist(sys.argv[1])' "$2")
  release spack "$2/gprof_cli-$version.tar.gz" >"$2/spack_package.py"
  cp "$here/Dockerfile" "$here/gprof-cli.def" "$here/spack_protozero.py" "$2/"
  captures "$2/gprof-cli-captures-$version.tar"
  release checksums "$2" >&2
  release notes "${3:-$version}"
}

case ${1:-}:$# in
  packages:2) packages "$(realpath -m "$2")" ;;
  publish:3) publish "$2" "$(realpath "$3")" ;;
  rehearse:2)
    dist=$(realpath -m "$2")
    [[ -z $(ls -A "$dist" 2>/dev/null) ]] || { echo "release.sh: '$2' is not empty" >&2; exit 1; }
    tag=v$(sed -n 's/^project(gprof-cli VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
    packages "$dist"
    notes=$(publish "refs/tags/$tag" "$dist" Unreleased)
    printf '%s\n' "$notes" >"$dist/notes.md"
    ;;
  *)
    sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
