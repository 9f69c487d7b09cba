// The tool that a user had set before us: says in the file OTHER_TOOL_LOG by which of its entry points it was called.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table);

static void Log(const char* line) {
  const char* path = getenv("OTHER_TOOL_LOG");
  const int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0) return;
  if (write(file, line, strlen(line)) < 0) abort();
  close(file);
}

int InitializeInjection(void) {
  Log("cuda\n");
  return 1;
}

int InitializeInjectionNvtx2(void* get_export_table) {
  Log(get_export_table != NULL ? "nvtx\n" : "nvtx without a table\n");
  return 1;
}
