/* common/confine.h - enter the sandbox (base/sandbox.h). */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H
#include <infer/status.h>
#include "base/sandbox.h"

/* CONFINE_TRY: the default; if the kernel refuses, -v prints why and the program continues.
 * CONFINE_ASKED: --sandbox; if the kernel refuses, confine fails. */
enum confine { CONFINE_TRY, CONFINE_ASKED };

/* Start the progress thread and read the time zone, which the sandbox forbids; then call
 * sandbox_enter(flags).
 * INFER_EDEVICE  CONFINE_ASKED, and the kernel has no sandbox */
int confine(enum confine how, unsigned flags, infer_error *err);
#endif
