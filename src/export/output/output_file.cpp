#include "export/output/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "gprof/error.h"

namespace gprof {
namespace {

[[noreturn]] void Fail(const std::string& path) {
  throw Error(ExitCode::kUnreadable, "cannot write " + path + " - " + std::strerror(errno));
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

void WriteFileInFolder(const std::string& folder, const std::string& name,
                       const std::function<void(OutputStream&)>& write) {
  const std::string path = folder + "/" + name;
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wbx"));
  if (!file) Fail(path);
  OutputStream out(
      [&](std::string_view bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) Fail(path);
      },
      false);
  write(out);
  out.Finish();
  if (std::fclose(file.release()) != 0) Fail(path);
}

}  // namespace gprof
