// Jenkins: a step for a shared library (vars/gprofGate.groovy). In a pipeline, on an agent with a GPU and gprof-cli:
//
//   gprofGate run: './build/app', budget: 'ci/perf-budget.json'
def call(Map settings) {
  Map with = [baseline: '', repeat: 5, warmup: 1] + settings
  int code = 0
  withEnv(["GPROF_RUN=${with.run}", "GPROF_BUDGET=${with.budget}", "GPROF_BASELINE=${with.baseline}",
           "GPROF_REPEAT=${with.repeat}", "GPROF_WARMUP=${with.warmup}"]) {
    sh '''
      gprof-cli profile --repeat "$GPROF_REPEAT" --warmup "$GPROF_WARMUP" -f -o perf.trace -- sh -c "$GPROF_RUN"
    '''
    code = sh(returnStatus: true, script: '''
      gprof-cli check perf.runs.json --budget "$GPROF_BUDGET" ${GPROF_BASELINE:+--baseline "$GPROF_BASELINE"} --junit perf.xml --openmetrics perf.prom
    ''')
    if (code != 0) {
      sh '''
        gprof-cli report --format html -o perf.html perf-1.trace || true
      '''
    }
  }
  junit testResults: 'perf.xml', allowEmptyResults: true
  archiveArtifacts artifacts: 'perf*.trace, perf.runs.json, perf.html, perf.prom', allowEmptyArchive: true
  if (code == 4) {
    unstable('GPU performance: NOT JUDGED')
  } else if (code != 0) {
    error("GPU performance: gprof-cli check ended with ${code}")
  }
}
