#!/usr/bin/env bash
# Ends the job as the check ended, after everything has been uploaded.
set -euo pipefail

if [[ $GPROF_ACTION_CODE == 4 && $GPROF_ACTION_INCONCLUSIVE == warn ]]; then
  echo "::warning title=gprof-cli::NOT JUDGED: too few or too noisy runs for a verdict"
  exit 0
fi
exit "$GPROF_ACTION_CODE"
