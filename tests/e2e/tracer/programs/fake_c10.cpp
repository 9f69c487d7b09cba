#include "fake_torch.h"

namespace c10 {
TensorImpl UndefinedTensorImpl::_singleton;
}
