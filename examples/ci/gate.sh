#!/usr/bin/env bash
# A gate for machines without a GPU: judges traces that were recorded on one and checked in, or fetched from where they
# are kept.
#
#   examples/ci/gate.sh [TRACE...]     what gprof-cli check ends with: 0 good, 1 a rule failed, 2 usage, 3 cannot be read,
#                                      4 nobody can tell
#
# Variables: BUDGET     the rules, perf-budget.json beside this file by default
#            OUT        folder for the results, gate-results by default
#            LAST_GOOD  trace of the last good build: where a rule fails, the difference to it is shown, too
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
budget=${BUDGET:-$here/perf-budget.json}
out=${OUT:-gate-results}

if (($# == 0)); then set -- "$here/../../tests/data/normalise_v3_streams.trace"; fi
mkdir -p "$out"

# Nothing is repeated for other formats: one call judges once and writes all of them.
code=0
gprof-cli check "$@" --budget "$budget" \
  --junit "$out/perf.xml" --summary "$out/perf.md" \
  --gitlab-codequality "$out/perf-quality.json" --gitlab-metrics "$out/perf-metrics.txt" || code=$?

if ((code == 1)) && [[ -n ${LAST_GOOD:-} ]]; then
  gprof-cli diff "$LAST_GOOD" "$1" || true
fi
exit "$code"
