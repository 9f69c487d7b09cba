// Calls of UCX whose arguments are known, from an endpoint to its own worker. Built by the test, against the UCX that
// there is. usage: ucx_facts known | cost
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;

static void Check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
  exit(1);
}

// Where recording starts.
static void StartCuda(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != NULL) ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
}

static void Start(void) {
  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                         .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM};
  Check(ucp_init(&params, NULL, &context), "ucp_init");
  ucp_worker_params_t worker_params = {.field_mask = 0};
  Check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
  ucp_address_t* address;
  size_t length;
  Check(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
  ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
  Check(ucp_ep_create(worker, &ep_params, &endpoint), "ucp_ep_create");
  ucp_worker_release_address(worker, address);
}

static void Wait(ucs_status_ptr_t request, const char* what) {
  if (UCS_PTR_IS_ERR(request)) Check(UCS_PTR_STATUS(request), what);
  if (request == NULL) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(request);
}

static void Tags(void) {
  static char out[1000], in[1000];
  memset(out, 7, sizeof out);
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  ucp_request_param_t words = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(4)};
  ucs_status_ptr_t request = ucp_tag_recv_nbx(worker, in, 1000, 1, ~0ull, &bytes);
  Wait(ucp_tag_send_nbx(endpoint, out, 1000, 1, &bytes), "send");
  Wait(request, "receive");
  request = ucp_tag_recv_nbx(worker, in, 25, 2, ~0ull, &words);
  Wait(ucp_tag_send_nbx(endpoint, out, 25, 2, &words), "send");
  Wait(request, "receive");
  ucp_dt_iov_t pieces[2] = {{out, 10}, {out + 20, 20}};
  ucp_request_param_t list = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_iov()};
  request = ucp_tag_recv_nbx(worker, in, 30, 3, ~0ull, &bytes);
  Wait(ucp_tag_send_sync_nbx(endpoint, pieces, 2, 3, &list), "send");
  Wait(request, "receive");
  printf("{\"fact\":\"tags\",\"value\":%d}\n", in[999] + in[29]);
}

static void Windows(void) {
  static char memory[8192], out[4096], in[512];
  ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                 .address = memory,
                                 .length = sizeof memory};
  ucp_mem_h mapped;
  Check(ucp_mem_map(context, &params, &mapped), "ucp_mem_map");
  void* packed;
  size_t size;
  ucp_rkey_h key;
  Check(ucp_rkey_pack(context, mapped, &packed, &size), "ucp_rkey_pack");
  Check(ucp_ep_rkey_unpack(endpoint, packed, &key), "ucp_ep_rkey_unpack");
  memset(out, 9, sizeof out);
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  Wait(ucp_put_nbx(endpoint, out, 4096, (uint64_t)memory, key, &bytes), "put");
  Wait(ucp_ep_flush_nbx(endpoint, &bytes), "flush");
  Wait(ucp_get_nbx(endpoint, in, 512, (uint64_t)memory, key, &bytes), "get");
  Wait(ucp_worker_flush_nbx(worker, &bytes), "flush");
  ucp_rkey_destroy(key);
  ucp_rkey_buffer_release(packed);
  Check(ucp_mem_unmap(context, mapped), "ucp_mem_unmap");
  printf("{\"fact\":\"window\",\"value\":%d}\n", in[511] + memory[4095]);
}

static size_t heard;
static ucs_status_t Hear(void* argument, const void* header, size_t header_length, void* data, size_t length,
                         const ucp_am_recv_param_t* param) {
  (void)argument, (void)header, (void)data, (void)param;
  heard = 1000 * header_length + length;
  return UCS_OK;
}

static void Messages(void) {
  ucp_am_handler_param_t handler = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = 5, .cb = Hear};
  Check(ucp_worker_set_am_recv_handler(worker, &handler), "ucp_worker_set_am_recv_handler");
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  Wait(ucp_am_send_nbx(endpoint, 5, "abc", 3, "0123456789", 10, &bytes), "message");
  while (heard == 0) ucp_worker_progress(worker);
  printf("{\"fact\":\"message\",\"value\":%zu}\n", heard);
}

static double Ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

// Least of 25 rounds, in ns a call.
static void Cost(void) {
  double poll = 1e9, send = 1e9;
  static char out[8], in[8];
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  for (int round = 0; round < 25; ++round) {
    double start = Ns();
    for (int i = 0; i < 20000; ++i) ucp_worker_progress(worker);
    double took = (Ns() - start) / 20000;
    if (took < poll) poll = took;
    start = Ns();
    for (int i = 0; i < 20000; ++i) {
      ucs_status_ptr_t request = ucp_tag_recv_nbx(worker, in, 8, 1, ~0ull, &bytes);
      Wait(ucp_tag_send_nbx(endpoint, out, 8, 1, &bytes), "send");
      Wait(request, "receive");
    }
    took = (Ns() - start) / 20000;
    if (took < send) send = took;
  }
  printf("{\"fact\":\"cost\",\"poll_ns\":%.1f,\"send_and_receive_ns\":%.1f}\n", poll, send);
}

// A library goes, so that the slots of all that stay are looked at anew, within the time that this takes twice. UCX
// calls some of its functions through slots of its own, which the loader has filled in meanwhile.
static void Sent(void* request, ucs_status_t status) { (void)request, (void)status; }

static void Unload(void) {
  static char out[64], in[64];
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  ucs_status_ptr_t request = ucp_tag_recv_nbx(worker, in, 64, 1, ~0ull, &bytes);
  Wait(ucp_tag_send_nb(endpoint, out, 8, ucp_dt_make_contig(8), 1, Sent), "send");  // calls ucp_tag_send_nbx
  Wait(request, "receive");
  void* other = dlopen("libanl.so.1", RTLD_NOW);
  if (other == NULL || dlclose(other) != 0) exit(2);
  for (int i = 0; i < 15; ++i) {
    usleep(100000);
    ucp_worker_progress(worker);
  }
}

int main(int argc, char** argv) {
  StartCuda();
  Start();
  errno = 77;
  if (argc > 1 && strcmp(argv[1], "cost") == 0) {
    Cost();
  } else if (argc > 1 && strcmp(argv[1], "unload") == 0) {
    Unload();
  } else {
    Tags();
    Windows();
    Messages();
    int polls = 0;
    for (; polls < 100000; ++polls) ucp_worker_progress(worker);
    printf("{\"fact\":\"polls\",\"count\":%d}\n", polls);
  }
  ucp_request_param_t bytes = {.op_attr_mask = 0};
  Wait(ucp_ep_close_nbx(endpoint, &bytes), "close");
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
  return 0;
}
