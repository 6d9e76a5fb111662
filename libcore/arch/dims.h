/* arch/dims.h - names of tensor dimensions, computed from hyper-parameters.  Read through arch.h. */
#ifndef ARCH_DIMS_H
#define ARCH_DIMS_H
#include <stdint.h>

struct arch_hparam;
enum arch_dim {
#define DIM(name, value) D_##name,
#include "arch/dim_list.h"
#undef DIM
};
/* Return a dimension of a tensor of the layer, or of a global tensor (layer 0). */
int64_t arch_dim_of(const struct arch_hparam *h, int layer, int dim);
#endif
