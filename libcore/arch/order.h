/* arch/order.h (private) - act-order: weights whose inputs are permuted (arch_permute). */
#ifndef ARCH_ORDER_H
#define ARCH_ORDER_H
#include "arch/arch.h"

/* Bind the order of t, if it has one, to its weight.  INFER_EFORMAT: not a permutation of the columns of t */
int arch_bind_order(infer_model *m, const struct infer_tensor *t, int32_t weight, infer_error *err);
/* INFER_EUNSUP: an operation reads a weight with an order, but its input is not permuted */
int arch_check_orders(const infer_model *m, infer_error *err);
#endif
