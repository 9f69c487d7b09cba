// Prints the tables of docs/coming-from/nsys.md, or writes them between its marks: nsys_doc --update FILE
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/arguments/nsys_options.h"

int main(int argc, char** argv) {
  constexpr std::string_view kBegin = "<!-- options: nsys_doc -->\n", kEnd = "<!-- end -->\n";
  const std::string tables = gprof::cli::NsysOptionsMarkdown();
  if (argc == 1) {
    std::cout << tables;
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--update") {
    std::cerr << "usage: nsys_doc [--update FILE]\n";
    return 2;
  }
  std::stringstream content;
  content << std::ifstream(argv[2], std::ios::binary).rdbuf();
  std::string page = content.str();
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) {
    std::cerr << "nsys_doc: " << argv[2] << " has no marks for the tables\n";
    return 1;
  }
  page.replace(begin, end - begin, std::string(kBegin) + "\n" + tables + "\n");
  std::ofstream file(argv[2], std::ios::binary);
  file << page;
  file.close();
  return file ? 0 : 1;
}
