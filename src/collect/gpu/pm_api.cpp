#include "collect/gpu/pm_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gprof::pm {
namespace {

// PM sampling came with 12.6; 12.8 has the form that is used here.
constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kToolkitParts[] = {"/extras/CUPTI/lib64", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib",
                                         "/lib64"};

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

void AddFolder(const std::string& folder, std::vector<std::string>* files) {
  for (const char* const soname : kSonames) files->push_back(folder + soname);
}

// The packages nvidia-cuda-cupti and nvidia-cuda-cupti-cu12.
void AddPythonFolders(const std::string& root, std::vector<std::string>* files) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(root + "/lib", failed), end; !failed && at != end; at.increment(failed)) {
    if (!at->path().filename().string().starts_with("python")) continue;
    for (const char* const part : {"/site-packages/nvidia/cu13/lib/", "/site-packages/nvidia/cuda_cupti/lib/",
                                   "/dist-packages/nvidia/cu13/lib/", "/dist-packages/nvidia/cuda_cupti/lib/"})
      AddFolder(at->path().string() + part, files);
  }
}

// libcupti opens these by name, through the paths of the loader, which may lead to another version or nowhere.
void OpenCompanions(const std::string& folder) {
  for (const char* const name : {"libnvperf_host.so", "libnvperf_target.so"})
    dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string FileOf(void* symbol) {
  Dl_info info;
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

struct Uuid {
  unsigned char bytes[16];
};

struct Driver {
  LibrarySymbols in;
  int (*cuInit)(unsigned) = in("cuInit");
  int (*cuDeviceGetCount)(int*) = in("cuDeviceGetCount");
  int (*cuDeviceGet)(int*, int) = in("cuDeviceGet");
  // Of an instance of MIG this is the UUID of its GPU, as CUPTI tells it to the tracer; _v2 is that of the instance.
  int (*cuDeviceGetUuid)(Uuid*, int) = in.OneOf("cuDeviceGetUuid", "cuDeviceGetUuid_v2");
};

// "GPU-01234567-89ab-cdef-0123-456789abcdef", as the tracer writes it.
std::string TextOf(const Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    snprintf(two, sizeof two, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += two;
  }
  return text;
}

}  // namespace

std::string TextOf(const Api& api, int result) {
  const char* text = nullptr;
  if (api.cuptiGetResultString != nullptr) api.cuptiGetResultString(result, &text);
  return text != nullptr ? text : "CUPTI error " + std::to_string(result);
}

bool Open(const std::vector<std::string>& files, Api* api, std::string* why) {
  *why = "libcupti was not found";
  for (const std::string& file : files) {
    if (file.find('/') != std::string::npos) {
      if (access(file.c_str(), R_OK) != 0) continue;
      OpenCompanions(FolderOf(file));
    }
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    *api = Api{LibrarySymbols(library)};
    if (api->in.missing() != nullptr) {
      *why = file + " cannot sample GPU metrics: CUDA 12.8 or later is needed";
      continue;
    }
    api->path = FileOf(reinterpret_cast<void*>(api->cuptiPmSamplingEnable));
    OpenCompanions(FolderOf(api->path));
    return true;
  }
  return false;
}

std::vector<std::string> CuptiFiles(const std::string& chosen) {
  std::vector<std::string> files;
  if (!chosen.empty()) return {chosen};
  AddFolder("", &files);
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH", ""}) {
    const char* const root = *name == '\0' ? "/usr/local/cuda" : std::getenv(name);
    for (const char* const part : kToolkitParts) {
      if (root != nullptr && *root == '/') AddFolder(std::string(root) + part + "/", &files);
    }
  }
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX", ""}) {
    const char* const root = *name == '\0' ? "/usr/local" : std::getenv(name);
    if (root != nullptr && *root == '/') AddPythonFolders(root, &files);
  }
  return files;
}

std::string CuptiOf(int pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t name = line.find("/libcupti.so");
    const std::size_t path = line.find('/');
    if (name != std::string::npos) return line.substr(path);
  }
  return {};
}

bool FindGpus(std::vector<Gpu>* gpus, std::string* why) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *why = "there is no NVIDIA driver (libcuda.so.1)";
    return false;
  }
  const Driver driver{LibrarySymbols(library)};
  const int result = driver.cuInit == nullptr ? kNotFound : driver.cuInit(0);
  if (result != 0 || driver.in.missing() != nullptr) {
    *why = "the NVIDIA driver does not start: cuInit fails with error " + std::to_string(result);
    return false;
  }
  int count = 0;
  driver.cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    int device = 0;
    Uuid uuid;
    if (driver.cuDeviceGet(&device, i) == 0 && driver.cuDeviceGetUuid(&uuid, device) == 0)
      gpus->push_back({i, TextOf(uuid)});
  }
  if (gpus->empty()) *why = "the driver shows no GPU";
  return !gpus->empty();
}

}  // namespace gprof::pm
