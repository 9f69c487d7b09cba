/* Preloaded into a Python, makes it say that it is of another version: of OTHER_PYTHON, as in PY_VERSION_HEX. */
#include <stdlib.h>

unsigned long Py_Version;

__attribute__((constructor)) static void set(void) {
  const char* version = getenv("OTHER_PYTHON");
  Py_Version = version == NULL ? 0 : strtoul(version, NULL, 16);
}
