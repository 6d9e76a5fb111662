#include "kern/avx512vnni/int.h"
#define ROWS_TYPES(X) X(Q6_K, q6_k) X(Q5_K, q5_k) X(Q3_K, q3_k)
#include "kern/x86/mm_q256.h"
