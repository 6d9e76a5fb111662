/* common/confine.h - how programs enter the sandbox. */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H
#include <infer/status.h>
#include "base/sandbox.h"

/* TRY: as a program does by itself; where it cannot be had, -v says why, and all goes on. */
enum confine { CONFINE_TRY, CONFINE_ASKED };

/* sandbox_enter with flags, after what the C library opens at its first use.
 * INFER_EDEVICE  CONFINE_ASKED, and there is none */
int confine(enum confine how, unsigned flags, infer_error *err);
#endif
