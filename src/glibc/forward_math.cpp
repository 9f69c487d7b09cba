// Of libm, which the tracer does without.
#include "glibc/forward.h"

FORWARD(exp);
FORWARD(log);
FORWARD(pow);
