#!/usr/bin/env bash
# One comment in the pull request, with the summary of the last run: an earlier one is changed, not added to.
set -euo pipefail

marker="<!-- gprof-cli: $GPROF_ACTION_NAME -->"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
  printf '%s\n' "$marker"
  cat gprof-ci/perf.md
  printf '\n[Traces and reports](%s/%s/actions/runs/%s)\n' "$GITHUB_SERVER_URL" "$GITHUB_REPOSITORY" "$GITHUB_RUN_ID"
} >"$body"

# Anybody may write a comment that begins with the marker; only our own is changed. Apps have [bot] behind their name.
author=$(gh api graphql -f 'query={viewer{login}}' --jq .data.viewer.login)
comments=repos/$GITHUB_REPOSITORY/issues/$GPROF_ACTION_PULL/comments
id=$(MARKER=$marker AUTHOR=$author gh api --paginate "$comments" --jq \
  '.[] | select(.body | startswith(env.MARKER)) | select(.user.login == env.AUTHOR or .user.login == env.AUTHOR + "[bot]") | .id' |
  head -n 1)
if [[ -n $id ]]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body" >/dev/null
else
  gh api --method POST "$comments" -F "body=@$body" >/dev/null
fi
