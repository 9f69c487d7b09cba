// NVTX ranges without the headers of NVTX: asks the library that NVTX_INJECTION64_PATH names for its functions, as the
// headers do.
#pragma once

namespace gprof {

struct NvtxClient {
  int (*push)(const char* message) = nullptr;  // null: nobody records ranges
  int (*pop)() = nullptr;
};

NvtxClient ConnectNvtx();

}  // namespace gprof
