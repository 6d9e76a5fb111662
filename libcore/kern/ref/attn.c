#include "kern/ref/simd.h"
#include "kern/tmpl/codes.h"
#include "kern/tmpl/attn.h"
