#include "kern/neon/simd.h"
#include "kern/tmpl/attn.h"
