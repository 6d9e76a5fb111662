#include "kern/avx512/bf16.h"
#include "kern/tmpl/mm_bf16.h"
