/* arch/order.h (private) - act-order (GPTQ): weights whose inputs are permuted by arch_permute. */
#ifndef ARCH_ORDER_H
#define ARCH_ORDER_H
#include "arch/arch.h"

/* If t has an act-order, bind it to its weight.  INFER_EFORMAT: it is not a permutation of the
 * columns */
int arch_bind_order(infer_model *m, const struct infer_tensor *t, int32_t weight, infer_error *err);
/* Check that the input of every weight with an act-order is permuted. INFER_EUNSUP: one is not. */
int arch_check_orders(const infer_model *m, infer_error *err);
#endif
