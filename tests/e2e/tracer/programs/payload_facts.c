/* What NVTX payloads can be: layouts and enumerations with numbers of the program's and of the tool's, payloads of
   events and of payload calls, messages inside payloads, sizes that only the layout knows, and more bytes than are
   kept. */
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_call.h"

typedef struct {
  uint64_t comm;
  size_t bytes;
  int op;
} AllReduce;

typedef struct {
  char text[16];
  const char* pointed;
  nvtxStringHandle_t registered;
  uint8_t small;
  double wide;
} Message;

enum { kAllReduce = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5, kReduction = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 11 };

static void PrintHex(const char* event, uint64_t schema, const void* data, size_t bytes) {
  const unsigned char* at = (const unsigned char*)data;
  size_t i;
  printf("{\"fact\":\"payload\",\"event\":\"%s\",\"schema\":%llu,\"hex\":\"", event, (unsigned long long)schema);
  for (i = 0; i < bytes; ++i) printf("%02x", at[i]);
  printf("\"}\n");
}

static nvtxPayloadSchemaAttr_t Schema(const char* name, const nvtxPayloadSchemaEntry_t* entries, size_t count) {
  nvtxPayloadSchemaAttr_t schema;
  memset(&schema, 0, sizeof(schema));
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  schema.name = name;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = count;
  return schema;
}

/* As NCCL does it: numbers of its own, no offsets, no size. */
static int RegisterReduction(nvtxDomainHandle_t domain) {
  static const nvtxPayloadEnum_t kValues[] = {{"Sum", 0, 0}, {"Product", 1, 0}, {"Flag", 8, 1}};
  nvtxPayloadEnumAttr_t operation;
  nvtxPayloadSchemaEntry_t entries[3];
  nvtxPayloadSchemaAttr_t schema = Schema("AllReduce", entries, 3);
  memset(&operation, 0, sizeof(operation));
  operation.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                        NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  operation.entries = kValues;
  operation.numEntries = 3;
  operation.sizeOfEnum = sizeof(int);
  operation.schemaId = kReduction;
  memset(entries, 0, sizeof(entries));
  entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
  entries[0].name = "NCCL communicator ID";
  entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
  entries[1].name = "Message size [bytes]";
  entries[2].type = kReduction;
  entries[2].name = "Reduction operation";
  schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.schemaId = kAllReduce;
  return nvtxPayloadEnumRegister(domain, &operation) == kReduction &&
         nvtxPayloadSchemaRegister(domain, &schema) == kAllReduce &&
         nvtxPayloadSchemaRegister(domain, &schema) == kAllReduce;
}

/* One layout for each place that a message can be in: `which` is the entry that is the message. */
static uint64_t RegisterMessage(nvtxDomainHandle_t domain, const char* name, int which) {
  nvtxPayloadSchemaEntry_t entries[5];
  nvtxPayloadSchemaAttr_t schema = Schema(name, entries, 5);
  memset(entries, 0, sizeof(entries));
  entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
  entries[0].arrayOrUnionDetail = 16;
  entries[0].name = "text";
  entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
  entries[1].flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER;
  entries[1].name = "pointed";
  entries[2].type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
  entries[2].name = "registered";
  entries[3].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8;
  entries[3].name = "small";
  entries[4].type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
  entries[4].offset = offsetof(Message, wide);
  entries[4].name = "wide";
  if (which >= 0) entries[which].flags |= NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
  return nvtxPayloadSchemaRegister(domain, &schema);
}

static nvtxPayloadData_t Data(uint64_t schema, const void* payload, size_t size) {
  nvtxPayloadData_t data;
  data.schemaId = schema;
  data.size = size;
  data.payload = payload;
  return data;
}

static void Events(nvtxDomainHandle_t domain) {
  const AllReduce reduce = {0x1122334455667788ull, 4096, 1};
  const uint32_t plain = 77;
  nvtxPayloadData_t data[2];
  nvtxEventAttributes_t attributes = PlainAttributes("ncclAllReduce");
  nvtxRangeId_t id;
  data[0] = Data(kAllReduce, &reduce, sizeof(reduce));
  data[1] = Data(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, &plain, SIZE_MAX);
  attributes.payloadType = (int32_t)NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 2;
  attributes.payload.ullValue = (uint64_t)(uintptr_t)data;
  nvtxDomainRangePushEx(domain, &attributes);
  PrintHex("push", kAllReduce, &reduce, sizeof(reduce));
  PrintHex("push", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, &plain, sizeof(plain));
  nvtxRangePopPayload(domain, data, 1);
  PrintHex("pop", kAllReduce, &reduce, sizeof(reduce));
  id = nvtxDomainRangeStartEx(domain, &attributes);
  PrintHex("start", kAllReduce, &reduce, sizeof(reduce));
  PrintHex("start", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, &plain, sizeof(plain));
  nvtxRangeEndPayload(domain, id, data, 1);
  PrintHex("end", kAllReduce, &reduce, sizeof(reduce));
  attributes.payloadType = NVTX_PAYLOAD_UNKNOWN;
  nvtxDomainMarkEx(domain, &attributes);
}

static void Messages(nvtxDomainHandle_t domain) {
  Message message;
  nvtxPayloadData_t data;
  uint64_t schemas[4];
  int i;
  memset(&message, 0, sizeof(message));
  strcpy(message.text, "inside");
  message.pointed = "pointed to";
  message.registered = nvtxDomainRegisterStringA(domain, "registered text");
  message.wide = 2.5;
  schemas[0] = RegisterMessage(domain, "message inside", 0);
  schemas[1] = RegisterMessage(domain, "message pointed", 1);
  schemas[2] = RegisterMessage(domain, "message registered", 2);
  schemas[3] = RegisterMessage(domain, "no message", -1);
  for (i = 0; i < 4; ++i) {
    /* The size is the layout's. */
    data = Data(schemas[i], &message, SIZE_MAX);
    nvtxMarkPayload(domain, &data, 1);
    PrintHex("mark", schemas[i], &message, sizeof(message));
  }
  nvtxRangePushPayload(domain, &data, 1);
  PrintHex("push", schemas[3], &message, sizeof(message));
  nvtxDomainRangePop(domain);
}

static void Extremes(nvtxDomainHandle_t domain) {
  static unsigned char big[10000];
  nvtxPayloadData_t data;
  memset(big, 0xAB, sizeof(big));
  data = Data(NVTX_TYPE_PAYLOAD_SCHEMA_RAW, big, sizeof(big));
  nvtxMarkPayload(domain, &data, 1);
  PrintHex("mark", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, big, 4096);
  data = Data(987654321, big, SIZE_MAX);
  nvtxMarkPayload(domain, &data, 1);
  PrintHex("mark", 987654321, big, 0);
  data = Data(NVTX_TYPE_PAYLOAD_SCHEMA_RAW, NULL, 100);
  nvtxMarkPayload(domain, &data, 1);
  PrintHex("mark", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, big, 0);
  nvtxMarkPayload(domain, NULL, 3);
}

/* usage: payload_facts [fork|kill]: a child uses what its parent registered, and registers more; or a sudden death. */
int main(int argc, char** argv) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
  const int registered = RegisterReduction(domain);
  Events(domain);
  if (argc > 1 && strcmp(argv[1], "kill") == 0) {
    Messages(domain);
    fflush(stdout);
    raise(SIGKILL);
  }
  if (argc > 1) {
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child != 0) return waitpid(child, &status, 0) == child ? status : 97;
    Events(domain);
    Messages(domain);
    return 0;
  }
  Messages(domain);
  Extremes(domain);
  return registered ? 0 : 1;
}
