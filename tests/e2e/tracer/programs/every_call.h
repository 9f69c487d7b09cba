/* Calls every NVTX function once or more and says, call by call, what the trace must hold. C and C++; what is static in
 * the NVTX headers makes each shared object that includes this an NVTX client of its own. */
#ifndef GPROF_TESTS_EVERY_CALL_H
#define GPROF_TESTS_EVERY_CALL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline unsigned MyTid(void) { return (unsigned)syscall(SYS_gettid); }

/* `message` and `domain` are the inside of a JSON string. */
static inline void Expect(const char* event, const char* domain, const char* message, unsigned category, unsigned color,
                          unsigned payload_type, unsigned long long payload) {
  char line[1024];
  int n =
      snprintf(line, sizeof(line),
               "{\"fact\":\"nvtx\",\"tid\":%u,\"event\":\"%s\",\"domain\":\"%s\",\"message\":\"%s\",\"category\":%u,"
               "\"color\":%u,\"payload_type\":%u,\"payload\":%llu}\n",
               MyTid(), event, domain, message, category, color, payload_type, payload);
  if (write(1, line, (size_t)n) != n) abort();
}

static inline void ExpectName(const char* kind, unsigned long long handle, const char* domain, const char* name) {
  char line[1024];
  int n = snprintf(line, sizeof(line), "{\"fact\":\"%s\",\"handle\":%llu,\"domain\":\"%s\",\"name\":\"%s\"}\n", kind,
                   handle, domain, name);
  if (write(1, line, (size_t)n) != n) abort();
}

static inline nvtxEventAttributes_t PlainAttributes(const char* message) {
  nvtxEventAttributes_t a;
  memset(&a, 0, sizeof(a));
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = message;
  return a;
}

/* Ranges, marks and payloads in the default domain. */
static inline void CallDefaultDomain(void) {
  nvtxEventAttributes_t a = PlainAttributes("with everything");
  nvtxRangeId_t id;
  nvtxMarkA("mark");
  Expect("mark", "", "mark", 0, 0, 0, 0);
  nvtxMarkW(L"br\u00f6ad \u2713");
  Expect("mark", "", "br\\u00f6ad \\u2713", 0, 0, 0, 0);
  nvtxRangePushA("outer");
  Expect("push", "", "outer", 0, 0, 0, 0);
  nvtxRangePushW(L"inner");
  Expect("push", "", "inner", 0, 0, 0, 0);
  nvtxRangePop();
  Expect("pop", "", "", 0, 0, 0, 0);
  a.category = 5;
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0xFF112233u;
  a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  a.payload.llValue = -2;
  nvtxRangePushEx(&a);
  Expect("push", "", "with everything", 5, 0xFF112233u, 2, (unsigned long long)-2ll);
  nvtxRangePop();
  Expect("pop", "", "", 0, 0, 0, 0);
  nvtxRangePop();
  Expect("pop", "", "", 0, 0, 0, 0);
  a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  a.payload.dValue = 1.0;
  nvtxMarkEx(&a);
  Expect("mark", "", "with everything", 5, 0xFF112233u, 3, 0x3FF0000000000000ull);
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  a.payload.ullValue = 1ull << 63;
  nvtxMarkEx(&a);
  Expect("mark", "", "with everything", 5, 0xFF112233u, 1, 1ull << 63);
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  a.payload.ullValue = 0;
  a.payload.uiValue = 4000000000u;
  nvtxMarkEx(&a);
  Expect("mark", "", "with everything", 5, 0xFF112233u, 4, 4000000000u);
  a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  a.payload.ullValue = 0;
  a.payload.fValue = 1.0f;
  nvtxMarkEx(&a);
  Expect("mark", "", "with everything", 5, 0xFF112233u, 6, 0x3F800000u);
  id = nvtxRangeStartA("started");
  Expect("start", "", "started", 0, 0, 0, 0);
  nvtxRangeEnd(id);
  Expect("end", "", "", 0, 0, 0, 0);
  id = nvtxRangeStartW(L"started wide");
  Expect("start", "", "started wide", 0, 0, 0, 0);
  nvtxRangeEnd(id);
  Expect("end", "", "", 0, 0, 0, 0);
  a = PlainAttributes("started with attributes");
  id = nvtxRangeStartEx(&a);
  Expect("start", "", "started with attributes", 0, 0, 0, 0);
  nvtxRangeEnd(id);
  Expect("end", "", "", 0, 0, 0, 0);
}

/* The same in a domain, with registered strings of both widths. Every client makes its own handle of the one domain. */
static inline void CallDomain(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
  nvtxDomainHandle_t wide = nvtxDomainCreateW(L"wide domain");
  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxStringHandle_t registered_wide = nvtxDomainRegisterStringW(domain, L"registered wide");
  nvtxEventAttributes_t a = PlainAttributes("in domain");
  nvtxRangeId_t id;
  nvtxDomainRangePushEx(domain, &a);
  Expect("push", "shared domain", "in domain", 0, 0, 0, 0);
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = registered;
  a.category = 11;
  nvtxDomainMarkEx(domain, &a);
  Expect("mark", "shared domain", "registered", 11, 0, 0, 0);
  nvtxDomainRangePop(domain);
  Expect("pop", "shared domain", "", 0, 0, 0, 0);
  a.message.registered = registered_wide;
  id = nvtxDomainRangeStartEx(domain, &a);
  Expect("start", "shared domain", "registered wide", 11, 0, 0, 0);
  nvtxDomainRangeEnd(domain, id);
  Expect("end", "shared domain", "", 0, 0, 0, 0);
  a = PlainAttributes("");
  a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  a.message.unicode = L"unicode";
  nvtxDomainMarkEx(wide, &a);
  Expect("mark", "wide domain", "unicode", 0, 0, 0, 0);
  a = PlainAttributes("null domain");
  nvtxDomainMarkEx(NULL, &a);
  Expect("mark", "", "null domain", 0, 0, 0, 0);
  nvtxDomainNameCategoryA(domain, 11, "eleven");
  ExpectName("category", 11, "shared domain", "eleven");
  nvtxDomainNameCategoryW(domain, 12, L"twelve");
  ExpectName("category", 12, "shared domain", "twelve");
  nvtxDomainDestroy(wide);
  nvtxDomainDestroy(NULL);
}

static inline void CallNames(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
  nvtxResourceAttributes_t resource;
  nvtxResourceHandle_t handle;
  nvtxNameCategoryA(5, "five");
  ExpectName("category", 5, "", "five");
  nvtxNameCategoryW(6, L"six");
  ExpectName("category", 6, "", "six");
  nvtxNameOsThreadA(MyTid(), "the thread");
  ExpectName("thread", MyTid(), "", "the thread");
  nvtxNameCudaDeviceA(3, "third device");
  ExpectName("device", 3, "", "third device");
  nvtxNameCudaStreamA((cudaStream_t)0x1110, "runtime stream");
  ExpectName("stream", 0x1110, "", "runtime stream");
  nvtxNameCudaEventA((cudaEvent_t)0x2220, "runtime event");
  ExpectName("event", 0x2220, "", "runtime event");
  nvtxNameCuStreamW((CUstream)0x3330, L"driver stream");
  ExpectName("stream", 0x3330, "", "driver stream");
  nvtxNameCuContextA((CUcontext)0x4440, "driver context");
  ExpectName("context", 0x4440, "", "driver context");
  memset(&resource, 0, sizeof(resource));
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  resource.identifier.pValue = (const void*)0x5550;
  resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
  resource.message.ascii = "a resource";
  handle = nvtxDomainResourceCreate(domain, &resource);
  ExpectName("resource", 0x5550, "shared domain", "a resource");
  nvtxDomainResourceDestroy(handle);
}

static inline void EveryCall(void) {
  CallDefaultDomain();
  CallDomain();
  CallNames();
}

#endif
