#include "launch/launch.h"

#include <unistd.h>

#include "gprof/error.h"
#include "launch/child.h"
#include "launch/environment.h"
#include "launch/find_program.h"
#include "launch/find_tracer.h"
#include "launch/output_file.h"

namespace gprof {

LaunchResult RunTraced(const LaunchOptions& options) {
  if (options.command.empty()) throw Error(ExitCode::kLaunchFailed, "no program to run");
  const std::string tracer = FindTracer();
  Environment environment(environ, options, tracer);
  for (const std::string& warning : environment.warnings()) options.warn(warning);
  CheckProgram(options.command.front(), environment.Get("PATH"));

  // The child exists, halted, before the file does: %p is its pid.
  Child child(options.command, options.show_output);
  OutputFile output = OpenOutput(options.output, child.pid(), options.may_overwrite);
  environment.SetOutput(output.absolute_path, output.run_id);
  try {
    child.Start(environment.entries());
  } catch (const Error&) {
    output.Remove();
    throw;
  }
  const ChildEnd end = child.Wait();
  return {output.path, end.signal != 0 ? 128 + end.signal : end.exit_code, end.signal};
}

}  // namespace gprof
