/* arch/order.h (private) - act-order (GPTQ): weights whose inputs are permuted by arch_permute. */
#ifndef ARCH_ORDER_H
#define ARCH_ORDER_H
#include "arch/arch.h"

/* If t has an act-order, bind it to its weight.  INFER_EFORMAT: it is not a permutation of the
 * columns */
int arch_bind_order(infer_model *m, const struct infer_tensor *t, int32_t weight, infer_error *err);
/* INFER_EUNSUP: a node reads a weight that has an act-order, but its input is not permuted. */
int arch_check_orders(const infer_model *m, infer_error *err);
#endif
