// NVTX of every sort.
#include <nvtx3/nvToolsExt.h>

#include "known_facts/known_facts.h"

namespace gprof::examples {
namespace {

nvtxEventAttributes_t Message(const char* text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

void CountRange(Facts& facts, const char* item) {
  facts.AddCount("nvtx", "push_pop");
  facts.AddCount("nvtx_ranges", item);
}

void CountMark(Facts& facts, const std::string& item) {
  facts.AddCount("nvtx", "mark");
  facts.AddCount("nvtx_marks", item);
}

void PushAndPop(Facts& facts) {
  for (int i = 0; i < 10; ++i) {
    nvtxRangePushA("outer");
    CountRange(facts, "|outer");
    for (int k = 0; k < 3; ++k) {
      nvtxRangePushA("inner");
      nvtxRangePop();
      CountRange(facts, "|inner");
    }
    nvtxRangePop();
  }
  nvtxRangePushW(L"wide \u00e9\u4e16");
  nvtxRangePop();
  CountRange(facts, "|wide \u00e9\u4e16");
}

void StartAndEnd(Facts& facts) {
  // They overlap without nesting, which only start/end ranges can.
  const nvtxRangeId_t first = nvtxRangeStartA("span 1");
  const nvtxRangeId_t second = nvtxRangeStartA("span 2");
  nvtxRangeEnd(first);
  nvtxRangeEnd(second);
  facts.AddCount("nvtx", "start_end", 2);
  facts.AddCount("nvtx_start_end", "|span 1");
  facts.AddCount("nvtx_start_end", "|span 2");
}

void UseDomain(Facts& facts) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("facts");
  nvtxDomainNameCategoryA(domain, 7, "checked");
  facts.AddCount("nvtx_categories", "facts|checked");
  const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxEventAttributes_t attributes = Message("");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered;
  attributes.category = 7;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xFF00AA55;
  for (int i = 0; i < 20; ++i) {
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    CountRange(facts, "facts|registered");
  }
  facts.AddCount("nvtx_colors", "4278233685", 20);
  nvtxDomainMarkEx(domain, &attributes);
  facts.AddCount("nvtx_colors", "4278233685");
  CountMark(facts, "facts|registered");
  const nvtxRangeId_t span = nvtxDomainRangeStartEx(domain, &attributes);
  nvtxDomainRangeEnd(domain, span);
  facts.AddCount("nvtx_colors", "4278233685");
  facts.AddCount("nvtx", "start_end");
  facts.AddCount("nvtx_start_end", "facts|registered");
}

void MarkPayloads(Facts& facts) {
  nvtxEventAttributes_t attributes = Message("payload");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = 18446744073709551615u;
  nvtxMarkEx(&attributes);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = -5;
  nvtxMarkEx(&attributes);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  attributes.payload.dValue = 0.25;
  nvtxMarkEx(&attributes);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  attributes.payload.uiValue = 4000000000u;
  nvtxMarkEx(&attributes);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  attributes.payload.iValue = -7;
  nvtxMarkEx(&attributes);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  attributes.payload.fValue = 1.5f;
  nvtxMarkEx(&attributes);
  for (const char* type : {"1", "2", "3", "4", "5", "6"}) {
    facts.AddCount("nvtx_payload_types", type);
    CountMark(facts, "|payload");
  }
}

}  // namespace

void Annotate(Facts& facts) {
  PushAndPop(facts);
  StartAndEnd(facts);
  UseDomain(facts);
  MarkPayloads(facts);
  nvtxMarkA("plain mark");
  CountMark(facts, "|plain mark");
}

}  // namespace gprof::examples
