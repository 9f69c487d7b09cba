// The functions of UCX (its upper layer, UCP) that are recorded, and where their arguments say how much they move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace gprof::tracer {

// What the number of elements is multiplied by.
enum class UcxSize : uint8_t {
  kNone,        // it moves nothing
  kByte,        // the number is that of bytes
  kDatatype,    // the next argument is the type of an element
  kParameters,  // the last argument points to a ucp_request_param_t, which may name the type
};

struct UcxFunction {
  const char* name;
  uint8_t arguments;
  UcxSize size = UcxSize::kNone;
  uint8_t count_place = 0;  // the argument that is the number of elements
  bool is_poll = false;     // a short call is not worth a record: it is made again and again
};

inline constexpr UcxFunction kUcxFunctions[] = {
    {"ucp_tag_send_nbx", 5, UcxSize::kParameters, 2},
    {"ucp_tag_send_sync_nbx", 5, UcxSize::kParameters, 2},
    {"ucp_tag_recv_nbx", 6, UcxSize::kParameters, 2},
    {"ucp_tag_msg_recv_nbx", 5, UcxSize::kParameters, 2},
    {"ucp_stream_send_nbx", 4, UcxSize::kParameters, 2},
    {"ucp_stream_recv_nbx", 5, UcxSize::kParameters, 2},
    {"ucp_am_send_nbx", 7, UcxSize::kParameters, 5},
    {"ucp_am_recv_data_nbx", 5, UcxSize::kParameters, 3},
    {"ucp_put_nbx", 6, UcxSize::kParameters, 2},
    {"ucp_get_nbx", 6, UcxSize::kParameters, 2},
    {"ucp_atomic_op_nbx", 7, UcxSize::kParameters, 3},

    {"ucp_tag_send_nb", 6, UcxSize::kDatatype, 2},
    {"ucp_tag_send_nbr", 6, UcxSize::kDatatype, 2},
    {"ucp_tag_send_sync_nb", 6, UcxSize::kDatatype, 2},
    {"ucp_tag_recv_nb", 7, UcxSize::kDatatype, 2},
    {"ucp_tag_recv_nbr", 7, UcxSize::kDatatype, 2},
    {"ucp_tag_msg_recv_nb", 6, UcxSize::kDatatype, 2},
    {"ucp_stream_send_nb", 6, UcxSize::kDatatype, 2},
    {"ucp_stream_recv_nb", 7, UcxSize::kDatatype, 2},
    {"ucp_am_send_nb", 7, UcxSize::kDatatype, 3},
    {"ucp_put", 5, UcxSize::kByte, 2},
    {"ucp_put_nb", 6, UcxSize::kByte, 2},
    {"ucp_put_nbi", 5, UcxSize::kByte, 2},
    {"ucp_get", 5, UcxSize::kByte, 2},
    {"ucp_get_nb", 6, UcxSize::kByte, 2},
    {"ucp_get_nbi", 5, UcxSize::kByte, 2},

    {"ucp_worker_progress", 1, UcxSize::kNone, 0, true},
    {"ucp_worker_wait", 1},
    {"ucp_worker_wait_mem", 2},
    {"ucp_worker_fence", 1},
    {"ucp_worker_flush", 1},
    {"ucp_worker_flush_nb", 3},
    {"ucp_worker_flush_nbx", 2},
    {"ucp_ep_flush", 1},
    {"ucp_ep_flush_nb", 3},
    {"ucp_ep_flush_nbx", 2},

    {"ucp_init_version", 5},
    {"ucp_cleanup", 1},
    {"ucp_worker_create", 3},
    {"ucp_worker_destroy", 1},
    {"ucp_ep_create", 3},
    {"ucp_ep_close_nb", 2},
    {"ucp_ep_close_nbx", 2},
    {"ucp_disconnect_nb", 1},
    {"ucp_ep_rkey_unpack", 3},
    {"ucp_mem_map", 3},
    {"ucp_mem_unmap", 2},
};
inline constexpr std::size_t kUcxFunctionCount = std::size(kUcxFunctions);

}  // namespace gprof::tracer
