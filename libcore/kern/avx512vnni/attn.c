#define KERN_FN(x) kern_avx512vnni_##x
#include "kern/avx512/simd.h"
#include "kern/avx512vnni/codes.h"
#include "kern/tmpl/attn.h"
