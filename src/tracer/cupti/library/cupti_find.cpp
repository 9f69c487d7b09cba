// Which libcupti: two copies in one process collide, so the one that the program has, or would load, is the right one.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/library/cupti_api.h"
#include "tracer/system/loaded_module.h"

namespace gprof::tracer {
namespace {

constexpr int kMajors[] = {13, 12, 11};

const char* Soname(int major) {
  return major == 13 ? "libcupti.so.13" : major == 12 ? "libcupti.so.12" : "libcupti.so.11.8";
}

struct Path {
  char text[4096] = {};
  Path& operator<<(const char* part) {
    const std::size_t used = std::strlen(text), more = std::strlen(part);
    if (used + more < sizeof text) std::memcpy(text + used, part, more + 1);
    return *this;
  }
  // Up one folder; "" at the root.
  void Up() {
    char* slash = std::strrchr(text, '/');
    if (slash == nullptr) slash = text;
    *slash = 0;
  }
};

// Of CUDA 11.8. The libraries of 11.0 to 11.7 crash programs with driver 580.
constexpr uint32_t kOldestVersion = 18;

// Tries files until one binds and answers.
class Search {
 public:
  Search(CuptiApi* api, uint32_t driver_version) : api_(api), driver_major_(static_cast<int>(driver_version / 1000)) {}

  // A libcupti newer than the driver answers CUPTI_ERROR_NOT_INITIALIZED to everything, an older one works.
  bool Suits(int major) const { return driver_major_ == 0 || major <= driver_major_; }

  bool TryFile(const char* path) {
    if (path[0] == '/' && access(path, R_OK) != 0) return false;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* error = dlerror();
      if (path[0] == '/') last_error_ << path << ": " << (error != nullptr ? error : "cannot be loaded");
      return false;
    }
    return Use(library, path);
  }

  bool TryFolder(const char* folder) {
    for (const int major : kMajors) {
      if (!Suits(major)) continue;
      Path path;
      path << folder << "/" << Soname(major);
      if (TryFile(path.text)) return true;
    }
    return false;
  }

  bool Use(void* library, const char* path) {
    *api_ = CuptiApi{LibrarySymbols(library)};
    if (const char* const missing = api_->in.missing()) {
      last_error_ = Message();
      last_error_ << path << " has no " << missing;
      return false;
    }
    api_->cuptiGetVersion(&api_->version);
    if (api_->version < kOldestVersion) {
      last_error_ = Message();
      last_error_ << path << " is older than CUDA 11.8, and newer drivers crash with such a libcupti";
      return false;
    }
    Dl_info info;
    const bool known = dladdr(reinterpret_cast<void*>(api_->cuptiGetVersion), &info) != 0 && info.dli_fname != nullptr;
    const char* file = known ? info.dli_fname : path;
    const std::size_t size = strnlen(file, sizeof api_->path - 1);
    std::memcpy(api_->path, file, size);
    api_->path[size] = 0;
    return true;
  }

  const Message& last_error() const { return last_error_; }

 private:
  CuptiApi* api_;
  int driver_major_;
  Message last_error_;
};

struct Loaded {
  Path cupti;        // a libcupti that is already there
  Path cuda_lib[8];  // folders of CUDA libraries of the program
  int folders = 0;
};

int NoteLibrary(dl_phdr_info* info, std::size_t, void* out) {
  auto* loaded = static_cast<Loaded*>(out);
  const char* name = info->dlpi_name;
  if (name == nullptr || name[0] != '/') return 0;
  const char* file = std::strrchr(name, '/') + 1;
  const bool is_first = loaded->cupti.text[0] == 0;
  if (is_first && std::strncmp(file, "libcupti.so", 11) == 0) loaded->cupti << name;
  const bool is_cuda = std::strncmp(file, "libcudart.so", 12) == 0 || std::strncmp(file, "libtorch_cuda.so", 16) == 0 ||
                       std::strncmp(file, "libnvrtc.so", 11) == 0 || std::strncmp(file, "libcublas.so", 12) == 0;
  if (is_cuda && loaded->folders < 8) {
    Path& folder = loaded->cuda_lib[loaded->folders++];
    folder << name;
    folder.Up();
  }
  return 0;
}

// site-packages/nvidia/<part>/lib/libX.so and site-packages/torch/lib/libtorch_cuda.so lead to the wheel's libcupti.
bool TryWheel(Search* search, const char* folder) {
  if (search->TryFolder(folder)) return true;  // nvidia/cu13/lib holds everything
  Path base;
  base << folder;
  base.Up();
  base.Up();
  static constexpr const char* kPlaces[] = {"/cuda_cupti/lib", "/nvidia/cuda_cupti/lib", "/nvidia/cu13/lib",
                                            "/extras/CUPTI/lib64", "/lib64"};
  for (const char* place : kPlaces) {
    Path path;
    path << base.text << place;
    if (search->TryFolder(path.text)) return true;
  }
  return false;
}

bool TryToolkit(Search* search) {
  static constexpr const char* kVariables[] = {"CUDA_HOME", "CUDA_PATH"};
  static constexpr const char* kParts[] = {"/extras/CUPTI/lib64", "/targets/x86_64-linux/lib",
                                           "/targets/sbsa-linux/lib", "/lib64"};
  const char* roots[] = {getenv(kVariables[0]), getenv(kVariables[1]), "/usr/local/cuda"};
  for (const char* root : roots) {
    if (root == nullptr || root[0] != '/') continue;
    for (const char* part : kParts) {
      Path path;
      path << root << part;
      if (search->TryFolder(path.text)) return true;
    }
  }
  return false;
}

bool TryBundled(Search* search) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&TryBundled), &info) == 0 || info.dli_fname == nullptr) return false;
  Path folder;
  folder << info.dli_fname;
  folder.Up();
  return folder.text[0] == '/' && search->TryFolder(folder.text);
}

bool FindAnywhere(Search* search) {
  Loaded loaded;
  ForEachModule(NoteLibrary, &loaded);
  if (loaded.cupti.text[0] != 0 && search->TryFile(loaded.cupti.text)) return true;
  if (Config().cupti[0] != 0) return search->TryFile(Config().cupti);  // the user's word is final
  for (int i = 0; i < loaded.folders; ++i) {
    if (TryWheel(search, loaded.cuda_lib[i].text)) return true;
  }
  for (const int major : kMajors) {
    if (search->Suits(major) && search->TryFile(Soname(major))) return true;
  }
  return TryToolkit(search) || TryBundled(search);
}

}  // namespace

uint32_t DriverVersion() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  const auto get = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get != nullptr && get(&version) != 0) version = 0;
  dlclose(driver);
  return static_cast<uint32_t>(version);
}

bool LoadCupti(CuptiApi* api, uint32_t driver_version) {
  Search search(api, driver_version);
  if (FindAnywhere(&search)) return true;
  Message message;
  message << "CUDA is not recorded: no usable libcupti";
  if (search.last_error().size() != 0) {
    message << " (" << search.last_error().c_str() << ")";
  } else {
    message << " in the program's packages, the library path or the CUDA Toolkit";
  }
  message << "; install the CUDA Toolkit or the nvidia-cuda-cupti package, or use --cupti FILE";
  Say(trace::NoticeLevel::kWarning, message);
  return false;
}

}  // namespace gprof::tracer
