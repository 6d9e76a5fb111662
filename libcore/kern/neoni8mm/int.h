/* kern/neoni8mm/int.h - panels of the quantised products: matrices of 2 by 8 bytes. */
#ifndef KERN_NEONI8MM_INT_H
#define KERN_NEONI8MM_INT_H
#include <arm_neon.h>
#include "kern/arm/q.h"

enum { TILE_T = 8 };
#endif
