#!/usr/bin/env bash
# Records and judges. Everything that is worth keeping comes into gprof-ci/; the verdict goes to the outputs of the step, and
# verdict.sh ends the job, so that the steps between see a failure, too.
set -euo pipefail

out=gprof-ci
rm -rf "$out"
mkdir -p "$out"
# As a shell is given it: quotes and variables in `run` mean what they mean in a step.
program=(bash -c "$GPROF_ACTION_RUN")

code=0
gprof-cli profile --repeat "$GPROF_ACTION_REPEAT" --warmup "$GPROF_ACTION_WARMUP" -f -o "$out/perf.trace" -- "${program[@]}" || code=$?
if ((code != 0)); then
  echo "::error title=gprof-cli::the program or its recording ended with $code; not judged"
  printf '## ERROR: the program or its recording ended with %d; not judged\n' "$code" >"$out/perf.md"
  cat "$out/perf.md" >>"$GITHUB_STEP_SUMMARY"
  printf 'verdict=error\nexit-code=%d\n' "$code" >>"$GITHUB_OUTPUT"
  exit 0
fi

words=("$out/perf.runs.json" --budget "$GPROF_ACTION_BUDGET" --junit "$out/perf.xml" --summary "$out/perf.md")
words+=(--openmetrics "$out/perf.prom" --annotations github)
if [[ -n $GPROF_ACTION_BASELINE ]]; then words+=(--baseline "$GPROF_ACTION_BASELINE"); fi
gprof-cli check "${words[@]}" || code=$?
cat "$out/perf.md" >>"$GITHUB_STEP_SUMMARY"

case $code in
  0) verdict=pass ;;
  1) verdict=fail ;;
  4) verdict=inconclusive ;;
  *) verdict=error ;;
esac
if ((code != 0)); then
  # The page of the first run: what a person wants to look at next.
  gprof-cli report --format html -o "$out/perf.html" "$out/perf-1.trace" || true
fi
printf 'verdict=%s\nexit-code=%d\n' "$verdict" "$code" >>"$GITHUB_OUTPUT"
