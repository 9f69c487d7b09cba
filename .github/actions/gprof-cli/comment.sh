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

comments=repos/$GITHUB_REPOSITORY/issues/$GPROF_ACTION_PULL/comments
id=$(MARKER=$marker gh api --paginate "$comments" --jq '.[] | select(.body | startswith(env.MARKER)) | .id' | head -n 1)
if [[ -n $id ]]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body" >/dev/null
else
  gh api --method POST "$comments" -F "body=@$body" >/dev/null
fi
