/* The payload extension of NVTX: a schema, events that carry payloads, and the functions of the extension. */
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>

#include "every_call.h"

typedef struct {
  int32_t rank;
  double seconds;
} Step;

static uint64_t RegisterSchema(nvtxDomainHandle_t domain) {
  nvtxPayloadSchemaEntry_t entries[2];
  nvtxPayloadSchemaAttr_t schema;
  memset(entries, 0, sizeof(entries));
  memset(&schema, 0, sizeof(schema));
  entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
  entries[0].name = "rank";
  entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
  entries[1].name = "seconds";
  entries[1].offset = offsetof(Step, seconds);
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "step";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 2;
  schema.payloadStaticSize = sizeof(Step);
  return nvtxPayloadSchemaRegister(domain, &schema);
}

int main(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
  const Step step = {3, 1.5};
  nvtxPayloadData_t data;
  nvtxEventAttributes_t attributes = PlainAttributes("carries a payload");
  nvtxRangeId_t id;
  memset(&data, 0, sizeof(data));
  data.schemaId = RegisterSchema(domain);
  data.size = sizeof(step);
  data.payload = &step;
  attributes.payloadType = (int32_t)NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = (uint64_t)(uintptr_t)&data;
  nvtxDomainMarkEx(domain, &attributes);
  Expect("mark", "payloads", "carries a payload", 0, 0, 7, 0);
  nvtxDomainRangePushEx(domain, &attributes);
  Expect("push", "payloads", "carries a payload", 0, 0, 7, 0);
  nvtxRangePopPayload(domain, &data, 1);
  Expect("pop", "payloads", "", 0, 0, 0, 0);
  /* What these say is in their payload alone, so there is no message to expect. */
  nvtxMarkPayload(domain, &data, 1);
  Expect("mark", "payloads", "*", 0, 0, 0, 0);
  nvtxRangePushPayload(domain, &data, 1);
  Expect("push", "payloads", "*", 0, 0, 0, 0);
  nvtxDomainRangePop(domain);
  Expect("pop", "payloads", "", 0, 0, 0, 0);
  id = nvtxRangeStartPayload(domain, &data, 1);
  Expect("start", "payloads", "*", 0, 0, 0, 0);
  nvtxRangeEndPayload(domain, id, &data, 1);
  Expect("end", "payloads", "", 0, 0, 0, 0);
  return nvtxDomainIsEnabled(domain) == 1 && data.schemaId != 0 ? 0 : 1;
}
