#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows4.h"
#define ROWS_TYPES(X) X(Q6_K, q6_k_by8) X(Q5_K, q5_k) X(Q3_K, q3_k)
#include "kern/x86/mm_q256.h"
