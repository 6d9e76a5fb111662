#include "kern/avx512/simd.h"
#include "kern/tmpl/codes.h"
#include "kern/tmpl/attn.h"
