// Prints the simulated tables of docs/statistics.md, or puts them there: statistics_doc --update docs/statistics.md
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "series.h"

namespace gprof {
namespace {

constexpr uint32_t kTrials = 10'000;
constexpr uint32_t kRuns[] = {3, 5, 7, 10, 20};
constexpr std::string_view kBegin = "<!-- simulated: begin -->\n", kEnd = "<!-- simulated: end -->";

std::string Head(std::string_view first) {
  std::string line = fmt::format("| {} |", first), rule = "|---|";
  for (const uint32_t runs : kRuns) {
    line += fmt::format(" {} runs |", runs);
    rule += "---:|";
  }
  return line + "\n" + rule + "\n";
}

template <typename Cell>
std::string Row(Noise noise, bool is_paired, const Cell& cell) {
  std::string line = fmt::format("| {}{} |", NameOf(noise), is_paired ? ", in pairs" : "");
  for (const uint32_t runs : kRuns) line += " " + cell(Experiment{noise, runs, 0.02, 0, is_paired}) + " |";
  return line + "\n";
}

template <typename Cell>
std::string Rows(const Cell& cell) {
  std::string rows;
  for (const Noise noise : kAllNoises) rows += Row(noise, false, cell);
  return rows + Row(Noise::kDrift, true, cell);
}

std::string Identical(double spread) {
  return fmt::format(
             "\nIdentical builds, {:.0f} % noise: judged different / inconclusive, in % (the rest is \"same\")\n\n",
             100 * spread) +
         Head("noise") + Rows([&](Experiment experiment) {
           experiment.spread = spread;
           const Rates rates = Repeat(experiment, kTrials, 1);
           return fmt::format("{:.2f} / {:.1f}", rates.changed(), rates.Percent(rates.inconclusive));
         });
}

std::string Slower(double effect) {
  return fmt::format("\n{:.0f} % slower, 2 % noise: found / called \"same\", in % (the rest is inconclusive)\n\n",
                     100 * effect) +
         Head("noise") + Rows([&](Experiment experiment) {
           experiment.effect = effect;
           const Rates rates = Repeat(experiment, kTrials, 2);
           return fmt::format("{:.1f} / {:.1f}", rates.Percent(rates.regressed), rates.Percent(rates.same));
         });
}

// The smallest number of runs with which the wanted verdict comes in 95 % of the cases.
std::string LeastRuns(double spread, double effect) {
  for (uint32_t runs = 3; runs <= 40; ++runs) {
    const Rates rates = Repeat({Noise::kNormal, runs, spread, effect}, kTrials / 5, 3);
    if (rates.Percent(effect == 0 ? rates.same : rates.regressed) >= 95) return fmt::format("{}", runs);
  }
  return "over 40";
}

std::string HowManyRuns() {
  std::string text =
      "\nRuns of each program for the right verdict in 95 % of the cases, normal noise\n\n"
      "| noise | nothing changed: \"same\" | 3 % slower | 5 % slower | 10 % slower | 20 % slower "
      "|\n|---|---:|---:|---:|---:|---:|\n";
  for (const double spread : {0.005, 0.01, 0.02, 0.03, 0.05, 0.10}) {
    text += fmt::format("| {} % |", 100 * spread);
    for (const double effect : {0.0, 0.03, 0.05, 0.10, 0.20}) text += " " + LeastRuns(spread, effect) + " |";
    text += "\n";
  }
  return text;
}

std::string Tables() { return Identical(0.02) + Slower(0.05) + HowManyRuns() + "\n"; }

bool Update(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return false;
  page.replace(begin + kBegin.size(), end - begin - kBegin.size(), Tables());
  std::ofstream out(path, std::ios::binary);
  out << page;
  out.close();
  return static_cast<bool>(out);
}

}  // namespace
}  // namespace gprof

int main(int argc, char** argv) {
  if (argc == 1) {
    std::cout << gprof::Tables();
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--update") {
    std::cerr << "usage: statistics_doc [--update FILE]\n";
    return 2;
  }
  if (gprof::Update(argv[2])) return 0;
  std::cerr << "statistics_doc: " << argv[2] << " cannot be written, or has no place for the tables\n";
  return 1;
}
