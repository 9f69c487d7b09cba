#!/usr/bin/env bash
# Fetches the archive of one version, checks it, and puts its command into the PATH of the steps that follow.
#   install.sh     from GPROF_ACTION_URL: URL/v0.2.0/gprof-cli-0.2.0-Linux-x86_64.tar.gz
set -euo pipefail

fail() {
  echo "::error title=gprof-cli::$1"
  exit 2
}

version=$GPROF_ACTION_VERSION
if [[ $version == none ]]; then
  command -v gprof-cli >/dev/null || fail "version is none, and the runner has no gprof-cli"
  gprof-cli --version
  exit 0
fi
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "'$version' is no version, such as 0.2.0"

archive=gprof-cli-$version-Linux-$(uname -m).tar.gz
folder=$RUNNER_TEMP/gprof-cli-$version
mkdir -p "$folder"
fetch() { curl --fail --silent --show-error --location --retry 3 -o "$folder/$1" "$GPROF_ACTION_URL/v$version/$1"; }
fetch "$archive" || fail "$GPROF_ACTION_URL has no $archive"

wanted=${GPROF_ACTION_SHA256:-}
if [[ -z $wanted ]]; then
  fetch SHA256SUMS || fail "$GPROF_ACTION_URL has no SHA256SUMS for $version"
  wanted=$(awk -v name="$archive" '$2 == name {print $1}' "$folder/SHA256SUMS")
fi
[[ -n $wanted ]] || fail "SHA256SUMS does not know $archive"
echo "$wanted  $folder/$archive" | sha256sum --check --quiet --strict || fail "$archive is not the file that was released"

tar -xzf "$folder/$archive" -C "$folder" --strip-components=1
echo "$folder/bin" >>"$GITHUB_PATH"
"$folder/bin/gprof-cli" --version
