#include "collect/gpu/present_chips.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "collect/gpu/pm_api.h"

namespace gprof::pm {
namespace {

constexpr char kProblem = '!';  // begins the line that says what is wrong

// A line a chip, or one with the problem.
std::string AskDriver(const std::string& cupti) {
  std::vector<Gpu> gpus;
  Api api;
  std::string why;
  if (!Open(CuptiFiles(cupti), &api, &why) || !FindGpus(&gpus, &why)) return kProblem + why + "\n";
  InitializeParams initialize;
  if (const int result = Call(api.cuptiProfilerInitialize, &initialize); result != kSuccess)
    return kProblem + TextOf(api, result) + "\n";
  std::string lines;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ChipNameParams chip;
    chip.device = i;
    const int result = Call(api.cuptiDeviceGetChipName, &chip);
    if (result != kSuccess) return kProblem + TextOf(api, result) + "\n";
    lines += std::string(chip.name) + "\n";
  }
  return lines.empty() ? kProblem + std::string("there is no GPU\n") : lines;
}

[[noreturn]] void Answer(int to, const std::string& cupti) {
  constexpr unsigned kPatienceS = 60;
  alarm(kPatienceS);
  const std::string lines = AskDriver(cupti);
  const bool is_written = write(to, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  _exit(is_written ? 0 : 1);
}

std::string ReadAll(int from) {
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(from, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  return text;
}

}  // namespace

std::vector<std::string> PresentChips(const std::string& cupti, std::string* why) {
  *why = "the driver did not answer";
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) Answer(ends[1], cupti);
  close(ends[1]);
  std::istringstream lines(child < 0 ? "" : ReadAll(ends[0]));
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  std::vector<std::string> chips;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kProblem)) *why = line.substr(1);
    if (!line.starts_with(kProblem) && std::find(chips.begin(), chips.end(), line) == chips.end())
      chips.push_back(line);
  }
  return chips;
}

}  // namespace gprof::pm
