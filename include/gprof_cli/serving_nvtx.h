// Tells gprof-cli what a serving engine in C++ does with its requests, by NVTX 3.1 or later: nothing of gprof-cli is
// linked or looked up. Where no tool listens, each call is a load and a branch.
//
//   gprof_cli::NameRequest(7, "cmpl-7");
//   gprof_cli::TellRequest(7, gprof_cli::RequestEvent::kArrived, 512);
//   {
//     gprof_cli::EngineStep step(waiting, blocks_used, blocks);  // until its tokens are known
//     RunModel(batch);
//     step.Add(7, 512, 0, 1, true);
//     step.Add(3, 1, 700, 1);
//   }
//   gprof_cli::TellRequest(7, gprof_cli::RequestEvent::kTokensOut, 1);
//   gprof_cli::TellRequest(7, gprof_cli::RequestEvent::kFinished);
//
// docs/requests.md says what the numbers mean. C++11, a header alone, for any thread.
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace gprof_cli {

enum class RequestEvent : uint64_t { kArrived = 1, kTokensOut, kPreempted, kFinished, kAborted };

namespace serving_detail {

// Payloads, by the names of their fields.
struct EventData {
  uint64_t request, event, tokens, ago_ns;
};
struct StepData {
  uint32_t waiting, cache_used, cache_blocks;
};
struct MemberData {
  uint32_t request, tokens, cached, tokens_out, is_prefill;
};

enum : uint64_t {
  kEventSchema = static_cast<uint64_t>(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) + 1,
  kStepSchema,
  kMemberSchema,
};

// Fields of one type, one behind the other.
inline void Register(nvtxDomainHandle_t domain, uint64_t id, const char* name, uint64_t type, std::size_t size_bytes,
                     std::initializer_list<const char*> fields) {
  nvtxPayloadSchemaEntry_t entries[5] = {};
  std::size_t count = 0;
  for (const char* field : fields) {
    entries[count].type = type;
    entries[count++].name = field;
  }
  nvtxPayloadSchemaAttr_t schema = {};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.name = name;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = count;
  schema.payloadStaticSize = size_bytes;
  schema.schemaId = id;
  nvtxPayloadSchemaRegister(domain, &schema);
}

inline nvtxDomainHandle_t MakeDomain() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("gprof-cli.serving");
  Register(domain, kEventSchema, "request_event", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, sizeof(EventData),
           {"request", "event", "tokens", "ago_ns"});
  Register(domain, kStepSchema, "engine_step", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, sizeof(StepData),
           {"waiting", "cache_used", "cache_blocks"});
  Register(domain, kMemberSchema, "step_request", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, sizeof(MemberData),
           {"request", "tokens", "cached", "tokens_out", "is_prefill"});
  return domain;
}

inline nvtxDomainHandle_t Domain() {
  static const nvtxDomainHandle_t domain = MakeDomain();
  return domain;
}

inline nvtxPayloadData_t DataOf(uint64_t schema, const void* payload, std::size_t size_bytes) {
  nvtxPayloadData_t data = {};
  data.schemaId = schema;
  data.size = size_bytes;
  data.payload = payload;
  return data;
}

// `data` has to live as long as these.
inline nvtxEventAttributes_t AttributesOf(const char* message, const nvtxPayloadData_t* data) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = message;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(data));
  return attributes;
}

inline void Tell(const char* message, const EventData& event) {
  const nvtxPayloadData_t data = DataOf(kEventSchema, &event, sizeof event);
  const nvtxEventAttributes_t attributes = AttributesOf(message, &data);
  nvtxDomainMarkEx(Domain(), &attributes);
}

}  // namespace serving_detail

// Says once what a request is called whose number is `request`, which must be unique in the process. Spans of the
// engine are joined by this name.
inline void NameRequest(uint32_t request, const char* name) { serving_detail::Tell(name, {request, 0, 0, 0}); }

// `tokens`: of its prompt for kArrived, how many for kTokensOut, else 0. `ago_ns`: how long ago that was.
inline void TellRequest(uint32_t request, RequestEvent event, uint32_t tokens = 0, uint64_t ago_ns = 0) {
  serving_detail::Tell("request_event", {request, static_cast<uint64_t>(event), tokens, ago_ns});
}

// One run of the model on a batch, from here until the object's end, in one thread.
class EngineStep {
 public:
  // Requests in the queue, and blocks of the KV cache; 0 blocks: not known.
  explicit EngineStep(uint32_t waiting = 0, uint32_t cache_used = 0, uint32_t cache_blocks = 0) {
    const serving_detail::StepData step = {waiting, cache_used, cache_blocks};
    const nvtxPayloadData_t data = serving_detail::DataOf(serving_detail::kStepSchema, &step, sizeof step);
    const nvtxEventAttributes_t attributes = serving_detail::AttributesOf("engine_step", &data);
    nvtxDomainRangePushEx(serving_detail::Domain(), &attributes);
  }
  ~EngineStep() {
    Flush();
    nvtxDomainRangePop(serving_detail::Domain());
  }
  EngineStep(const EngineStep&) = delete;
  EngineStep& operator=(const EngineStep&) = delete;

  // `tokens` are computed for the request in this step, behind `cached` ones, and `tokens_out` new ones are found.
  void Add(uint32_t request, uint32_t tokens, uint32_t cached = 0, uint32_t tokens_out = 0, bool is_prefill = false) {
    if (count_ == kMembers) Flush();
    members_[count_++] = {request, tokens, cached, tokens_out, is_prefill ? 1u : 0u};
  }

 private:
  static constexpr std::size_t kMembers = 32;  // of one event: tools keep a few kB of each

  void Flush() {
    if (count_ == 0) return;
    nvtxPayloadData_t data[kMembers];
    for (std::size_t i = 0; i < count_; ++i)
      data[i] = serving_detail::DataOf(serving_detail::kMemberSchema, &members_[i], sizeof members_[i]);
    nvtxMarkPayload(serving_detail::Domain(), data, count_);
    count_ = 0;
  }

  serving_detail::MemberData members_[kMembers];
  std::size_t count_ = 0;
};

}  // namespace gprof_cli
