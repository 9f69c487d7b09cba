// Prints docs/metrics.md, or writes it: metrics_doc --update docs/metrics.md
#include <fstream>
#include <iostream>
#include <string_view>

#include "analysis/result/metrics.h"

int main(int argc, char** argv) {
  if (argc == 1) {
    std::cout << gprof::MetricsMarkdown();
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--update") {
    std::cerr << "usage: metrics_doc [--update FILE]\n";
    return 2;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << gprof::MetricsMarkdown();
  file.close();
  if (file) return 0;
  std::cerr << "metrics_doc: cannot write " << argv[2] << "\n";
  return 1;
}
