#include "kern/avx2/simd.h"
#include "kern/tmpl/codes.h"
#include "kern/tmpl/attn.h"
