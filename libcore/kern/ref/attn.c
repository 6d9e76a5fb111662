#include "kern/ref/simd.h"
#include "kern/tmpl/attn.h"
