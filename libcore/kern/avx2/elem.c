#include "kern/avx2/simd.h"
#include "kern/tmpl/elem.h"
#include "kern/tmpl/rope.h"
#include "kern/tmpl/state.h"
