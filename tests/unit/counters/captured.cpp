#include "captured.h"

#include "import/ncu/ncu_csv.h"
#include "import/shared/byte_window.h"
#include "trace/file/mapped_file.h"

namespace gprof {

std::string Captured(const std::string& name) {
  const MappedFile file(std::string(GPROF_TEST_DATA) + "/" + name);
  ByteWindow window(file.bytes());
  while (window.More()) {
  }
  return std::string(window.bytes());
}

const Trace& FullCapture() {
  static const Trace kTrace = ReadNcuCsv(Captured("ncu_full.raw.csv.gz"), "full.csv");
  return kTrace;
}

const Trace& BasicCapture() {
  static const Trace kTrace = ReadNcuCsv(Captured("ncu_basic.raw.csv.gz"), "basic.csv");
  return kTrace;
}

std::string KernelWord(const std::string& name) {
  const std::string word = name.substr(name.find("k_") + 2);
  return word.substr(0, word.find('('));
}

}  // namespace gprof
