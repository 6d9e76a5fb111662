#include "kern/avx512vnni/int.h"
#include "kern/tmpl/mm_q256.h"
#include "kern/tmpl/mm_q256_tile.h"
