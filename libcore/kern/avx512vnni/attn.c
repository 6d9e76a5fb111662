#include "kern/avx512/simd.h"
#include "kern/avx512vnni/codes.h"
#include "kern/tmpl/attn.h"
