/* common/confine.h - how programs enter the sandbox. */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H
#include <infer/status.h>
#include "base/sandbox.h"

/* TRY: without being asked; if it is not possible, -v says why and the program continues. */
enum confine { CONFINE_TRY, CONFINE_ASKED };

/* sandbox_enter with flags, after opening what the C library opens at its first use.
 * INFER_EDEVICE  CONFINE_ASKED, and there is no sandbox */
int confine(enum confine how, unsigned flags, infer_error *err);
#endif
