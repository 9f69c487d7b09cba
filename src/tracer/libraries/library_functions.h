// The functions of libraries whose calls become ranges, as the libraries make none themselves: of UCX its upper layer
// (UCP), and where the arguments say how much is moved; of cuSPARSE and cuFFT what works on the GPU, or plans that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tracer/core/config.h"

namespace gprof::tracer {

enum class RangedLibrary : uint8_t { kUcx, kCuSparse, kCuFft };

struct LibraryInfo {
  const char* domain;  // of its ranges
  const char* marker;  // whoever exports this function is the library
  bool TracerConfig::*is_wanted;
};
inline constexpr LibraryInfo kRangedLibraries[] = {
    {"UCX", "ucp_worker_progress", &TracerConfig::wants_ucx},
    {"cuSPARSE", "cusparseCreate", &TracerConfig::wants_cusparse},
    {"cuFFT", "cufftCreate", &TracerConfig::wants_cufft},
};
inline constexpr std::size_t kRangedLibraryCount = std::size(kRangedLibraries);

constexpr std::size_t NumberOf(RangedLibrary library) { return static_cast<std::size_t>(library); }

// What the number of elements is multiplied by.
enum class MovedSize : uint8_t {
  kNone,        // it moves nothing
  kByte,        // the number is that of bytes
  kDatatype,    // the next argument is the type of an element
  kParameters,  // the last argument points to a ucp_request_param_t, which may name the type
};

struct LibraryFunction {
  const char* name;
  RangedLibrary library;
  uint8_t arguments;  // each an integer or an address
  MovedSize size = MovedSize::kNone;
  uint8_t count_place = 0;  // the argument that is the number of elements
  bool is_poll = false;     // a short call is not worth a record: it is made again and again
};

using enum RangedLibrary;

inline constexpr LibraryFunction kLibraryFunctions[] = {
    {"ucp_tag_send_nbx", kUcx, 5, MovedSize::kParameters, 2},
    {"ucp_tag_send_sync_nbx", kUcx, 5, MovedSize::kParameters, 2},
    {"ucp_tag_recv_nbx", kUcx, 6, MovedSize::kParameters, 2},
    {"ucp_tag_msg_recv_nbx", kUcx, 5, MovedSize::kParameters, 2},
    {"ucp_stream_send_nbx", kUcx, 4, MovedSize::kParameters, 2},
    {"ucp_stream_recv_nbx", kUcx, 5, MovedSize::kParameters, 2},
    {"ucp_am_send_nbx", kUcx, 7, MovedSize::kParameters, 5},
    {"ucp_am_recv_data_nbx", kUcx, 5, MovedSize::kParameters, 3},
    {"ucp_put_nbx", kUcx, 6, MovedSize::kParameters, 2},
    {"ucp_get_nbx", kUcx, 6, MovedSize::kParameters, 2},
    {"ucp_atomic_op_nbx", kUcx, 7, MovedSize::kParameters, 3},

    {"ucp_tag_send_nb", kUcx, 6, MovedSize::kDatatype, 2},
    {"ucp_tag_send_nbr", kUcx, 6, MovedSize::kDatatype, 2},
    {"ucp_tag_send_sync_nb", kUcx, 6, MovedSize::kDatatype, 2},
    {"ucp_tag_recv_nb", kUcx, 7, MovedSize::kDatatype, 2},
    {"ucp_tag_recv_nbr", kUcx, 7, MovedSize::kDatatype, 2},
    {"ucp_tag_msg_recv_nb", kUcx, 6, MovedSize::kDatatype, 2},
    {"ucp_stream_send_nb", kUcx, 6, MovedSize::kDatatype, 2},
    {"ucp_stream_recv_nb", kUcx, 7, MovedSize::kDatatype, 2},
    {"ucp_am_send_nb", kUcx, 7, MovedSize::kDatatype, 3},
    {"ucp_put", kUcx, 5, MovedSize::kByte, 2},
    {"ucp_put_nb", kUcx, 6, MovedSize::kByte, 2},
    {"ucp_put_nbi", kUcx, 5, MovedSize::kByte, 2},
    {"ucp_get", kUcx, 5, MovedSize::kByte, 2},
    {"ucp_get_nb", kUcx, 6, MovedSize::kByte, 2},
    {"ucp_get_nbi", kUcx, 5, MovedSize::kByte, 2},

    {"ucp_worker_progress", kUcx, 1, MovedSize::kNone, 0, true},
    {"ucp_worker_wait", kUcx, 1},
    {"ucp_worker_wait_mem", kUcx, 2},
    {"ucp_worker_fence", kUcx, 1},
    {"ucp_worker_flush", kUcx, 1},
    {"ucp_worker_flush_nb", kUcx, 3},
    {"ucp_worker_flush_nbx", kUcx, 2},
    {"ucp_ep_flush", kUcx, 1},
    {"ucp_ep_flush_nb", kUcx, 3},
    {"ucp_ep_flush_nbx", kUcx, 2},

    {"ucp_init_version", kUcx, 5},
    {"ucp_cleanup", kUcx, 1},
    {"ucp_worker_create", kUcx, 3},
    {"ucp_worker_destroy", kUcx, 1},
    {"ucp_ep_create", kUcx, 3},
    {"ucp_ep_close_nb", kUcx, 2},
    {"ucp_ep_close_nbx", kUcx, 2},
    {"ucp_disconnect_nb", kUcx, 1},
    {"ucp_ep_rkey_unpack", kUcx, 3},
    {"ucp_mem_map", kUcx, 3},
    {"ucp_mem_unmap", kUcx, 2},

    {"cusparseAxpby", kCuSparse, 5},
    {"cusparseGather", kCuSparse, 3},
    {"cusparseScatter", kCuSparse, 3},
    {"cusparseSpVV", kCuSparse, 7},
    {"cusparseCsr2cscEx2", kCuSparse, 15},
    {"cusparseSparseToDense", kCuSparse, 5},
    {"cusparseDenseToSparse_analysis", kCuSparse, 5},
    {"cusparseDenseToSparse_convert", kCuSparse, 5},
    {"cusparseSpMV", kCuSparse, 10},
    {"cusparseSpMV_preprocess", kCuSparse, 10},
    {"cusparseSpMM", kCuSparse, 11},
    {"cusparseSpMM_preprocess", kCuSparse, 11},
    {"cusparseSDDMM", kCuSparse, 11},
    {"cusparseSDDMM_preprocess", kCuSparse, 11},
    // One argument more than there is today: the buffer that these had before.
    {"cusparseSpSV_solve", kCuSparse, 10},
    {"cusparseSpSM_solve", kCuSparse, 11},
    {"cusparseSpSV_analysis", kCuSparse, 10},
    {"cusparseSpSV_updateMatrix", kCuSparse, 4},
    {"cusparseSpSM_analysis", kCuSparse, 11},
    {"cusparseSpSM_updateMatrix", kCuSparse, 4},
    {"cusparseSpGEMM_workEstimation", kCuSparse, 13},
    {"cusparseSpGEMM_compute", kCuSparse, 13},
    {"cusparseSpGEMM_copy", kCuSparse, 11},
    {"cusparseSpGEMMreuse_workEstimation", kCuSparse, 10},
    {"cusparseSpGEMMreuse_nnz", kCuSparse, 14},
    {"cusparseSpGEMMreuse_copy", kCuSparse, 10},
    {"cusparseSpGEMMreuse_compute", kCuSparse, 11},
    {"cusparseSpMMOp_createPlan", kCuSparse, 16},
    {"cusparseSpMMOp", kCuSparse, 2},
    {"cusparseXcoo2csr", kCuSparse, 6},
    {"cusparseXcsr2coo", kCuSparse, 6},
    {"cusparseXcoosortByRow", kCuSparse, 8},
    {"cusparseXcoosortByColumn", kCuSparse, 8},
    {"cusparseXcsrsort", kCuSparse, 9},
    {"cusparseXcscsort", kCuSparse, 9},
    {"cusparseXcsrgeam2Nnz", kCuSparse, 15},
    {"cusparseSbsrmv", kCuSparse, 15},
    {"cusparseDbsrmv", kCuSparse, 15},
    {"cusparseCbsrmv", kCuSparse, 15},
    {"cusparseZbsrmv", kCuSparse, 15},
    {"cusparseSbsrmm", kCuSparse, 19},
    {"cusparseDbsrmm", kCuSparse, 19},
    {"cusparseCbsrmm", kCuSparse, 19},
    {"cusparseZbsrmm", kCuSparse, 19},
    {"cusparseSbsrsv2_analysis", kCuSparse, 13},
    {"cusparseDbsrsv2_analysis", kCuSparse, 13},
    {"cusparseCbsrsv2_analysis", kCuSparse, 13},
    {"cusparseZbsrsv2_analysis", kCuSparse, 13},
    {"cusparseSbsrsv2_solve", kCuSparse, 16},
    {"cusparseDbsrsv2_solve", kCuSparse, 16},
    {"cusparseCbsrsv2_solve", kCuSparse, 16},
    {"cusparseZbsrsv2_solve", kCuSparse, 16},
    {"cusparseSbsrsm2_analysis", kCuSparse, 15},
    {"cusparseDbsrsm2_analysis", kCuSparse, 15},
    {"cusparseCbsrsm2_analysis", kCuSparse, 15},
    {"cusparseZbsrsm2_analysis", kCuSparse, 15},
    {"cusparseSbsrsm2_solve", kCuSparse, 20},
    {"cusparseDbsrsm2_solve", kCuSparse, 20},
    {"cusparseCbsrsm2_solve", kCuSparse, 20},
    {"cusparseZbsrsm2_solve", kCuSparse, 20},
    {"cusparseScsric02_analysis", kCuSparse, 10},
    {"cusparseDcsric02_analysis", kCuSparse, 10},
    {"cusparseCcsric02_analysis", kCuSparse, 10},
    {"cusparseZcsric02_analysis", kCuSparse, 10},
    {"cusparseScsric02", kCuSparse, 10},
    {"cusparseDcsric02", kCuSparse, 10},
    {"cusparseCcsric02", kCuSparse, 10},
    {"cusparseZcsric02", kCuSparse, 10},
    {"cusparseScsrilu02_analysis", kCuSparse, 10},
    {"cusparseDcsrilu02_analysis", kCuSparse, 10},
    {"cusparseCcsrilu02_analysis", kCuSparse, 10},
    {"cusparseZcsrilu02_analysis", kCuSparse, 10},
    {"cusparseScsrilu02", kCuSparse, 10},
    {"cusparseDcsrilu02", kCuSparse, 10},
    {"cusparseCcsrilu02", kCuSparse, 10},
    {"cusparseZcsrilu02", kCuSparse, 10},
    {"cusparseScsrgeam2", kCuSparse, 20},
    {"cusparseDcsrgeam2", kCuSparse, 20},
    {"cusparseCcsrgeam2", kCuSparse, 20},
    {"cusparseZcsrgeam2", kCuSparse, 20},
    {"cusparseSgtsv2", kCuSparse, 9},
    {"cusparseDgtsv2", kCuSparse, 9},
    {"cusparseCgtsv2", kCuSparse, 9},
    {"cusparseZgtsv2", kCuSparse, 9},
    {"cusparseSgtsv2StridedBatch", kCuSparse, 9},
    {"cusparseDgtsv2StridedBatch", kCuSparse, 9},
    {"cusparseCgtsv2StridedBatch", kCuSparse, 9},
    {"cusparseZgtsv2StridedBatch", kCuSparse, 9},
    {"cusparseSgpsvInterleavedBatch", kCuSparse, 11},
    {"cusparseDgpsvInterleavedBatch", kCuSparse, 11},
    {"cusparseCgpsvInterleavedBatch", kCuSparse, 11},
    {"cusparseZgpsvInterleavedBatch", kCuSparse, 11},

    {"cufftPlan1d", kCuFft, 4},
    {"cufftPlan2d", kCuFft, 4},
    {"cufftPlan3d", kCuFft, 5},
    {"cufftPlanMany", kCuFft, 11},
    {"cufftMakePlan1d", kCuFft, 5},
    {"cufftMakePlan2d", kCuFft, 5},
    {"cufftMakePlan3d", kCuFft, 6},
    {"cufftMakePlanMany", kCuFft, 12},
    {"cufftMakePlanMany64", kCuFft, 12},
    {"cufftXtMakePlanMany", kCuFft, 14},
    {"cufftExecC2C", kCuFft, 4},
    {"cufftExecR2C", kCuFft, 3},
    {"cufftExecC2R", kCuFft, 3},
    {"cufftExecZ2Z", kCuFft, 4},
    {"cufftExecD2Z", kCuFft, 3},
    {"cufftExecZ2D", kCuFft, 3},
    {"cufftXtExec", kCuFft, 4},
    {"cufftXtExecDescriptor", kCuFft, 4},
    {"cufftXtExecDescriptorC2C", kCuFft, 4},
    {"cufftXtExecDescriptorR2C", kCuFft, 3},
    {"cufftXtExecDescriptorC2R", kCuFft, 3},
    {"cufftXtExecDescriptorZ2Z", kCuFft, 4},
    {"cufftXtExecDescriptorD2Z", kCuFft, 3},
    {"cufftXtExecDescriptorZ2D", kCuFft, 3},
    {"cufftDestroy", kCuFft, 1},
};
inline constexpr std::size_t kLibraryFunctionCount = std::size(kLibraryFunctions);

}  // namespace gprof::tracer
