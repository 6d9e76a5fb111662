#include "kern/neon/simd.h"
#include "kern/tmpl/codes.h"
#include "kern/tmpl/attn.h"
